"""Properties of tensors: dtype, axes, elements; conversion to arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.keras.ops.operation import operation
from pinnace.keras.symbolic import KerasTensor
from pinnace.ops.array import shapes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array


def convert_to_numpy(x: Any) -> Array:
    """The value as a NumPy array; sparse and ragged tensors are filled up with zeros.

    Args:
        x: a tensor, a variable, numbers.
    """
    if is_composite(x):
        from pinnace.keras.ops.arrays import convert_to_tensor as dense

        x = dense(x, sparse=False, ragged=False)
    if isinstance(x, Variable):
        x = x.value()
    return np.array(x.numpy() if isinstance(x, Tensor) else x)


def dtype(x: Any) -> str:
    """The name of the dtype that x has as a tensor.

    Args:
        x: a tensor, a variable, an array, numbers; or a KerasTensor.
    """
    found = getattr(x, "dtype", None)
    if isinstance(found, str):
        return found
    if isinstance(x, (Tensor, Variable, KerasTensor)):
        return str(x.dtype.name)
    return str(convert_to_tensor(x).dtype.name)


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor: dense, sparse or ragged.

    Args:
        x: anything.
    """
    return isinstance(x, Tensor) or is_composite(x)


def ndim(x: Any) -> int | None:
    """The number of axes.

    Args:
        x: a tensor, an array, numbers; or a KerasTensor.
    """
    if isinstance(x, KerasTensor):
        return x.ndim
    rank: int | None = (x if is_composite(x) else convert_to_tensor(x)).shape.rank
    return rank


@operation("numpy", "Size")
def size(x: Any) -> Tensor:
    """The number of elements, a scalar, int32."""
    return shapes.size(x)
