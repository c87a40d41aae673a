"""16-bit floats: conversions, by compiled code where it exists, and kernels in float32."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import bfloat16, float16, float32, from_numpy
from pinnace.ops.kernels import compiled
from pinnace.ops.kernels.image_shares import share_calls

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType
    from pinnace.ops.kernels.precision import Array
    from pinnace.ops.opdef import OpDef

HALVES = frozenset({float16, bfloat16})
_WIDE = np.dtype(np.float32)
# Numbers from which compiled code pays off.
_FEWEST = 1 << 10
_KERNELS = {
    (float16, float32): "from_halves",
    (float32, float16): "to_halves",
    (bfloat16, float32): "from_bfloats",
    (float32, bfloat16): "to_bfloats",
}


def converted(x: Array, dtype: np.dtype[Any]) -> Array:
    """`x.astype(dtype)`, a new array; numbers that are out of range become infinite."""
    few = x.size < _FEWEST
    name = None if few else _KERNELS.get((from_numpy(x.dtype), from_numpy(dtype)))
    kernel = compiled.made(name) if name is not None else None
    if kernel is None or not (x.flags.c_contiguous and x.flags.aligned):
        return x.astype(dtype)
    y = np.empty(x.shape, dtype)
    flat = [
        one.reshape(-1).view(np.uint16) if one.itemsize == 2 else one.reshape(-1) for one in (x, y)
    ]
    share_calls(kernel, x.size, x.size, tuple(flat))
    return y


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this dtype are float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def kernel_of(op: OpDef, dtype: DType) -> Any:
    """An op's kernel for results of a dtype.

    Those of `wide` ops compute on 16 bits in float32, and round once: NumPy's own loops convert
    number by number.
    """
    return widened(op.kernel) if op.wide and dtype in HALVES else op.kernel


@functools.cache
def widened(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of one output that computes on large arrays of 16-bit floats in float32."""

    def run(*arrays: Any, out: Array | None = None, **options: Any) -> Any:
        halves = [one for one in _flat(arrays) if is_half(one.dtype)]
        if not halves or max(one.size for one in halves) < _FEWEST:
            given = {} if out is None else {"out": out}
            return kernel(*arrays, **options, **given)
        y = kernel(*map(_wide, arrays), **options)
        if y.dtype == _WIDE:  # not a comparison
            y = converted(y, halves[0].dtype)
        if out is None:
            return y
        np.copyto(out, y)
        return out

    return run


def _flat(arrays: tuple[Any, ...]) -> list[Array]:
    return [one for given in arrays for one in (given if isinstance(given, tuple) else (given,))]


def _wide(given: Any) -> Any:
    if isinstance(given, tuple):
        return tuple(map(_wide, given))
    return converted(given, _WIDE) if is_half(given.dtype) else given
