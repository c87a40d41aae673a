"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import floating
from pinnace.ops.array import casting, permutations, reshaping
from pinnace.ops.linalg import factorization
from pinnace.ops.math import arithmetic, comparison, exponents, polar, reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

_INFINITY = float("inf")


@operation("linalg", "Norm", "ord", "axis", "keepdims")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The norm of vectors along an axis, or of the matrices that two axes make.

    Args:
        x: [...]; integers become floats.
        ord: order of a vector norm: None (Euclidean) or a number p, for the p-th root of the sum of
            the sizes to the power p; 0 counts what is not 0, infinity is the largest size,
            -infinity the smallest. Of a matrix: None or "fro" (Euclidean), "nuc" (the sum of the
            singular values), 1 or infinity (the largest sum of sizes of a column or row), 2 (the
            largest singular value), or one of these numbers below 0, for the smallest.
        axis: an axis, or two; None: all axes, which may be more than two without an `ord`.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes.

    Raises:
        ValueError: an axis that is not there, more than two axes, or an `ord` that there is not.

    Source:
        `numpy.linalg.norm`.
    """
    tensor = floating(x)
    rank = len(tensor.shape)
    axes = _axes(axis, rank)
    if axis is None and (ord is None or (ord == "fro" and rank == 2) or (ord == 2 and rank == 1)):
        return _euclidean(tensor, axes, keepdims)
    if len(axes) == 1:
        return _of_vectors(tensor, ord, axes, keepdims)
    if len(axes) == 2:
        return _of_matrices(tensor, ord, axes, keepdims)
    raise ValueError(
        "keras.ops.norm: Invalid axis values: they must be one or two with an `ord`, got "
        f"axis={axis} of {rank} axes"
    )


def _axes(axis: Any, rank: int) -> list[int]:
    if axis is None:
        return list(range(rank))
    given = [axis] if isinstance(axis, int) else list(axis)
    if any(not -rank <= one < rank for one in given):
        raise ValueError(
            "keras.ops.norm: All `axis` values must be in the range [-ndim, ndim), got "
            f"axis={axis} of {rank} axes"
        )
    return [one % rank for one in given]


def _euclidean(x: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
    sizes = polar.abs(x) if x.dtype.is_complex else x
    return exponents.sqrt(reduction.reduce_sum(arithmetic.square(sizes), axes, keepdims))


def _of_vectors(x: Tensor, ord: Any, axes: list[int], keepdims: bool) -> Tensor:
    if ord is None or ord == 2:
        return _euclidean(x, axes, keepdims)
    if isinstance(ord, str):
        raise ValueError(  # noqa: TRY004 (Keras: a ValueError)
            "keras.ops.norm: Invalid `ord` argument for vector norm: it must be None or a number, "
            f"got {ord!r}"
        )
    sizes = polar.abs(x)
    if ord == _INFINITY:
        return reduction.reduce_max(sizes, axes, keepdims)
    if ord == -_INFINITY:
        return reduction.reduce_min(sizes, axes, keepdims)
    if ord == 0:
        counted = casting.cast(comparison.not_equal(sizes, 0), sizes.dtype)
        return reduction.reduce_sum(counted, axes, keepdims)
    if ord == 1:
        return reduction.reduce_sum(sizes, axes, keepdims)
    power = casting.cast(ord, sizes.dtype)
    summed = reduction.reduce_sum(exponents.pow(sizes, power), axes, keepdims)
    return exponents.pow(summed, 1 / power)


def _of_matrices(x: Tensor, ord: Any, axes: list[int], keepdims: bool) -> Tensor:
    row, column = axes
    if row == column:
        raise ValueError(f"keras.ops.norm: Invalid axis values: two that differ, got {axes}")
    if ord is None or ord == "fro":
        return _euclidean(x, axes, keepdims)
    if ord in (1, -1, _INFINITY, -_INFINITY):
        inner, outer = (row, column) if abs(ord) == 1 else (column, row)
        summed = reduction.reduce_sum(polar.abs(x), inner, keepdims=True)
        reduce = reduction.reduce_max if ord > 0 else reduction.reduce_min
        found = reduce(summed, outer, keepdims=True)
        return found if keepdims else reshaping.squeeze(found, sorted(axes))
    if ord not in ("nuc", 2, -2):
        raise ValueError(
            "keras.ops.norm: Invalid `ord` argument for matrix norm: it must be None, 'fro', "
            f"'nuc', 1, 2, inf or one of these below 0, got {ord!r}"
        )
    others = [one for one in range(len(x.shape)) if one not in axes]
    matrices = permutations.transpose(x, [*others, row, column])
    values = factorization.svd(matrices, compute_uv=False)
    if ord == "nuc":
        found = reduction.reduce_sum(values, -1)
    else:
        found = (reduction.reduce_max if ord > 0 else reduction.reduce_min)(values, -1)
    for one in sorted(axes) if keepdims else ():
        found = reshaping.expand_dims(found, one)
    return found
