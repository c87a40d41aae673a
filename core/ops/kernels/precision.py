"""The dtype in which a kernel computes, and the array types that kernels pass."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Indices: TypeAlias = npt.NDArray[np.integer[Any]]


def computed_in(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which sums over values of `dtype` are formed.

    Args:
        dtype: any numeric dtype.

    Returns:
        float32 for float16, bfloat16 and the 8-bit floats, else `dtype` itself.
    """
    # ml_dtypes registers bfloat16 and the 8-bit floats with kind "V": none is named, none imported.
    if dtype.kind == "V" or (dtype.kind == "f" and dtype.itemsize == 2):
        return np.dtype(np.float32)
    return dtype


def in_float64(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A kernel for any float from `function` of float64 arrays; results are rounded once."""

    def kernel(x: Array) -> Array:
        return function(np.asarray(x, np.float64)).astype(x.dtype)

    return kernel
