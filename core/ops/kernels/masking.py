"""Masked selection: numbers where a mask is set, zeros elsewhere."""

import numpy as np

from pinnace.ops.kernels.precision import Array

# Elements from which working on bits beats np.where, whose branches the processor mispredicts.
_MANY = 1024


def kept(values: Array, keep: Array, out: Array | None = None) -> Array:
    """`values` where `keep`, else 0; not a product, since 0 times inf is NaN.

    Args:
        values: [...].
        keep: bool, shape of `values`, or one that it can be broadcast with.
        out: shape and dtype of the result, C-contiguous: written and returned if given.
    """
    size = values.dtype.itemsize
    if values.size < _MANY or size not in {2, 4, 8} or values.shape != keep.shape:
        chosen: Array = np.where(keep, values, values.dtype.type(0))
        if out is None:
            return chosen
        out[...] = chosen
        return out
    kind = np.dtype(f"i{size}")
    # All bits set where True.
    mask = np.negative(keep.view(np.int8), out=None if out is None else out.view(kind), dtype=kind)
    mask &= values.view(kind)
    return mask.view(values.dtype) if out is None else out
