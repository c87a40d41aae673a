"""Reductions over groups of rows defined by ids, sorted or in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import INDEX, NUMBERS, REAL, float64, int16, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting, constants, gathering, reshaping, selecting, shapes
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels.segments import Mean, Reduction, segment_reduce, unsorted_segment_reduce
from pinnace.ops.math import arithmetic, comparison, division, exponents
from pinnace.ops.opdef import InferCall, OpCall, OpDef, typed
from pinnace.ops.registry import register

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = [
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
]


def _sorted_kernel(how: Reduction | Mean) -> Callable[[Array, Array], Array]:
    def kernel(data: Array, segment_ids: Array) -> Array:
        return segment_reduce(data, segment_ids, how)

    return kernel


def _infer_sorted(call: InferCall) -> Shape:
    data, ids = call.spec(0).shape, call.spec(1).shape
    if ids.rank not in {None, 1}:
        call.fail("segment_ids must be a vector")
    if data.rank == 0:
        call.fail("data must have at least one axis")
    if data.rank is None:
        return Shape(None)
    if data[0] is not None and ids.rank and ids[0] is not None and data[0] != ids[0]:
        call.fail(f"segment_ids must have as many ids as data has rows, got {ids[0]} and {data[0]}")
    return Shape([None]).concatenate(data[1:])


def _sorted_op(name: str, how: Reduction | Mean, gradient: Any, types: Any) -> OpDef:
    return OpDef(
        name=name,
        signature="data: T, segment_ids: Tindices -> output: T",
        types={"T": types, "Tindices": INDEX},
        infer=_infer_sorted,
        kernel=_sorted_kernel(how),
        gradient=gradient,
    )


def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The sums of the rows with the same id.

    Args:
        data: [n, ...], a number type.
        segment_ids: [n], int32 or int64, sorted; ids that are left out give 0.
        name: name of the node while tracing.

    Returns:
        [last id + 1, ...].

    Raises:
        InvalidArgumentError: ids are not sorted, or not as many as rows.
    """
    return execute_one(SEGMENT_SUM, data, segment_ids, name=name)


def _sum_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return gathering.gather(dy, call.inputs[1]), None


SEGMENT_SUM = register(_sorted_op("SegmentSum", "sum", _sum_gradient, NUMBERS))


def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The means of the rows with the same id.

    Args:
        data: [n, ...], a number type.
        segment_ids: [n], int32 or int64, sorted.
        name: name of the node while tracing.

    Returns:
        [last id + 1, ...], dtype of `data`.

    Raises:
        InvalidArgumentError: ids are not sorted, or not as many as rows.
    """
    return execute_one(SEGMENT_MEAN, data, segment_ids, name=name)


def _mean_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    data, ids = call.inputs
    # Counts are real: complex numbers have no maximum.
    counter = float64 if dy.dtype.is_complex else dy.dtype
    ones = constants.ones(shapes.sizes(ids), counter)
    counts = arithmetic.maximum(segment_sum(ones, ids), 1)
    counts = casting.cast(counts, dy.dtype)
    rank = data.shape.rank
    if rank is None:
        raise InvalidArgumentError("SegmentMean: the gradient needs data of known rank")
    column = reshaping.reshape(counts, [-1] + [1] * (rank - 1))
    return gathering.gather(dy / column, ids), None


SEGMENT_MEAN = register(_sorted_op("SegmentMean", "mean", _mean_gradient, NUMBERS))


def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The products of the rows with the same id; 1 for missing ids.

    Args:
        data: [n, ...], a number type.
        segment_ids: [n], int32 or int64, sorted.
        name: name of the node while tracing.

    Returns:
        [last id + 1, ...], dtype of `data`.

    Raises:
        InvalidArgumentError: ids are not sorted, or not as many as rows.
    """
    return execute_one(SEGMENT_PROD, data, segment_ids, name=name)


def _prod_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The gradient by products of the other factors, correct for zeros."""
    data, ids = call.inputs
    zero = comparison.equal(data, constants.zeros_like(data))
    filled = selecting.where(zero, constants.ones_like(data), data)
    own = casting.cast(zero, int32)
    others = gathering.gather(segment_sum(own, ids), ids) - own
    quotient = gathering.gather(segment_prod(filled, ids), ids) / filled
    kept = selecting.where(comparison.equal(others, 0), quotient, constants.zeros_like(quotient))
    return gathering.gather(dy, ids) * kept, None


SEGMENT_PROD = register(_sorted_op("SegmentProd", "prod", _prod_gradient, NUMBERS))


def _extreme_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The gradient of an extreme: equal values share dy, as in TensorFlow."""
    data, ids = call.inputs
    zero = constants.zeros_like(data)
    hit = comparison.equal(data, gathering.gather(call.outputs[0], ids))
    count = segment_sum(casting.cast(hit, dy.dtype), ids)
    shared = gathering.gather(division.divide_no_nan(dy, count), ids)
    return selecting.where(hit, shared, zero), None


def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The maxima of the rows with the same id.

    Args:
        data: [n, ...], a real number type.
        segment_ids: [n], int32 or int64, sorted.
        name: name of the node while tracing.

    Returns:
        [last id + 1, ...], dtype of `data`.

    Raises:
        InvalidArgumentError: ids are not sorted, or not as many as rows.
    """
    return execute_one(SEGMENT_MAX, data, segment_ids, name=name)


SEGMENT_MAX = register(_sorted_op("SegmentMax", "max", _extreme_gradient, REAL))


def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The minima of the rows with the same id.

    Args:
        data: [n, ...], a real number type.
        segment_ids: [n], int32 or int64, sorted.
        name: name of the node while tracing.

    Returns:
        [last id + 1, ...], dtype of `data`.

    Raises:
        InvalidArgumentError: ids are not sorted, or not as many as rows.
    """
    return execute_one(SEGMENT_MIN, data, segment_ids, name=name)


SEGMENT_MIN = register(_sorted_op("SegmentMin", "min", _extreme_gradient, REAL))


def _unsorted(
    op: OpDef, data: TensorLike, ids: TensorLike, count: TensorLike, name: str | None
) -> Tensor:
    return execute_one(op, data, ids, count, name=name)


def _unsorted_kernel(how: Reduction) -> Callable[[Array, Array, Array], Array]:
    def kernel(data: Array, segment_ids: Array, num_segments: Array) -> Array:
        return unsorted_segment_reduce(data, segment_ids, int(num_segments), how)

    return kernel


def _infer_unsorted(call: InferCall) -> Shape:
    data, ids = call.spec(0).shape, call.spec(1).shape
    if call.spec(2).shape.rank not in {None, 0}:
        call.fail("num_segments must be a scalar")
    count = call.constant(2)
    if data.rank is None or ids.rank is None:
        return Shape(None)
    if data.rank < ids.rank or not data[: ids.rank].is_compatible_with(ids):
        call.fail("data must start with the shape of segment_ids")
    return Shape([None if count is None else max(int(count), 0)]).concatenate(data[ids.rank :])


def _taken(values: Tensor, ids: Tensor) -> Tensor:
    """The rows of `values` at `ids`; 0 for negative ids."""
    rows = gathering.gather(values, arithmetic.maximum(ids, 0))
    there = comparison.greater_equal(ids, constants.zeros_like(ids))
    rank, inner = rows.shape.rank, ids.shape.rank
    if rank is None or inner is None:
        raise InvalidArgumentError("UnsortedSegment: the gradient needs data and ids of known rank")
    for _ in range(rank - inner):
        there = reshaping.expand_dims(there, -1)
    return selecting.where(there, rows, constants.zeros_like(rows))


def _unsorted_op(
    name: str, how: Reduction, gradient: Any, types: Any, indices: Any = INDEX
) -> OpDef:
    return OpDef(
        name=name,
        signature="data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T",
        types={"T": types, "Tindices": indices, "Tnumsegments": typed(INDEX, default=int32)},
        infer=_infer_unsorted,
        kernel=_unsorted_kernel(how),
        gradient=gradient,
        fresh=True,
    )


@takes_composites(ragged="segments:unsorted_segment_sum")
def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The sums of the rows with the same id, in any order; rows with a negative id are left out.

    Args:
        data: [*shape of segment_ids, ...], a number type.
        segment_ids: [...], below `num_segments`.
        num_segments: a scalar: rows of the result.
        name: name of the node while tracing.

    Returns:
        [num_segments, ...].

    Raises:
        InvalidArgumentError: an id is out of range, or the shapes do not fit.
    """
    return _unsorted(UNSORTED_SEGMENT_SUM, data, segment_ids, num_segments, name)


def _unsorted_sum_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return _taken(dy, call.inputs[1]), None, None


UNSORTED_SEGMENT_SUM = register(
    _unsorted_op("UnsortedSegmentSum", "sum", _unsorted_sum_gradient, NUMBERS, INDEX | {int16})
)


@takes_composites(ragged="segments:unsorted_segment_prod")
def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The products of the rows with the same id; 1 for missing ids.

    Args:
        data: [*shape of segment_ids, ...], a number type.
        segment_ids: [...], below `num_segments`; rows with a negative id are left out.
        num_segments: a scalar: rows of the result.
        name: name of the node while tracing.

    Returns:
        [num_segments, ...], dtype of `data`.

    Raises:
        InvalidArgumentError: an id is out of range, or the shapes do not fit.
    """
    return _unsorted(UNSORTED_SEGMENT_PROD, data, segment_ids, num_segments, name)


def _unsorted_prod_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The gradient by products of the other factors, correct for zeros."""
    data, ids, count = call.inputs
    zero = comparison.equal(data, constants.zeros_like(data))
    filled = selecting.where(zero, constants.ones_like(data), data)
    own = casting.cast(zero, int32)
    others = _taken(unsorted_segment_sum(own, ids, count), ids) - own
    quotient = _taken(unsorted_segment_prod(filled, ids, count), ids) / filled
    kept = selecting.where(comparison.equal(others, 0), quotient, constants.zeros_like(quotient))
    return _taken(dy, ids) * kept, None, None


UNSORTED_SEGMENT_PROD = register(
    _unsorted_op("UnsortedSegmentProd", "prod", _unsorted_prod_gradient, NUMBERS)
)


def _unsorted_extreme_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The gradient of an extreme: equal values share dy, as in TensorFlow."""
    data, ids, count = call.inputs
    hit = comparison.equal(data, _taken(call.outputs[0], ids))
    ties = unsorted_segment_sum(casting.cast(hit, dy.dtype), ids, count)
    shared = _taken(division.divide_no_nan(dy, ties), ids)
    return selecting.where(hit, shared, constants.zeros_like(shared)), None, None


@takes_composites(ragged="segments:unsorted_segment_max")
def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The maxima of the rows with the same id; the lowest value of the dtype for missing ids.

    Args:
        data: [*shape of segment_ids, ...], a real number type.
        segment_ids: [...], below `num_segments`; rows with a negative id are left out.
        num_segments: a scalar: rows of the result.
        name: name of the node while tracing.

    Returns:
        [num_segments, ...], dtype of `data`.

    Raises:
        InvalidArgumentError: an id is out of range, or the shapes do not fit.
    """
    return _unsorted(UNSORTED_SEGMENT_MAX, data, segment_ids, num_segments, name)


UNSORTED_SEGMENT_MAX = register(
    _unsorted_op("UnsortedSegmentMax", "max", _unsorted_extreme_gradient, REAL)
)


@takes_composites(ragged="segments:unsorted_segment_min")
def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The minima of the rows with the same id; the highest value of the dtype for missing ids.

    Args:
        data: [*shape of segment_ids, ...], a real number type.
        segment_ids: [...], below `num_segments`; rows with a negative id are left out.
        num_segments: a scalar: rows of the result.
        name: name of the node while tracing.

    Returns:
        [num_segments, ...], dtype of `data`.

    Raises:
        InvalidArgumentError: an id is out of range, or the shapes do not fit.
    """
    return _unsorted(UNSORTED_SEGMENT_MIN, data, segment_ids, num_segments, name)


UNSORTED_SEGMENT_MIN = register(
    _unsorted_op("UnsortedSegmentMin", "min", _unsorted_extreme_gradient, REAL)
)


@takes_composites(ragged="segments:unsorted_segment_mean")
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The means of the rows with the same id; 0 for missing ids.

    Args:
        data: [*shape of segment_ids, ...], a number type.
        segment_ids: [...], below `num_segments`; rows with a negative id are left out.
        num_segments: a scalar: rows of the result.
        name: name of the node while tracing.

    Returns:
        [num_segments, ...], dtype of `data`.

    Raises:
        InvalidArgumentError: an id is out of range, or the shapes do not fit.
    """
    rows = convert_to_tensor(data)
    total = unsorted_segment_sum(rows, segment_ids, num_segments)
    return division.divide(total, _row_counts(rows, segment_ids, num_segments), name)


@takes_composites(ragged="segments:unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """sum / √(number of rows) for rows with one id.

    Args:
        data: [*shape of segment_ids, ...], a number type.
        segment_ids: [...], below `num_segments`; rows with a negative id are left out.
        num_segments: a scalar: rows of the result.
        name: name of the node while tracing.

    Returns:
        [num_segments, ...], dtype of `data`.

    Raises:
        InvalidArgumentError: an id is out of range, or the shapes do not fit.
    """
    rows = convert_to_tensor(data)
    total = unsorted_segment_sum(rows, segment_ids, num_segments)
    return division.divide(
        total, exponents.sqrt(_row_counts(rows, segment_ids, num_segments)), name
    )


def _row_counts(data: Tensor, segment_ids: TensorLike, num_segments: TensorLike) -> Tensor:
    """[num_segments, 1, …]: the number of rows of each id, at least 1."""
    ids = convert_to_tensor(segment_ids)
    ones = constants.ones(shapes.sizes(ids), data.dtype)
    counts = arithmetic.maximum(unsorted_segment_sum(ones, ids, num_segments), 1)
    rank, inner = data.shape.rank, ids.shape.rank
    if rank is None or inner is None:
        raise ValueError("unsorted_segment_mean: data and segment_ids must have known ranks")
    return reshaping.reshape(counts, [-1] + [1] * (rank - inner))
