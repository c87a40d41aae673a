"""Counts of values: SparseBincount, RaggedBincount, and the three ops with sparse results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import INDEX, DType, float32, float64, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, attr
from pinnace.ops.registry import define
from pinnace.ops.sparse.places import check_inside, check_parts, rank_of

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

_COUNTS = frozenset({int32, int64, float32, float64})

_LENGTHS = {
    "minlength": attr("int", default=-1),
    "maxlength": attr("int", default=-1),
    "binary_output": attr("bool"),
}
_OUTPUTS = "output_indices: int64, output_values: output_type, output_dense_shape: int64"


def _check_weights(who: str, values: Array, weights: Array) -> None:
    if weights.size and weights.shape != values.shape:
        raise InvalidArgumentError(
            f"{who}: weights must be empty or have the shape of the values, got "
            f"{list(weights.shape)} and {list(values.shape)}"
        )


def _check_values(who: str, values: Array) -> None:
    if values.size and values.min() < 0:
        raise InvalidArgumentError(f"{who}: values must be non-negative, got {int(values.min())}")


def _counted(
    who: str,
    rows: Array | None,
    count: int,
    values: Array,
    weights: Array,
    *,
    minlength: int,
    maxlength: int,
    binary_output: bool,
    output_type: DType,
) -> tuple[Array, Array, Array]:
    """The distinct values of each row in order with their counts; a single row if rows is None."""
    for name, length in (("minlength", minlength), ("maxlength", maxlength)):
        if length < -1:
            raise InvalidArgumentError(f"{who}: {name} must be -1, for none, or more, got {length}")
    _check_weights(who, values, weights)
    _check_values(who, values)
    keep = values < maxlength if maxlength >= 0 else np.ones(values.shape, np.bool_)
    found = values[keep].astype(np.int64)
    owner = np.zeros(len(found), np.int64) if rows is None else rows[keep].astype(np.int64)
    order = np.lexsort((found, owner))
    owner, found = owner[order], found[order]
    first = np.ones(len(found), np.bool_)
    first[1:] = (owner[1:] != owner[:-1]) | (found[1:] != found[:-1])
    starts = np.flatnonzero(first)
    if binary_output:
        totals = np.ones(len(starts), output_type.numpy)
    elif weights.size:
        totals = np.zeros(len(starts), output_type.numpy)
        # Added in the given order, as in TensorFlow.
        np.add.at(totals, np.cumsum(first) - 1, weights[keep][order])
    else:
        totals = np.diff(np.append(starts, len(found))).astype(output_type.numpy)
    largest = int(found.max()) if len(found) else 0
    size = maxlength if maxlength >= 0 else max(largest + 1, minlength)
    owner, found = owner[starts], found[starts]
    if rows is None:
        return found[:, None], totals, np.array([size], np.int64)
    return np.stack([owner, found], 1), totals, np.array([count, size], np.int64)


def _infer_counted(call: InferCall) -> tuple[Shape, ...]:
    """Infer the values' rank, with everything inside a row as one axis."""
    if call.op.name == "RaggedCountSparseOutput":
        rank: int | None = 2
    elif call.op.name == "SparseCountSparseOutput":
        indices, given = call.spec(0).shape, rank_of(call, 2)
        if given is None and indices.rank == 2:
            given = indices[1]
        rank = None if given is None else min(given, 2)
    else:
        rank = call.spec(0).shape.rank
        if rank not in {None, 1, 2}:
            call.fail("values must be a vector or a matrix")
        weights = call.spec(1).shape
        # Unweighted calls pass an empty vector as weights, whatever the rank of the values.
        if rank is None and (weights.rank == 2 or (weights.rank == 1 and weights[0])):
            rank = weights.rank
    return Shape([None, rank]), Shape([None]), Shape([rank])


def _dense_kernel(
    values: Array,
    weights: Array,
    *,
    minlength: int,
    maxlength: int,
    binary_output: bool,
    output_type: DType,
) -> tuple[Array, Array, Array]:
    who = "DenseCountSparseOutput"
    if values.ndim not in {1, 2}:
        raise InvalidArgumentError(
            f"{who}: values must be a vector or a matrix, got shape {list(values.shape)}"
        )
    if values.ndim == 2 and not len(values):
        raise InvalidArgumentError(f"{who}: values must have a row, got {list(values.shape)}")
    _check_weights(who, values, weights)
    rows = np.repeat(np.arange(len(values)), values.shape[1]) if values.ndim == 2 else None
    return _counted(
        who,
        rows,
        len(values),
        values.reshape(-1),
        weights.reshape(-1),
        minlength=minlength,
        maxlength=maxlength,
        binary_output=binary_output,
        output_type=output_type,
    )


DENSE_COUNT = define(
    name="DenseCountSparseOutput",
    signature=f"values: T, weights: output_type -> {_OUTPUTS}",
    types={"T": INDEX, "output_type": _COUNTS},
    attrs=_LENGTHS,
    infer=_infer_counted,
    kernel=_dense_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _sparse_kernel(
    indices: Array,
    values: Array,
    dense_shape: Array,
    weights: Array,
    *,
    minlength: int,
    maxlength: int,
    binary_output: bool,
    output_type: DType,
) -> tuple[Array, Array, Array]:
    who = "SparseCountSparseOutput"
    check_parts(who, indices, values, dense_shape)
    check_inside(who, indices, dense_shape.tolist())
    if not len(dense_shape) or (len(dense_shape) > 1 and dense_shape[0] == 0):
        raise InvalidArgumentError(
            f"{who}: dense_shape must have an axis, and a row where it has more, got "
            f"{dense_shape.tolist()}"
        )
    rows = indices[:, 0] if len(dense_shape) > 1 else None
    return _counted(
        who,
        rows,
        int(dense_shape[0]),
        values,
        weights,
        minlength=minlength,
        maxlength=maxlength,
        binary_output=binary_output,
        output_type=output_type,
    )


SPARSE_COUNT = define(
    name="SparseCountSparseOutput",
    signature=(
        "indices: int64, values: T, dense_shape: int64, weights: output_type -> " + _OUTPUTS
    ),
    types={"T": INDEX, "output_type": _COUNTS},
    attrs=_LENGTHS,
    infer=_infer_counted,
    kernel=_sparse_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _rows_of_splits(who: str, splits: Array, values: Array, least: int = 2) -> Array:
    """The row of each value."""
    for name, array in (("splits", splits), ("values", values)):
        if array.ndim != 1:
            raise InvalidArgumentError(
                f"{who}: {name} must be a vector, got shape {list(array.shape)}"
            )
    ends = splits.tolist()
    if len(ends) < least or ends[0] != 0 or ends[-1] != len(values) or (np.diff(splits) < 0).any():
        raise InvalidArgumentError(
            f"{who}: splits must have {least} entries at least, begin at 0, not fall, and end at "
            f"the number of values, which is {len(values)}, got {ends}"
        )
    return np.repeat(np.arange(len(ends) - 1), np.diff(splits))


def _ragged_kernel(
    splits: Array,
    values: Array,
    weights: Array,
    *,
    minlength: int,
    maxlength: int,
    binary_output: bool,
    output_type: DType,
) -> tuple[Array, Array, Array]:
    who = "RaggedCountSparseOutput"
    return _counted(
        who,
        _rows_of_splits(who, splits, values),
        len(splits) - 1,
        values,
        weights,
        minlength=minlength,
        maxlength=maxlength,
        binary_output=binary_output,
        output_type=output_type,
    )


RAGGED_COUNT = define(
    name="RaggedCountSparseOutput",
    signature=f"splits: int64, values: T, weights: output_type -> {_OUTPUTS}",
    types={"T": INDEX, "output_type": _COUNTS},
    attrs=_LENGTHS,
    infer=_infer_counted,
    kernel=_ragged_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _bins(
    who: str, rows: Array | None, count: int, values: Array, size: Array, weights: Array, once: bool
) -> Array:
    """[size] counts, or [count, size] given the row of each value."""
    if not once:
        _check_weights(who, values, weights)
    if size.ndim or size < 0:
        raise InvalidArgumentError(f"{who}: size must be a scalar, not negative, got {size}")
    _check_values(who, values)
    keep = values < size
    shape = (int(size),) if rows is None else (count, int(size))
    out = np.zeros(shape, weights.dtype)
    places = (values[keep],) if rows is None else (rows[keep], values[keep])
    if once:
        out[places] = 1
    else:
        np.add.at(out, places, weights[keep] if weights.size else 1)
    return out


def _sparse_bincount_kernel(
    indices: Array,
    values: Array,
    dense_shape: Array,
    size: Array,
    weights: Array,
    *,
    binary_output: bool,
) -> Array:
    who = "SparseBincount"
    check_parts(who, indices, values, dense_shape)
    check_inside(who, indices, dense_shape.tolist())
    if not len(dense_shape):
        raise InvalidArgumentError(f"{who}: dense_shape must have an axis")
    rows = indices[:, 0] if len(dense_shape) > 1 else None
    return _bins(who, rows, int(dense_shape[0]), values, size, weights, binary_output)


def _infer_sparse_bincount(call: InferCall) -> Shape:
    rank, size, sizes = rank_of(call, 2), call.constant(3), call.constant(2)
    last = None if size is None else int(size)
    if rank is None:
        return Shape(None)
    return Shape([last] if rank == 1 else [None if sizes is None else int(sizes[0]), last])


SPARSE_BINCOUNT = define(
    name="SparseBincount",
    signature=(
        "indices: int64, values: Tidx, dense_shape: int64, size: Tidx, weights: T -> output: T"
    ),
    types={"Tidx": INDEX, "T": _COUNTS},
    attrs={"binary_output": attr("bool", default=False)},
    infer=_infer_sparse_bincount,
    kernel=_sparse_bincount_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _ragged_bincount_kernel(
    splits: Array, values: Array, size: Array, weights: Array, *, binary_output: bool
) -> Array:
    who = "RaggedBincount"
    rows = _rows_of_splits(who, splits, values, least=1)
    return _bins(who, rows, len(splits) - 1, values, size, weights, binary_output)


def _infer_ragged_bincount(call: InferCall) -> Shape:
    splits, size = call.spec(0).shape, call.constant(2)
    rows = splits[0] - 1 if splits.rank and splits[0] is not None else None
    return Shape([rows, None if size is None else int(size)])


RAGGED_BINCOUNT = define(
    name="RaggedBincount",
    signature="splits: int64, values: Tidx, size: Tidx, weights: T -> output: T",
    types={"Tidx": INDEX, "T": _COUNTS},
    attrs={"binary_output": attr("bool", default=False)},
    infer=_infer_ragged_bincount,
    kernel=_ragged_bincount_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
