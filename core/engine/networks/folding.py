"""Convolutions with few outputs: adjacent pixels are folded into the channels.

A tile computes sixteen outputs, however many are needed: the last convolution of a generator, with
three, wastes thirteen of them. Four adjacent pixels have twelve, which are contiguous in memory
like the channels of one pixel. They become the outputs of one window that covers the windows of all
four, with zero weights where a pixel's window does not reach.

Zero times NaN or infinity is NaN, which would spread to neighbouring pixels. So only layers whose
output is a result of the network are folded: if that has a NaN, the network runs again without
folding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.networks.layers import NO_BORDER, Window

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Layer
    from pinnace.engine.networks.memory import Memory
    from pinnace.framework.tensor import Array

# Outputs per tile, and per tile of the widest kind.
_LANES, _MOST = 16, 32
# The fraction of multiplications below which reading more weights pays off.
_WORTH = 0.75


def folding_of(layer: Layer, memory: Memory) -> int:
    """The number of pixels of a row that a layer folds into one; 1 if that brings no gain.

    Args:
        layer: the layer.
        memory: the network's memory.
    """
    window = layer.window
    if layer.kind != "PRODUCT" or layer.phases or layer.flat is not None or layer.depth is not None:
        return 1
    storage = memory.of(layer.out)
    if window.gaps[1] != 1 or storage.where != "output" or storage.border != NO_BORDER:
        return 1
    if memory.source(layer) not in memory.storages or layer.out not in memory.storages:
        return 1  # views of another value
    width, channels = storage.image.width, storage.image.channels
    best, least = 1, _WORTH * _cost(window, channels, 1)
    for count in range(2, _MOST // max(1, channels) + 1):
        if width % count == 0 and _cost(window, channels, count) < least:
            best, least = count, _cost(window, channels, count)
    return best


def _cost(window: Window, channels: int, count: int) -> float:
    """Taps and lanes per pixel, as a cost."""
    return window_of(window, count).taps[1] * -(-channels * count // _LANES) / count


def window_of(window: Window, count: int) -> Window:
    """The window that covers the windows of `count` adjacent pixels."""
    (down, along), (taps_down, taps_along) = window.steps, window.taps
    taps = taps_down, (count - 1) * along + taps_along
    return window._replace(taps=taps, steps=(down, count * along))


def filters_of(filters: Array, along: int, count: int) -> Array:
    """The weights of a window that covers those of several pixels.

    Args:
        filters: [taps down, taps along, channels, outputs].
        along: stride of the windows along the row.
        count: number of pixels that become one.

    Returns:
        [taps down, more taps along, channels, count × outputs].
    """
    down, taps, channels, outputs = filters.shape
    shape = down, (count - 1) * along + taps, channels, count, outputs
    made = np.zeros(shape, filters.dtype)
    for place in range(count):
        made[:, place * along : place * along + taps, :, place] = filters
    return made.reshape(*shape[:3], count * outputs)
