"""Statistics: weighted means, ranges, differences, correlations, integrals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops.arrays import moveaxis
from pinnace.keras.ops.families import EXTREMES
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import as_kind, floating, met, met_floats
from pinnace.ops.array import casting, combined, constants, padding, reshaping, slicing
from pinnace.ops.linalg import bands
from pinnace.ops.math import (
    arithmetic,
    clipping,
    exponents,
    products,
    reduction,
)
from pinnace.ops.nn import convolutions

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def _axes(axis: Any) -> Any:
    return list(axis) if isinstance(axis, tuple) else axis


@operation("numpy", "Average", "axis")
def average(x: Any, axis: Any = None, weights: Any = None) -> Tensor:
    """The weighted mean along axes.

    Args:
        x: [...]; integers become floats.
        axis: an axis or several; all if None.
        weights: the shape of `x`, or one per place of a single `axis`; all alike if None.

    Returns:
        [...] without the reduced axes, a float type.
    """
    if weights is None:
        return reduction.reduce_mean(floating(x), _axes(axis))
    values, each = met_floats(x, weights)
    if axis is None or values.shape.rank == each.shape.rank:
        total = reduction.reduce_sum(each, _axes(axis))
        return reduction.reduce_sum(values * each, _axes(axis)) / total
    return products.tensordot(values, each, [[axis], [0]]) / reduction.reduce_sum(each)


@operation("numpy", "Ptp", "axis", "keepdims", takes=EXTREMES.takes)
def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The distance of the largest and the smallest along axes."""
    tensor: Tensor = convert_to_tensor(x)
    high = reduction.reduce_max(tensor, _axes(axis), keepdims)
    low = reduction.reduce_min(tensor, _axes(axis), keepdims)
    return high - low


@operation("numpy", "Diff", "n", "axis")
def diff(a: Any, n: int = 1, axis: int = -1) -> Tensor:
    """Differences of consecutive elements, taken n times.

    Args:
        a: [..., m, ...], a number type; of bools it is where neighbours differ.
        n: how many times, not negative.
        axis: the axis.

    Returns:
        [..., m - n, ...], dtype of `a`.

    Raises:
        ValueError: `n` is negative, or `a` has no axes.
    """
    if n < 0:
        raise ValueError(f"keras.ops.diff: n must not be negative, got {n}")
    tensor: Tensor = convert_to_tensor(a)
    rank = tensor.shape.rank
    if n and not rank:
        raise ValueError("keras.ops.diff: a must have one axis at least, got a scalar")
    return combined.differences(tensor, n, axis)


@operation("numpy", "Trapezoid", "dx", "axis")
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The area under the straight lines between points.

    Args:
        y: [..., n, ...], a real number type; integers become floats.
        x: positions of the points, [n] or the shape of `y`; at equal distances if None.
        dx: their distance, if `x` is None.
        axis: the axis of concatenation.

    Returns:
        [...] without `axis`, a float type.
    """
    heights: Tensor = moveaxis(floating(y), axis, -1)
    wide: Any = dx
    if x is not None:
        places = casting.cast(x, heights.dtype)
        places = moveaxis(places, axis if (places.shape.rank or 0) > 1 else -1, -1)
        wide = places[..., 1:] - places[..., :-1]
    return reduction.reduce_sum(0.5 * (heights[..., 1:] + heights[..., :-1]) * wide, -1)


@operation("numpy", "Corrcoef")
def corrcoef(x: Any) -> Tensor:
    """Pearson's correlation of each pair of rows.

    Args:
        x: [variables, samples], or [samples] of one variable; a real number type.

    Returns:
        [variables, variables], a float type, from -1 to 1; NaN of a variable that is constant. A
        scalar of one variable.
    """
    tensor = floating(x)
    if tensor.shape.rank == 0:
        return constants.constant(math.nan, tensor.dtype)
    rows = tensor if (tensor.shape.rank or 2) > 1 else reshaping.expand_dims(tensor, 0)
    centred = rows - reduction.reduce_mean(rows, -1, keepdims=True)
    moments = products.matmul(centred, centred, transpose_b=True)
    size = exponents.sqrt(bands.diag_part(moments))
    outer = reshaping.expand_dims(size, -1) * reshaping.expand_dims(size, -2)
    found: Tensor = clipping.clip_by_value(moments / outer, -1.0, 1.0)
    return found if tensor.shape.rank != 1 else reshaping.reshape(found, [])


@operation("numpy", "Correlate", "mode")
def correlate(x1: Any, x2: Any, mode: str = "valid") -> Tensor:
    """The correlation of a sequence with a shifted one, for each shift.

    Args:
        x1: [n], a real number type.
        x2: [m]; both are promoted to one float dtype.
        mode: "valid" where one lies wholly in the other, "full" where they overlap at all,
            "same" as many from the middle as the longer one has.

    Returns:
        [abs(n - m) + 1], [n + m - 1] or [max(n, m)], a float type.

    Raises:
        ValueError: unknown mode, or not one axis of known size each.
    """
    a, b = met(x1, x2)
    if not a.dtype.is_floating:
        kind = dtypes.float64 if a.dtype is dtypes.int64 else dtypes.float32
        a, b = casting.cast(a, kind), casting.cast(b, kind)
    if mode not in {"valid", "full", "same"}:
        raise ValueError(f"keras.ops.correlate: mode must be valid, full or same, got {mode!r}")
    n, m = (x.shape[0] if x.shape.rank == 1 else None for x in (a, b))
    if n is None or m is None:
        raise ValueError(
            "keras.ops.correlate: x1 and x2 must have one axis of known size, got shapes "
            f"{a.shape.text} and {b.shape.text}"
        )
    signal = reshaping.reshape(padding.pad(a, [[m - 1, m - 1]]), [1, n + 2 * (m - 1), 1])
    full = convolutions.convolution(signal, reshaping.reshape(b, [m, 1, 1]), padding="VALID")
    full = reshaping.reshape(full, [n + m - 1])
    if mode == "full":
        return full
    longer, shorter = max(n, m), min(n, m)
    start = (n + m - 1 - longer) // 2 if mode == "same" else shorter - 1
    return slicing.slice(full, [start], [longer if mode == "same" else longer - shorter + 1])


@operation("nn", "PSNR", "max_val")
def psnr(x1: Any, x2: Any, max_val: float) -> Tensor:
    """The peak signal-to-noise ratio, in decibels, of the mean squared error to max_val squared.

    Args:
        x1: [...], a float type.
        x2: the shape of `x1`.
        max_val: the largest value that there could be.

    Returns:
        A scalar, dtype of `x1`.

    Raises:
        ValueError: the shapes differ.
    """
    a, b = convert_to_tensor(x1), convert_to_tensor(x2)
    if not a.shape.is_compatible_with(b.shape):
        raise ValueError(
            f"keras.ops.psnr: x1 and x2 must have one shape, got {a.shape.text} and {b.shape.text}"
        )
    error = reduction.reduce_mean(arithmetic.square(a - b))
    peak = exponents.log(as_kind(max_val, b.dtype))
    found: Tensor = (20.0 * peak - 10.0 * exponents.log(error)) / math.log(10.0)
    return found
