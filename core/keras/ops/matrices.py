"""Linear algebra: factorizations, determinants, solutions, ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops.operation import operation
from pinnace.ops.array import (
    casting,
    constants,
    identities,
    reshaping,
    selecting,
    shapes,
    sorting,
)
from pinnace.ops.linalg import (
    bands,
    determinants,
    eigen,
    factorization,
    functions,
    matrices,
    solving,
    triangles,
)
from pinnace.ops.math import comparison, products

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def _matrices(name: str, x: Any, square: bool = False, leading: bool = True) -> Tensor:
    """`x` as a tensor; raises unless it contains matrices."""
    tensor: Tensor = convert_to_tensor(x)
    rank = tensor.shape.rank
    if rank is not None and (rank < 2 or (rank > 2 and not leading)):
        wanted = "[..., m, n]" if leading else "[m, n]"
        raise ValueError(f"keras.ops.{name}: x must be {wanted}, got shape {tensor.shape.text}")
    if square and rank is not None:
        rows, columns = tensor.shape[-2], tensor.shape[-1]
        if rows != columns:  # Keras: also refused if only one of them is known
            raise ValueError(
                f"keras.ops.{name}: the matrices must be square, got shape {tensor.shape.text}"
            )
    return tensor


@operation("linalg", "Cholesky", "upper")
def cholesky(x: Any, upper: bool = False) -> Tensor:
    """The triangular L with L Lᴴ = x.

    Args:
        x: [..., n, n], Hermitian and positive definite.
        upper: whether Lᴴ is given.

    Returns:
        [..., n, n], dtype of `x`.

    Raises:
        ValueError: the matrices are not square.
        InvalidArgumentError: a matrix is not positive definite.
    """
    found = factorization.cholesky(_matrices("cholesky", x, square=True))
    found = identities.check_numerics(found, "Cholesky")
    return matrices.adjoint(found) if upper else found


@operation("linalg", "CholeskyInverse", "upper")
def cholesky_inverse(x: Any, upper: bool = False) -> Tensor:
    """The inverse of the matrix with a given Cholesky factor.

    Args:
        x: [..., n, n], triangular.
        upper: whether it is the upper factor.

    Returns:
        [..., n, n], dtype of `x`.

    Raises:
        ValueError: the matrices are not square.
    """
    factor = _matrices("cholesky_inverse", x, square=True)
    unit = bands.eye(shapes.axis_sizes(factor)[-1], dtype=factor.dtype)
    size = shapes.shape(factor)
    if factor.shape.rank != 2:
        from pinnace.ops.array import broadcasting

        unit = broadcasting.broadcast_to(unit, size)
    inverse = solving.triangular_solve(factor, unit, lower=not upper)
    return products.matmul(inverse, inverse, transpose_a=not upper, transpose_b=upper)


@operation("linalg", "Det")
def det(x: Any) -> Tensor:
    """The determinant.

    Args:
        x: [..., n, n], a float or complex type.

    Returns:
        [...], dtype of `x`.

    Raises:
        ValueError: the matrices are not square.
    """
    return determinants.det(_matrices("det", x, square=True))


@operation("numpy", "Slogdet")
def slogdet(x: Any) -> tuple[Tensor, Tensor]:
    """The sign of the determinant, and the logarithm of its absolute value.

    Args:
        x: [..., n, n], a float or complex type.

    Returns:
        Two tensors [...]; where the determinant is 0, 0 and -∞.

    Raises:
        ValueError: the matrices are not square.
    """
    sign, size = determinants.slogdet(_matrices("slogdet", x, square=True))
    return sign, size


@operation("math", "Logdet")
def logdet(x: Any) -> Tensor:
    """The logarithm of the determinant of Hermitian, positive definite matrices.

    Args:
        x: [..., n, n], a float or complex type.

    Returns:
        [...], the real type of `x`.

    Raises:
        ValueError: the matrices are not square.
    """
    return determinants.logdet(_matrices("logdet", x, square=True))


@operation("linalg", "Eig")
def eig(x: Any) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors.

    Args:
        x: [..., n, n], a float or complex type.

    Returns:
        The values [..., n] and the vectors [..., n, n], a column each; complex.

    Raises:
        ValueError: the matrices are not square.
    """
    values, vectors = eigen.eig(_matrices("eig", x, square=True))
    return values, vectors


@operation("linalg", "Eigh")
def eigh(x: Any) -> tuple[Tensor, Tensor]:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    Args:
        x: [..., n, n], of which the lower triangle is read.

    Returns:
        The values [..., n] and the vectors [..., n, n], a column each; dtype of `x`.

    Raises:
        ValueError: the matrices are not square.
    """
    values, vectors = factorization.eigh(_matrices("eigh", x, square=True))
    return values, vectors


@operation("linalg", "Inv")
def inv(x: Any) -> Tensor:
    """The inverse.

    Args:
        x: [..., n, n], a float or complex type.

    Returns:
        [..., n, n], dtype of `x`.

    Raises:
        ValueError: the matrices are not square.
        InvalidArgumentError: one has no inverse.
    """
    return solving.inv(_matrices("inv", x, square=True))


@operation("linalg", "LuFactor")
def lu_factor(x: Any) -> tuple[Tensor, Tensor]:
    """The triangular factors L and U, with L U the rows of x in another order.

    Args:
        x: [..., n, n], a float or complex type.

    Returns:
        L below the diagonal, where it is 1, and U on and above it, [..., n, n], dtype of `x`; and
        where each row of `x` went, [..., n], int32.

    Raises:
        ValueError: the matrices are not square.
    """
    factors, order = triangles.lu(_matrices("lu_factor", x, square=True))
    # The argsort of a permutation is its inverse.
    return factors, sorting.argsort(order, axis=-1)


@operation("linalg", "Qr", "mode")
def qr(x: Any, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """The orthonormal Q and the upper triangular R with Q R = x.

    Args:
        x: [..., m, n], a float or complex type.
        mode: "reduced", where Q has min(m, n) columns, or "complete", where it is square.

    Returns:
        Q and R, dtype of `x`.

    Raises:
        ValueError: unknown mode.
    """
    if mode not in {"reduced", "complete"}:
        raise ValueError(f"keras.ops.qr: mode must be reduced or complete, got {mode!r}")
    q, r = factorization.qr(_matrices("qr", x), full_matrices=mode == "complete")
    return q, r


@operation("linalg", "SVD", "full_matrices", "compute_uv")
def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """The unitary U and V and the singular values s with U diag(s) Vᴴ = x.

    Args:
        x: [..., m, n], a float or complex type.
        full_matrices: whether U and V are square; else they have min(m, n) columns.
        compute_uv: whether U and Vᴴ are given, or s alone.

    Returns:
        U, s [..., min(m, n)] descending, and Vᴴ; or s alone.
    """
    tensor = _matrices("svd", x)
    if not compute_uv:
        return factorization.svd(tensor, full_matrices=full_matrices, compute_uv=False)
    s, u, v = factorization.svd(tensor, full_matrices=full_matrices)
    return u, s, matrices.adjoint(v)


def _columns(a: Tensor, b: Tensor) -> bool:
    """Whether `b` contains one vector per matrix."""
    return b.shape.rank is not None and b.shape.rank == (a.shape.rank or 0) - 1


@operation("linalg", "Solve")
def solve(a: Any, b: Any) -> Tensor:
    """The x with a x = b.

    Args:
        a: [..., n, n], a float or complex type.
        b: [..., n, k], or [..., n] with an axis less than `a`; dtype of `a`.

    Returns:
        The shape of `b`.

    Raises:
        ValueError: the matrices are not square.
        InvalidArgumentError: one has no inverse.
    """
    matrix, right = _matrices("solve", a, square=True), convert_to_tensor(b)
    if _columns(matrix, right):
        found = solving.solve(matrix, reshaping.expand_dims(right, -1))
        return reshaping.squeeze(found, [-1])
    return solving.solve(matrix, right)


@operation("linalg", "SolveTriangular", "lower")
def solve_triangular(a: Any, b: Any, lower: bool = False) -> Tensor:
    """The x with a x = b, for a triangular a.

    Args:
        a: [..., n, n], of which the other triangle is not read.
        b: [..., n, k], or [..., n] with an axis less than `a`; dtype of `a`.
        lower: whether `a` is the lower triangle.

    Returns:
        The shape of `b`.

    Raises:
        ValueError: the matrices are not square.
    """
    matrix, right = _matrices("solve_triangular", a, square=True), convert_to_tensor(b)
    if _columns(matrix, right):
        found = solving.triangular_solve(matrix, reshaping.expand_dims(right, -1), lower=lower)
        return reshaping.squeeze(found, [-1])
    return solving.triangular_solve(matrix, right, lower=lower)


@operation("linalg", "Lstsq", "rcond")
def lstsq(a: Any, b: Any, rcond: float | None = None) -> Tensor:
    """The shortest x for which a x is nearest to b.

    Args:
        a: [m, n], a float type.
        b: [m, k] or [m], dtype of `a`.
        rcond: singular values below this share of the largest count as 0; the precision of the
            dtype times max(m, n) if None.

    Returns:
        [n, k] or [n], dtype of `a`.

    Raises:
        ValueError: `a` is no matrix, or the rows of `b` differ in number.
    """
    matrix, right = _matrices("lstsq", a, leading=False), convert_to_tensor(b)
    m, n = matrix.shape.as_list()
    if right.shape.rank not in {1, 2} or m is None or n is None or right.shape[0] != m:
        raise ValueError(
            "keras.ops.lstsq: b must be [m] or [m, k] where a is [m, n], got shapes "
            f"{matrix.shape.text} and {right.shape.text}"
        )
    columns = right if right.shape.rank == 2 else reshaping.expand_dims(right, -1)
    # A negative `rcond` means machine precision, as in Keras.
    eps = float(np.finfo(matrix.dtype.numpy).eps)
    share = eps * max(m, n) if rcond is None else eps if rcond < 0 else rcond
    u, s, vh = svd(matrix, full_matrices=False)
    kept = comparison.greater_equal(s, s[0] * share)
    safe = selecting.where(kept, s, constants.ones_like(s))
    inverse = casting.cast(selecting.where(kept, 1.0 / safe, constants.zeros_like(s)), matrix.dtype)
    scaled = reshaping.expand_dims(inverse, -1) * products.matmul(matrices.adjoint(u), columns)
    found = products.matmul(matrices.adjoint(vh), scaled)
    return found if right.shape.rank == 2 else reshaping.squeeze(found, [-1])


@operation("linalg", "MatrixRank", "tol")
def matrix_rank(x: Any, tol: Any = None) -> Tensor:
    """The number of singular values above a tolerance.

    Args:
        x: [..., m, n], a float type.
        tol: the tolerance; of the precision of the dtype if None.

    Returns:
        [...], int32.
    """
    return functions.matrix_rank(_matrices("matrix_rank", x), tol)


@operation("linalg", "Pinv", "rcond")
def pinv(x: Any, rcond: Any = None) -> Tensor:
    """The pseudo-inverse of Moore and Penrose.

    Args:
        x: [..., m, n], a float type.
        rcond: singular values below this share of the largest count as 0; of the precision of
            the dtype if None.

    Returns:
        [..., n, m], dtype of `x`.
    """
    return functions.pinv(_matrices("pinv", x), rcond)
