"""Batch normalisation over the last axis, forward and gradient.

Column sums go through BLAS (`ones @ x`), several times faster than sum(axis=0). Batch norm is
(x - mean) * factor + offset with one of each per channel, so x is read from memory three times: for
its mean, for its variance, and to be scaled; rows go in blocks that stay in the cache. Machine code
(`columns`) needs one pass for both moments.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pinnace.ops.kernels import columns
from pinnace.ops.kernels.masking import kept
from pinnace.ops.kernels.precision import Array, computed_in

# Bytes of rows worked on at a time, and the elements that a row should have for NumPy's inner loop.
BLOCK_BYTES = 1 << 18
WIDE = 512


class BatchNorm(NamedTuple):
    """The outputs of a batch norm's training step; all but y are [C], in the dtype of scale.

    Attributes:
        y: [..., C], dtype of x.
        mean: mean of the batch.
        variance: its variance with Bessel's correction, N / (N - 1), for the running average.
        biased_variance: its variance without, which y was normalised by and the gradient needs.
    """

    y: Array
    mean: Array
    variance: Array
    biased_variance: Array


def batch_norm_training(
    x: Array,
    scale: Array,
    offset: Array,
    epsilon: float,
    out: Array | None = None,
    *,
    rectified: bool = False,
) -> BatchNorm:
    """scale * (x - mean) / sqrt(variance + epsilon) + offset, moments over all axes but the last.

    Args:
        x: [..., C], a float dtype; 16-bit floats are computed with in float32.
        scale: [C].
        offset: [C].
        epsilon: added to the variance.
        out: shape and dtype of x, C-contiguous: y is written there if it is given.
        rectified: whether y is max(y, 0) of that.

    Returns:
        `BatchNorm`. For an empty batch, mean and variance are NaN and the biased variance is 0.

    Source:
        TensorFlow op `FusedBatchNormV3`, is_training=True (fused_batch_norm_op.cc).
    """
    rows, compute = _rows(x)
    count = len(rows)
    y = np.empty(x.shape, x.dtype) if out is None else out
    if count == 0:
        nan = np.full(scale.shape, np.nan, scale.dtype)
        return BatchNorm(y, nan, nan.copy(), np.zeros_like(scale))
    target = _target(y, rows)
    found = columns.normalise(rows, scale, offset, epsilon, target, rectified=rectified)
    if found is not None:
        _settle(target, y)
        return BatchNorm(y, found[0], found[2], found[1])
    mean, biased = _moments(rows)
    _scale_by(rows, mean, biased, scale, offset, epsilon, target, rectified)
    _settle(target, y)
    bessel = compute.type(count / max(count - 1, 1))
    return BatchNorm(
        y,
        mean.astype(scale.dtype, copy=False),
        (biased * bessel).astype(scale.dtype, copy=False),
        biased.astype(scale.dtype, copy=False),
    )


def batch_norm_inference(
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    epsilon: float,
    out: Array | None = None,
    *,
    rectified: bool = False,
) -> Array:
    """scale * (x - mean) / sqrt(variance + epsilon) + offset with given moments.

    Args:
        x: [..., C], a float dtype.
        scale: [C].
        offset: [C].
        mean: [C].
        variance: [C].
        epsilon: added to the variance.
        out: as for `batch_norm_training`.
        rectified: as for `batch_norm_training`.

    Returns:
        [..., C], dtype of x.

    Source:
        TensorFlow op `FusedBatchNormV3`, is_training=False.
    """
    rows, _ = _rows(x)
    y = np.empty(x.shape, x.dtype) if out is None else out
    target, given = _target(y, rows), (scale, offset, mean, variance, epsilon)
    if not columns.scale_by(rows, *given, target, rectified=rectified):
        _scale_by(rows, mean, variance, scale, offset, epsilon, target, rectified)
    _settle(target, y)
    return y


def batch_norm_training_gradient(
    dy: Array,
    x: Array,
    scale: Array,
    mean: Array,
    biased_variance: Array,
    epsilon: float,
    out: Array | None = None,
    *,
    offset: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Gradients of `batch_norm_training` with respect to x, scale and offset.

    Args:
        dy: [..., C], gradient of y.
        x: [..., C].
        scale: [C].
        mean: [C], of the batch.
        biased_variance: [C], of the batch.
        epsilon: as for `batch_norm_training`.
        out: shape and dtype of x, C-contiguous: dx is written there if it is given.
        offset: [C]; y was rectified if it is given.

    Returns:
        dx [..., C] in the dtype of x, dscale [C] and doffset [C] in the dtype of scale.

    Source:
        TensorFlow op `FusedBatchNormGradV3`, is_training=True; Ioffe and Szegedy, 2015, section 3.
    """
    rows, compute = _rows(x)
    dy_rows, _ = _rows(dy)
    dx = np.empty(x.shape, x.dtype) if out is None else out
    if len(rows) == 0:
        return dx, np.zeros_like(scale), np.zeros_like(scale)
    target = _target(dx, rows)
    given = (mean, biased_variance, epsilon)
    found = columns.slopes(rows, dy_rows, scale, offset, *given, target)
    if found is not None:
        _settle(target, dx)
        return dx, found[0], found[1]
    if offset is not None:
        y = np.empty(rows.shape, compute)
        _scale_by(rows, mean, biased_variance, scale, offset, epsilon, y, False)
        dy_rows = kept(dy_rows, y > 0)
    dscale, doffset = _slopes(rows, dy_rows, scale, *given, target)
    _settle(target, dx)
    return dx, dscale.astype(scale.dtype, copy=False), doffset.astype(scale.dtype, copy=False)


def _slopes(
    rows: Array, dy: Array, scale: Array, mean: Array, variance: Array, epsilon: float, dx: Array
) -> tuple[Array, Array]:
    """Gradients of scale and offset, by NumPy; fills dx."""
    compute = rows.dtype
    centre = mean.astype(compute, copy=False)
    inverse = 1 / np.sqrt(variance.astype(compute, copy=False) + compute.type(epsilon))
    doffset, projection = _gradient_sums(rows, dy, centre)
    # dx = factor * (dy - mean(dy) - (x - mean) * inverse^2 * mean(dy * (x - mean)))
    count = compute.type(len(rows))
    factor = scale.astype(compute, copy=False) * inverse
    wide, times = _widened(rows)
    slope = np.tile(factor * inverse * inverse * projection / count, times)
    constant = np.tile(factor * doffset / count, times)
    factors, centres = np.tile(factor, times), np.tile(centre, times)
    dy_wide, dx_wide = dy.reshape(wide.shape), dx.reshape(wide.shape)
    for part, buffer in _blocks(wide):
        np.subtract(wide[part], centres, out=buffer)
        np.multiply(buffer, slope, out=buffer)
        np.add(buffer, constant, out=buffer)
        np.subtract(dy_wide[part] * factors, buffer, out=dx_wide[part])
    return projection * inverse, doffset


def batch_norm_inference_gradient(
    dy: Array,
    x: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    epsilon: float,
    out: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Gradients of `batch_norm_inference` with respect to x, scale and offset; moments are fixed.

    Args:
        dy: [..., C], gradient of y.
        x: [..., C].
        scale: [C].
        mean: [C].
        variance: [C].
        epsilon: as for `batch_norm_inference`.
        out: as for `batch_norm_training_gradient`.

    Returns:
        dx [..., C] in the dtype of x, dscale [C] and doffset [C] in the dtype of scale.

    Source:
        TensorFlow op `FusedBatchNormGradV3`, is_training=False.
    """
    rows, compute = _rows(x)
    dy_rows, _ = _rows(dy)
    inverse = 1 / np.sqrt(variance.astype(compute, copy=False) + compute.type(epsilon))
    doffset, projection = _gradient_sums(rows, dy_rows, mean.astype(compute, copy=False))
    wide, times = _widened(dy_rows)
    dx = np.empty(x.shape, x.dtype) if out is None else out
    factors = np.tile(scale.astype(compute, copy=False) * inverse, times)
    target = _target(dx, rows)
    np.multiply(wide, factors, out=target.reshape(wide.shape))
    _settle(target, dx)
    return (
        dx,
        (projection * inverse).astype(scale.dtype, copy=False),
        doffset.astype(scale.dtype, copy=False),
    )


def _rows(x: Array) -> tuple[Array, np.dtype[np.generic]]:
    """x as [rows, C] in the dtype of the computation, and that dtype."""
    compute = computed_in(x.dtype)
    # Not reshape(-1, C): that cannot tell the number of rows when C is 0.
    rows = math.prod(x.shape[:-1])
    return x.reshape(rows, x.shape[-1]).astype(compute, copy=False), compute


def _target(result: Array, rows: Array) -> Array:
    """The array to fill for a result: itself as rows or, if it is less exact, a new array."""
    if result.dtype == rows.dtype:
        return result.reshape(rows.shape)
    return np.empty(rows.shape, rows.dtype)


def _settle(target: Array, result: Array) -> None:
    """Round the filled array into the result, unless they are the same."""
    if target.dtype != result.dtype:
        result[...] = target.reshape(result.shape)


def _column_sums(rows: Array) -> Array:
    """The sum of each column, [C]."""
    return np.asarray(np.dot(np.ones(len(rows), rows.dtype), rows))


def _widened(rows: Array) -> tuple[Array, int]:
    """[rows / times, times * C], and times.

    Broadcasting [C] over rows gives inner loops of C elements; for few channels that is slow, so
    several rows are joined.
    """
    count, channels = rows.shape
    times = max(1, min(count, WIDE // max(channels, 1)))
    while count % times:
        times -= 1
    return rows.reshape(count // times, times * channels), times


def _blocks(rows: Array) -> Iterator[tuple[slice, Array]]:
    """Slices that cover the rows, each with a buffer of its length."""
    step = max(1, BLOCK_BYTES // max(1, rows.shape[-1] * rows.itemsize))
    buffer = np.empty((min(step, len(rows)), rows.shape[-1]), rows.dtype)
    for start in range(0, len(rows), step):
        stop = min(start + step, len(rows))
        yield slice(start, stop), buffer[: stop - start]


def _moments(rows: Array) -> tuple[Array, Array]:
    """Mean and biased variance of each column, each [C]; at least one row.

    Differences from a first guess of the mean are squared: a sum of plain squares would lose all
    digits where the mean is large compared with the spread.
    """
    count = rows.dtype.type(len(rows))
    wide, times = _widened(rows)
    mean = _folded(_column_sums(wide), times) / count
    centres = np.tile(mean, times)
    squares, drift = np.zeros_like(centres), np.zeros_like(centres)
    for part, buffer in _blocks(wide):
        np.subtract(wide[part], centres, out=buffer)
        drift += _column_sums(buffer)
        np.multiply(buffer, buffer, out=buffer)
        squares += _column_sums(buffer)
    # The rounding error of the mean is subtracted from both.
    correction = _folded(drift, times) / count
    variance = _folded(squares, times) / count - correction * correction
    return mean + correction, np.maximum(variance, 0)


def _gradient_sums(rows: Array, dy: Array, centre: Array) -> tuple[Array, Array]:
    """Column sums of dy and of dy * (rows - centre), each [C]."""
    wide, times = _widened(rows)
    dy_wide, centres = dy.reshape(wide.shape), np.tile(centre, times)
    total, projection = np.zeros_like(centres), np.zeros_like(centres)
    for part, buffer in _blocks(wide):
        total += _column_sums(dy_wide[part])
        np.subtract(wide[part], centres, out=buffer)
        np.multiply(buffer, dy_wide[part], out=buffer)
        projection += _column_sums(buffer)
    return _folded(total, times), _folded(projection, times)


def _folded(sums: Array, times: int) -> Array:
    """Sums of widened columns, [times * C], as sums of the columns, [C]."""
    return np.asarray(sums.reshape(times, -1).sum(axis=0))


def _scale_by(
    rows: Array,
    mean: Array,
    variance: Array,
    scale: Array,
    offset: Array,
    epsilon: float,
    out: Array,
    rectified: bool,
) -> None:
    """out[...] = (rows - mean) * factor + offset, by NumPy.

    The mean is subtracted first: rows * factor + (offset - mean * factor) saves too little for the
    digits it loses where the mean is large.
    """
    compute = rows.dtype
    factor = scale.astype(compute, copy=False) / np.sqrt(
        variance.astype(compute, copy=False) + compute.type(epsilon)
    )
    wide, times = _widened(rows)
    centres = np.tile(mean.astype(compute, copy=False), times)
    factors = np.tile(factor, times)
    offsets = np.tile(offset.astype(compute, copy=False), times)
    y = out.reshape(wide.shape)
    for part, buffer in _blocks(wide):
        np.subtract(wide[part], centres, out=buffer)
        np.multiply(buffer, factors, out=buffer)
        if rectified:
            np.add(buffer, offsets, out=buffer)
            np.maximum(buffer, compute.type(0), out=y[part])
        else:
            np.add(buffer, offsets, out=y[part])
