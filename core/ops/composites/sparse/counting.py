"""Counts of the values of sparse and ragged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting, constants, reshaping
from pinnace.ops.composites.checks import require_equal
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.composites.sparse.functions import as_sparse
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.math import counting as dense_counting
from pinnace.ops.sparse import counting

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = ["bincount", "bincount_dense"]


def bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: int | None = None,
    maxlength: int | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """The number of occurrences of 0, 1, 2, …, as a sparse tensor.

    Args:
        values: a tensor, SparseTensor or RaggedTensor of int32 or int64; what a sparse one does
            not have is not counted.
        weights: alike, added up in place of ones.
        axis: 0 or None counts all values, -1 those of each row.
        minlength: the last axis of the result is at least this long.
        maxlength: the last axis of the result is this long; larger values are not counted.
        binary_output: 1 for each value that occurs, instead of its count.
        name: name of the node while tracing.

    Returns:
        [largest value + 1], or [rows, largest value + 1]; of the dtype of `weights` or, without
        them, of `values`, which for sparse and ragged ones is the same.

    Raises:
        ValueError: unsupported axis, or both weights and binary_output.
        InvalidArgumentError: a value is negative.

    Source:
        TensorFlow ops `DenseCountSparseOutput`, `SparseCountSparseOutput` and
        `RaggedCountSparseOutput` (count_ops.cc).
    """
    _check(axis, weights, binary_output, "sparse.bincount")
    attrs = {
        "minlength": -1 if minlength is None else int(minlength),
        "maxlength": -1 if maxlength is None else int(maxlength),
        "binary_output": bool(binary_output),
    }
    if not isinstance(values, (SparseTensor, RaggedTensor)):
        values = convert_to_tensor(values)
    if axis != -1:
        values, weights = _flat(values, weights, "sparse.bincount")
    if isinstance(values, SparseTensor):
        each = _sparse_weights(values, weights, values.dtype, "sparse.bincount")
        parts = (values.indices, values.values, values.dense_shape, each)
        found = execute(counting.SPARSE_COUNT, *parts, name=name, **attrs)
    elif isinstance(values, RaggedTensor):
        each = _ragged_weights(weights, values.dtype, "sparse.bincount")
        splits = casting.cast(values.row_splits, dtypes.int64)
        found = execute(counting.RAGGED_COUNT, splits, values.values, each, name=name, **attrs)
    else:
        each = _dense_weights(weights, values.dtype)
        found = execute(counting.DENSE_COUNT, values, each, name=name, **attrs)
    return SparseTensor(*found)


def bincount_dense(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """`tf.math.bincount` of a sparse or ragged tensor."""
    _check(axis, weights, binary_output, "bincount")
    if axis != -1:
        arr, weights = _flat(arr, weights, "bincount")
        return dense_counting.bincount(
            arr, weights, minlength, maxlength, dtype, name, 0, binary_output
        )
    inner = arr.values
    if inner.dtype not in dtypes.INDEX:
        inner = casting.cast(inner, dtypes.int32)
        arr = arr.with_values(inner)
    size = dense_counting.bin_count(inner, minlength, maxlength)
    kind = dtypes.as_dtype(dtype)
    if isinstance(arr, SparseTensor):
        each = _sparse_weights(arr, weights, kind, "bincount")
        return execute_one(
            counting.SPARSE_BINCOUNT,
            arr.indices,
            inner,
            arr.dense_shape,
            size,
            each,
            binary_output=bool(binary_output),
            name=name,
        )
    each = _ragged_weights(weights, kind, "bincount")
    splits = casting.cast(arr.row_splits, dtypes.int64)
    return execute_one(
        counting.RAGGED_BINCOUNT,
        splits,
        inner,
        size,
        each,
        binary_output=bool(binary_output),
        name=name,
    )


def _check(axis: int | None, weights: Any, binary_output: bool, who: str) -> None:
    if axis not in {None, 0, -1}:
        raise ValueError(f"{who}: axis must be None, 0 or -1, got {axis!r}")
    if weights is not None and binary_output:
        raise ValueError(f"{who}: weights and binary_output cannot be given together")


def _flat(values: Any, weights: Any, who: str) -> tuple[Any, Any]:
    """All values and their weights, as vectors."""
    if isinstance(values, SparseTensor):
        if weights is not None:
            weights = _sparse_weights(values, weights, values.dtype, who)
        return values.values, weights
    if isinstance(values, RaggedTensor):
        if isinstance(weights, RaggedTensor):
            weights = weights.flat_values
        return reshaping.reshape(values.flat_values, [-1]), weights
    if weights is not None:
        weights = reshaping.reshape(convert_to_tensor(weights), [-1])
    return reshaping.reshape(values, [-1]), weights


def _dense_weights(weights: Any, kind: dtypes.DType) -> Tensor:
    return constants.constant([], kind) if weights is None else convert_to_tensor(weights)


def _sparse_weights(x: SparseTensor, weights: Any, kind: dtypes.DType, who: str) -> Tensor:
    if weights is None:
        return constants.constant([], kind)
    each = as_sparse(weights, f"{who}: weights")
    require_equal(x.indices, each.indices, f"{who}: weights must have the indices of the values")
    return each.values


def _ragged_weights(weights: Any, kind: dtypes.DType, who: str) -> Tensor:
    if weights is None:
        return constants.constant([], kind)
    if not isinstance(weights, RaggedTensor):
        raise ValueError(f"{who}: weights of ragged values must be ragged, got {weights!r}")  # noqa: TRY004 - TensorFlow's class
    found: Tensor = weights.values
    return found
