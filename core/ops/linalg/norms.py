"""Norms of vectors and matrices, and normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import permutations, reshaping
from pinnace.ops.linalg import factorization
from pinnace.ops.math import complexes, division, exponents, polar, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = ["norm", "normalize"]


def norm(
    tensor: TensorLike,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The norm of vectors or matrices.

    Args:
        tensor: [...], floating point or complex.
        ord: for vectors "euclidean", 1, 2, np.inf or any number above 0; for matrices "euclidean"
            or "fro", 1, 2 (the largest singular value), np.inf.
        axis: None is one vector of all values; a number the axis of vectors, a pair the axes of
            matrices.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes. TensorFlow: the euclidean norm of complex values is complex.

    Raises:
        ValueError: an order that there is no norm for, or more than two axes.
    """
    x = convert_to_tensor(tensor)
    keep = bool(keepdims)
    if isinstance(axis, (list, tuple)) and len(axis) == 1:
        axis = axis[0]
    if isinstance(axis, (list, tuple)):
        if len(axis) != 2 or axis[0] == axis[1]:
            raise ValueError(
                f"norm: axis must be None, a number or a pair of different ones, got {axis!r}"
            )
        return _matrix_norm(x, ord, tuple(axis), keep, name)
    return _vector_norm(x, ord, axis, keep, name)


def _vector_norm(x: Tensor, order: Any, axis: Any, keep: bool, name: str | None) -> Tensor:
    if order in ("euclidean", 2, 2.0):
        return exponents.sqrt(reduction.reduce_sum(x * complexes.conj(x), axis, keep), name)
    size = polar.abs(x)
    if order in (1, 1.0):
        return reduction.reduce_sum(size, axis, keep, name)
    if order == np.inf:
        return reduction.reduce_max(size, axis, keep, name)
    if isinstance(order, (int, float)) and order > 0:
        total = reduction.reduce_sum(exponents.pow(size, float(order)), axis, keep)
        return exponents.pow(total, 1.0 / order, name)
    raise ValueError(
        f"norm: ord must be 'euclidean', inf or a number above 0 for vectors, got {order!r}"
    )


def _matrix_norm(
    x: Tensor, order: Any, axes: tuple[int, ...], keep: bool, name: str | None
) -> Tensor:
    if order in ("euclidean", "fro"):
        return exponents.sqrt(reduction.reduce_sum(x * complexes.conj(x), axes, keep), name)
    if order in (1, 1.0):
        return _largest_sum(polar.abs(x), axes[0], axes[1], keep, name)
    if order == np.inf:
        return _largest_sum(polar.abs(x), axes[1], axes[0], keep, name)
    if order in (2, 2.0):
        return _spectral_norm(x, axes, keep, name)
    raise ValueError(
        f"norm: ord must be 'euclidean', 'fro', 1, 2 or inf for matrices, got {order!r}"
    )


def _largest_sum(x: Tensor, summed: int, compared: int, keep: bool, name: str | None) -> Tensor:
    sums = reduction.reduce_sum(x, summed, keepdims=True)
    largest = reduction.reduce_max(sums, compared, keepdims=True)
    return largest if keep else reshaping.squeeze(largest, [summed, compared], name)


def _spectral_norm(x: Tensor, axes: tuple[int, ...], keep: bool, name: str | None) -> Tensor:
    rank = x.shape.rank
    if rank is None:
        raise ValueError("norm: ord 2 of matrices needs a tensor of known rank")
    last = [axis % rank for axis in axes]
    order = [axis for axis in range(rank) if axis not in last] + last
    moved = x if order == list(range(rank)) else permutations.transpose(x, order)
    largest = reduction.reduce_max(factorization.svd(moved, compute_uv=False), -1, name=name)
    for axis in sorted(last) if keep else ():
        largest = reshaping.expand_dims(largest, axis)
    return largest


def normalize(
    tensor: TensorLike, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(tensor / norm, norm), where the norm has axes of size 1; arguments as for `norm`.

    Args:
        tensor: [...], a float or complex type.
        ord: the order of the norm, as for `norm`.
        axis: an axis for vectors, two for matrices, None for the whole tensor as one vector.
        name: name of the node while tracing.

    Returns:
        The quotient, shape and dtype of `tensor`; and the norm, with axes of size 1.
    """
    x = convert_to_tensor(tensor)
    length = norm(x, ord, axis, keepdims=True)
    if x.dtype is not length.dtype:
        from pinnace.ops.array import casting

        return division.divide(x, casting.cast(length, x.dtype), name), length
    return division.divide(x, length, name), length
