"""Dtype promotion in the modes "safe" and "all", where Python numbers are weak.

A kind is a dtype and whether it is weak: inferred from Python's numbers, so that it gives way. The
kinds form a lattice; two of them are promoted to their least upper bound. So the result never
depends on the order of the values.
"""

from __future__ import annotations

import functools
import numbers
from typing import Any, NamedTuple

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Operands
from pinnace.framework.weak_tensor import is_weak

_INT32 = np.iinfo(np.int32)


class Kind(NamedTuple):
    """A dtype, and whether it gives way to others.

    Attributes:
        dtype: the dtype.
        weak: whether it was inferred of Python's numbers.
    """

    dtype: DType
    weak: bool = False


# Each type -> the next ones in the promotion lattice; a star marks weak types.
_LEADS_TO = {
    "bool": "int32*",
    "int32*": "int64*",
    "int64*": "uint8 int8 float32*",
    "uint8": "uint16 int16",
    "uint16": "uint32 int32",
    "uint32": "uint64 int64",
    "uint64": "float64*",
    "int8": "int16",
    "int16": "int32",
    "int32": "int64",
    "int64": "float64*",
    "float32*": "float64*",
    "float64*": "bfloat16 float16 complex128*",
    "bfloat16": "float32",
    "float16": "float32",
    "float32": "float64 complex64",
    "complex128*": "complex64",
    "complex64": "complex128",
    "float64": "complex128",
    "complex128": "",
}


class UnknownKindError(TypeError):
    """A value or a pair of dtypes without a type in the lattice."""


def joined(values: Any, *, safe: bool) -> Kind:
    """The kind of values together.

    Args:
        values: tensors, variables, arrays, Python numbers and dtypes, or sequences of these.
        safe: whether bits must not be lost, nor added without need.

    Returns:
        The kind; a weak float32 of nothing.

    Raises:
        UnknownKindError: a value is none of these, or text stands beside numbers.
        OverflowError: an integer of Python's that int32 does not hold.
        TypeError: `safe`, and the promotion is risky.
    """
    found = [kind_of(leaf) for leaf in _leaves(values)] or [Kind(dtypes.float32, weak=True)]
    result = found[0]
    for kind in found[1:]:
        result = _pair(result, kind, safe)
    return result


def kind_of(value: Any) -> Kind:
    """The kind of one value or dtype.

    Raises:
        UnknownKindError: the argument is neither a value nor a dtype.
        OverflowError: an integer of Python's that int32 does not hold.
    """
    if isinstance(value, (Operands, IndexedSlices)):
        return Kind(value.dtype, is_weak(value))
    if isinstance(value, DType):
        return Kind(value)
    if isinstance(value, Shape):
        return Kind(dtypes.int32)
    found = getattr(value, "dtype", None)
    if isinstance(value, (str, bytes)) or _is_text(found):
        return Kind(dtypes.string)
    if isinstance(value, (np.ndarray, np.generic)) or isinstance(found, (np.dtype, DType)):
        return Kind(dtypes.as_dtype(found))
    if isinstance(value, (bool, np.dtype)) or value is bool or _is_numpy_class(value):
        return Kind(_dtype_named(value))
    if isinstance(value, numbers.Integral) or value is int:
        return _integer(value)
    if isinstance(value, numbers.Real) or value is float:
        return Kind(dtypes.float32, weak=True)
    if isinstance(value, complex) or value is complex:
        return Kind(dtypes.complex128, weak=True)
    raise UnknownKindError(
        f"dtypes are inferred of tensors, arrays and numbers, got {type(value).__name__}: {value!r}"
    )


def _is_text(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "OSU"


def _is_numpy_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, np.generic)


def _dtype_named(value: Any) -> DType:
    if isinstance(value, bool) or value is bool:
        return dtypes.bool
    try:
        return dtypes.as_dtype(value)
    except TypeError:
        raise UnknownKindError(f"no tensor has the dtype {value!r}") from None


def _integer(value: Any) -> Kind:
    if value is not int and not _INT32.min <= value <= _INT32.max:
        raise OverflowError(
            f"Python int {value} too large to convert to int32, the dtype of Python's integers "
            "under weak promotion\n  Try: constant(value, 'int64')"
        )
    return Kind(dtypes.int32, weak=True)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)) and not isinstance(value, Shape):
        return [leaf for item in value for leaf in _leaves(item)]
    return [] if value is None else [value]


@functools.cache
def _pair(first: Kind, second: Kind, safe: bool) -> Kind:
    """The first kind that both lead to."""
    if first == second:
        return first
    mine, theirs = _reached(first), _reached(second)
    both = mine & theirs
    if not both:
        raise UnknownKindError(
            f"no dtype holds both {first.dtype.name} and {second.dtype.name}\n"
            "  Try: cast one of the values"
        )
    result = max(both, key=lambda kind: len(_reached(kind)))
    if safe and _is_risky(first, second, result):
        raise TypeError(
            "in mode 'safe', implicit dtype promotion between "
            f"({first.dtype!r}, weak={first.weak}) and ({second.dtype!r}, weak={second.weak}) is "
            "disallowed: it can lose bits, or adds more than needed\n"
            "  Try: cast one of the values, or dtype_conversion_mode='all'"
        )
    return result


def _is_risky(first: Kind, second: Kind, result: Kind) -> bool:
    """Whether the result is wider than both, or a float too short for the integer."""
    if result.dtype not in {first.dtype, second.dtype}:
        return True
    whole = first if result.dtype is second.dtype else second
    if whole.weak or not whole.dtype.is_integer or result.dtype.is_integer:
        return False
    bits = result.dtype.size * (4 if result.dtype.is_complex else 8)
    # All floats, bfloat16 included, count as representing integers of 8 bits.
    return whole.dtype.size > 1 and whole.dtype.size * 8 >= bits


@functools.cache
def _reached(kind: Kind) -> frozenset[Kind]:
    """The kinds reachable from a kind, including itself."""
    name = kind.dtype.name + "*" * kind.weak
    found = {kind}
    for one in _LEADS_TO.get(name, "").split():
        found |= _reached(Kind(dtypes.as_dtype(one.rstrip("*")), one.endswith("*")))
    return frozenset(found)
