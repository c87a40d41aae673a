"""Reductions: sums, means, extremes, products and the like over axes."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor, holds_tensor
from pinnace.framework.dtypes import REAL, bool_, int32
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike, wrap
from pinnace.ops import flops
from pinnace.ops.array import (
    broadcasting,
    casting,
    constants,
    reshaping,
    selecting,
    shapes,
)
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels import extremes
from pinnace.ops.kernels.halves import converted
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.kernels.row_sums import (
    FEW_ROWS,
    SHORT_ROW,
    is_short,
    ones,
    reduce_short,
    sum_columns,
    sum_rows,
)
from pinnace.ops.math import arithmetic, comparison, complexes, division, ranges
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpCall, OpDef
from pinnace.ops.registry import gradient_of, reduction, register

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
]


# The axes of a tensor of rank n, for the ranks one meets.
_AXES = tuple(np.arange(rank, dtype=np.int32) for rank in range(9))


@takes_composites(ragged="reduction:reduce_sum")
def reduce_sum(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The sum over `axis`.

    Args:
        input_tensor: [...], a number type.
        axis: an axis, several, or an integer tensor; negative ones count from the end, None is all.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, dtype of `input_tensor`.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    return _reduced(SUM, input_tensor, axis, keepdims, name)


@gradient_of(constants.FILL)
def _fill_gradient(_: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return None, reduce_sum(dy)


@takes_composites(ragged="reduction:reduce_mean")
def reduce_mean(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean over `axis`; of integers, rounded towards zero.

    Args:
        input_tensor: [...], a number type.
        axis: an axis, several, or an integer tensor; negative ones count from the end, None is all.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, dtype of `input_tensor`.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    return _reduced(MEAN, input_tensor, axis, keepdims, name)


@takes_composites(ragged="reduction:reduce_prod")
def reduce_prod(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The product over `axis`.

    Args:
        input_tensor: [...], a number type.
        axis: an axis, several, or an integer tensor; negative ones count from the end, None is all.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, dtype of `input_tensor`.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    return _reduced(PROD, input_tensor, axis, keepdims, name)


@takes_composites(ragged="reduction:reduce_max")
def reduce_max(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The largest value over `axis`; NaN if there is one, the least value of the dtype if none.

    Args:
        input_tensor: [...], a real number type.
        axis: an axis, several, or an integer tensor; negative ones count from the end, None is all.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, dtype of `input_tensor`.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    return _reduced(MAX, input_tensor, axis, keepdims, name)


@takes_composites(ragged="reduction:reduce_min")
def reduce_min(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The least value over `axis`; NaN if there is one, the largest value of the dtype if none.

    Args:
        input_tensor: [...], a real number type.
        axis: an axis, several, or an integer tensor; negative ones count from the end, None is all.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, dtype of `input_tensor`.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    return _reduced(MIN, input_tensor, axis, keepdims, name)


@takes_composites(ragged="reduction:reduce_all")
def reduce_all(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Whether all values over `axis` are true.

    Args:
        input_tensor: [...], bool.
        axis: an axis, several, or an integer tensor; negative ones count from the end, None is all.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, bool.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    return _reduced(ALL, _truths(input_tensor), axis, keepdims, name)


@takes_composites(ragged="reduction:reduce_any")
def reduce_any(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Whether any value over `axis` is true.

    Args:
        input_tensor: [...], bool.
        axis: an axis, several, or an integer tensor; negative ones count from the end, None is all.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, bool.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    return _reduced(ANY, _truths(input_tensor), axis, keepdims, name)


def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """√Σ|x|² over `axis`.

    Args:
        input_tensor: [...], a number type.
        axis: an axis, several, or an integer tensor; negative ones count from the end, None is all.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, dtype of `input_tensor`.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    return _reduced(EUCLIDEAN_NORM, input_tensor, axis, keepdims, name)


def _truths(value: TensorLike) -> Tensor:
    """The tensor; bool for an empty list, which has no dtype."""
    return convert_to_tensor(value, dtype_hint=bool_)


def _reduced(
    op: OpDef, x: TensorLike, axis: Any, keepdims: bool | None, name: str | None
) -> Tensor:
    tensor = convert_to_tensor(x)
    return execute_one(op, tensor, axes_of(tensor, axis), keep_dims=bool(keepdims), name=name)


# The smallest array for which NumPy's loops over short rows are slow.
_LONG = 1 << 12


@functools.lru_cache(maxsize=256)
def _eager_axes(axes: tuple[int, ...]) -> Tensor:
    return wrap(np.array(axes, np.int32))


def sum_over(x: Tensor, axes: tuple[int, ...], keepdims: bool = False) -> Tensor:
    """The sum over `axes`, counted from 0 and known: needed by gradients of broadcasts."""
    if state.tracer is not None:
        return reduce_sum(x, axes, keepdims=keepdims)
    if not state.tapes and type(x) is Tensor:  # like an entry: not recorded, nothing to check
        return wrap(_total(x._array, axes, keepdims))
    return execute_one(SUM, x, _eager_axes(axes), keep_dims=keepdims)


@functools.lru_cache(maxsize=256)
def _eager_axis(axis: int) -> Tensor:
    return wrap(np.array(axis, np.int32))


def axes_of(x: Tensor, axis: Any) -> Any:
    """`axis` as an argument of ops: all axes for None; numbers and vectors unchanged."""
    if isinstance(axis, Operands):
        return axis
    if type(axis) is int and state.tracer is None:
        return _eager_axis(axis)
    if axis is None and type(x) is Tensor and state.tracer is None:
        return _eager_axes(tuple(range(x._array.ndim)))
    if axis is None:
        rank = x.shape.rank
        if rank is None:
            return ranges.range(0, shapes.rank(x), 1)
        array = _AXES[rank] if rank < len(_AXES) else np.arange(rank, dtype=np.int32)
    elif isinstance(axis, (list, tuple)) and holds_tensor(axis):
        return convert_to_tensor(axis, int32)
    else:
        array = np.asarray(axis)
        if array.dtype != np.int64 or not isinstance(axis, (np.ndarray, np.generic)):
            array = _as_int32(axis, array)
    # An eager tensor needs no conversion; a graph gets a constant.
    return wrap(array) if state.tracer is None else array


def _as_int32(axis: Any, array: Array) -> Array:
    if array.size and array.dtype.kind not in "iub":  # True counts as 1, as in TensorFlow
        raise TypeError(f"axis must be an integer, several, or an integer tensor, got {axis!r}")
    return array.astype(np.int32)


def _total(x: Array, axes: Any, keep: Any) -> Array:
    wide = computed_in(x.dtype)
    if (
        axes == (0,)
        and x.ndim == 2
        and wide == x.dtype
        and x.dtype.kind == "f"
        and len(x) <= FEW_ROWS
        and not keep
    ):
        # Columns of a matrix: BLAS is faster than add.reduce and adds in the same order.
        return np.dot(ones(len(x), x.dtype), x)  # type: ignore[no-any-return]
    total = _sum(x, axes, wide, keep)
    return total if wide == x.dtype else total.astype(x.dtype)


def _sum(x: Array, axes: Any, wide: np.dtype[Any], keep: Any) -> Array:
    if x.dtype == np.float16:
        x = converted(x, wide)
    if x.size >= _LONG and x.dtype == wide and x.dtype.kind == "f":
        lines = _lines(x.shape, tuple(axes))
        if lines is not None and x.flags.c_contiguous and x.dtype.itemsize >= 4:
            total = sum_columns(x.reshape(lines))
            shape = x.shape[: x.ndim - len(axes)]
            return total.reshape(shape + (1,) * len(axes) if keep else shape)
        if is_short(x, axes):
            return reduce_short(np.add, x, keep)
        sides = _sides(x.shape, tuple(sorted(axes))) if len(axes) else None
        if sides is not None and x.flags.c_contiguous:
            return _sum_between(x, sides, axes, keep)
        is_leading = sorted(axes) == list(range(len(axes))) and 0 < len(axes) < x.ndim
        if is_leading and x.flags.c_contiguous:
            after = x.shape[len(axes) :]
            total = sum_rows(x.reshape(-1, math.prod(after)))
            return total.reshape((1,) * len(axes) + after if keep else after)
    found: Array = np.add.reduce(x, axis=axes, dtype=wide, keepdims=keep)
    return found


@functools.lru_cache(maxsize=256)
def _lines(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int] | None:
    """The rows and their numbers if short rows are summed: the last axes, of few numbers."""
    first = len(shape) - len(axes)
    numbers = math.prod(shape[first:])
    is_last = first >= 0 and sorted(axes) == list(range(first, len(shape)))
    return (-1, numbers) if is_last and 1 < numbers <= SHORT_ROW else None


# This many rows or more, of at most this many elements, are not left to NumPy, which would start a
# loop per row.
_MIDDLE, _MOST_NUMBERS = 16, 512


@functools.lru_cache(maxsize=256)
def _sides(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int, int, int] | None:
    """The products of sizes before, along and after the summed axes, and of those summed last.

    As for means over the pixels of an image, or of a group of its channels. None if the axes lie
    otherwise, or NumPy is as quick.
    """
    end = next((n for n, axis in enumerate(axes) if axis != axes[0] + n), len(axes))
    first, after = axes[0], axes[0] + end
    tail = axes[end:]
    kept = len(shape) - len(tail)
    if after >= kept or tail != tuple(range(kept, len(shape))):
        return None
    before, rows = math.prod(shape[:first]), math.prod(shape[first:after])
    numbers, last = math.prod(shape[after:kept]), math.prod(shape[kept:])
    fits = rows >= _MIDDLE and 0 < numbers * last <= _MOST_NUMBERS
    return (before, rows, numbers, last) if fits else None


def _sum_between(x: Array, sides: tuple[int, int, int, int], axes: Any, keep: Any) -> Array:
    """`_sum` over middle axes, and optionally over the last ones; see `_sides`."""
    before, rows, numbers, last = sides
    blocks = x.reshape(before, rows, numbers * last)
    total: Array
    if rows <= FEW_ROWS:
        total = np.matmul(ones(rows, x.dtype)[None], blocks)
    else:
        total = np.stack([sum_rows(block) for block in blocks])
    if last > 1:
        total = np.add.reduce(total.reshape(before, numbers, last), axis=-1)
    shape = (
        [1 if axis in axes else size for axis, size in enumerate(x.shape)]
        if keep
        else [size for axis, size in enumerate(x.shape) if axis not in axes]
    )
    return total.reshape(shape)


def _mean(x: Array, axes: Any, keep: Any) -> Array:
    # The sum of integers overflows their dtype long before the mean does.
    wide = {"i": np.dtype(np.int64), "u": np.dtype(np.uint64)}.get(x.dtype.kind)
    wide = computed_in(x.dtype) if wide is None else wide
    total = _sum(x, axes, wide, keep)
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    if x.dtype.kind not in "iu":
        mean: Array = total / wide.type(count)
        return mean if wide == x.dtype else mean.astype(x.dtype)
    if not count:
        return np.zeros_like(total, x.dtype)
    # TensorFlow: division of integers truncates.
    return np.asarray(np.sign(total) * (np.abs(total) // count), x.dtype)


def _product(x: Array, axes: Any, keep: Any) -> Array:
    wide = computed_in(x.dtype)
    if wide == x.dtype and is_short(x, axes):
        return reduce_short(np.multiply, x, keep)
    product: Array = np.multiply.reduce(x, axis=axes, dtype=wide, keepdims=keep)
    return product if wide == x.dtype else product.astype(x.dtype)


def _extreme(ufunc: np.ufunc, worst: Callable[[Array], object]) -> Callable[..., Array]:
    """A reduction by a ufunc without identity; an empty one gives the dtype's worst value."""

    def kernel(x: Array, axes: Any, keep: Any) -> Array:
        if x.size:
            return extremes.reduce(ufunc, x, axes, keep)
        start = np.asarray(worst(x), x.dtype)[()]
        found: Array = ufunc.reduce(x, axis=axes, keepdims=keep, initial=start)
        return found

    return kernel


def _least(x: Array) -> object:
    kind = dtypes.from_numpy(x.dtype)
    return -np.inf if kind.is_floating else kind.min


def _largest(x: Array) -> object:
    kind = dtypes.from_numpy(x.dtype)
    return np.inf if kind.is_floating else kind.max


def _all(x: Array, axes: Any, keep: Any) -> Array:
    if is_short(x, axes):
        return reduce_short(np.logical_and, x, keep)
    return np.logical_and.reduce(x, axis=axes, keepdims=keep)  # type: ignore[no-any-return]


def _any(x: Array, axes: Any, keep: Any) -> Array:
    if is_short(x, axes):
        return reduce_short(np.logical_or, x, keep)
    return np.logical_or.reduce(x, axis=axes, keepdims=keep)  # type: ignore[no-any-return]


def _norm(x: Array, axes: Any, keep: Any) -> Array:
    wide = computed_in(x.dtype)
    squares = np.square(np.abs(x.astype(wide)))
    norm: Array = np.sqrt(np.add.reduce(squares, axis=axes, dtype=squares.dtype, keepdims=keep))
    return norm.astype(x.dtype)


def _known_axes(call: OpCall) -> tuple[int, ...] | None:
    """The reduced axes in order, counted from 0; None if rank or axes are unknown."""
    rank = call.inputs[0].shape.rank
    axes = broadcasting.known_value(call.inputs[1])
    if rank is None or axes is None:
        return None
    return tuple(sorted({int(axis) % rank for axis in axes.reshape(-1)}))


def _kept(call: OpCall, value: Tensor) -> Tensor:
    """`value`, in the output's shape, with reduced axes restored at size 1."""
    if call.attr("keep_dims"):
        return value
    x = call.inputs[0]
    axes = _known_axes(call)
    if axes is None:
        sizes = shapes.shape(x)
        return reshaping.reshape(
            value, selecting.where(_is_reduced(call), constants.ones_like(sizes), sizes)
        )
    if x.shape.is_fully_defined():
        return reshaping.reshape(
            value, [1 if axis in axes else size for axis, size in enumerate(x.shape)]
        )
    for axis in axes:
        value = reshaping.expand_dims(value, axis)
    return value


def _is_reduced(call: OpCall) -> Tensor:
    """[rank], bool: which axes of the input are reduced, if they are known only at run time."""
    rank = shapes.rank(call.inputs[0])
    axes = casting.cast(reshaping.reshape(call.inputs[1], [-1]), int32)
    # At least 1, so that a scalar does not divide by 0.
    axes = division.floormod(axes, arithmetic.maximum(rank, 1))
    every = reshaping.expand_dims(ranges.range(0, rank, 1), 1)
    return reduce_any(comparison.equal(every, axes), 1)


def _spread(call: OpCall, dy: Tensor) -> Tensor:
    """`dy` repeated to the shape of the input."""
    axes = _known_axes(call)
    # Leading axes are restored by broadcasting.
    if axes is None or axes != tuple(range(len(axes))):
        dy = _kept(call, dy)
    x = call.inputs[0]
    if type(dy) is Tensor and type(x) is Tensor and state.tracer is None:
        if not state.tapes:
            return wrap(np.broadcast_to(dy._array, x._array.shape))
        return execute_one(broadcasting.BROADCAST_TO, dy, _eager_axes(x._array.shape))
    return broadcasting.broadcast_to(dy, shapes.sizes(call.inputs[0]))


def _sum_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return _spread(call, dy), None


def _mean_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs[0], call.outputs[0]
    n: int | None
    m: int | None
    if type(x) is Tensor and type(y) is Tensor:
        n, m = x._array.size, y._array.size
    else:
        n, m = x.shape.num_elements(), y.shape.num_elements()
    if n is not None and m is not None:
        count: Any = float(n // max(m, 1))
    else:
        rows = shapes.size(x) // arithmetic.maximum(shapes.size(y), 1)
        count = casting.cast(rows, dy.dtype)
    return _spread(call, dy / count), None


def _extreme_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The gradient of an extreme: equal values share dy, as in TensorFlow."""
    x = call.inputs[0]
    hit = casting.cast(comparison.equal(x, _kept(call, call.outputs[0])), dy.dtype)
    count = reduce_sum(hit, call.inputs[1], keepdims=True)
    return hit / count * _kept(call, dy), None


def _norm_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return call.inputs[0] / (_kept(call, call.outputs[0]) / _kept(call, dy)), None


def _prod_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """dy times the product of the other factors, computed so that factors of 0 are correct."""
    x, axes = call.inputs
    zero = comparison.equal(x, constants.zeros_like(x))
    filled = selecting.where(zero, constants.ones_like(x), x)
    own = casting.cast(zero, int32)
    other_zeros = reduce_sum(own, axes, keepdims=True) - own
    quotient = reduce_prod(filled, axes, keepdims=True) / filled
    others = selecting.where(
        comparison.equal(other_zeros, 0), quotient, constants.zeros_like(quotient)
    )
    return _kept(call, dy) * complexes.conj(others), None


SUM = register(
    reduction("Sum", _total, _sum_gradient, fuse_row=("sum", "{total}"), flops=flops.each(1))
)


MEAN = register(
    reduction(
        "Mean",
        _mean,
        _mean_gradient,
        fuse_row=("sum", "{total} / T(width)"),
        flops=flops.each(1),
    )
)


PROD = register(reduction("Prod", _product, _prod_gradient, static=True, flops=flops.each(1)))


MAX = register(
    reduction(
        "Max",
        _extreme(np.maximum, _least),
        _extreme_gradient,
        types=REAL,
        fuse_row=("max", "{total}"),
        flops=flops.each(1),
    )
)


MIN = register(
    reduction(
        "Min",
        _extreme(np.minimum, _largest),
        _extreme_gradient,
        types=REAL,
        flops=flops.each(1),
    )
)


EUCLIDEAN_NORM = register(reduction("EuclideanNorm", _norm, _norm_gradient))


ALL = register(
    reduction(
        "All",
        _all,
        NOT_DIFFERENTIABLE,
        signature="input: bool, reduction_indices: Tidx -> output: bool",
    )
)


ANY = register(
    reduction(
        "Any",
        _any,
        NOT_DIFFERENTIABLE,
        signature="input: bool, reduction_indices: Tidx -> output: bool",
    )
)
