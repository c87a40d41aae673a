"""Banded matrices: TridiagonalSolve, TridiagonalMatMul, BandedTriangularSolve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import Shape, broadcast_shapes
from pinnace.ops.array import joining, padding, reshaping
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.linalg import bands
from pinnace.ops.linalg.matrices import MATRIX_TYPES, WIDE_TYPES, matrix_shape, matrix_transpose
from pinnace.ops.math import complexes, products, reduction
from pinnace.ops.opdef import InferCall, OpCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["banded_triangular_solve", "tridiagonal_matmul", "tridiagonal_solve"]


def _three(who: str, diagonals: Any, form: str) -> list[Tensor]:
    """The diagonals above, main and below, each [..., n]."""
    if form == "compact":
        x = convert_to_tensor(diagonals)
        if x.shape.rank is not None and (x.shape.rank < 2 or x.shape[-2] not in (None, 3)):
            raise ValueError(f"{who}: compact diagonals must be [..., 3, n], got shape {x.shape}")
        return [x[..., i, :] for i in range(3)]
    if form == "matrix":
        x = convert_to_tensor(diagonals)
        found = bands.diag_part(x, k=(-1, 1), align="LEFT_RIGHT")
        return [found[..., i, :] for i in range(3)]
    if form != "sequence":
        raise ValueError(
            f"{who}: diagonals_format must be 'compact', 'sequence' or 'matrix', got {form!r}"
        )
    if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
        raise ValueError(f"{who}: a sequence of diagonals must have three: above, main, below")
    above, main, below = map(convert_to_tensor, diagonals)
    size = main.shape[-1]
    if size is not None:
        above = _lengthened(above, size, (0, 1))
        below = _lengthened(below, size, (1, 0))
    return [above, main, below]


def _lengthened(x: Tensor, size: int, pair: tuple[int, int]) -> Tensor:
    if x.shape[-1] != size - 1:
        return x
    return padding.pad(x, [*[[0, 0]] * ((x.shape.rank or 1) - 1), list(pair)])


def _earlier(x: Tensor, axis: int) -> Tensor:
    """Entries moved one place forward: the first is lost, the last is 0."""
    rest = x[..., 1:] if axis == -1 else x[..., 1:, :]
    return padding.pad(rest, _pairs(x, axis, (0, 1)))


def _later(x: Tensor, axis: int) -> Tensor:
    """Entries moved one place back: the last is lost, the first is 0."""
    rest = x[..., :-1] if axis == -1 else x[..., :-1, :]
    return padding.pad(rest, _pairs(x, axis, (1, 0)))


def _pairs(x: Tensor, axis: int, pair: tuple[int, int]) -> list[list[int]]:
    if x.shape.rank is None:
        raise UnimplementedError("the gradient of a tridiagonal op needs tensors of known rank")
    pairs = [[0, 0] for _ in range(x.shape.rank)]
    pairs[axis] = list(pair)
    return pairs


def tridiagonal_solve(
    diagonals: Any,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """The x with `A x = rhs`, A of three diagonals.

    Args:
        diagonals: "compact": [..., 3, n], above (its last entry unused), main, below (its first
            unused). "sequence": those three, where the outer ones may be shorter by one. "matrix":
            [..., n, n].
        rhs: [..., n] or [..., n, m].
        diagonals_format: one of these.
        transpose_rhs: rhs is [..., m, n].
        conjugate_rhs: the conjugate of rhs is solved for.
        name: name of the node while tracing.
        partial_pivoting: rows may change places, which is exact for any invertible A.
        perturb_singular: not implemented: a singular A is an error.

    Returns:
        [..., n] or [..., n, m].
    """
    if perturb_singular:
        raise UnimplementedError(
            "tridiagonal_solve: perturb_singular is not implemented; leave it False"
        )
    three = joining.stack(_three("tridiagonal_solve", diagonals, diagonals_format), -2)
    x = convert_to_tensor(rhs, three.dtype)
    vector = x.shape.rank is not None and x.shape.rank == (three.shape.rank or 0) - 1
    if vector:
        x = reshaping.expand_dims(complexes.conj(x) if conjugate_rhs else x, -1)
    elif transpose_rhs:
        x = matrix_transpose(x, conjugate=conjugate_rhs)
    elif conjugate_rhs:
        x = complexes.conj(x)
    y = execute(TRIDIAGONAL_SOLVE, three, x, partial_pivoting=partial_pivoting, name=name)
    return reshaping.squeeze(y, -1) if vector else y


def _solve_kernel(diagonals: Array, rhs: Array, *, partial_pivoting: bool) -> Array:
    """Elimination with a second upper diagonal, which row exchanges fill."""
    lead = rhs.shape[:-2]
    above, main, below = (np.array(diagonals[..., i, :]) for i in range(3))
    size = main.shape[-1]
    if size:
        above[..., -1] = 0
    second = np.zeros_like(main)
    x = rhs.copy()
    for i in range(size - 1):
        down = below[..., i + 1]
        swap = np.abs(down) > np.abs(main[..., i]) if partial_pivoting else np.zeros(lead, bool)
        first = (main[..., i].copy(), above[..., i].copy(), second[..., i].copy())
        other = (down.copy(), main[..., i + 1].copy(), above[..., i + 1].copy())
        one = [np.where(swap, b, a) for a, b in zip(first, other, strict=True)]
        two = [np.where(swap, a, b) for a, b in zip(first, other, strict=True)]
        _check_pivot(one[0], x)
        factor = two[0] / one[0]
        main[..., i], above[..., i], second[..., i] = one
        main[..., i + 1] = two[1] - factor * one[1]
        above[..., i + 1] = two[2] - factor * one[2]
        here, there = x[..., i, :].copy(), x[..., i + 1, :].copy()
        wide = swap[..., None]
        x[..., i, :] = np.where(wide, there, here)
        x[..., i + 1, :] = np.where(wide, here, there) - factor[..., None] * x[..., i, :]
    if size:
        _check_pivot(main[..., -1], x)
    for i in range(size - 1, -1, -1):
        for step, diagonal in ((1, above), (2, second)):
            if i + step < size:
                x[..., i, :] -= diagonal[..., i, None] * x[..., i + step, :]
        x[..., i, :] /= main[..., i, None]
    return x


def _check_pivot(pivot: Array, x: Array) -> None:
    """The result, with NaN for singular matrices, as in TensorFlow."""
    gone = pivot == 0
    if gone.any():
        x[gone] = np.nan
        pivot[gone] = 1


def _infer_solve(call: InferCall) -> Shape:
    diagonals, rhs = matrix_shape(call), matrix_shape(call, 1)
    if diagonals.rank is None or rhs.rank is None:
        return rhs
    if diagonals[-2] not in (None, 3):
        call.fail(f"diagonals must be three, got {diagonals[-2]}")
    if not diagonals[:-2].concatenate(Shape([diagonals[-1]])).is_compatible_with(rhs[:-1]):
        call.fail("rhs must have the rows and the leading axes of diagonals")
    return rhs


def _solve_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, Tensor]:
    diagonals, x = call.inputs[0], complexes.conj(call.outputs[0])
    above, main, below = (complexes.conj(diagonals[..., i, :]) for i in range(3))
    turned = joining.stack([_earlier(below, -1), main, _later(above, -1)], -2)
    pivoting = call.attr("partial_pivoting")
    d_rhs = execute(TRIDIAGONAL_SOLVE, turned, dy, partial_pivoting=pivoting)
    parts = [reduction.reduce_sum(d_rhs * near, -1) for near in (_earlier(x, -2), x, _later(x, -2))]
    return -joining.stack(parts, -2), d_rhs


TRIDIAGONAL_SOLVE = define(
    name="TridiagonalSolve",
    signature="diagonals: T, rhs: T -> output: T",
    types={"T": MATRIX_TYPES},
    attrs={
        "partial_pivoting": attr("bool", default=True),
        "perturb_singular": attr("bool", default=False),
    },
    infer=_infer_solve,
    kernel=_solve_kernel,
    gradient=_solve_gradient,
)


def tridiagonal_matmul(
    diagonals: Any, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """`A rhs` for tridiagonal A; arguments as for `tridiagonal_solve`, rhs [..., n, m].

    Args:
        diagonals: superdiagonal, main diagonal and subdiagonal, in the form of `diagonals_format`.
        rhs: [..., n, m], float32, float64 or a complex type.
        diagonals_format: "compact", "sequence" or "matrix".
        name: name of the node while tracing.

    Returns:
        [..., n, m], dtype of `rhs`.
    """
    three = _three("tridiagonal_matmul", diagonals, diagonals_format)
    rows = [reshaping.expand_dims(part, -2) for part in three]
    return execute_one(TRIDIAGONAL_MAT_MUL, *rows, rhs, name=name)


def _product_kernel(superdiag: Array, maindiag: Array, subdiag: Array, rhs: Array) -> Array:
    out: Array = maindiag.swapaxes(-1, -2) * rhs
    out[..., :-1, :] += superdiag[..., 0, :-1, None] * rhs[..., 1:, :]
    out[..., 1:, :] += subdiag[..., 0, 1:, None] * rhs[..., :-1, :]
    return out


def _infer_product(call: InferCall) -> Shape:
    rhs = matrix_shape(call, 3)
    for index in range(3):
        row = matrix_shape(call, index)
        if row.rank is None or rhs.rank is None:
            continue
        wanted = rhs[:-2].concatenate(Shape([1, rhs[-2]]))
        if not row.is_compatible_with(wanted):
            call.fail(f"{call.op.inputs[index].name} must have shape {wanted}")
    return rhs


def _product_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, ...]:
    above, main, below = (matrix_transpose(row, conjugate=True) for row in call.inputs[:3])
    x = complexes.conj(call.inputs[3])
    rows = [
        reshaping.expand_dims(reduction.reduce_sum(near * dy, -1), -2)
        for near in (_earlier(x, -2), x, _later(x, -2))
    ]
    return *rows, _later(above * dy, -2) + main * dy + _earlier(below * dy, -2)


TRIDIAGONAL_MAT_MUL = define(
    name="TridiagonalMatMul",
    signature="superdiag: T, maindiag: T, subdiag: T, rhs: T -> output: T",
    types={"T": MATRIX_TYPES},
    infer=_infer_product,
    kernel=_product_kernel,
    gradient=_product_gradient,
)


def banded_triangular_solve(
    bands: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """The x with `A x = rhs`, A a triangle of few diagonals.

    Args:
        bands: [..., k, n], the diagonals of A. Lower: the main one first, entry i of each in row i
            of A. Upper: the main one last, likewise.
        rhs: [..., n, m].
        lower: A is a lower triangle.
        adjoint: whether A is replaced by its conjugate transpose.
        name: name of the node while tracing.
    """
    return execute_one(BANDED_TRIANGULAR_SOLVE, bands, rhs, lower=lower, adjoint=adjoint, name=name)


def _banded_kernel(matrix: Array, rhs: Array, *, lower: bool, adjoint: bool) -> Array:
    dtype = matrix.dtype
    if dtype.itemsize == 2:
        matrix, rhs = matrix.astype(np.float32), rhs.astype(np.float32)
    count, size = matrix.shape[-2:]
    # by_distance[j][..., i]: the entry of row i that is j off the diagonal.
    by_distance = [matrix[..., j if lower else count - 1 - j, :] for j in range(count)]
    if not by_distance[0].all():
        raise InvalidArgumentError("BandedTriangularSolve: the main diagonal must have no zero")
    if adjoint:
        # Entry (i, i - j) moves to (i - j, i): the rows of the other triangle.
        shift = -1 if lower else 1
        by_distance = [np.roll(row.conj(), shift * j, -1) for j, row in enumerate(by_distance)]
        lower = not lower
    lead = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    x = np.broadcast_to(rhs, (*lead, *rhs.shape[-2:])).copy()
    step = -1 if lower else 1
    for i in range(size) if lower else range(size - 1, -1, -1):
        for j in range(1, count):
            if 0 <= i + step * j < size:
                x[..., i, :] -= by_distance[j][..., i, None] * x[..., i + step * j, :]
        x[..., i, :] /= by_distance[0][..., i, None]
    return x.astype(dtype, copy=False)


def _infer_banded(call: InferCall) -> Shape:
    matrix, rhs = matrix_shape(call), matrix_shape(call, 1)
    if matrix.rank is None or rhs.rank is None:
        return Shape(None)
    if None not in (matrix[-1], rhs[-2]) and matrix[-1] != rhs[-2]:
        call.fail(f"rhs must have a row per column of matrix, got {rhs[-2]} and {matrix[-1]}")
    if matrix[-2] == 0:
        call.fail("matrix must have at least one diagonal")
    try:
        lead = broadcast_shapes(matrix[:-2], rhs[:-2])
    except (ValueError, InvalidArgumentError):
        call.fail("leading axes of matrix and rhs must broadcast")
    rows = matrix[-1] if rhs[-2] is None else rhs[-2]
    return lead.concatenate(Shape([rows, rhs[-1]]))


def _banded_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, Tensor]:
    matrix, rhs = call.inputs
    x = call.outputs[0]
    lower, adjoint = call.attr("lower"), call.attr("adjoint")
    d_rhs = banded_triangular_solve(matrix, dy, lower=lower, adjoint=not adjoint)
    left, right = (x, d_rhs) if adjoint else (d_rhs, x)
    whole = -products.matmul(left, right, adjoint_b=True)
    count = matrix.shape[-2]
    if count is None:
        raise UnimplementedError(
            "BandedTriangularSolve: the gradient needs a known number of diagonals"
        )
    k = (1 - count, 0) if lower else (0, count - 1)
    part = bands.diag_part(whole, k=k, align="LEFT_RIGHT")
    if count == 1:
        part = reshaping.expand_dims(part, -2)
    return products.without_batches(part, matrix, rhs), products.without_batches(d_rhs, rhs, matrix)


BANDED_TRIANGULAR_SOLVE = define(
    name="BandedTriangularSolve",
    signature="matrix: T, rhs: T -> output: T",
    types={"T": WIDE_TYPES},
    attrs={"lower": attr("bool", default=True), "adjoint": attr("bool", default=False)},
    infer=_infer_banded,
    kernel=_banded_kernel,
    gradient=_banded_gradient,
)
