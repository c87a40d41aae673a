"""`tf.type_spec_from_value`."""

from __future__ import annotations

from typing import Any

from pinnace.data.nothing import NoneTensorSpec as NoneTensorSpec
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.trackable import is_variable


def type_spec_from_value(value: Any) -> Any:
    """The TypeSpec of a value.

    Args:
        value: a tensor, a variable, a composite value such as a RaggedTensor, a Dataset, None, or
            what becomes a tensor.

    Raises:
        TypeError: no spec describes such a value.
    """
    if value is None:
        return NoneTensorSpec()
    if is_composite(value) or is_variable(value):
        return value.spec
    try:
        tensor = value if isinstance(value, Tensor) else convert_to_tensor(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Could not build a TypeSpec for {value!r} of unsupported type {type(value).__name__}"
        ) from error
    return TensorSpec(tensor.shape, tensor.dtype)
