"""Products of sparse and dense matrices: SparseTensorDenseMatMul."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import COMPLEX, FLOATS, INDEX, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import gathering
from pinnace.ops.execute import execute
from pinnace.ops.kernels import segments
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.linalg import matrices
from pinnace.ops.math import arithmetic, complexes, reduction
from pinnace.ops.opdef import attr, typed
from pinnace.ops.registry import define
from pinnace.ops.sparse.places import check_inside, check_parts, row_starts

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

_WHO = "SparseTensorDenseMatMul"
# Elements of the products that are summed at one time.
_BLOCK = 1 << 22


def _kernel(
    a_indices: Array, a_values: Array, a_shape: Array, b: Array, *, adjoint_a: bool, adjoint_b: bool
) -> Array:
    check_parts(_WHO, a_indices, a_values, a_shape)
    if len(a_shape) != 2 or b.ndim != 2:
        raise InvalidArgumentError(
            f"{_WHO}: a and b must be matrices, got shapes {a_shape.tolist()} and {list(b.shape)}"
        )
    check_inside(_WHO, a_indices, a_shape.tolist())
    rows, columns = a_indices[:, 0], a_indices[:, 1]
    height, inner = (int(n) for n in a_shape)
    values = a_values
    if adjoint_a:
        rows, columns, height, inner = columns, rows, inner, height
        values = values.conj()
    right = b.conj().T if adjoint_b else b
    if len(right) != inner:
        raise InvalidArgumentError(
            f"{_WHO}: columns of a must equal rows of b, got {inner} and {len(right)}\n"
            f"  a: {a_shape.tolist()}   b: {list(b.shape)}"
        )
    compute = computed_in(b.dtype)
    out = np.zeros((height, right.shape[1]), compute)
    if segments.add_weighted_rows(out, rows, columns, values, np.ascontiguousarray(right)):
        return out
    order = np.argsort(rows, kind="stable")
    rows, columns, values = rows[order], columns[order], values[order].astype(compute)
    step = max(1, _BLOCK // max(right.shape[1], 1))
    for begin in range(0, len(rows), step):
        part = slice(begin, begin + step)
        products = values[part, None] * right[columns[part]].astype(compute, copy=False)
        starts, _ = row_starts(rows[part])
        out[rows[part][starts]] += np.add.reduceat(products, starts, axis=0)
    return out.astype(b.dtype, copy=False)


def _infer(call: InferCall) -> Shape:
    b = call.spec(3).shape
    if b.rank not in {2, None}:
        call.fail("b must be a matrix")
    sizes = call.shape_constant(2)
    if sizes.rank not in {2, None}:
        call.fail("a must be a matrix")
    columns = None if b.rank is None else b[0 if call.attrs["adjoint_b"] else 1]
    height = None if sizes.rank is None else sizes[1 if call.attrs["adjoint_a"] else 0]
    return Shape([height, columns])


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    indices, values, shape, b = call.inputs
    adjoint_a, adjoint_b = bool(call.attr("adjoint_a")), bool(call.attr("adjoint_b"))
    db = execute(SPARSE_TENSOR_DENSE_MAT_MUL, indices, values, shape, dy, adjoint_a=not adjoint_a)
    if adjoint_b:
        db = matrices.adjoint(db)
    rows, columns = indices[:, 0], indices[:, 1]
    right = matrices.adjoint(b) if adjoint_b else b
    of_dy = gathering.gather(dy, columns if adjoint_a else rows)
    of_b = gathering.gather(right, rows if adjoint_a else columns)
    if adjoint_a:
        of_dy = complexes.conj(of_dy)
        da = reduction.reduce_sum(arithmetic.multiply(of_dy, of_b), 1)
    else:
        da = reduction.reduce_sum(arithmetic.multiply(of_dy, complexes.conj(of_b)), 1)
    return None, da, None, db


SPARSE_TENSOR_DENSE_MAT_MUL = define(
    name=_WHO,
    signature="a_indices: Tindices, a_values: T, a_shape: int64, b: T -> product: T",
    types={"T": FLOATS | COMPLEX | {int32}, "Tindices": typed(INDEX, default=int64)},
    attrs={"adjoint_a": attr("bool", default=False), "adjoint_b": attr("bool", default=False)},
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)
