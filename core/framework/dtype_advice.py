"""Advice in error messages about arguments whose dtypes must agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import as_dtype

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType


def to_one_dtype(first: tuple[str, DType], other: tuple[str, DType]) -> str:
    """The casts that lose least: to the dtype of both that holds the values of both.

    Args:
        first: name and dtype of an argument.
        other: the same for another one, of another dtype.
    """
    wide = _wider(first[1], other[1])
    if wide is None:
        return f"arguments of one dtype, {first[1].name} or {other[1].name}"
    given = (first, other)
    return " and ".join(
        f"cast({name}, '{wide.name}')" for name, dtype in given if dtype is not wide
    )


def _wider(one: DType, other: DType) -> DType | None:
    if not (_is_number(one) and _is_number(other)):
        return None
    for exact, real in ((one, other), (other, one)):
        # NumPy promotes int32 and float32 to float64; programs want float32.
        if exact.is_integer or exact.is_bool:
            if real.is_floating or real.is_complex:
                return real
            if exact.is_bool:
                return real
    try:
        return as_dtype(np.promote_types(one.as_numpy_dtype, other.as_numpy_dtype))
    except TypeError:
        return as_dtype("float32")  # bfloat16 and float16


def _is_number(dtype: DType) -> bool:
    return dtype.is_floating or dtype.is_integer or dtype.is_complex or dtype.is_bool
