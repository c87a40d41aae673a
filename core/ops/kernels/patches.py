"""The windows of a batch of images as a strided view, from which convolutions gather."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pinnace.ops.kernels.precision import Array
from pinnace.ops.kernels.windows import window_counts

Pads: TypeAlias = Sequence[tuple[int, int]]


class Geometry(NamedTuple):
    """The sizes of one convolution over spatial axes; immutable, cheap to unpack."""

    sizes: tuple[int, ...]
    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]

    def tap_slices(self, tap: Sequence[int]) -> tuple[slice, ...]:
        """Per spatial axis, the slice of the padded image that tap `tap` of all windows reads."""
        return tuple(
            slice(t * dilation, t * dilation + (count - 1) * stride + 1, stride)
            for t, stride, dilation, count in zip(
                tap, self.strides, self.dilations, self.counts, strict=True
            )
        )

    @property
    def reach(self) -> tuple[int, ...]:
        """The size of the padded image that contains every position read, and the image itself."""
        return tuple(
            max(before + size, (count - 1) * stride + (taps - 1) * dilation + 1)
            for size, taps, stride, dilation, (before, _), count in zip(*self, strict=True)
        )

    @property
    def interior(self) -> tuple[slice, ...]:
        """The slices of the image inside its padded form."""
        return tuple(
            slice(before, before + size)
            for size, (before, _) in zip(self.sizes, self.pads, strict=True)
        )


def geometry(
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
) -> Geometry:
    """The `Geometry` of windows over images of `sizes`, with the computed number of windows."""
    counts = window_counts(sizes, window, strides, dilations, pads)
    return Geometry(
        tuple(sizes), tuple(window), tuple(strides), tuple(dilations), tuple(pads), counts
    )


class PaddedImages:
    """A few images at a time in one buffer, whose border is zeroed once, seen as windows.

    Args:
        x: [batch, *spatial, C]; used as it stands where nothing is padded.
        g: the geometry of the windows.
        images: how many images the buffer holds.
    """

    def __init__(self, x: Array, g: Geometry, images: int) -> None:
        self.images = images
        self.buffer: Array | None = None
        axes = list(zip(g.sizes, g.pads, strict=True))
        # Negative padding crops.
        crop = [slice(max(-before, 0), size + min(after, 0)) for size, (before, after) in axes]
        self.x = x[(slice(None), *crop)]
        if any(before > 0 or after > 0 for _, (before, after) in axes):
            shape = [
                max(before, 0) + kept + max(after, 0)
                for kept, (_, (before, after)) in zip(self.x.shape[1:-1], axes, strict=True)
            ]
            self.buffer = np.zeros((images, *shape, x.shape[-1]), x.dtype)
            interior = [
                slice(max(before, 0), max(before, 0) + kept)
                for kept, (_, (before, _)) in zip(self.x.shape[1:-1], axes, strict=True)
            ]
            self.interior = self.buffer[(slice(None), *interior)]
        source = self.x if self.buffer is None else self.buffer
        self.view = _window_view(source, g)

    def windows(self, start: int) -> Array:
        """[up to `images`, *counts, *window, C]: the windows of the images from `start` on."""
        if self.buffer is None:
            return self.view[start : start + self.images]
        part = self.x[start : start + self.images]
        self.interior[: len(part)] = part
        return self.view[: len(part)]


def _window_view(x: Array, g: Geometry) -> Array:
    """[images, *counts, *window, C]: the windows of padded images as a view."""
    batch, *spatial, channel = x.strides
    return as_strided(
        x,
        (len(x), *g.counts, *g.window, x.shape[-1]),
        (
            batch,
            *(step * stride for step, stride in zip(spatial, g.strides, strict=True)),
            *(step * dilation for step, dilation in zip(spatial, g.dilations, strict=True)),
            channel,
        ),
        writeable=False,
    )
