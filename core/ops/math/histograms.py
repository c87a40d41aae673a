"""Histograms with bins of equal width: HistogramFixedWidth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import INDEX, as_dtype, float32, float64, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting
from pinnace.ops.execute import execute_one
from pinnace.ops.math import clipping, division, rounding
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__: list[str] = []

_PIECE = 1 << 14  # values that are counted at a time: they stay in the cache


def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: Any = int32,
    name: str | None = None,
) -> Tensor:
    """The number of values in each of `nbins` bins; values outside count in the end bins.

    Args:
        values: any shape, int32, int64, float32 or float64.
        value_range: [2], where the first bin begins and the last one ends, rising.
        nbins: a scalar above 0.
        dtype: int32 or int64.
        name: name of the node while tracing.

    Returns:
        [nbins], `dtype`.

    Raises:
        InvalidArgumentError: a value is NaN.
    """
    x = convert_to_tensor(values)
    limits = convert_to_tensor(value_range, x.dtype)
    count = convert_to_tensor(nbins, int32)
    return execute_one(HISTOGRAM_FIXED_WIDTH, x, limits, count, dtype=as_dtype(dtype), name=name)


def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: int = 100,
    dtype: Any = int32,
    name: str | None = None,
) -> Tensor:
    """The bin of each value, int32; arguments as for `histogram_fixed_width`.

    Args:
        values: [...], a real number type.
        value_range: [2], dtype of `values`: low below high; values beyond go into the outer bins.
        nbins: number of bins, above 0.
        dtype: accepted.
        name: name of the node while tracing.

    Returns:
        The shape of `values`, int32, from 0 to nbins - 1.

    Raises:
        InvalidArgumentError: `nbins` is not above 0.
    """
    ignored(
        "histogram_fixed_width_bins",
        "bins are int32, as in TensorFlow",
        int32,
        dtype=as_dtype(dtype),
    )
    if nbins <= 0:
        raise InvalidArgumentError(
            f"histogram_fixed_width_bins: nbins must be above 0, got {nbins}"
        )
    x = convert_to_tensor(values)
    limits = convert_to_tensor(value_range)
    share = division.truediv(x - limits[0], limits[1] - limits[0])
    places = rounding.floor(casting.cast(nbins, share.dtype) * share)
    inside = clipping.clip_by_value(places, 0.0, float(nbins - 1))
    return casting.cast(inside, int32, name)


def _kernel(values: Array, value_range: Array, nbins: Array, *, dtype: Any) -> Array:
    count = int(nbins)
    if value_range.shape != (2,) or not value_range[0] < value_range[1] or count <= 0:
        raise InvalidArgumentError(
            "HistogramFixedWidth: value_range must be two rising numbers and nbins above 0, got "
            f"{value_range.tolist()} and {count}"
        )
    low, high = value_range.astype(np.float64)
    width = (high - low) / count
    found = np.zeros(count, np.int64)
    flat, size = values.reshape(-1), max(_PIECE, 4 * count)
    for begin in range(0, flat.size, size):
        x = flat[begin : begin + size].astype(np.float64)
        x -= low
        x /= width
        np.clip(x, 0, count - 1, out=x)
        if np.isnan(x).any():
            raise InvalidArgumentError("HistogramFixedWidth: values must not contain NaN")
        found += np.bincount(x.astype(np.intp), minlength=count)
    return found.astype(dtype.numpy)


def _infer(call: InferCall) -> Shape:
    if not call.spec(1).shape.is_compatible_with([2]):
        call.fail("value_range must be two numbers")
    if call.spec(2).shape.rank not in (None, 0):
        call.fail("nbins must be a scalar")
    count = call.constant(2)
    return Shape([None if count is None else int(count)])


HISTOGRAM_FIXED_WIDTH = define(
    name="HistogramFixedWidth",
    signature="values: T, value_range: T, nbins: int32 -> out: dtype",
    types={"T": frozenset({int32, int64, float32, float64}), "dtype": typed(INDEX, default=int32)},
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
