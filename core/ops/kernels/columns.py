"""Columns of a float32 matrix summed or scaled by machine code, rows shared among threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.kernels import compiled, team

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.ops.kernels.precision import Array

# Elements a thread is worth waking for.
_SHARED = 1 << 17


def made(name: str, *matrices: Array) -> Callable[..., Any] | None:
    """The kernel, if it is there and can read these."""
    kernel = compiled.made(name)
    if kernel is None:
        return None
    readable = all(
        matrix.dtype == np.float32 and matrix.flags.c_contiguous and matrix.flags.aligned
        for matrix in matrices
    )
    return kernel if readable else None


def sums(kernel: Callable[..., Any], matrices: Sequence[Array], centres: Array) -> Array:
    """[2, columns]: both sums that the kernel makes of all rows.

    Args:
        kernel: `moments` or `projections`.
        matrices: each [rows, columns].
        centres: [columns].
    """
    rows, width = matrices[0].shape
    pieces, step = _cut(rows, width)
    found = np.zeros((pieces, 2, width), np.float32)

    def work(piece: int) -> None:
        start = piece * step
        kernel(start, min(rows, start + step), *matrices, centres, *found[piece])

    team.share(pieces, work, threads=pieces)
    return np.asarray(found.sum(axis=0))


def spread(
    kernel: Callable[..., Any], matrices: Sequence[Array], vectors: Sequence[Array], out: Array
) -> None:
    """Fill `out`, [rows, columns], with what the kernel makes of each column.

    Args:
        kernel: `scaled` or `slopes`.
        matrices: each [rows, columns].
        vectors: each [columns].
        out: written.
    """
    rows, width = out.shape
    pieces, step = _cut(rows, width)

    def work(piece: int) -> None:
        start = piece * step
        kernel(start, min(rows, start + step), *matrices, *vectors, out)

    team.share(pieces, work, threads=pieces)


def _cut(rows: int, width: int) -> tuple[int, int]:
    """(pieces, rows of each)."""
    threads = team.size() if rows * width >= _SHARED else 1
    step = max(1, -(-rows // threads))
    return max(1, -(-rows // step)), step
