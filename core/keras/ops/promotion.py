"""Promotion of operands of different dtypes, by Keras' rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType


def alike(*values: Any) -> tuple[Tensor, ...]:
    """Operands in one dtype: floats win over integers, integers over bools; Python numbers yield.

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
    """`x` as a float tensor; integers become `floatx()`."""
    tensor = _given(x)
    if tensor.dtype.is_floating or tensor.dtype.is_complex:
        return tensor
    return casting.cast(tensor, floatx())


def as_bool(x: Any) -> Tensor:
    """`x` cast to bool."""
    return casting.cast(x, dtypes.bool)


def bools(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Two operands cast to bool."""
    return as_bool(x1), as_bool(x2)


def met(*values: Any) -> tuple[Tensor, ...]:
    """Operands in their `result_type`; Python numbers count as int32 and float32.

    Args:
        *values: tensors, arrays, numbers.
    """
    tensors = [_given(x) for x in values]
    kind = result_type(*(x.dtype for x in tensors))
    return tuple(casting.cast(x, kind) for x in tensors)


def met_floats(*values: Any) -> tuple[Tensor, ...]:
    """Like `met`, with a float as the common dtype."""
    tensors = [_given(x) for x in values]
    kind = result_type(*(x.dtype for x in tensors), float)
    return tuple(casting.cast(x, kind) for x in tensors)


def measured(*values: Any) -> tuple[Tensor, ...]:
    """Like `met`, but small integers become `floatx()`, and int64 becomes float64."""
    tensors = met(*values)
    kind = tensors[0].dtype
    if kind.is_integer or kind is dtypes.bool:
        wanted = dtypes.float64 if kind is dtypes.int64 else dtypes.as_dtype(floatx())
        return tuple(casting.cast(x, wanted) for x in tensors)
    return tensors


def as_kind(x: Any, kind: Any) -> Tensor:
    """`x` in a dtype; Python numbers are converted without loss of digits."""
    if isinstance(x, (bool, int, float)):
        number: Tensor = convert_to_tensor(x, kind)
        return number
    return casting.cast(x, kind)


def summable(x: Any) -> Tensor:
    """`x` in the dtype of sums: bools and small integers become 32 bits wide."""
    tensor = _given(x)
    if tensor.dtype is dtypes.bool:
        return casting.cast(tensor, dtypes.int32)
    if tensor.dtype.is_integer and tensor.dtype.size < 4:
        unsigned = tensor.dtype.name.startswith("u")
        return casting.cast(tensor, dtypes.uint32 if unsigned else dtypes.int32)
    return tensor


def _given(x: Any) -> Tensor:
    if hasattr(x, "flat_values"):  # a RaggedTensor: `cast` and reductions take it as it is
        return x  # type: ignore[no-any-return]
    tensor: Tensor = x.value() if isinstance(x, Variable) else convert_to_tensor(x)
    return tensor


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
