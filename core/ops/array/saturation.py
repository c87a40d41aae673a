"""Saturating casts."""

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import DType
from pinnace.framework.tensor import Tensor, TensorLike
from pinnace.ops.array import casting, constants
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.math import arithmetic, complexes

__all__ = ["saturate_cast"]


@takes_composites(values=1)
def saturate_cast(value: TensorLike, dtype: Any, name: str | None = None) -> Tensor:
    """`value` cast to another dtype, saturated at the limits of its range.

    Args:
        value: [...], a number type.
        dtype: the dtype of the result.
        name: name of the node while tracing.

    Returns:
        [...], `dtype`.

    Raises:
        TypeError: `dtype` is quantised: its range is not known here.
    """
    kind = dtypes.as_dtype(dtype)
    if kind.is_quantized:
        raise TypeError(f"saturate_cast: dtype must be a number type, got {kind.name}")
    x = convert_to_tensor(value)
    if kind.is_complex:
        part = dtypes.float32 if kind is dtypes.complex64 else dtypes.float64
        if not x.dtype.is_complex:
            return casting.cast(saturate_cast(x, part), kind, name)
        real, imag = (saturate_cast(take(x), part) for take in (complexes.real, complexes.imag))
        return complexes.complex(real, imag, name=name)
    if x.dtype.is_complex:
        x = complexes.real(x)
    if kind.is_integer or kind.is_floating:
        low, high = _limits(x.dtype, kind)
        if low is not None:
            x = arithmetic.maximum(x, constants.constant(low, x.dtype))
        if high is not None:
            x = arithmetic.minimum(x, constants.constant(high, x.dtype))
    return casting.cast(x, kind, name)


def _limits(source: DType, target: DType) -> tuple[Any, Any]:
    """The limits of both that apply to `source`; None for a side where all values fit.

    An infinity fits no finite limit, so a floating `source` has two, at least its own.
    """
    if not (source.is_integer or source.is_floating):
        return None, None
    ends: list[Any] = []
    for mine, theirs, inward in (
        (_exact(source.min), _exact(target.min), np.inf),
        (_exact(source.max), _exact(target.max), -np.inf),
    ):
        wide = max(mine, theirs) if inward > 0 else min(mine, theirs)
        if wide == mine:
            ends.append(mine if source.is_floating else None)
            continue
        end = np.asarray(theirs, source.numpy)[()]
        # The end of an integer range may round to a float outside of it: take the next one inside.
        if source.is_floating and (float(end) < theirs if inward > 0 else float(end) > theirs):
            end = np.nextafter(end, end.dtype.type(inward))
        ends.append(end)
    return ends[0], ends[1]


def _exact(limit: Any) -> int | float:
    """A limit as Python's number, compared with others without a cast to a narrow dtype."""
    return limit if isinstance(limit, int) else float(limit)
