"""Float32 matrix products, split into BLAS calls that threads share (`kernels.pieces`)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.ops.kernels import pieces, team
from pinnace.ops.kernels.addresses import address_of
from pinnace.ops.kernels.blas_threads import product_address

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array

# Constants of CBLAS: row-major; not transposed, transposed.
_BY_ROWS, _PLAIN, _TRANSPOSED = 101, 111, 112
# Indices of arguments in a call of `cblas_sgemm`: sizes of the result, and the addresses.
_HEIGHT, _WIDTH, _A, _B, _C = 3, 4, 6, 8, 10
# The same for `cblas_sgemv`: rows and columns of the matrix, and the addresses.
_DOWN, _ALONG, _MATRIX, _GIVEN, _MADE = 2, 3, 4, 6, 8
# Multiplications from which offering a product pays off: BLAS takes 0.1 ms for them, half of which
# covers the cost of the offer and of a late helper.
WORTH = 1 << 22
# Rows and columns of BLAS' tiles.
_TILE = 16

_address = functools.cache(product_address)


def cut(length: int, threads: int) -> tuple[int, int]:
    """(pieces, length of each): one per thread, in whole tiles of BLAS."""
    share = -(-length // threads)
    step = -(-share // _TILE) * _TILE
    return -(-length // step), step


def offered(a: Array, b: Array, out: Array | None, work: int) -> Array | None:
    """a times b, shared by threads without Python; None if that is impossible.

    Args:
        a: [..., rows, K].
        b: [..., K, columns].
        out: [..., rows, columns]: written and returned if given.
        work: multiplications.
    """
    if a.dtype != np.float32 or b.dtype != np.float32 or not pieces.can_call():
        return None
    if not (_address("cblas_sgemm") and _address("cblas_sgemv")):
        return None
    left, right = _form(a), _form(b)
    if left is None or right is None or a.shape[-1] != b.shape[-2]:
        return None
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) if a.ndim + b.ndim > 4 else ()
    shape = (*batch, a.shape[-2], b.shape[-1])
    if out is None:
        out = np.empty(shape, np.float32)
    target = _form(out)
    if out.shape != shape or out.dtype != np.float32 or target is None or target[0] != _PLAIN:
        return None
    levels = _levels(a, b, out, batch)
    if levels is None:
        return None
    job = _job(
        (*left, *right, target[1]),
        (a.shape[-2], b.shape[-1], a.shape[-1]),
        (a.strides[-2], b.strides[-1], out.strides[-2]),
        levels,
        team.members(),
    )
    if job is None:
        return None
    given = zip(job.changed, (address_of(a), address_of(b), address_of(out)), strict=True)
    job.calls.run(given, wakes=work >= team.WORTH_PRODUCTS)
    return out


def _form(matrix: Array) -> tuple[int, int] | None:
    """The transposition and leading dimension of a matrix for BLAS.

    None if neither its rows nor its columns are contiguous, or it is empty.
    """
    (rows, columns), (down, along) = matrix.shape[-2:], matrix.strides[-2:]
    if matrix.size == 0 or not matrix.flags.aligned or down % 4 or along % 4:
        return None
    if along == 4 and down >= 4 * columns:
        return _PLAIN, down // 4
    if down == 4 and along >= 4 * rows:
        return _TRANSPOSED, along // 4
    return None


class _ProductCalls(NamedTuple):
    """The calls, and the indices in them of the addresses of a, b and the result."""

    calls: pieces.Job
    changed: tuple[int, ...]


@functools.lru_cache(maxsize=1024)
def _job(
    forms: tuple[int, ...],
    sizes: tuple[int, int, int],
    steps: tuple[int, int, int],
    levels: tuple[tuple[int, ...], ...],
    threads: int,
) -> _ProductCalls | None:
    """The calls of a product that is split, or of each product of a batch.

    Args:
        forms: see `_form`: of a, of b, and the second number of the result's.
        sizes: rows, columns, K.
        steps: bytes from a row of a, a column of b, and a row of the result to the next.
        levels: see `_levels`.
        threads: the caller's among them.

    Returns:
        None if there is but one piece.
    """
    (outer, inner), *moves = levels
    height, width, _ = sizes
    count = outer * inner
    by_columns = width > height
    if height == 1 or width == 1:
        function = "cblas_sgemv"
        words, places, size = _vector_call(forms, sizes, by_columns=by_columns)
    else:
        function = "cblas_sgemm"
        words = [_BY_ROWS, forms[0], forms[2], *sizes, 0, forms[1], 0, forms[3], 0, forms[4]]
        places, size = (_A, _B, _C), _WIDTH if by_columns else _HEIGHT
    changes = [
        pieces.Change(False, place, outer=far, step=near)
        for place, (far, near) in zip(places, moves, strict=True)
    ]
    if count == 1:
        # BLAS packs both matrices: split so that the smaller one is packed twice.
        length = width if by_columns else height
        count, step = cut(length, threads)
        inner = count
        moved = (
            (0, step * steps[1], 4 * step) if by_columns else (step * steps[0], 0, step * steps[2])
        )
        changes = [
            pieces.Change(False, place, step=move)
            for place, move in zip(places, moved, strict=True)
        ]
        changes.append(pieces.Change(False, size, first=length, step=-step, most=step))
    if count < 2:
        return None
    call = pieces.Call(_address(function), words, [1.0, 0.0])
    calls = pieces.Job(call, count, changes, threads, inner=inner)
    return _ProductCalls(calls, tuple(map(calls.of_change, range(3))))


def _vector_call(
    forms: tuple[int, ...], sizes: tuple[int, int, int], *, by_columns: bool
) -> tuple[list[int], tuple[int, int, int], int]:
    """The product of a matrix and a vector, which reads the matrix once and in place.

    `cblas_sgemm` packs the whole matrix before it multiplies by one row or one column, which takes
    several times as long as the product.

    Args:
        forms: see `_job`.
        sizes: rows, columns, K; one of the first two is 1.
        by_columns: whether the matrix is b, and the vector the row a.

    Returns:
        Words of the call; indices in them of the addresses of a, b and the result, and of the size
        of the result.
    """
    height, width, inner = sizes
    length = width if by_columns else height
    # By columns, b is the matrix and a the vector on its left: BLAS takes the vector on the right.
    form, leading = (forms[2], forms[3]) if by_columns else (forms[0], forms[1])
    has_rows_of_sums = (form == _TRANSPOSED) == by_columns
    down, along = (length, inner) if has_rows_of_sums else (inner, length)
    # The stride of the vector: a row is contiguous; so is a column if it is the transpose of a row.
    given_form, given_leading = (forms[0], forms[1]) if by_columns else (forms[2], forms[3])
    is_row = (given_form == _PLAIN) == by_columns
    given = 1 if is_row else given_leading
    made = 1 if by_columns else forms[4]
    words = [_BY_ROWS, _PLAIN if has_rows_of_sums else _TRANSPOSED, down, along]
    words += [0, leading, 0, given, 0, made]
    places = (_GIVEN, _MATRIX, _MADE) if by_columns else (_MATRIX, _GIVEN, _MADE)
    return words, places, _DOWN if has_rows_of_sums else _ALONG


def _levels(
    a: Array, b: Array, out: Array, batch: tuple[int, ...]
) -> tuple[tuple[int, ...], ...] | None:
    """Sizes of a batch's two axes, and bytes from one of each array's matrices to the next.

    None if there are more axes.
    """
    if len(batch) > 2:
        return None
    whole = (1,) * (2 - len(batch)) + batch
    return whole, *(_moves(array, 2) for array in (a, b, out))


def _moves(array: Array, axes: int) -> tuple[int, ...]:
    """Strides in bytes of the axes before the last two; 0 for a broadcast axis."""
    pairs = zip(array.shape[:-2], array.strides[:-2], strict=True)
    own = tuple(step if size > 1 else 0 for size, step in pairs)
    return (0,) * (axes - len(own)) + own
