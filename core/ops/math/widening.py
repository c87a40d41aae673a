"""Computation in float32 of functions for which float16 and bfloat16 are too coarse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.ops.kernels.precision import computed_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array

__all__: list[str] = []


def widened(kernel: Callable[..., Array]) -> Callable[..., Array]:
    """A kernel that computes 16-bit floats in float32 and rounds the result back."""

    def wide_kernel(*arrays: Array) -> Array:
        dtype = arrays[0].dtype
        wide = computed_in(dtype)
        if wide == dtype:
            return kernel(*arrays)
        result: Array = kernel(*[array.astype(wide) for array in arrays])
        return result.astype(dtype)

    return wide_kernel
