"""Extension types: user-defined classes, and dispatch to functions for them."""

from typing import Any

import pinnace as tf


class MaskedTensor(tf.experimental.BatchableExtensionType):
    values: tf.Tensor
    mask: tf.Tensor

    def with_default(self, default: int) -> tf.Tensor:
        return tf.where(self.mask, self.values, default)


x = MaskedTensor([1, 2, 3], mask=[True, False, True])
assert x.with_default(0).numpy().tolist() == [1, 0, 3]
fields: dict[str, Any] = tf.experimental.extension_type.as_dict(x)
assert sorted(fields) == ["mask", "values"]


def unary(api: Any, x: MaskedTensor) -> MaskedTensor:
    return MaskedTensor(api(x.values), x.mask)


tf.experimental.dispatch_for_unary_elementwise_apis(MaskedTensor)(unary)
absolute: Any = tf.abs  # the types of a handler's arguments are not in its signature
made: Any = absolute(x)
assert made.with_default(0).numpy().tolist() == [1, 0, 3]
tf.experimental.unregister_dispatch_for(unary)
