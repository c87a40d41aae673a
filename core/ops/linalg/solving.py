"""Systems of linear equations: solve, triangular_solve, inv, least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, broadcast_shapes, unknown_shape
from pinnace.ops import batch_rules
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels.triangular import solve_triangular
from pinnace.ops.linalg import bands
from pinnace.ops.linalg.matrices import WIDE_TYPES, matrix_shape, solved, square_shape
from pinnace.ops.math import arithmetic, products
from pinnace.ops.opdef import InferCall, OpCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["cholesky_solve", "inv", "solve", "triangular_solve"]

_SINGULAR = "matrix must be invertible"


def _conjugate_transpose(x: Array) -> Array:
    return x.swapaxes(-1, -2).conj()


def _solution(matrix: Shape, rhs: Shape) -> Shape:
    """The last axes: the order of the matrix, known from any of three sizes, and the columns."""
    sizes = (matrix[-1], matrix[-2], rhs[-2])
    return Shape([next((n for n in sizes if n is not None), None), rhs[-1]])


def _check_rows(call: InferCall, matrix: Shape, rhs: Shape) -> None:
    size, rows = matrix[-1], rhs[-2]
    if size is not None and rows is not None and size != rows:
        call.fail(f"rows of rhs must equal columns of matrix, got {rows} and {size}")


def _outer(x: Tensor, along_rhs: Tensor, flipped: bool) -> Tensor:
    first, second = (x, along_rhs) if flipped else (along_rhs, x)
    return arithmetic.negative(products.matmul(first, second, adjoint_b=True))


@takes_composites()
def solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """The x with `matrix x = rhs`.

    Args:
        matrix: [..., n, n].
        rhs: [..., n, m], with the same leading axes.
        adjoint: the conjugate transpose of `matrix` is solved with.
        name: name of the node while tracing.

    Returns:
        [..., n, m].

    Raises:
        InvalidArgumentError: a matrix is singular, or the shapes do not fit.
    """
    return execute_one(MATRIX_SOLVE, matrix, rhs, adjoint=bool(adjoint), name=name)


def _solve_kernel(matrix: Array, rhs: Array, *, adjoint: bool) -> Array:
    if adjoint:
        matrix = _conjugate_transpose(matrix)
    return solved("MatrixSolve", _SINGULAR, np.linalg.solve, matrix, rhs)  # type: ignore[no-any-return]


def _infer_solve(call: InferCall) -> Shape:
    matrix, rhs = square_shape(call), matrix_shape(call, 1)
    if matrix.rank is None:
        return rhs
    if rhs.rank is None:
        return matrix[:-2].concatenate(_solution(matrix, unknown_shape(2)))
    _check_rows(call, matrix, rhs)
    if not matrix[:-2].is_compatible_with(rhs[:-2]):
        call.fail("matrix and rhs must have the same leading axes")
    return matrix[:-2].merge_with(rhs[:-2]).concatenate(_solution(matrix, rhs))


def _solve_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, Tensor]:
    matrix, x = call.inputs[0], call.outputs[0]
    flipped = call.attr("adjoint")
    along_rhs = solve(matrix, dy, adjoint=not flipped)
    return _outer(x, along_rhs, flipped), along_rhs


MATRIX_SOLVE = define(
    name="MatrixSolve",
    signature="matrix: T, rhs: T -> output: T",
    types={"T": WIDE_TYPES},
    attrs={"adjoint": attr("bool", default=False)},
    infer=_infer_solve,
    kernel=_solve_kernel,
    gradient=_solve_gradient,
    batch=batch_rules.ALL_TILED,
)


def triangular_solve(
    matrix: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """The solution x of `matrix x = rhs`, reading only one triangle.

    Args:
        matrix: [..., n, n].
        rhs: [..., n, m]; leading axes broadcast.
        lower: the lower triangle is read, else the upper one.
        adjoint: the conjugate transpose of that triangle is solved with.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the shapes do not fit.
    """
    return execute_one(
        MATRIX_TRIANGULAR_SOLVE, matrix, rhs, lower=bool(lower), adjoint=bool(adjoint), name=name
    )


def _triangular_kernel(matrix: Array, rhs: Array, *, lower: bool, adjoint: bool) -> Array:
    return solved(  # type: ignore[no-any-return]
        "MatrixTriangularSolve",
        _SINGULAR,
        solve_triangular,
        matrix,
        rhs,
        lower=lower,
        adjoint=adjoint,
    )


def _infer_triangular(call: InferCall) -> Shape:
    matrix, rhs = square_shape(call), matrix_shape(call, 1)
    if matrix.rank is None or rhs.rank is None:
        return Shape(None)
    _check_rows(call, matrix, rhs)
    try:
        batch = broadcast_shapes(matrix[:-2], rhs[:-2])
    except InvalidArgumentError:
        call.fail("the leading axes of matrix and rhs must broadcast")
    return batch.concatenate(_solution(matrix, rhs))


def _triangular_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, Tensor]:
    matrix, rhs = call.inputs
    lower, flipped = call.attr("lower"), call.attr("adjoint")
    along_rhs = triangular_solve(matrix, dy, lower=lower, adjoint=not flipped)
    along_matrix = _outer(call.outputs[0], along_rhs, flipped)
    along_matrix = (
        bands.band_part(along_matrix, -1, 0) if lower else bands.band_part(along_matrix, 0, -1)
    )
    return (
        products.without_batches(along_matrix, matrix, rhs),
        products.without_batches(along_rhs, rhs, matrix),
    )


MATRIX_TRIANGULAR_SOLVE = define(
    name="MatrixTriangularSolve",
    signature="matrix: T, rhs: T -> output: T",
    types={"T": WIDE_TYPES},
    attrs={"lower": attr("bool", default=True), "adjoint": attr("bool", default=False)},
    infer=_infer_triangular,
    kernel=_triangular_kernel,
    gradient=_triangular_gradient,
    batch=batch_rules.ALL_TILED,
)


@takes_composites()
def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of each matrix; of its conjugate transpose if `adjoint`.

    Args:
        input: [..., n, n], float16, float32, float64 or a complex type.
        adjoint: invert the conjugate transposes instead.
        name: name of the node while tracing.

    Returns:
        [..., n, n], dtype of `input`.

    Raises:
        InvalidArgumentError: a matrix is singular or not square.
    """
    return execute_one(MATRIX_INVERSE, input, adjoint=bool(adjoint), name=name)


def _inverse_kernel(input: Array, *, adjoint: bool) -> Array:
    if adjoint:
        input = _conjugate_transpose(input)
    return solved("MatrixInverse", _SINGULAR, np.linalg.inv, input)  # type: ignore[no-any-return]


def _inverse_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    y = call.outputs[0]
    if call.attr("adjoint"):
        inner = products.matmul(dy, y, adjoint_a=True)
        return (arithmetic.negative(products.matmul(y, inner)),)
    inner = products.matmul(dy, y, adjoint_b=True)
    return (arithmetic.negative(products.matmul(y, inner, adjoint_a=True)),)


MATRIX_INVERSE = define(
    name="MatrixInverse",
    signature="input: T -> output: T",
    types={"T": WIDE_TYPES},
    attrs={"adjoint": attr("bool", default=False)},
    infer=square_shape,
    kernel=_inverse_kernel,
    gradient=_inverse_gradient,
    batch=batch_rules.AS_IT_IS,
)


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """The x with `A x = rhs`, for A = chol cholᴴ.

    Args:
        chol: [..., n, n], lower triangular, as `cholesky` gives it.
        rhs: [..., n, m].
        name: name of the node while tracing.
    """
    factor = convert_to_tensor(chol)
    inner = triangular_solve(factor, rhs)
    return triangular_solve(factor, inner, adjoint=True, name=name)
