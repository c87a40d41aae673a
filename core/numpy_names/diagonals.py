"""Diagonals and triangles of matrices, and the Vandermonde matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.numpy_names import reductions
from pinnace.numpy_names.axes import moveaxis, ravel
from pinnace.numpy_names.making import tri
from pinnace.numpy_names.promotion import asked_type, known_rank, made_array
from pinnace.ops.array import casting, constants, rearranged, reshaping, selecting
from pinnace.ops.linalg import bands
from pinnace.ops.math import exponents

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike


def diag(v: TensorLike, k: int = 0) -> Tensor:
    """A matrix with that diagonal; or the diagonal of a matrix.

    Args:
        v: [n] or [m, n].
        k: which: 0 is the main one, positive ones are above it.

    Raises:
        ValueError: `v` is neither a vector nor a matrix.
    """
    x = made_array(v)
    rank = known_rank("diag", x)
    if rank == 2:
        return diagonal(x, k)
    if rank != 1:
        raise ValueError(f"diag: v must have one or two axes, got shape {x.shape}")
    if x.shape[0] == 0:
        return constants.zeros([abs(k), abs(k)], x.dtype)
    return bands.diag(x, k=k)


def diagflat(v: TensorLike, k: int = 0) -> Tensor:
    """A matrix whose diagonal `k` has the values of `v`, in row-major order."""
    return diag(ravel(v), k)


def diagonal(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonals of the matrices in the plane of two axes, along a new last axis.

    Args:
        a: at least two axes.
        offset: the diagonal: 0 is the main one, positive ones are above it.
        axis1: the axis of the rows.
        axis2: the axis of the columns.
    """
    return rearranged.diagonal(moveaxis(a, (axis1, axis2), (-2, -1)), offset)


def trace(
    a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None
) -> Tensor:
    """The sums of diagonals.

    Args:
        a: at least two axes.
        offset: the diagonal: 0 is the main one, positive ones are above it.
        axis1: the axis of the rows.
        axis2: the axis of the columns.
        dtype: to cast to before. Without it, small integers stay what they are in the main
            diagonals of the last two axes, as in TensorFlow, and are summed as int64 elsewhere.
    """
    kind = asked_type(dtype)
    x = made_array(a, kind)
    rank = known_rank("trace", x)
    if offset == 0 and axis1 in {-2, rank - 2} and axis2 in {-1, rank - 1}:
        return bands.trace(x)
    return reductions.sum(diagonal(x, offset, axis1, axis2), -1, kind)


def tril(m: TensorLike, k: int = 0) -> Tensor:
    """Matrices with zeros above a diagonal.

    Args:
        m: [..., rows, columns], the last two sizes known.
        k: the last diagonal that stays: 0 is the main one, positive ones are above it.

    Raises:
        ValueError: fewer than two axes.
    """
    x, lower = _triangle("tril", m, k)
    return selecting.where(lower, x, constants.zeros([], x.dtype))


def triu(m: TensorLike, k: int = 0) -> Tensor:
    """Matrices with zeros below a diagonal.

    Args:
        m: [..., rows, columns], the last two sizes known.
        k: the first diagonal that stays: 0 is the main one, positive ones are above it.

    Raises:
        ValueError: fewer than two axes.
    """
    x, lower = _triangle("triu", m, k - 1)
    return selecting.where(lower, constants.zeros([], x.dtype), x)


def _triangle(who: str, m: TensorLike, k: int) -> tuple[Tensor, Tensor]:
    x = made_array(m)
    if known_rank(who, x) < 2:
        raise ValueError(f"{who}: m must have at least two axes, got shape {x.shape}")
    rows, columns = x.shape[-2], x.shape[-1]
    if rows is None or columns is None:
        raise ValueError(f"{who}: the last two sizes must be known, got shape {x.shape}")
    return x, tri(rows, columns, k, dtypes.bool)


def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """Powers of a vector as columns, highest first.

    Args:
        x: [n].
        N: how many powers; n if it is not given.
        increasing: whether the highest comes last instead.

    Raises:
        ValueError: `x` is no vector of known size, or `N` is negative.
    """
    base = made_array(x)
    if known_rank("vander", base) != 1:
        raise ValueError(f"vander: x must be a one-dimensional array, got shape {base.shape}")
    count = base.shape[0] if N is None else N
    if count is None or count < 0:
        raise ValueError(f"vander: N must be nonnegative, got {count}")
    powers = list(range(count)) if increasing else list(range(count - 1, -1, -1))
    return exponents.pow(
        reshaping.expand_dims(base, -1),
        casting.cast(constants.constant(powers, "int32"), base.dtype),
    )
