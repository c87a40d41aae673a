"""Ragged tensors as variants, and back."""

from typing import Any


def variants(tf: Any, ops: Any, values: Any, splits: Any) -> list[Any]:
    """Rows split and reassembled in another order, and the gradients of their values."""
    rows = int(splits.shape[0]) - 1

    def function(values: Any) -> list[Any]:
        parts = ops.RaggedTensorToVariant(
            rt_nested_splits=[splits], rt_dense_values=values, batched_input=True
        )
        turned = tf.gather(parts, list(range(rows))[::-1])
        back = ops.RaggedTensorFromVariant(
            encoded_ragged=turned,
            input_ragged_rank=0,
            output_ragged_rank=1,
            Tvalues=values.dtype,
            Tsplits=splits.dtype,
        )
        whole = ops.RaggedTensorToVariant(
            rt_nested_splits=[splits], rt_dense_values=values * 2, batched_input=False
        )
        again = ops.RaggedTensorFromVariant(
            encoded_ragged=whole,
            input_ragged_rank=1,
            output_ragged_rank=1,
            Tvalues=values.dtype,
            Tsplits=splits.dtype,
        )
        flown = ops.RaggedTensorToVariantGradient(
            encoded_ragged_grad=parts,
            row_splits=splits,
            dense_values_shape=tf.shape(values),
            Tvalues=values.dtype,
        )
        found = [back, again]
        return [flown] + [part for nested, flat in found for part in [*nested, flat]]

    return list(ops.trace(function, values))
