"""Triangular systems, by substitution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array


def solve_triangular(matrix: Array, rhs: Array, *, lower: bool, adjoint: bool) -> Array:
    """The solution x of `matrix x = rhs`, reading only one triangle; batches broadcast.

    Args:
        matrix: [..., n, n].
        rhs: [..., n, m].
        lower: the lower triangle is read, else the upper one.
        adjoint: the conjugate transpose of that triangle is solved with.

    A zero on the diagonal is divided by as any number: the solution is not finite.
    """
    if adjoint:
        matrix = matrix.swapaxes(-1, -2).conj()
        lower = not lower
    size = matrix.shape[-1]
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    batch = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    x = np.broadcast_to(rhs, (*batch, *rhs.shape[-2:])).copy()
    with np.errstate(all="ignore"):
        for step in range(size):
            row = step if lower else size - 1 - step
            done = slice(0, row) if lower else slice(row + 1, size)
            known = np.matmul(matrix[..., row, None, done], x[..., done, :])[..., 0, :]
            x[..., row, :] = (x[..., row, :] - known) / diagonal[..., row, None]
    return x
