"""Maxima over windows of float32 volumes and their gradient, by compiled code if available.

Axes: x [batch, depth, height, width, C]; y and dy [batch, *sizes, C], as in `pooling`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels import compiled, recycling
from pinnace.ops.kernels.image_shares import readable, share_images

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.ops.kernels.patches import Pads
    from pinnace.ops.kernels.precision import Array


def peaks(
    x: Array, counts: Sequence[int], ksize: Sequence[int], strides: Sequence[int], pads: Pads
) -> Array | None:
    """The maximum of every window, per channel; None if NumPy must do it.

    Args:
        x: [batch, *spatial, C].
        counts: windows per spatial axis.
        ksize: taps per spatial axis.
        strides: step between windows, per spatial axis.
        pads: positions outside x (before, after), per spatial axis; they never win.

    Returns:
        [batch, *counts, C]; as `pooling.max_pool`.
    """
    if x.ndim != 5 or x.size == 0 or not readable(x):
        return None
    kernel = compiled.made("volume_peaks")
    if kernel is None:
        return None
    channels = x.shape[-1]
    y = recycling.empty((len(x), *counts, channels), np.float32)
    windows = (*ksize, *strides, *(before for before, _ in pads), channels)
    lines = _lines(x), _lines(y)
    slices = len(x) * counts[0]
    share_images(slices, x.size, lambda start, stop: kernel(start, stop, *windows, *lines))
    return y


def gradient(
    x: Array,
    y: Array,
    dy: Array,
    ksize: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    rectified: bool = False,
    out: Array | None = None,
) -> Array | None:
    """dy where x is the maximum of its window; None if NumPy has to do it.

    Args:
        x: [batch, *spatial, C].
        y: the maxima, [batch, *sizes, C].
        dy: gradient of y.
        ksize: as for `peaks`.
        strides: as for `peaks`; where windows overlap, NumPy has to do it.
        pads: as for `peaks`.
        rectified: only where that is positive.
        out: filled and returned if given: float32, C-contiguous.

    Returns:
        [batch, *spatial, C]; as `pooling.max_pool_gradient` where every maximum gets dy.
    """
    side_by_side = tuple(ksize) == tuple(strides)
    if x.ndim != 5 or not side_by_side or 0 in (x.size, y.size) or not readable(x, y, dy):
        return None
    kernel = compiled.made("volume_maxima")
    if kernel is None:
        return None
    befores = tuple(before for before, _ in pads)
    reached = all(
        count * step - before >= size
        for count, step, before, size in zip(
            y.shape[1:-1], strides, befores, x.shape[1:-1], strict=True
        )
    )
    dx = recycling.empty(x.shape, np.float32) if out is None else out
    if not reached:
        dx[...] = 0
    windows = (rectified, *ksize, *befores, x.shape[-1])
    lines = [_lines(a) for a in (x, y, dy, dx)]
    slices = len(y) * y.shape[1]
    share_images(slices, x.size, lambda start, stop: kernel(start, stop, *windows, *lines))
    return dx


def _lines(a: Array) -> Array:
    """[batch, depth, height, width * C] of contiguous [batch, depth, height, width, C]."""
    return a.reshape(*a.shape[:3], math.prod(a.shape[3:]))
