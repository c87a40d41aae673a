"""Conversions of float32 to and from floats of 16 bits, by compiled code where it exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import bfloat16
from pinnace.ops.kernels import compiled
from pinnace.ops.kernels.image_shares import share_calls

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array

_WIDE, _HALF = np.dtype(np.float32), np.dtype(np.float16)
# Numbers from which compiled code pays off.
_FEWEST = 1 << 10
_KERNELS = {
    (_HALF, _WIDE): "from_halves",
    (_WIDE, _HALF): "to_halves",
    (_WIDE, bfloat16.numpy): "to_bfloats",
}


def converted(x: Array, dtype: np.dtype[Any]) -> Array:
    """`x.astype(dtype)`, a new array; numbers that are out of range become infinite."""
    name = _KERNELS.get((x.dtype, dtype)) if x.size >= _FEWEST else None
    kernel = compiled.made(name) if name is not None else None
    if kernel is None or not (x.flags.c_contiguous and x.flags.aligned):
        return x.astype(dtype)
    y = np.empty(x.shape, dtype)
    flat = [
        one.reshape(-1).view(np.uint16) if one.itemsize == 2 else one.reshape(-1) for one in (x, y)
    ]
    share_calls(kernel, x.size, x.size, tuple(flat))
    return y
