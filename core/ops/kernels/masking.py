"""Numbers where something holds, and zeros elsewhere."""

import numpy as np

from pinnace.ops.kernels.precision import Array

# Elements from which working on bits beats np.where, whose branches the processor mispredicts.
_MANY = 1024


def kept(values: Array, keep: Array) -> Array:
    """`values` where `keep`, else 0; not a product, which would make NaN of 0 times inf."""
    size = values.dtype.itemsize
    if values.size < _MANY or size not in {2, 4, 8} or values.shape != keep.shape:
        return np.where(keep, values, values.dtype.type(0))
    mask: Array = keep.view(np.int8).astype(np.dtype(f"i{size}"))
    np.negative(mask, out=mask)  # all ones where True
    mask &= values.view(mask.dtype)
    return mask.view(values.dtype)
