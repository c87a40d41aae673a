"""Counting: occurrences of values, buckets, correct predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import INDEX, float32, float64, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting, constants, joining, reshaping, scattering, shapes
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.math import arithmetic, comparison, reduction
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, attr, typed
from pinnace.ops.registry import define, same_as_input

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = [
    "bincount",
    "confusion_matrix",
    "in_top_k",
    "is_non_decreasing",
    "is_strictly_increasing",
]

_COUNTS = frozenset({int32, int64, float32, float64})


def _require_size(name: str, size: Array) -> int:
    if size < 0:
        raise InvalidArgumentError(f"{name}: size must not be negative, got {int(size)}")
    return int(size)


def _counts(name: str, values: Array, size: int, weights: Array, binary: bool) -> Array:
    """The counts of one row."""
    if values.size and values.min() < 0:
        raise InvalidArgumentError(f"{name}: values must be non-negative, got {int(values.min())}")
    inside = values < size
    out = np.zeros(size, weights.dtype)
    if binary:
        out[values[inside]] = 1
    elif weights.size:
        np.add.at(out, values[inside], weights[inside])
    else:
        out += np.bincount(values[inside], minlength=size).astype(out.dtype)
    return out


@takes_composites(ragged="segments:bincount", sparse="counting:bincount_dense")
def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: Any = int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """The number of occurrences of 0, 1, 2, ….

    Args:
        arr: [...] with axis None or 0, [rows, n] with axis -1; int32 or int64, not negative.
        weights: the shape of `arr`: added up in place of ones.
        minlength: a scalar: the result is at least this long.
        maxlength: a scalar: the result is at most this long; larger values are not counted.
        dtype: dtype of the counts, where there are no weights.
        name: name of the node while tracing.
        axis: None or 0 counts all values, -1 those of each row.
        binary_output: 1 for each value that occurs, instead of its count.

    Returns:
        [largest value + 1], or [rows, largest value + 1].

    Raises:
        ValueError: unsupported axis, or both weights and binary_output.
        InvalidArgumentError: a value is negative.
    """
    if axis not in {None, 0, -1}:
        raise ValueError(f"bincount: axis must be None, 0 or -1, got {axis!r}")
    if binary_output and weights is not None:
        raise ValueError("bincount: weights and binary_output cannot be given together")
    values = convert_to_tensor(arr)
    if values.dtype not in INDEX:
        values = casting.cast(values, int32)
    size = bin_count(values, minlength, maxlength)
    if weights is None:
        each = constants.constant([], dtypes.as_dtype(dtype))
    else:
        each = convert_to_tensor(weights)
    if axis != -1:
        values = reshaping.reshape(values, [-1])
        each = reshaping.reshape(each, [-1])
    return execute_one(DENSE_BINCOUNT, values, size, each, binary_output=binary_output, name=name)


def _dense_kernel(input: Array, size: Array, weights: Array, *, binary_output: bool) -> Array:
    count = _require_size("DenseBincount", size)
    if weights.size and weights.shape != input.shape:
        raise InvalidArgumentError(
            "DenseBincount: weights must be empty or have the shape of input, "
            f"got {list(weights.shape)} and {list(input.shape)}"
        )
    if input.ndim <= 1:
        return _counts(
            "DenseBincount", input.reshape(-1), count, weights.reshape(-1), binary_output
        )
    out = np.empty((len(input), count), weights.dtype)
    for row, values in enumerate(input):
        each = weights[row] if weights.size else weights
        out[row] = _counts("DenseBincount", values, count, each, binary_output)
    return out


def _infer_dense(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if call.spec(1).shape.rank not in {None, 0}:
        call.fail(
            f"size must be a scalar: Shape must be rank 0 but is rank {call.spec(1).shape.rank}"
        )
    if shape.rank is None:
        return Shape(None)
    if shape.rank > 2:
        call.fail("input must have at most two axes: Shape must be at most rank 2")
    count = call.constant(1)
    last = Shape([None if count is None else int(count)])
    return last if shape.rank <= 1 else shape[:1].concatenate(last)


DENSE_BINCOUNT = define(
    name="DenseBincount",
    signature="input: Tidx, size: Tidx, weights: T -> output: T",
    types={"Tidx": INDEX, "T": _COUNTS},
    attrs={"binary_output": attr("bool", default=False)},
    infer=_infer_dense,
    kernel=_dense_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _infer_in_top_k(call: InferCall) -> Shape:
    predictions, targets = call.spec(0).shape, call.spec(1).shape
    if predictions.rank not in {None, 2}:
        call.fail("predictions must have two axes")
    if targets.rank not in {None, 1}:
        call.fail("targets must be a vector")
    if len(call.inputs) > 2 and call.spec(2).shape.rank not in {None, 0}:
        call.fail("k must be a scalar")
    rows = Shape([predictions[0]])
    if not rows.is_compatible_with(targets):
        call.fail("targets must have one entry per row of predictions")
    return rows.merge_with(targets)


def in_top_k(
    targets: TensorLike, predictions: TensorLike, k: TensorLike, name: str | None = None
) -> Tensor:
    """Whether each target is among the k largest predictions of its row; ties are.

    Args:
        targets: [rows], int32 or int64.
        predictions: [rows, classes], float32.
        k: a scalar.
        name: name of the node while tracing.

    Returns:
        [rows], bool; False where the target or its prediction is out of range or not finite.
    """
    wanted = convert_to_tensor(targets)
    return execute_one(
        IN_TOP_K_V2,
        predictions,
        wanted,
        casting.cast(convert_to_tensor(k), wanted.dtype),
        name=name,
    )


def _in_top_k_kernel(predictions: Array, targets: Array, k: Array | int) -> Array:
    rows, classes = predictions.shape
    inside = (targets >= 0) & (targets < classes)
    own = predictions[np.arange(rows), np.where(inside, targets, 0)] if classes else np.zeros(rows)
    better = np.add.reduce(predictions > own[:, None], axis=1, dtype=np.int32)
    # TensorFlow: in a row with a value that is not finite, no target counts as being in the top k.
    finite = np.isfinite(predictions).all(axis=1)
    return inside & finite & (better < k)  # type: ignore[no-any-return]


IN_TOP_K_V2 = define(
    name="InTopKV2",
    signature="predictions: float32, targets: T, k: T -> precision: bool",
    types={"T": typed(INDEX, default=int32)},
    infer=_infer_in_top_k,
    kernel=_in_top_k_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _bincount_kernel(arr: Array, size: Array, weights: Array) -> Array:
    count = _require_size("Bincount", size)
    if weights.size and weights.size != arr.size:
        raise InvalidArgumentError(
            "Bincount: weights must be empty or have as many elements as arr, got "
            f"{list(weights.shape)} and {list(arr.shape)}"
        )
    return _counts("Bincount", arr.reshape(-1), count, weights.reshape(-1), False)


def _infer_bincount(call: InferCall) -> Shape:
    count = call.constant(1)
    return Shape([None if count is None else int(count)])


BINCOUNT = define(
    name="Bincount",
    signature="arr: int32, size: int32, weights: T -> bins: T",
    types={"T": _COUNTS},
    infer=_infer_bincount,
    kernel=_bincount_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _bucketize_kernel(input: Array, *, boundaries: tuple[float, ...]) -> Array:
    edges = np.asarray(boundaries, np.float32)
    if (edges[1:] < edges[:-1]).any():
        raise InvalidArgumentError(f"Bucketize: boundaries must be sorted, got {list(boundaries)}")
    if len(edges) > _FEW or input.size < _MANY:
        return np.asarray(np.searchsorted(edges, input, side="right"), np.int32)
    # A pass for each edge is faster than a search for each number. NaN is above all of them.
    above = np.full(input.shape, len(edges), np.int8)
    for edge in edges:
        above -= (input < edge).view(np.int8)
    return above.astype(np.int32)


# Edges up to which numbers are compared with all of them, and numbers from which that pays off.
_FEW, _MANY = 32, 1 << 10

BUCKETIZE = define(
    name="Bucketize",
    signature="input: T -> output: int32",
    types={"T": _COUNTS},
    attrs={"boundaries": attr("list(float)")},
    infer=same_as_input,
    kernel=_bucketize_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


IN_TOP_K = define(
    name="InTopK",
    signature="predictions: float32, targets: T -> precision: bool",
    types={"T": typed(INDEX, default=int32)},
    attrs={"k": attr("int")},
    infer=_infer_in_top_k,
    kernel=lambda predictions, targets, *, k: _in_top_k_kernel(predictions, targets, k),
    gradient=NOT_DIFFERENTIABLE,
)


def bin_count(values: Tensor, minlength: TensorLike | None, maxlength: TensorLike | None) -> Tensor:
    """The number of bins for these values: a scalar of their dtype."""
    kind = values.dtype
    some = casting.cast(comparison.greater(shapes.size(values), 0), kind)
    # The maximum of nothing is the lowest integer; the product makes it 0.
    size = some * (reduction.reduce_max(values) + 1)
    if minlength is not None:
        size = arithmetic.maximum(casting.cast(convert_to_tensor(minlength), kind), size)
    if maxlength is not None:
        size = arithmetic.minimum(casting.cast(convert_to_tensor(maxlength), kind), size)
    return size


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    weights: TensorLike | None = None,
    dtype: Any = int32,
    name: str | None = None,
) -> Tensor:
    """The number of times each label (row) was predicted as each class (column).

    Args:
        labels: [n], integers that are not negative.
        predictions: [n], the same.
        num_classes: a scalar; None is one more than the largest of both.
        weights: [n]: added up in place of ones.
        dtype: dtype of the result.
        name: name of the node while tracing.

    Returns:
        [num_classes, num_classes].
    """
    rows = casting.cast(convert_to_tensor(labels), int64)
    columns = casting.cast(convert_to_tensor(predictions), int64)
    rows, columns = _same_rank(rows, columns)
    kind = dtypes.as_dtype(dtype)
    values = None if weights is None else casting.cast(convert_to_tensor(weights), kind)
    if rows.shape.rank is None or columns.shape.rank is None:
        # Elements are counted one by one, so that flattening allows shapes that differ in a last
        # axis of 1.
        rows, columns = (reshaping.reshape(one, [-1]) for one in (rows, columns))
        values = None if values is None else reshaping.reshape(values, [-1])
    if num_classes is None:
        last = arithmetic.maximum(reduction.reduce_max(rows), reduction.reduce_max(columns))
        count = last + 1
    else:
        count = casting.cast(convert_to_tensor(num_classes), int64)
    places = joining.stack([rows, columns], axis=-1)
    if values is None:
        values = constants.ones(shapes.sizes(rows), kind)
    return scattering.scatter_nd(places, values, joining.stack([count, count]), name=name)


def _same_rank(labels: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the same rank, by dropping a last axis of size 1 (or unknown size) from one."""
    m, n = labels.shape.rank, predictions.shape.rank
    if m is not None and n is not None:
        if m == n + 1 and labels.shape[-1] in {None, 1}:
            labels = reshaping.squeeze(labels, [-1])
        elif n == m + 1 and predictions.shape[-1] in {None, 1}:
            predictions = reshaping.squeeze(predictions, [-1])
    return labels, predictions


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether the values never decrease, in row-major order.

    Args:
        x: [...], a real number type.
        name: name of the node while tracing.

    Returns:
        [], bool; true with fewer than two values.
    """
    before, after = _neighbours(x)
    return reduction.reduce_all(comparison.less_equal(before, after), name=name)


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether the values strictly increase, in row-major order.

    Args:
        x: [...], a real number type.
        name: name of the node while tracing.

    Returns:
        [], bool; true with fewer than two values.
    """
    before, after = _neighbours(x)
    return reduction.reduce_all(comparison.less(before, after), name=name)


def _neighbours(x: TensorLike) -> tuple[Tensor, Tensor]:
    flat = reshaping.reshape(convert_to_tensor(x), [-1])
    return flat[:-1], flat[1:]
