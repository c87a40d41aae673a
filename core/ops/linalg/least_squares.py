"""Least squares: lstsq, by the normal equations or by the QR decomposition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting
from pinnace.ops.linalg import bands, factorization, solving
from pinnace.ops.linalg.matrices import adjoint
from pinnace.ops.math import products

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = ["lstsq"]


def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: float = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """The x that makes |matrix x - rhs|² + l2_regularizer |x|² least; of several, the shortest.

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
