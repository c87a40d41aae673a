"""Sums, products, extremes and reductions with sparse tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting, gathering
from pinnace.ops.composites.sparse.functions import as_sparse
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.linalg import matrices
from pinnace.ops.math import arithmetic as dense
from pinnace.ops.math import reduction as dense_reduction
from pinnace.ops.sparse import arithmetic, products, reduction, segments

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = [
    "add",
    "maximum",
    "minimum",
    "reduce_max",
    "reduce_sum",
    "sampled_addmm",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "softmax",
    "sparse_dense_matmul",
]


def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """a + b of a sparse tensor and a sparse or dense one.

    Args:
        a: SparseTensor or tensor, one of both sparse.
        b: the same shape.
        threshold: sums of two sparse tensors that are closer to 0 than this are left out.

    Returns:
        A SparseTensor if both are sparse, else a tensor.

    Source:
        TensorFlow ops `SparseAdd`, `SparseTensorDenseAdd` (sparse_ops.cc).
    """
    sparse = [isinstance(x, SparseTensor) for x in (a, b)]
    if all(sparse):
        kind = a.dtype.real_dtype if a.dtype.is_complex else a.dtype
        limit = convert_to_tensor(threshold, dtype_hint=kind)
        parts = execute(
            arithmetic.SPARSE_ADD,
            a.indices,
            a.values,
            a.dense_shape,
            b.indices,
            b.values,
            b.dense_shape,
            casting.cast(limit, kind),
        )
        made = SparseTensor(*parts)
        for x in (a, b):
            if made.shape.is_compatible_with(x.shape):
                made.set_shape(x.shape)
        return made
    if not any(sparse):
        raise TypeError(f"sparse.add: at least one must be a SparseTensor, got {a!r} and {b!r}")
    x, y = (a, b) if sparse[0] else (b, a)
    return execute(
        arithmetic.SPARSE_TENSOR_DENSE_ADD,
        x.indices,
        x.values,
        x.dense_shape,
        convert_to_tensor(y, x.dtype),
    )


def maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The larger of both, element by element, 0 where one has no value.

    Args:
        sp_a: a SparseTensor of a real number type.
        sp_b: a SparseTensor of the same shape and dtype.
        name: name of the node while tracing.

    Returns:
        A SparseTensor.
    """
    return _extreme(arithmetic.SPARSE_SPARSE_MAXIMUM, sp_a, sp_b, name)


def minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The smaller of both, element by element, 0 where one has no value.

    Args:
        sp_a: a SparseTensor of a real number type.
        sp_b: a SparseTensor of the same shape and dtype.
        name: name of the node while tracing.

    Returns:
        A SparseTensor.
    """
    return _extreme(arithmetic.SPARSE_SPARSE_MINIMUM, sp_a, sp_b, name)


def _extreme(op: Any, sp_a: Any, sp_b: Any, name: str | None) -> SparseTensor:
    a, b = as_sparse(sp_a, op.name), as_sparse(sp_b, op.name)
    indices, values = execute(
        op, a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, name=name
    )
    return SparseTensor(indices, values, a.dense_shape)


def reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The sum over axes, of all if `axis` is None; a SparseTensor if `output_is_sparse`.

    Args:
        sp_input: a SparseTensor of a number type.
        axis: an axis or several; None is all.
        keepdims: reduced axes stay, with size 1.
        output_is_sparse: whether the result is a SparseTensor.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, dtype of `sp_input`.
    """
    ops = (reduction.SPARSE_REDUCE_SUM, reduction.SPARSE_REDUCE_SUM_SPARSE)
    return _reduced(ops, sp_input, axis, keepdims, output_is_sparse, name)


def reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The largest value over axes; places without a value do not count.

    A row without any is 0.

    Args:
        sp_input: a SparseTensor of a real number type.
        axis: an axis or several; None is all.
        keepdims: reduced axes stay, with size 1.
        output_is_sparse: whether the result is a SparseTensor.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, dtype of `sp_input`.
    """
    ops = (reduction.SPARSE_REDUCE_MAX, reduction.SPARSE_REDUCE_MAX_SPARSE)
    return _reduced(ops, sp_input, axis, keepdims, output_is_sparse, name)


def _reduced(
    ops: tuple[Any, Any],
    sp_input: Any,
    axis: Any,
    keep: bool | None,
    sparse: bool,
    name: str | None,
) -> Any:
    op = ops[1] if sparse else ops[0]
    x = as_sparse(sp_input, op.name)
    if axis is None:
        rank = x.shape.rank
        axes: Any = np.arange(rank, dtype=np.int32) if rank is not None else np.zeros(0, np.int32)
    else:
        axes = casting.cast(convert_to_tensor(axis), dtypes.int32)
    found = execute(op, x.indices, x.values, x.dense_shape, axes, keep_dims=bool(keep), name=name)
    return SparseTensor(*found) if sparse else found


def softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The softmax of the values in each row of the last axis.

    Args:
        sp_input: a SparseTensor of a float type, two axes or more.
        name: name of the node while tracing.

    Returns:
        A SparseTensor with the same indices.

    Source:
        TensorFlow op `SparseSoftmax` (sparse_ops.cc).
    """
    x = as_sparse(sp_input, "sparse.softmax")
    return x.with_values(
        execute(arithmetic.SPARSE_SOFTMAX, x.indices, x.values, x.dense_shape, name=name)
    )


def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The matrix product of a sparse matrix and a dense one, either way round.

    Args:
        sp_a: SparseTensor or matrix, one of both sparse.
        b: matrix or SparseTensor.
        adjoint_a: conjugate and transpose `sp_a` first.
        adjoint_b: conjugate and transpose `b` first.
        name: name of the node while tracing.

    Source:
        TensorFlow op `SparseTensorDenseMatMul` (sparse_ops.cc).
    """
    if isinstance(b, SparseTensor):
        # (a b)ᴴ = bᴴ aᴴ
        product = sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a)
        return matrices.adjoint(product)
    x = as_sparse(sp_a, "sparse.sparse_dense_matmul")
    found: Tensor = execute(
        products.SPARSE_TENSOR_DENSE_MAT_MUL,
        x.indices,
        x.values,
        x.dense_shape,
        convert_to_tensor(b, x.dtype),
        adjoint_a=bool(adjoint_a),
        adjoint_b=bool(adjoint_b),
        name=name,
    )
    return found


def sampled_addmm(
    indices: Any,
    values: Any,
    dense_shape: Any,
    mat1: Any,
    mat2: Any,
    beta: Any = 1.0,
    alpha: Any = 1.0,
    output_type: Any = dtypes.float32,
) -> tuple[Tensor, Tensor, Tensor]:
    """The product of two matrices at some places: alpha (mat1 mat2) + beta values.

    Args:
        indices: [n, 2], or [batch, n, 2].
        values: [n], or [batch, n].
        dense_shape: [2], of the product.
        mat1: [rows, inner], or [batch, rows, inner].
        mat2: [inner, columns], or [batch, inner, columns].
        beta: factor of `values`.
        alpha: factor of the product.
        output_type: dtype of the result.

    Returns:
        The indices, the new values and the dense shape.
    """
    at = casting.cast(convert_to_tensor(indices), dtypes.int64)
    left = casting.cast(convert_to_tensor(mat1), output_type)
    right = casting.cast(convert_to_tensor(mat2), output_type)
    batch = int(at.shape.rank or 2) - 2
    rows = gathering.gather(left, at[..., 0], axis=batch, batch_dims=batch)
    turned = matrices.matrix_transpose(right)
    columns = gathering.gather(turned, at[..., 1], axis=batch, batch_dims=batch)

    dots = dense_reduction.reduce_sum(dense.multiply(rows, columns), -1)
    old = casting.cast(convert_to_tensor(values), output_type)
    factor = [casting.cast(convert_to_tensor(x), output_type) for x in (alpha, beta)]
    found = dense.add(dense.multiply(factor[0], dots), dense.multiply(factor[1], old))
    return at, found, convert_to_tensor(dense_shape)


def _segments(
    word: str, data: Any, indices: Any, ids: Any, count: Any, name: str | None, hint: bool
) -> Tensor:
    plain, counted = segments.FORWARD[word]
    parts: list[Any] = [data, indices, ids]
    op = plain
    if count is not None:
        op = counted
        parts.append(count)
    return execute_one(op, *parts, sparse_gradient=bool(hint), name=name)


def segment_sum(
    data: Any,
    indices: Any,
    segment_ids: Any,
    num_segments: Any = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The sum of the chosen rows of each segment.

    Args:
        data: [n, ...].
        indices: [k]: which rows.
        segment_ids: [k], sorted: the segment of each.
        num_segments: rows of the result; by default one more than the last id.
        name: name of the node while tracing.
        sparse_gradient: accepted as a hint.

    Returns:
        [segments, ...]; 0 for a segment without rows.

    Source:
        TensorFlow ops `SparseSegmentSum`, `SparseSegmentSumWithNumSegments` (math_ops.cc).
    """
    return _segments("Sum", data, indices, segment_ids, num_segments, name, sparse_gradient)


def segment_mean(
    data: Any,
    indices: Any,
    segment_ids: Any,
    num_segments: Any = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The mean of the chosen rows of each segment; see `segment_sum`.

    Args:
        data: [n, ...], a float type.
        indices: [m], int32 or int64: rows of `data`.
        segment_ids: [m], int32 or int64, ascending: the segment of each.
        num_segments: number of segments; the last id + 1 if None.
        name: name of the node while tracing.
        sparse_gradient: whether the gradient of `data` is IndexedSlices.

    Returns:
        [segments, ...], dtype of `data`; 0 for a segment without rows.
    """
    return _segments("Mean", data, indices, segment_ids, num_segments, name, sparse_gradient)


def segment_sqrt_n(
    data: Any,
    indices: Any,
    segment_ids: Any,
    num_segments: Any = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The sum of the chosen rows of each segment over the root of their number.

    Args:
        data: [n, ...], a float type.
        indices: [m], int32 or int64: rows of `data`.
        segment_ids: [m], int32 or int64, ascending: the segment of each.
        num_segments: number of segments; the last id + 1 if None.
        name: name of the node while tracing.
        sparse_gradient: whether the gradient of `data` is IndexedSlices.

    Returns:
        [segments, ...], dtype of `data`; 0 for a segment without rows.
    """
    return _segments("SqrtN", data, indices, segment_ids, num_segments, name, sparse_gradient)
