"""Least squares: lstsq, by normal equations or by QR decomposition; MatrixSolveLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting
from pinnace.ops.linalg import bands, factorization, solving
from pinnace.ops.linalg.matrices import MATRIX_TYPES, adjoint, matrix_shape
from pinnace.ops.math import products
from pinnace.ops.opdef import InferCall, OpCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["lstsq"]


def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: float = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """The x that minimises |matrix x - rhs|² + l2_regularizer |x|²; the shortest of several.

    Args:
        matrix: [..., m, n], of full rank.
        rhs: [..., m, k].
        l2_regularizer: not negative.
        fast: by the normal equations; else by the QR decomposition, which takes no regulariser.
        name: name of the node while tracing.

    Returns:
        [..., n, k].
    """
    a = convert_to_tensor(matrix)
    b = convert_to_tensor(rhs, a.dtype)
    rows, columns = a.shape[-2], a.shape[-1]
    if rows is None or columns is None:
        raise ValueError("lstsq: matrix must have known sizes")
    if not fast and not l2_regularizer:
        return _by_qr(a, b, rows, columns, name)
    over = rows >= columns
    gram = products.matmul(a, a, adjoint_a=over, adjoint_b=not over)
    if l2_regularizer:
        size = min(rows, columns)
        ridge = bands.eye(size, dtype=a.dtype) * casting.cast(float(l2_regularizer), a.dtype)
        gram = gram + ridge
    factor = factorization.cholesky(gram)
    if over:
        return solving.cholesky_solve(factor, products.matmul(a, b, adjoint_a=True), name)
    return products.matmul(a, solving.cholesky_solve(factor, b), adjoint_a=True, name=name)


def _by_qr(a: Tensor, b: Tensor, rows: int, columns: int, name: str | None) -> Tensor:
    if rows >= columns:
        q, r = factorization.qr(a)
        return solving.triangular_solve(
            r, products.matmul(q, b, adjoint_a=True), lower=False, name=name
        )
    q, r = factorization.qr(adjoint(a))
    inner = solving.triangular_solve(r, b, lower=False, adjoint=True)
    return products.matmul(q, inner, name=name)


def _solve_ls_kernel(matrix: Array, rhs: Array, l2_regularizer: Array, *, fast: bool) -> Array:
    ridge = float(l2_regularizer) if fast else 0.0  # TensorFlow: only the normal equations take it
    if not ridge:
        return np.asarray(np.linalg.pinv(matrix) @ rhs, rhs.dtype)
    turned = matrix.conj().swapaxes(-1, -2)
    over = matrix.shape[-2] >= matrix.shape[-1]
    gram = turned @ matrix if over else matrix @ turned
    gram = gram + np.asarray(ridge * np.eye(gram.shape[-1]), gram.dtype)
    if over:
        return np.asarray(np.linalg.solve(gram, turned @ rhs))
    return np.asarray(turned @ np.linalg.solve(gram, rhs))


def _infer_solve_ls(call: InferCall) -> Shape:
    matrix, rhs = matrix_shape(call), matrix_shape(call, 1)
    if call.spec(2).shape.rank not in {None, 0}:
        call.fail("l2_regularizer must be a scalar")
    if matrix.rank is None and rhs.rank is None:
        return Shape(None)
    if matrix.rank is None:
        return rhs[:-2].concatenate(Shape([None, rhs[-1]]))
    if rhs.rank is None:
        return matrix[:-2].concatenate(Shape([matrix[-1], None]))
    if None not in {matrix[-2], rhs[-2]} and matrix[-2] != rhs[-2]:
        call.fail(f"rhs must have as many rows as matrix, got {rhs[-2]} and {matrix[-2]}")
    if not matrix[:-2].is_compatible_with(rhs[:-2]):
        call.fail(f"the leading axes must be equal, got {matrix[:-2].text} and {rhs[:-2].text}")
    return matrix[:-2].merge_with(rhs[:-2]).concatenate(Shape([matrix[-1], rhs[-1]]))


def _solve_ls_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, Tensor, None]:
    """The gradient of x = (AᴴA + r)⁻¹ Aᴴ b, or x = Aᴴ (A Aᴴ + r)⁻¹ b for wide matrices."""
    a, b, x = call.inputs[0], call.inputs[1], call.outputs[0]
    rows, columns = a.shape[-2], a.shape[-1]
    if rows is None or columns is None:
        raise ValueError("the gradient of MatrixSolveLs needs a matrix of known sizes")
    over = rows >= columns
    gram = products.matmul(a, a, adjoint_a=over, adjoint_b=not over)
    if call.attr("fast"):
        ridge = casting.cast(call.inputs[2], a.dtype)
        gram = gram + ridge * bands.eye(min(rows, columns), dtype=a.dtype)
    if over:
        inner = solving.solve(gram, dy)
        along = products.matmul(a, inner)
        rest = b - products.matmul(a, x)
        da = products.matmul(rest, inner, adjoint_b=True) - products.matmul(
            along, x, adjoint_b=True
        )
        return da, along, None
    y = solving.solve(gram, b)
    along = solving.solve(gram, products.matmul(a, dy))
    da = products.matmul(y, dy, adjoint_b=True) - products.matmul(along, x, adjoint_b=True)
    return da - products.matmul(products.matmul(y, along, adjoint_b=True), a), along, None


MATRIX_SOLVE_LS = define(
    name="MatrixSolveLs",
    signature="matrix: T, rhs: T, l2_regularizer: double -> output: T",
    types={"T": MATRIX_TYPES},
    attrs={"fast": attr("bool", default=True)},
    infer=_infer_solve_ls,
    kernel=_solve_ls_kernel,
    gradient=_solve_ls_gradient,
)
