"""Depthwise convolution, channels last, and its two gradients.

Each channel has separate filters, so a matrix product gains nothing: tap by tap, shifted images are
multiplied by the tap's coefficients and added, in blocks that stay in the cache.

Axes: x [batch, *spatial, C]; filter [*window, C, M]; out and dy [batch, *sizes, C * M].
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.kernels import tiles
from pinnace.ops.kernels.patches import Geometry, PaddedImages, Pads, geometry
from pinnace.ops.kernels.precision import Array, computed_in

# Bytes of output worked on at a time; two more arrays of this size share the cache with it.
BLOCK_BYTES = 1 << 19


def depthwise_conv(
    x: Array, filter: Array, strides: Sequence[int], pads: Pads, dilations: Sequence[int]
) -> Array:
    """Cross-correlation of every channel of x with M separate filters.

    Args:
        x: [batch, *spatial, C].
        filter: [*window, C, M].
        strides: step between windows, per spatial axis.
        pads: zeros (before, after), per spatial axis.
        dilations: step between taps, per spatial axis.

    Returns:
        [batch, *sizes, C * M], dtype of x, filter m of channel c at c * M + m; 16-bit floats are
        summed in float32.

    Raises:
        InvalidArgumentError: x and the filter have different numbers of channels.

    Source:
        TensorFlow op `DepthwiseConv2dNative`.
    """
    _check_channels(x.shape[-1], filter.shape)
    g = geometry(x.shape[1:-1], filter.shape[:-2], strides, pads, dilations)
    x, filter = _repeated(x, filter.shape[-1]), _one_each(filter)
    compute = computed_in(x.dtype)
    out = np.empty((len(x), *g.counts, x.shape[-1]), compute)
    if not tiles.depthwise(x, filter, g, out):
        _add_taps(x.astype(compute, copy=False), filter.astype(compute, copy=False), g, out)
    return out.astype(x.dtype, copy=False)


def _add_taps(x: Array, filter: Array, g: Geometry, out: Array) -> None:
    """out[...] = depthwise convolution by NumPy, in one dtype."""
    taps = _tap_rows(filter, g)
    scratch = None
    for batch, rows, windows in _blocks(x, g):
        total = out[batch, rows]
        if scratch is None:
            scratch = np.empty(total.shape, out.dtype)
        term = scratch[: total.shape[0], : total.shape[1]]
        for position, tap in enumerate(np.ndindex(*g.window)):
            # The first product is the sum so far.
            target = term if position else total
            np.multiply(windows[(..., *tap, slice(None))], taps[tap], out=target)
            if position:
                np.add(total, term, out=total)


def depthwise_conv_input_gradient(
    input_shape: Sequence[int],
    filter: Array,
    dy: Array,
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
) -> Array:
    """Gradient of `depthwise_conv` with respect to x.

    Args:
        input_shape: shape of x, [batch, *spatial, C].
        filter: [*window, C, M].
        dy: [batch, *sizes, C * M].
        strides: as for `depthwise_conv`.
        pads: as for `depthwise_conv`.
        dilations: as for `depthwise_conv`.

    Returns:
        [batch, *spatial, C], dtype of dy.

    Raises:
        InvalidArgumentError: the shapes are not those of one convolution.

    Source:
        TensorFlow op `DepthwiseConv2dNativeBackpropInput`.
    """
    _check_channels(input_shape[-1], filter.shape)
    g = geometry(input_shape[1:-1], filter.shape[:-2], strides, pads, dilations)
    _check_dy(dy, (input_shape[0], *g.counts, input_shape[-1] * filter.shape[-1]))
    compute = computed_in(dy.dtype)
    dx = np.empty((*input_shape[:-1], dy.shape[-1]), compute)
    each = _one_each(filter)
    if not _slides_back(dy, each, g, dx):
        _add_shifted(each.astype(compute, copy=False), dy, g, dx)
    if filter.shape[-1] > 1:
        dx = dx.reshape(*input_shape, filter.shape[-1]).sum(axis=-1)
    return dx.astype(dy.dtype, copy=False)


def _slides_back(dy: Array, filter: Array, g: Geometry, dx: Array) -> bool:
    """dx[...] = the gradient by machine code; False where NumPy has to do it.

    It is a depthwise convolution, too: of dy, dilated by the strides, with the filter reversed, and
    padded so that the result is as large as x.
    """
    if dx.size == 0 or dy.size == 0:
        return False
    reaches = [(n - 1) * gap + 1 for n, gap in zip(g.window, g.dilations, strict=True)]
    spread = [(n - 1) * stride + 1 for n, stride in zip(g.counts, g.strides, strict=True)]
    before = [reach - 1 - pad for reach, (pad, _) in zip(reaches, g.pads, strict=True)]
    after = [
        size - n - pad + reach - 1
        for size, n, pad, reach in zip(dx.shape[1:-1], spread, before, reaches, strict=True)
    ]
    if min(*before, *after) < 0:
        return False
    given = dy
    if spread != list(g.counts):
        given = np.zeros((len(dy), *spread, dy.shape[-1]), dy.dtype)
        given[(slice(None), *(slice(None, None, stride) for stride in g.strides))] = dy
    ones = [1] * len(g.window)
    back = geometry(spread, g.window, ones, list(zip(before, after, strict=True)), g.dilations)
    turned = np.flip(filter, axis=tuple(range(len(g.window))))
    return tiles.depthwise(given, np.ascontiguousarray(turned), back, dx)


def _add_shifted(filter: Array, dy: Array, g: Geometry, dx: Array) -> None:
    """dx[...] = the gradient by NumPy, in the filter's dtype."""
    compute, batch = dx.dtype, len(dx)
    taps = _tap_rows(filter, g)
    # Whole images: windows of different rows add to the same positions.
    step = max(1, BLOCK_BYTES // max(1, math.prod(dy.shape[1:]) * compute.itemsize))
    sums = np.empty((min(step, batch), *g.reach, dy.shape[-1]), compute)
    term = np.empty((min(step, batch), *dy.shape[1:]), compute)
    for start in range(0, batch, step):
        part = dy[start : start + step].astype(compute, copy=False)
        padded = sums[: len(part)]
        padded[...] = 0
        for tap in np.ndindex(*g.window):
            product = np.multiply(part, taps[tap], out=term[: len(part)])
            target = padded[(slice(None), *g.tap_slices(tap))]
            np.add(target, product, out=target)
        dx[start : start + step] = padded[(slice(None), *g.interior)]


def depthwise_conv_filter_gradient(
    x: Array,
    filter_shape: Sequence[int],
    dy: Array,
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
) -> Array:
    """Gradient of `depthwise_conv` with respect to the filter.

    Args:
        x: [batch, *spatial, C].
        filter_shape: shape of the filter, [*window, C, M].
        dy: [batch, *sizes, C * M].
        strides: as for `depthwise_conv`.
        pads: as for `depthwise_conv`.
        dilations: as for `depthwise_conv`.

    Returns:
        [*window, C, M], dtype of x.

    Raises:
        InvalidArgumentError: the shapes are not those of one convolution.

    Source:
        TensorFlow op `DepthwiseConv2dNativeBackpropFilter`.
    """
    shape = tuple(filter_shape)
    _check_channels(x.shape[-1], shape)
    g = geometry(x.shape[1:-1], shape[:-2], strides, pads, dilations)
    _check_dy(dy, (len(x), *g.counts, shape[-2] * shape[-1]))
    compute = computed_in(x.dtype)
    x = _repeated(x, shape[-1])
    df = tiles.correlate_channels(x, dy, g)
    if df is None:
        df = _products_with(x.astype(compute, copy=False), dy.astype(compute, copy=False), g)
    return df.reshape(shape).astype(x.dtype, copy=False)


def _products_with(x: Array, dy: Array, g: Geometry) -> Array:
    """[*window, C * M]: the filter's gradient by NumPy, in one dtype."""
    df = np.zeros((*g.window, x.shape[-1]), x.dtype)
    scratch = None
    for batch, rows, windows in _blocks(x, g):
        part = dy[batch, rows]
        if scratch is None:
            scratch = np.empty(part.shape, x.dtype)
            ones = np.ones(part.size // part.shape[-1], x.dtype)
        term = scratch.reshape(-1)[: part.size].reshape(part.shape)
        for tap in np.ndindex(*g.window):
            np.multiply(windows[(..., *tap, slice(None))], part, out=term)
            # BLAS adds up the columns several times faster than sum(axis=0).
            columns = term.reshape(-1, part.shape[-1])
            df[tap] += np.dot(ones[: len(columns)], columns)
    return df


def _check_channels(channels: int, filter_shape: Sequence[int]) -> None:
    if filter_shape[-2] != channels:
        raise InvalidArgumentError(
            "depthwise filter must have as many channels as the input, got "
            f"{filter_shape[-2]} (filter {list(filter_shape)}) and {channels}"
        )


def _check_dy(dy: Array, shape: tuple[int, ...]) -> None:
    if dy.shape != shape:
        raise InvalidArgumentError(
            "gradient of a depthwise convolution must have the shape of its output, "
            f"{list(shape)}, got {list(dy.shape)}"
        )


def _repeated(x: Array, multiplier: int) -> Array:
    """[..., C * M]: channels repeated so that each filter has its own."""
    return x if multiplier == 1 else np.repeat(x, multiplier, axis=-1)


def _one_each(filter: Array) -> Array:
    """[*window, C * M, 1]: the filters of repeated channels."""
    return filter.reshape(*filter.shape[:-2], -1, 1)


def _tap_rows(filter: Array, g: Geometry) -> Array:
    """[*window, last count, C * M]: coefficients broadcast to a row of windows.

    A row of windows is contiguous at stride 1; broadcasting [C] along it would cut NumPy's inner
    loop down to C elements.
    """
    flat = filter.reshape(*g.window, 1, -1)
    return np.ascontiguousarray(np.broadcast_to(flat, (*g.window, g.counts[-1], flat.shape[-1])))


def _blocks(x: Array, g: Geometry) -> Iterator[tuple[slice, slice, Array]]:
    """Yields (images, rows, [images, rows, *counts[1:], *window, C]) for all windows."""
    if x.size == 0 or 0 in g.counts:
        return
    per_row = math.prod(g.counts[1:]) * x.shape[-1] * x.itemsize
    images = min(len(x), max(1, BLOCK_BYTES // (per_row * g.counts[0])))
    # With one spatial axis a row of windows is all of them: `_tap_rows` is that wide.
    rows = g.counts[0] if len(g.counts) == 1 else max(1, BLOCK_BYTES // per_row)
    padded = PaddedImages(x, g, images)
    for image in range(0, len(x), images):
        every = padded.windows(image)
        for row in range(0, g.counts[0], rows):
            windows = every[:, row : row + rows]
            yield (slice(image, image + len(every)), slice(row, row + windows.shape[1]), windows)
