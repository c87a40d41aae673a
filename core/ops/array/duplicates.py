"""Distinct values: Unique, UniqueV2, counts, and the difference of two lists."""

from typing import Any, NamedTuple

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import ANY_VALUE, INDEX, DType, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array.axes import normal_axis, require_rank
from pinnace.ops.execute import execute
from pinnace.ops.kernels import sorting
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, typed
from pinnace.ops.registry import define

__all__ = ["setdiff1d", "unique", "unique_with_counts"]


def _infer_unique(call: InferCall) -> tuple[Shape, ...]:
    require_rank(call, 0, 1, "x must be a vector")
    return (Shape([None]), call.spec(0).shape.with_rank(1), Shape([None]))[: len(call.op.outputs)]


class UniqueValues(NamedTuple):
    """The result of `unique`."""

    y: Tensor
    idx: Tensor


def unique(x: TensorLike, out_idx: Any = int32, name: str | None = None) -> UniqueValues:
    """The distinct values of `x` in the order of their first appearance.

    Args:
        x: [n], any dtype.
        out_idx: dtype of `idx`: int32 or int64.
        name: name of the node while tracing.

    Returns:
        y: [m], dtype of `x`, and idx: [n] with y[idx[i]] = x[i].
    """
    return UniqueValues(*execute(UNIQUE, x, out_idx=dtypes.as_dtype(out_idx), name=name))


def _unique_kernel(x: Array, *, out_idx: DType) -> tuple[Array, Array]:
    y, idx, _ = sorting.unique(x, out_idx.numpy)
    return y, idx


UNIQUE = define(
    name="Unique",
    signature="x: T -> y: T, idx: out_idx",
    types={"T": ANY_VALUE, "out_idx": typed(INDEX, default=int32)},
    infer=_infer_unique,
    kernel=_unique_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


class CountedValues(NamedTuple):
    """The result of `unique_with_counts`."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # TensorFlow's name; tuple.count gives way


def unique_with_counts(
    x: TensorLike, out_idx: Any = int32, name: str | None = None
) -> CountedValues:
    """The distinct values of `x` in the order of their first appearance, and their counts.

    Args:
        x: [n], any dtype.
        out_idx: dtype of `idx` and `count`: int32 or int64.
        name: name of the node while tracing.

    Returns:
        y: [m], dtype of `x`; idx: [n] with y[idx[i]] = x[i]; count: [m].
    """
    return CountedValues(
        *execute(UNIQUE_WITH_COUNTS, x, out_idx=dtypes.as_dtype(out_idx), name=name)
    )


def _unique_with_counts_kernel(x: Array, *, out_idx: DType) -> tuple[Array, Array, Array]:
    return sorting.unique(x, out_idx.numpy)


UNIQUE_WITH_COUNTS = define(
    name="UniqueWithCounts",
    signature="x: T -> y: T, idx: out_idx, count: out_idx",
    types={"T": ANY_VALUE, "out_idx": typed(INDEX, default=int32)},
    infer=_infer_unique,
    kernel=_unique_with_counts_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


class ListDifference(NamedTuple):
    """The result of `setdiff1d`."""

    out: Tensor
    idx: Tensor


def setdiff1d(
    x: TensorLike, y: TensorLike, index_dtype: Any = int32, name: str | None = None
) -> ListDifference:
    """The values of `x` that are not in `y`, in order, duplicates too.

    Args:
        x: [n], any dtype.
        y: [m], dtype of `x`.
        index_dtype: dtype of `idx`: int32 or int64.
        name: name of the node while tracing.

    Returns:
        out: [k], dtype of `x`, and idx: [k] with out[i] = x[idx[i]].
    """
    return ListDifference(
        *execute(LIST_DIFF, x, y, out_idx=dtypes.as_dtype(index_dtype), name=name)
    )


def _list_diff_kernel(x: Array, y: Array, *, out_idx: DType) -> tuple[Array, Array]:
    gone = set(y.tolist())
    kept = [i for i, item in enumerate(x.tolist()) if item not in gone]
    return x[np.array(kept, np.intp)], np.array(kept, out_idx.numpy)


def _infer_list_diff(call: InferCall) -> tuple[Shape, ...]:
    for index in (0, 1):
        require_rank(call, index, 1, "x and y must be vectors")
    return Shape([None]), Shape([None])


LIST_DIFF = define(
    name="ListDiff",
    signature="x: T, y: T -> out: T, idx: out_idx",
    types={"T": ANY_VALUE, "out_idx": typed(INDEX, default=int32)},
    infer=_infer_list_diff,
    kernel=_list_diff_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _along(op: str, x: Array, axis: Array, out_idx: DType) -> tuple[Array, Array, Array]:
    if axis.size > 1:
        raise InvalidArgumentError(f"{op}: axis must have at most one entry, got {axis.tolist()}")
    if not axis.size:
        return sorting.unique(x, out_idx.numpy)
    at = normal_axis(op, int(axis.reshape(-1)[0]), x.ndim)
    return sorting.unique_along(x, at, out_idx.numpy)


def _infer_unique_v2(call: InferCall) -> tuple[Shape, ...]:
    shape, axis = call.spec(0).shape, call.constant(1)
    require_rank(call, 1, 1, "axis must be a vector: empty, or of one axis")
    counts = Shape([None])
    if shape.rank is None or axis is None or (not axis.size and shape.rank != 1):
        values = Shape(None if shape.rank is None else [None] * shape.rank)
        return (values, Shape([None]), counts)[: len(call.op.outputs)]
    at = 0 if not axis.size else int(axis.reshape(-1)[0])
    if not -shape.rank <= at < shape.rank:
        call.fail(f"axis must be in [{-shape.rank}, {shape.rank}), got {at}")
    at %= shape.rank
    y = Shape([None if i == at else n for i, n in enumerate(shape)])
    return (y, Shape([shape[at]]), counts)[: len(call.op.outputs)]


def _unique_v2_kernel(x: Array, axis: Array, *, out_idx: DType) -> tuple[Array, Array]:
    y, idx, _ = _along("UniqueV2", x, axis, out_idx)
    return y, idx


UNIQUE_V2 = define(
    name="UniqueV2",
    signature="x: T, axis: Taxis -> y: T, idx: out_idx",
    types={
        "T": ANY_VALUE,
        "Taxis": typed(INDEX, default=int64),
        "out_idx": typed(INDEX, default=int32),
    },
    infer=_infer_unique_v2,
    kernel=_unique_v2_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _unique_with_counts_v2_kernel(
    x: Array, axis: Array, *, out_idx: DType
) -> tuple[Array, Array, Array]:
    return _along("UniqueWithCountsV2", x, axis, out_idx)


UNIQUE_WITH_COUNTS_V2 = define(
    name="UniqueWithCountsV2",
    signature="x: T, axis: Taxis -> y: T, idx: out_idx, count: out_idx",
    types={
        "T": ANY_VALUE,
        "Taxis": typed(INDEX, default=int64),
        "out_idx": typed(INDEX, default=int32),
    },
    infer=_infer_unique_v2,
    kernel=_unique_with_counts_v2_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
