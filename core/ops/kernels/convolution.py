"""Convolution over 1 to 3 spatial axes, channels last, and its two gradients.

Everything is a matrix product. Forward and filter gradient gather the windows of a block of images
into a matrix (`columns`, im2col), one row per window, and multiply; a block is small enough to be
still in the cache when it is multiplied. The input gradient is again a convolution, of `dy` with
the reversed filter, one for each phase of the strides, so that no zeros are inserted; or, if `dy`
has many more channels than x, the product is computed first and its parts are added up (col2im).
For results with few channels machine code has specialised kernels (`result_blocks`). With a group
for each channel, sums are over the window alone: that is `depthwise`.

Axes: x [batch, *spatial, C]; filter [*window, C / groups, O]; out and dy [batch, *sizes, O].
Channels first comes as a transposed view. `pads` are (before, after) per spatial axis.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.kernels import (
    blas,
    depthwise,
    phases,
    result_blocks,
    team,
    tiles,
    winograd,
)
from pinnace.ops.kernels.patches import Geometry, PaddedImages, Pads, geometry
from pinnace.ops.kernels.precision import Array, computed_in

# Bytes of columns gathered at a time. 2 to 8 MiB measured best: smaller blocks cost calls, and are
# not closer, since a BLAS thread fetches them from the cache of the core that gathered them anyway.
BLOCK_BYTES = 1 << 22
# Fewest contiguous elements of a window's row for which gathering rows beats gathering planes.
SHORT_RUN = 12
# Output channels per input channel beyond which adding up products beats gathering from dy.
MANY_OUTPUTS = 7
# Channels up to which BLAS' product of two tall matrices, such as the gradient of a filter of one
# tap, is slower than tiles that sum over pixels.
_NARROW = 64


class Block(NamedTuple):
    """The windows [images, rows] of a block, and their contents [windows, taps * channels]."""

    images: slice
    rows: slice
    columns: Array


def conv(
    x: Array,
    filter: Array,
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
    out: Array | None = None,
) -> Array:
    """Cross-correlation of x with a filter: what neural networks call convolution.

    Args:
        x: [batch, *spatial, C].
        filter: [*window, C / groups, O]; the number of groups follows from the shapes.
        strides: step between windows, per spatial axis.
        pads: zeros (before, after), per spatial axis; negative numbers crop.
        dilations: step between taps, per spatial axis.
        out: [batch, *sizes, O], dtype of x: written and returned if given.

    Returns:
        [batch, *sizes, O], dtype of x; 16-bit floats are summed in float32.

    Raises:
        InvalidArgumentError: the channels of x and of the filter do not fit.

    Source:
        TensorFlow ops `Conv2D`, `Conv3D`.
    """
    g = geometry(x.shape[1:-1], filter.shape[:-2], strides, pads, dilations)
    groups = _group_count(x.shape[-1], filter.shape)
    if groups > 1 and filter.shape[-2] == 1:
        filters = filter.reshape(_by_channel(filter.shape, groups))
        found = depthwise.depthwise_conv(x, filters, strides, pads, dilations)
        return _into(out, found)
    compute = computed_in(x.dtype)
    shape = (x.shape[0], *g.counts, filter.shape[-1])
    if compute != x.dtype:
        exact = np.empty(shape, compute)
        _conv_groups(x.astype(compute), filter.astype(compute), g, groups, exact)
        if out is None:
            return exact.astype(x.dtype)
        out[...] = exact
        return out
    result = np.empty(shape, compute) if out is None else out
    _conv_groups(x, filter, g, groups, result)
    return result


def conv_input_gradient(
    input_shape: Sequence[int],
    filter: Array,
    dy: Array,
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
    out: Array | None = None,
) -> Array:
    """Gradient of `conv` with respect to x; by itself the transposed convolution.

    Args:
        input_shape: shape of x, [batch, *spatial, C].
        filter: [*window, C / groups, O].
        dy: [batch, *sizes, O].
        strides: as for `conv`.
        pads: as for `conv`.
        dilations: as for `conv`.
        out: shape of x, dtype of dy: written and returned if given.

    Returns:
        [batch, *spatial, C], dtype of dy.

    Raises:
        InvalidArgumentError: the shapes are not those of one convolution.

    Source:
        TensorFlow ops `Conv2DBackpropInput`, `Conv3DBackpropInputV2`.
    """
    g = geometry(input_shape[1:-1], filter.shape[:-2], strides, pads, dilations)
    groups = _group_count(input_shape[-1], filter.shape)
    _check_dy(dy, (input_shape[0], *g.counts, filter.shape[-1]))
    if groups > 1 and filter.shape[-2] == 1:
        filters = filter.reshape(_by_channel(filter.shape, groups))
        found = depthwise.depthwise_conv_input_gradient(
            input_shape, filters, dy, strides, pads, dilations
        )
        return _into(out, found)
    compute = computed_in(dy.dtype)
    dy_exact = dy.astype(compute, copy=False)
    exact_filter = filter.astype(compute, copy=False)
    inputs, outputs = filter.shape[-2], filter.shape[-1] // groups
    exact = out is not None and compute == dy.dtype
    dx = out if out is not None and exact else np.empty(tuple(input_shape), compute)
    for group in range(groups):
        i = slice(group * inputs, (group + 1) * inputs)
        o = slice(group * outputs, (group + 1) * outputs)
        _input_gradient(exact_filter[..., o], dy_exact[..., o], g, dx[..., i])
    if out is None or exact:
        return dx.astype(dy.dtype, copy=False)
    out[...] = dx
    return out


def conv_filter_gradient(
    x: Array,
    filter_shape: Sequence[int],
    dy: Array,
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
) -> Array:
    """Gradient of `conv` with respect to the filter.

    Args:
        x: [batch, *spatial, C].
        filter_shape: shape of the filter, [*window, C / groups, O].
        dy: [batch, *sizes, O].
        strides: as for `conv`.
        pads: as for `conv`.
        dilations: as for `conv`.

    Returns:
        [*window, C / groups, O], dtype of x.

    Raises:
        InvalidArgumentError: the shapes are not those of one convolution.

    Source:
        TensorFlow ops `Conv2DBackpropFilter`, `Conv3DBackpropFilterV2`.
    """
    shape = tuple(filter_shape)
    g = geometry(x.shape[1:-1], shape[:-2], strides, pads, dilations)
    groups = _group_count(x.shape[-1], shape)
    _check_dy(dy, (x.shape[0], *g.counts, shape[-1]))
    if groups > 1 and shape[-2] == 1:
        by_channel = _by_channel(shape, groups)
        return depthwise.depthwise_conv_filter_gradient(
            x, by_channel, dy, strides, pads, dilations
        ).reshape(shape)
    compute = computed_in(x.dtype)
    x_exact, dy_exact = x.astype(compute, copy=False), dy.astype(compute, copy=False)
    if groups == 1:
        return _filter_gradient(x_exact, dy_exact, g).astype(x.dtype, copy=False)
    inputs, outputs = shape[-2], shape[-1] // groups
    df = np.empty(shape, compute)
    for group in range(groups):
        i = slice(group * inputs, (group + 1) * inputs)
        o = slice(group * outputs, (group + 1) * outputs)
        df[..., o] = _filter_gradient(x_exact[..., i], dy_exact[..., o], g)
    return df.astype(x.dtype, copy=False)


def _group_count(channels: int, filter_shape: Sequence[int]) -> int:
    inputs, outputs = filter_shape[-2:]
    if inputs == channels:
        return 1
    if inputs < 1 or channels < 1 or channels % inputs or outputs % (channels // inputs):
        raise InvalidArgumentError(
            "channels of the input must be a multiple of the filter's input channels, and the "
            "filter's output channels a multiple of that many groups, got "
            f"{channels} channels and a filter of shape {list(filter_shape)}"
        )
    return channels // inputs


def _by_channel(shape: Sequence[int], groups: int) -> tuple[int, ...]:
    """The shape of a filter with a group for each channel, as a depthwise convolution's filter.

    Both have their outputs in the same order.
    """
    return (*shape[:-2], groups, shape[-1] // groups)


def _into(out: Array | None, found: Array) -> Array:
    """The array, copied to `out` if that is given."""
    if out is None:
        return found
    out[...] = found
    return out


def _check_dy(dy: Array, shape: tuple[int, ...]) -> None:
    if dy.shape != shape:
        raise InvalidArgumentError(
            f"gradient of a convolution must have the shape of its output, {list(shape)}, "
            f"got {list(dy.shape)}"
        )


def _conv_groups(x: Array, filter: Array, g: Geometry, groups: int, out: Array) -> None:
    """out[...] = convolution, group by group, in one dtype."""
    if groups == 1:
        _conv(x, filter, g, out)  # itself, not a view: it may be known to `weights`
        return
    inputs, outputs = filter.shape[-2], filter.shape[-1] // groups
    for group in range(groups):
        i = slice(group * inputs, (group + 1) * inputs)
        o = slice(group * outputs, (group + 1) * outputs)
        _conv(x[..., i], filter[..., o], g, out[..., o])


def _conv(x: Array, filter: Array, g: Geometry, out: Array) -> None:
    """out[...] = convolution of one group; `out` may be a strided view."""
    outputs = filter.shape[-1]
    matrix = filter.reshape(-1, outputs)
    if out.size == 0:
        return
    if matrix.shape[0] == 0:
        out[...] = 0
        return
    if _is_one_tap(g) and max(g.strides) > 1:
        # Adjacent pixels: those further apart often map to the same cache sets.
        x = np.ascontiguousarray(x[(slice(None), *g.tap_slices((0,) * len(g.sizes)))])
        g = g._replace(sizes=g.counts, strides=(1,) * len(g.strides))
    if _is_pointwise(g) and out.flags.c_contiguous:
        tiles.product(x.reshape(-1, x.shape[-1]), matrix, out.reshape(-1, outputs), filter)
        return
    if (
        result_blocks.convolve(x, filter, g, out)
        or winograd.convolve(x, filter, g, out)
        or tiles.convolve(x, filter, g, out)
    ):
        return
    _gather_and_multiply(x, matrix, g, out)


def _gather_and_multiply(x: Array, matrix: Array, g: Geometry, out: Array) -> None:
    """out[...] = convolution by NumPy; the matrix is the filter, [taps * C, O]."""
    shared = out.size * matrix.shape[0] >= team.WORTH_PRODUCTS and team.members() > 1
    for images, rows, windows, planar in _window_blocks(x, g):
        part = out[images, rows]
        if not shared:
            _multiply(windows, planar, matrix, part)
            continue
        axis = 0 if len(windows) >= team.members() else 1
        step = -(-windows.shape[axis] // team.members())

        def work(
            piece: int,
            windows: Array = windows,
            planar: bool = planar,
            part: Array = part,
            axis: int = axis,
            step: int = step,
        ) -> None:
            cut = (slice(None),) * axis + (slice(piece * step, (piece + 1) * step),)
            _multiply(windows[cut], planar, matrix, part[cut])

        team.share(-(-windows.shape[axis] // step), work)


def _multiply(windows: Array, planar: bool, matrix: Array, out: Array) -> None:
    """out[...] = windows [images, *counts, *window, C] times the matrix."""
    columns = _gathered(windows, planar, np.empty(windows.size, windows.dtype))
    if out.flags.c_contiguous:
        np.matmul(columns, matrix, out=out.reshape(-1, out.shape[-1]))
    else:
        out[...] = np.matmul(columns, matrix).reshape(out.shape)


def _filter_gradient(x: Array, dy: Array, g: Geometry) -> Array:
    """[*window, C, O] for one group."""
    channels, outputs = x.shape[-1], dy.shape[-1]
    shape = (*g.window, channels, outputs)
    if dy.size == 0:
        return np.zeros(shape, dy.dtype)
    if _is_pointwise(g):
        narrow = tiles.correlate(x, dy, g) if channels <= _NARROW else None
        if narrow is not None:
            return narrow
        columns = x.reshape(-1, channels)
        return blas.matmul(columns.T, dy.reshape(-1, outputs)).reshape(shape)
    found = winograd.correlate(x, dy, g)
    if found is None:
        found = result_blocks.correlate(x, dy, g)
    if found is None:
        found = tiles.correlate(x, dy, g)
    if found is not None:
        return found
    return _columns_times(x, dy, g).reshape(shape)


def _columns_times(x: Array, dy: Array, g: Geometry) -> Array:
    """The filter gradient as a matrix, [taps * C, O], by NumPy."""
    outputs = dy.shape[-1]
    total: Array | None = None
    for images, rows, columns in column_blocks(x, g):
        part = blas.matmul(columns.T, dy[images, rows].reshape(-1, outputs))
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None  # noqa: S101 - for mypy: dy.size > 0, so there was a block
    return total


def _input_gradient(filter: Array, dy: Array, g: Geometry, dx: Array) -> None:
    """dx[...] = gradient of one group; `dx` may be a strided view."""
    inputs, outputs = filter.shape[-2:]
    if dx.size == 0:
        return
    if dy.size == 0:
        dx[...] = 0
    elif _is_pointwise(g):
        whole = dx.reshape(-1, inputs) if dx.flags.c_contiguous else None
        found = blas.matmul(dy.reshape(-1, outputs), filter.reshape(inputs, outputs).T, whole)
        if whole is None:
            dx[...] = found.reshape(dx.shape)
    elif result_blocks.convolve_back(filter, dy, g, dx):
        return
    elif outputs > MANY_OUTPUTS * inputs:
        _scatter_products(filter, dy, g, dx)
    else:
        _gather_phases(filter, dy, g, dx)


def _gather_phases(filter: Array, dy: Array, g: Geometry, dx: Array) -> None:
    """The input gradient as a convolution of dy per phase (position modulo stride) of x."""
    parts = phases.phases(g)
    if len(parts) > 1 and phases.convolve(filter, dy, g, dx):
        return
    transposed = filter.swapaxes(-1, -2)
    for positions, taps, part in parts:
        target = dx[positions]
        if part is None:
            target[...] = 0
        else:
            _conv(dy, np.ascontiguousarray(transposed[taps]), part, target)


def _scatter_products(filter: Array, dy: Array, g: Geometry, dx: Array) -> None:
    """Input gradient as products of dy and every tap, added where the tap had read.

    Planes, [taps, C, images, *sizes], because C is small here and the last spatial axis is not.
    """
    inputs, outputs = filter.shape[-2:]
    matrix = filter.reshape(-1, outputs)
    batch, sizes = dy.shape[0], dy.shape[1:-1]
    per_image = matrix.shape[0] * math.prod(sizes) * dy.itemsize
    step = max(1, BLOCK_BYTES // per_image)
    planes = np.empty((inputs, min(step, batch), *g.reach), dy.dtype)
    channels_last = (*range(1, planes.ndim), 0)
    for start in range(0, batch, step):
        block = dy[start : start + step]
        products = blas.matmul(matrix, block.reshape(-1, outputs).T)
        products = products.reshape(*g.window, inputs, len(block), *sizes)
        sums = planes[:, : len(block)]
        sums[...] = 0
        for tap in np.ndindex(*g.window):
            target = sums[(slice(None), slice(None), *g.tap_slices(tap))]
            target += products[tap]
        dx[start : start + step] = sums[(slice(None), slice(None), *g.interior)].transpose(
            channels_last
        )


def _is_pointwise(g: Geometry) -> bool:
    return _is_one_tap(g) and all(n == 1 for n in g.strides)


def _is_one_tap(g: Geometry) -> bool:
    return all(n == 1 for n in g.window) and not any(any(pair) for pair in g.pads)


def column_blocks(x: Array, g: Geometry) -> Iterator[Block]:
    """The windows of x as rows of a matrix, block by block.

    Args:
        x: [batch, *spatial, C].
        g: the convolution; no empty axis.

    Yields:
        Blocks that cover [batch, counts[0]] in order. A block is several whole images, or rows of
        one image. `columns` is [windows, taps * C] and valid until the next block is asked for.
    """
    buffer: Array | None = None
    for images, rows, windows, planar in _window_blocks(x, g):
        if buffer is None:
            buffer = np.empty(windows.size, x.dtype)
        yield Block(images, rows, _gathered(windows, planar, buffer))


def _window_blocks(x: Array, g: Geometry) -> Iterator[tuple[slice, slice, Array, bool]]:
    """Blocks as views [images, counts, *window, C], the first the largest; and how to gather them.

    Valid until the next block is requested.
    """
    batch, channels = x.shape[0], x.shape[-1]
    per_row = math.prod(g.counts[1:]) * math.prod(g.window) * channels * x.itemsize
    per_image = per_row * g.counts[0]
    images = min(batch, max(1, BLOCK_BYTES // per_image))
    rows = g.counts[0] if per_image <= 2 * BLOCK_BYTES else max(1, BLOCK_BYTES // per_row)
    # Copying costs by the contiguous run: a row of a window's taps, or a row of windows.
    run = channels * (g.window[-1] if g.dilations[-1] == 1 else 1)
    planar = run < min(SHORT_RUN, g.counts[-1])
    padded = PaddedImages(x, g, images)
    for image in range(0, batch, images):
        every = padded.windows(image)
        for row in range(0, g.counts[0], rows):
            view = every[:, row : row + rows]
            yield (slice(image, image + len(every)), slice(row, row + view.shape[1]), view, planar)


def _gathered(windows: Array, planar: bool, buffer: Array) -> Array:
    """[windows, taps * C], copied to the buffer; plane by plane if `planar`."""
    spatial = windows.ndim // 2 - 1
    count = len(windows) * math.prod(windows.shape[1 : 1 + spatial])
    view = windows
    if planar:
        # [*window, C, images, *counts]
        view = windows.transpose((*range(1 + spatial, 2 + 2 * spatial), *range(1 + spatial)))
    columns = buffer[: view.size].reshape(view.shape)
    np.copyto(columns, view)
    return columns.reshape(-1, count).T if planar else columns.reshape(count, -1)
