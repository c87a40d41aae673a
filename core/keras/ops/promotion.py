"""Promotion: the dtype that operands of different dtypes meet in, as Keras decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.keras.dtype_policy import floatx
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType


def alike(*values: Any) -> tuple[Tensor, ...]:
    """Operands in one dtype: floats win over integers, integers over bools; Python's numbers yield.

    Args:
        *values: tensors, arrays, numbers.
    """
    tensors = [_tensor(x) for x in values]
    known = [x.dtype for x in tensors if isinstance(x, Tensor)]
    numbers = [x for x in tensors if not isinstance(x, Tensor)]
    kind = known[0] if known else _of_number(numbers[0])
    for other in known[1:]:
        kind = _meet(kind, other)
    for number in numbers:
        own = _of_number(number)
        if own.is_floating and not kind.is_floating and not kind.is_complex:
            kind = dtypes.as_dtype(floatx())
        elif kind is dtypes.bool and own is not dtypes.bool:
            kind = own
    return tuple(
        (x if x.dtype is kind else casting.cast(x, kind))
        if isinstance(x, Tensor)
        else convert_to_tensor(x, kind)
        for x in tensors
    )


def pair(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Two operands in one dtype; see `alike`."""
    one, other = alike(x1, x2)
    return one, other


def float_pair(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Two operands in one float dtype."""
    one, other = alike(x1, x2)
    return floating(one), floating(other)


def floating(x: Any) -> Tensor:
    """`x` as a tensor of floats; integers become `floatx()`."""
    tensor: Tensor = convert_to_tensor(x)
    if tensor.dtype.is_floating or tensor.dtype.is_complex:
        return tensor
    return casting.cast(tensor, floatx())


def _tensor(x: Any) -> Any:
    if isinstance(x, Variable):
        return x.value()
    if isinstance(x, (Tensor, bool, int, float, complex)):
        return x
    if isinstance(x, np.generic):
        return convert_to_tensor(np.asarray(x))
    return convert_to_tensor(x)


def _of_number(x: Any) -> DType:
    if isinstance(x, bool):
        return dtypes.bool
    return dtypes.int32 if isinstance(x, int) else dtypes.as_dtype(floatx())


def _meet(one: DType, other: DType) -> DType:
    if one is other or one is dtypes.string:
        return one
    if dtypes.bool in (one, other):
        return other if one is dtypes.bool else one
    if one.is_floating != other.is_floating and not (one.is_complex or other.is_complex):
        return one if one.is_floating else other
    if {one.name, other.name} == {"float16", "bfloat16"}:
        return dtypes.float32
    names = [np.dtype(np.float32) if x.name == "bfloat16" else x.numpy for x in (one, other)]
    return dtypes.as_dtype(np.promote_types(*names))
