"""3×3 convolutions of float32 images by Winograd's method, by compiled code if available.

It needs four products for a result where the direct sums need nine, and some passes for the
transformations: it is faster for many channels, on images that are not mostly edges. Its rounding
errors are some three times larger. It is not used if an intermediate result could overflow where
the direct sums would not, or if NaN or infinities would spread to neighbouring pixels: the kernels
return the largest bits of their inputs, and the direct sums are computed instead.

Axes as in `convolution`; two spatial axes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels import compiled, tiles, weights
from pinnace.ops.kernels.weights import PANEL

if TYPE_CHECKING:
    from pinnace.ops.kernels.patches import Geometry
    from pinnace.ops.kernels.precision import Array
    from pinnace.ops.kernels.tile_jobs import Job

# Positions of a transformed patch; the side of a patch; the side of a tile of results.
PLACES, _PATCH, _RESULTS = 16, 4, 2
# The fewest input and output channels: with fewer, the transforms cost what the products save.
_CHANNELS, _OUTPUTS = 24, 32
# The most computed results per result: with odd sizes the last tile of a row is cut.
_MOST_RESULTS = 1.2
# The number of tiles from which filters are transformed for a single call.
_WORTH_TRANSFORMING = 64
# Numbers of transformed patches per block: they stay in the L2 cache.
_BLOCK_NUMBERS = 220_000
_FEWEST_TILES, _MOST_TILES = 28, 112
# Numbers of a transformed filter's gradient that stay in the cache across images.
_SLOPE_NUMBERS = 1 << 18
# The bound for sums without overflow: transformations add 16 numbers at most.
_LARGEST = float(np.finfo(np.float32).max) / 1024
# The largest factors of summed products: their product leaves room for sums.
_LARGEST_BITS = int(np.float32(1e15).view(np.int32))
# The matrix from the transformed filter's gradient to the filter's, [9, 16].
_HALF = np.float32(0.5)
_AXIS = np.array([[1, 0, 0], [_HALF, _HALF, _HALF], [_HALF, -_HALF, _HALF], [0, 0, 1]], np.float32)
_BACK = np.kron(_AXIS, _AXIS).T


def wins(rows: int, columns: int, channels: int, outputs: int) -> bool:
    """Whether the method is faster for adjacent 3×3 windows.

    Args:
        rows: output rows of each image.
        columns: columns of results.
        channels: channels of x.
        outputs: channels of the result.
    """
    results = _tiles(rows, columns) * _RESULTS**2
    is_worth_it = channels >= _CHANNELS and outputs >= _OUTPUTS
    return is_worth_it and results <= _MOST_RESULTS * rows * columns


def _tiles(rows: int, columns: int) -> int:
    """The number of tiles of an image."""
    return -(-rows // _RESULTS) * -(-columns // _RESULTS)


def _suits(g: Geometry, channels: int, outputs: int) -> bool:
    """Whether the method is applicable and pays off."""
    if g.window != (3, 3) or g.strides != (1, 1) or g.dilations != (1, 1):
        return False
    rows, columns = g.counts
    return wins(rows, columns, channels, outputs)


def tile_step(channels: int) -> int:
    """The stride between tiles of transformed patches, which maps rows to different cache sets."""
    return channels + 16 if channels % 64 == 0 else channels


def block_tiles(channels: int, across: int) -> int:
    """The number of tiles per block, in whole rows of tiles.

    Args:
        channels: the transformed channels.
        across: tiles of a row.
    """
    wanted = min(_MOST_TILES, max(_FEWEST_TILES, _BLOCK_NUMBERS // (PLACES * channels)))
    return max(1, wanted // across) * across


def room(tiles_of_block: int, channels: int) -> int:
    """The size of the memory for `multiply_places`, for this many tiles."""
    return PLACES * (tiles_of_block + tiles.MOST_ROWS) * (tile_step(channels) + PANEL) + PANEL


def transformed(filter: Array) -> Array | None:
    """[panels, 16, C, 32] of a filter [3, 3, C, O]; None if there is no compiled kernel."""
    kernel = compiled.made("winograd_filter")
    if kernel is None:
        return None
    channels, outputs = filter.shape[2:]
    made = np.empty((-(-outputs // PANEL), PLACES, channels, PANEL), np.float32)
    kernel(np.ascontiguousarray(filter).reshape(9, channels, outputs), made)
    return made


def steady_filters(filter: Array) -> Array:
    """`transformed` without compiled code."""
    channels, outputs = filter.shape[2:]
    made = weights.empty((-(-outputs // PANEL), PLACES, channels, PANEL))

    def write(some: slice) -> None:
        panels = made[some]
        part = filter[..., some.start * PANEL : some.stop * PANEL]
        whole, rest = divmod(part.shape[-1], PANEL)
        for row, line in enumerate(_transformed_axis(part)):
            for column, place in enumerate(_transformed_axis(line)):
                target = panels[:, _PATCH * row + column]  # [panels, C, 32]
                pieces = place[:, : whole * PANEL].reshape(channels, whole, PANEL)
                target[:whole] = pieces.swapaxes(0, 1)
                if rest:
                    target[whole, :, :rest] = place[:, whole * PANEL :]
                    target[whole, :, rest:] = 0

    weights.share_panels(len(made), PLACES * channels * PANEL, write)
    return made


def _transformed_axis(filter: Array) -> tuple[Array, Array, Array, Array]:
    """The four transformed taps of a filter of three taps, along the first axis."""
    first, second, third = filter
    half = np.float32(0.5)
    return first, (first + second + third) * half, (first - second + third) * half, third


def limit_of(sums: int, factors: Array) -> int:
    """The largest bits of a factor whose summed products stay in range."""
    # Without a copy; NaN would be both the maximum and the minimum.
    most = max(float(np.max(factors, initial=0)), -float(np.min(factors, initial=0)))
    if not math.isfinite(most):
        return -1
    limit = np.float32(min(_LARGEST / max(1, sums) / max(1.0, most), _LARGEST))
    return int(limit.view(np.int32))


def convolve(x: Array, filter: Array, g: Geometry, out: Array) -> bool:
    """out[...] = convolution of one group; False if it must be computed directly.

    Args:
        x: [batch, height, width, C].
        filter: [3, 3, C, O].
        g: two axes.
        out: [batch, *counts, O], its channels side by side.
    """
    channels, outputs = filter.shape[-2:]
    if not _suits(g, channels, outputs):
        return False
    kernel = compiled.made("winograd")
    if kernel is None or not (tiles.readable(x) and tiles.fits(filter) and tiles.readable(out)):
        return False
    if len(x) * _tiles(*g.counts) < _WORTH_TRANSFORMING and not weights.are_steady(filter):
        return False
    u = weights.kept(filter, "winograd", transformed)
    if u is None:
        return False
    job = _job(x, g, out, channels)
    per_window = PLACES // _RESULTS**2 * channels * outputs
    arrays = (x, u, out, tiles.zeros(outputs))
    return tiles.run(kernel, job, arrays, per_window, _RESULTS) <= limit_of(channels, filter)


def correlate(x: Array, dy: Array, g: Geometry) -> Array | None:
    """[3, 3, C, O], the filter's gradient; None if it must be computed directly.

    Args:
        x: [batch, height, width, C].
        dy: [batch, *counts, O].
        g: two axes.
    """
    channels, outputs = x.shape[-1], dy.shape[-1]
    if not _suits(g, channels, outputs):
        return None
    if PLACES * channels * outputs > _SLOPE_NUMBERS:
        return None
    kernel = compiled.made("winograd_correlate")
    if kernel is None or not (tiles.readable(x) and tiles.readable(dy)):
        return None
    dy = np.ascontiguousarray(dy)
    job = _job(x, g, dy, channels, outputs)
    products = dy.size * channels * PLACES // _RESULTS**2
    threads = tiles.threads_for(products, kernel)
    step = -(-len(x) // threads)
    parts = np.empty((-(-len(x) // step), PLACES, channels * outputs), np.float32)
    largest = tiles.run_images(kernel, job, (x, dy, parts, tiles.zeros(PANEL)), step, products)
    # A sum over this many tiles, of products of two transformed numbers.
    if largest > _LARGEST_BITS:
        return None
    sums = parts[0] if len(parts) == 1 else parts.sum(axis=0)
    return np.asarray(_BACK @ sums).reshape(3, 3, channels, outputs)


def _job(x: Array, g: Geometry, y: Array, channels: int, outputs: int = 0) -> Job:
    job = tiles.job_of(x.shape, x.strides, g, y.shape, y.strides, (), 1)
    rows, positions = g.counts
    across = -(-positions // _RESULTS)
    down = -(-rows // _RESULTS)
    v_row = tile_step(channels)
    numbers = PLACES * (channels + outputs)
    wanted = min(_MOST_TILES, max(_FEWEST_TILES, _BLOCK_NUMBERS // numbers))
    most_rows = min(down, max(1, wanted // across))
    most_images = max(1, wanted // (across * down)) if most_rows == down else 1
    most_images = min(most_images, len(x))
    limit = most_images * most_rows * across + tiles.MOST_ROWS
    held = _RESULTS * most_rows + _RESULTS
    padded = most_images * held * (positions + 2) * channels if job.padded else 0
    padded = -(-padded // 16) * 16
    return job._replace(
        most_images=most_images,
        most_rows=min(rows, _RESULTS * most_rows),
        limit=limit,
        extra=(v_row, padded, outputs, g.counts[0]),
        sections=3 * limit + (2 * (channels + tiles.MOST_ROWS) if outputs else 0) + 1,
        scratch=padded + PLACES * limit * (v_row + max(PANEL, outputs)) + PANEL,
    )
