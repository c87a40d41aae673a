"""Maxima and means over windows, channels last, and their gradients.

Maxima and sums are taken along one spatial axis after the other: a window of k x k costs 2 k
passes, not k * k. No padded copy is made; a tap meets only the windows in which it reads the image.

Axes: x [batch, *spatial, C]; y and dy [batch, *sizes, C]. `pads` are (before, after) per spatial
axis.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pinnace.ops.kernels import compiled, recycling, volume_pooling
from pinnace.ops.kernels.image_shares import readable, share_images
from pinnace.ops.kernels.patches import Pads
from pinnace.ops.kernels.precision import Array, computed_in
from pinnace.ops.kernels.windows import window_counts

Ties: TypeAlias = Literal["first", "every"]
# Taps, steps and positions outside of x, per spatial axis.
Windows: TypeAlias = tuple[Sequence[int], Sequence[int], Pads]
# The windows of a tap, and the elements that it reads there.
Tap: TypeAlias = tuple[tuple[slice, ...], tuple[slice, ...]]

# Bytes of images whose gradient is worked on at a time: five arrays of about this size are in use.
BLOCK_BYTES = 1 << 19
# Number of channels from which compiled code processes them together.
_CHANNELS = 8


def max_pool(x: Array, ksize: Sequence[int], strides: Sequence[int], pads: Pads) -> Array:
    """The maximum of every window, per channel.

    Args:
        x: [batch, *spatial, C].
        ksize: taps per spatial axis.
        strides: step between windows, per spatial axis.
        pads: positions outside x (before, after), per spatial axis; they never win.

    Returns:
        [batch, *sizes, C], dtype of x. Like TensorFlow's CPU kernel, NaN never wins either, and
        a window of nothing else, or of -inf, gives the lowest finite value.

    Source:
        TensorFlow ops `MaxPool`, `MaxPool3D`.
    """
    counts = window_counts(x.shape[1:-1], ksize, strides, (1,) * len(ksize), pads)
    if x.ndim == 4 and x.shape[-1] >= _CHANNELS and readable(x):
        kernel = compiled.made("peaks")
        if kernel is not None:
            return _peaks(kernel, x, counts, (*ksize, *strides, pads[0][0], pads[1][0]))
        return _max_pool_by_numpy(x, counts, ksize, strides, pads)
    if x.ndim == 5:
        found = volume_pooling.peaks(x, counts, ksize, strides, pads)
        if found is not None:
            return found
        return _max_pool_by_numpy(x, counts, ksize, strides, pads)
    return _max_pool_by_numpy(x, counts, ksize, strides, pads)


def _peaks(
    kernel: Callable[..., Any], x: Array, counts: Sequence[int], windows: Sequence[int]
) -> Array:
    """Max pooling by compiled code, with images shared among threads."""
    y = recycling.empty((len(x), *counts, x.shape[-1]), np.float32)
    share_images(len(x), x.size, lambda start, stop: kernel(start, stop, *windows, x, y))
    return y


def _max_pool_by_numpy(
    x: Array, counts: Sequence[int], ksize: Sequence[int], strides: Sequence[int], pads: Pads
) -> Array:
    low = lowest(x.dtype)
    # fmax, not maximum: it passes over NaN. Integers have none.
    larger = np.fmax if x.dtype.kind in "fV" else np.maximum
    y = x
    for axis, count in enumerate(counts, start=1):
        taps, stride, before = ksize[axis - 1], strides[axis - 1], pads[axis - 1][0]
        y = _along(y, axis, count, taps, stride, before, larger, low)
    if x.dtype.kind in "fV" or y is x:
        y = larger(y, low)
    return y


def _along(
    x: Array,
    axis: int,
    count: int,
    taps: int,
    stride: int,
    before: int,
    combine: np.ufunc,
    neutral: object,
) -> Array:
    """Apply `combine` over the taps of each of `count` windows along an axis."""
    if taps == 1 and stride == 1 and x.shape[axis] == count:
        return x
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    out = np.empty(shape, x.dtype)
    lead = (slice(None),) * axis
    parts = list(_taps_along(x.shape[axis], count, taps, stride, before))
    # Taps that meet every window can be the start; two of them together save a pass.
    whole = [read for windows, read in parts if windows == slice(0, count)]
    rest = [part for part in parts if part[0] != slice(0, count)]
    if len(whole) >= 2:
        combine(x[(*lead, whole[0])], x[(*lead, whole[1])], out=out)
    elif whole:
        np.copyto(out, x[(*lead, whole[0])])
    else:
        out[...] = neutral
    for read in whole[2:]:
        combine(out, x[(*lead, read)], out=out)
    for windows, read in rest:
        part = out[(*lead, windows)]
        combine(part, x[(*lead, read)], out=part)
    return out


def _taps_along(
    size: int, count: int, taps: int, stride: int, before: int
) -> Iterator[tuple[slice, slice]]:
    """Per tap: the windows in which it lies inside the image, and the positions it reads."""
    for tap in range(taps):
        shift = tap - before  # window o reads position o * stride + shift
        first = max(0, -(shift // stride))
        last = min(count - 1, (size - 1 - shift) // stride)
        if first <= last:
            start = first * stride + shift
            yield (
                slice(first, last + 1),
                slice(start, start + (last - first) * stride + 1, stride),
            )


def lowest(dtype: np.dtype[Any]) -> Any:
    """The lowest finite value of a dtype, as a scalar."""
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).min)
    if dtype.kind == "f":
        return dtype.type(np.finfo(dtype).min)
    # bfloat16 and the 8-bit floats, which NumPy's finfo does not support: the largest finite value,
    # by trying all bit patterns.
    bits = np.arange(1 << (8 * min(dtype.itemsize, 2)), dtype=f"u{dtype.itemsize}")
    values = bits.view(dtype).astype(np.float32)
    return dtype.type(values[np.isfinite(values)].min())


def max_pool_gradient(
    x: Array,
    y: Array,
    dy: Array,
    ksize: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    ties: Ties = "first",
    rectified: bool = False,
    out: Array | None = None,
) -> Array:
    """Gradient of `max_pool`: dy goes to the position of the maximum.

    Args:
        x: [batch, *spatial, C].
        y: `max_pool` of x, [batch, *sizes, C].
        dy: gradient of y.
        ksize: as for `max_pool`.
        strides: as for `max_pool`.
        pads: as for `max_pool`.
        ties: "first": the first maximum in row-major order gets dy (TensorFlow `MaxPoolGrad`);
            "every": each maximum gets it (TensorFlow `MaxPool3DGrad`).
        rectified: only where x is positive, as if it had been made by max(x, 0).
        out: filled and returned if given: float32, C-contiguous.

    Returns:
        [batch, *spatial, C], dtype of dy.

    Source:
        TensorFlow ops `MaxPoolGrad`, `MaxPool3DGrad`.
    """
    dy_exact = dy.astype(computed_in(dy.dtype), copy=False)
    windows = ksize, strides, pads
    has_odd = ties == "first" and _needs_tournament(x, y)
    found = None if has_odd else _by_machine_code(x, y, dy_exact, windows, ties, rectified, out)
    if found is None:
        if has_odd:
            found = _to_winners(x, dy_exact, windows)
        else:
            found = _by_numpy(x, y, dy_exact, windows, ties)
        if rectified:
            found = _where(x > 0, found)
    if out is not None:
        if found is not out:
            out[...] = found
        return out
    return found.astype(dy.dtype, copy=False)


def _to_winners(x: Array, dy: Array, windows: Windows) -> Array:
    """The gradient for the first maximum of each window, found window by window."""
    dx = np.zeros(x.shape, dy.dtype)
    winners, _ = _winners(x, *windows)
    places = _flat_places(winners, x.shape)
    np.add.at(dx.reshape(-1), places.reshape(-1), dy.reshape(-1))
    return dx


def _lie_side_by_side(x: Array, y: Array, windows: Windows) -> bool:
    """Whether windows tile the image: no overlaps, gaps or overhang."""
    ksize, strides, pads = windows
    sizes = zip(ksize, strides, pads, y.shape[1:-1], x.shape[1:-1], strict=True)
    return all(k == s and count * s == size and not any(p) for k, s, p, count, size in sizes)


def _by_machine_code(
    x: Array,
    y: Array,
    dy: Array,
    windows: Windows,
    ties: Ties,
    rectified: bool,
    out: Array | None,
) -> Array | None:
    """The gradient by compiled code; None if NumPy has to compute it."""
    ksize, strides, pads = windows
    if ties == "every":
        return volume_pooling.gradient(x, y, dy, ksize, strides, pads, rectified, out)
    if x.ndim != 4 or not readable(x, y, dy):
        return None
    written = _lie_side_by_side(x, y, windows)
    kernel = compiled.made("maxima" if written else "stepped_maxima")
    if kernel is None:
        return None
    places = ksize if written else (*ksize, *strides, pads[0][0], pads[1][0])
    dx = recycling.empty(x.shape, np.float32) if out is None else out
    arrays = x, y, dy, dx
    share_images(
        len(x), x.size, lambda start, stop: kernel(start, stop, rectified, *places, *arrays)
    )
    return dx


def _by_numpy(x: Array, y: Array, dy: Array, windows: Windows, ties: Ties) -> Array:
    """The gradient by NumPy, in passes over all windows."""
    make = np.empty if _lie_side_by_side(x, y, windows) else np.zeros
    dx: Array = make(x.shape, dy.dtype)
    _send_in_parts(x, y, dy, dx, windows, ties)
    return dx


def _send_in_parts(
    x: Array,
    y: Array,
    dy_exact: Array,
    dx: Array,
    windows: Windows,
    ties: Ties,
) -> None:
    """`_send_to_maxima` for as many images at a time as fit in the cache."""
    ksize, strides, pads = windows
    taps = list(_taps(x.shape[1:-1], y.shape[1:-1], ksize, strides, pads))
    overlap = any(k > s for k, s in zip(ksize, strides, strict=True))
    step = max(1, BLOCK_BYTES // max(1, math.prod(x.shape[1:]) * x.dtype.itemsize))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        _send_to_maxima(x[part], y[part], dy_exact[part], dx[part], taps, overlap, ties)


def _send_to_maxima(
    x: Array, y: Array, dy: Array, dx: Array, taps: Sequence[Tap], overlap: bool, ties: Ties
) -> None:
    """Add dy to dx, tap by tap, where x equals y; without overlap, set it."""
    free = np.ones(y.shape, np.bool_)
    for windows, reads in taps:
        hit = np.equal(x[reads], y[windows])
        if ties == "first":
            mine = free[windows]
            hit &= mine
            mine ^= hit
        gradient = _where(hit, dy[windows])
        target = dx[reads]
        if overlap:
            np.add(target, gradient, out=target)
        else:
            target[...] = gradient


def _where(hit: npt.NDArray[np.bool_], value: Array) -> Array:
    """`value` where `hit`, else 0; a product would turn inf into NaN."""
    if value.dtype.itemsize not in (4, 8) or value.dtype.kind not in "fiu":
        return np.where(hit, value, value.dtype.type(0))
    # All ones or all zeros, and a bitwise and: several times faster than np.where.
    bits = np.dtype(f"i{value.dtype.itemsize}")
    mask = hit.view(np.int8).astype(bits)
    np.negative(mask, out=mask)
    mask &= np.ascontiguousarray(value).view(bits)
    return mask.view(value.dtype)


def _needs_tournament(x: Array, y: Array) -> bool:
    """Whether comparing x with y can miss a winner: x has NaN, or y is -inf."""
    if x.dtype.kind not in "fV":
        return False
    if x.dtype in (np.float32, np.float64) and x.flags.c_contiguous:
        # A sum of squares is NaN exactly if one of them is, and BLAS adds it up at full speed.
        flat = x.reshape(-1)
        has_nan = bool(np.isnan(np.dot(flat, flat)))
    else:
        has_nan = bool(np.isnan(x).any())
    return has_nan or bool((y == lowest(y.dtype)).any())


def _taps(
    sizes: Sequence[int],
    counts: Sequence[int],
    ksize: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
) -> Iterator[Tap]:
    """Per tap in row-major order: the windows it belongs to, and the elements it reads."""
    axes = [
        list(_taps_along(size, count, taps, stride, before))
        for size, count, taps, stride, (before, _) in zip(
            sizes, counts, ksize, strides, pads, strict=True
        )
    ]
    for choice in np.ndindex(*(len(axis) for axis in axes)):
        parts = [axis[i] for axis, i in zip(axes, choice, strict=True)]
        yield (
            (slice(None), *(windows for windows, _ in parts)),
            (slice(None), *(reads for _, reads in parts)),
        )


def _winners(
    x: Array, ksize: Sequence[int], strides: Sequence[int], pads: Pads
) -> tuple[npt.NDArray[np.int64], Array]:
    """Position of each window's winner within the image's spatial axes, flat; and its value.

    TensorFlow's rule: the first element wins until a strictly greater one follows, so that a NaN in
    first position wins and a later one never does.
    """
    sizes = x.shape[1:-1]
    counts = window_counts(sizes, ksize, strides, (1,) * len(ksize), pads)
    shape = (len(x), *counts, x.shape[-1])
    best = np.zeros(shape, x.dtype)
    places = np.full(shape, -1, np.int64)
    positions = np.arange(math.prod(sizes)).reshape(*sizes, 1)
    for windows, reads in _taps(sizes, counts, ksize, strides, pads):
        value, standing, place = x[reads], best[windows], places[windows]
        wins = (value > standing) | (place < 0)
        np.copyto(standing, value, where=wins)
        np.copyto(place, positions[reads[1:]], where=wins)
    return places, best


def _flat_places(places: npt.NDArray[np.int64], x_shape: Sequence[int]) -> npt.NDArray[np.int64]:
    """Flat index into x of each winner."""
    channels, positions = x_shape[-1], math.prod(x_shape[1:-1])
    image = np.arange(x_shape[0]).reshape(-1, *(1,) * (places.ndim - 1))
    return np.asarray((image * positions + places) * channels + np.arange(channels))


def max_pool_with_argmax(
    x: Array,
    ksize: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    include_batch_in_index: bool = False,
) -> tuple[Array, npt.NDArray[np.int64]]:
    """The maximum of every window and its position.

    Args:
        x: [batch, *spatial, C].
        ksize: as for `max_pool`.
        strides: as for `max_pool`.
        pads: as for `max_pool`.
        include_batch_in_index: flat index into all of x, not into its image.

    Returns:
        y [batch, *sizes, C] and argmax, int64, same shape: (row * width + column) * C + channel.
        The first of equal maxima. Unlike `max_pool`, NaN wins if it comes first in its window.

    Source:
        TensorFlow op `MaxPoolWithArgmax`.
    """
    places, best = _winners(x, ksize, strides, pads)
    if include_batch_in_index:
        return best, _flat_places(places, x.shape)
    return best, np.asarray(places * x.shape[-1] + np.arange(x.shape[-1]))


def max_pool_with_argmax_gradient(
    dy: Array, argmax: npt.NDArray[np.integer], input_shape: Sequence[int], with_batch: bool
) -> Array:
    """Gradient of `max_pool_with_argmax`: dy added up at the positions in `argmax`.

    Args:
        dy: [batch, *sizes, C].
        argmax: indices of `max_pool_with_argmax`, same shape.
        input_shape: shape of x.
        with_batch: whether the indices count from the start of the batch.

    Returns:
        `input_shape`, dtype of dy.

    Source:
        TensorFlow op `MaxPoolGradWithArgmax`.
    """
    dx = np.zeros(math.prod(input_shape), computed_in(dy.dtype))
    places = argmax.astype(np.int64)
    if not with_batch:
        per_image = math.prod(input_shape[1:])
        places += (np.arange(len(dy)) * per_image).reshape(-1, *(1,) * (dy.ndim - 1))
    np.add.at(dx, places.reshape(-1), dy.reshape(-1).astype(dx.dtype, copy=False))
    return dx.reshape(tuple(input_shape)).astype(dy.dtype, copy=False)


def avg_pool(x: Array, ksize: Sequence[int], strides: Sequence[int], pads: Pads) -> Array:
    """The mean of every window, per channel; padding is excluded.

    Args:
        x: [batch, *spatial, C], a float dtype.
        ksize: taps per spatial axis.
        strides: step between windows, per spatial axis.
        pads: positions outside x (before, after), per spatial axis.

    Returns:
        [batch, *sizes, C], dtype of x; 16-bit floats are summed in float32.

    Source:
        TensorFlow ops `AvgPool`, `AvgPool3D`.
    """
    compute = computed_in(x.dtype)
    counts = window_counts(x.shape[1:-1], ksize, strides, (1,) * len(ksize), pads)
    total = x.astype(compute, copy=False)
    for axis, count in enumerate(counts, start=1):
        taps, stride, before = ksize[axis - 1], strides[axis - 1], pads[axis - 1][0]
        total = _along(total, axis, count, taps, stride, before, np.add, 0)
    divisor = _tap_counts(x.shape[1:-1], counts, ksize, strides, pads, compute)
    mean: Array = np.divide(total, divisor, out=None if total is x else total)
    return mean.astype(x.dtype, copy=False)


def _tap_counts(
    sizes: Sequence[int],
    counts: Sequence[int],
    ksize: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dtype: np.dtype[np.generic],
) -> Array:
    """The number of taps of each window inside the image: [*counts, 1], or a scalar if equal."""
    if not any(any(pair) for pair in pads):
        return np.asarray(math.prod(ksize), dtype)
    total = np.ones((*counts, 1), dtype)
    for axis, size in enumerate(sizes):
        along = np.zeros(counts[axis], dtype)
        for windows, _ in _taps_along(
            size, counts[axis], ksize[axis], strides[axis], pads[axis][0]
        ):
            along[windows] += 1
        total *= along.reshape(-1, *(1,) * (len(sizes) - axis))
    return total


def avg_pool_gradient(
    input_shape: Sequence[int], dy: Array, ksize: Sequence[int], strides: Sequence[int], pads: Pads
) -> Array:
    """Gradient of `avg_pool`: each element gets its share of its windows' gradients.

    Args:
        input_shape: shape of x, [batch, *spatial, C].
        dy: [batch, *sizes, C].
        ksize: as for `avg_pool`.
        strides: as for `avg_pool`.
        pads: as for `avg_pool`.

    Returns:
        [batch, *spatial, C], dtype of dy.

    Source:
        TensorFlow ops `AvgPoolGrad`, `AvgPool3DGrad`.
    """
    compute = computed_in(dy.dtype)
    counts = dy.shape[1:-1]
    sizes = tuple(input_shape[1:-1])
    divisor = _tap_counts(sizes, counts, ksize, strides, pads, compute)
    spread: Array = dy.astype(compute, copy=False) / divisor
    # The last axis first: the array is still small while its rows are short.
    for axis in reversed(range(1, dy.ndim - 1)):
        taps, stride, before = ksize[axis - 1], strides[axis - 1], pads[axis - 1][0]
        spread = _spread_along(spread, axis, sizes[axis - 1], taps, stride, before)
    return spread.astype(dy.dtype, copy=False)


def _spread_along(dy: Array, axis: int, size: int, taps: int, stride: int, before: int) -> Array:
    """The adjoint of a sum over windows along one axis."""
    count = dy.shape[axis]
    if taps == 1 and stride == 1 and size == count and not before:
        return dy
    if taps == stride and count * stride == size and not before:
        return np.repeat(dy, taps, axis=axis)
    lead = (slice(None),) * axis
    out = np.zeros((*dy.shape[:axis], size, *dy.shape[axis + 1 :]), dy.dtype)
    for windows, reads in _taps_along(size, count, taps, stride, before):
        target = out[(*lead, reads)]
        if taps <= stride:
            target[...] = dy[(*lead, windows)]
        else:
            np.add(target, dy[(*lead, windows)], out=target)
    return out
