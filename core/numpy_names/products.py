"""Products of vectors and matrices; differences of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.numpy_names.pairs import multiply
from pinnace.numpy_names.promotion import known_rank, made_array, promoted, promoted_pair
from pinnace.ops.array import combined, reshaping
from pinnace.ops.math import complexes, einstein
from pinnace.ops.math import products as sums

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike


def dot(a: TensorLike, b: TensorLike) -> Tensor:
    """Sums over the last axis of `a` and the last but one, or only, axis of `b`.

    Args:
        a: numbers.
        b: likewise; if one of both has no axes, both are multiplied element by element.
    """
    x, y = promoted_pair(a, b)
    if 0 in {known_rank("dot", x), known_rank("dot", y)}:
        return multiply(x, y)
    return sums.tensordot(x, y, [[-1], [-1 if y.shape.rank == 1 else -2]])


def inner(a: TensorLike, b: TensorLike) -> Tensor:
    """Sums over the last axes of both.

    Args:
        a: numbers.
        b: likewise; if one of both has no axes, both are multiplied element by element.
    """
    x, y = promoted_pair(a, b)
    if 0 in {known_rank("inner", x), known_rank("inner", y)}:
        return multiply(x, y)
    return sums.tensordot(x, y, [[-1], [-1]])


def matmul(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The product of matrices.

    Args:
        x1: [..., m, k], or [k], a row.
        x2: [..., k, n], or [k], a column; rows and columns do not stay as axes.

    Raises:
        ValueError: the sizes do not fit.
    """
    x, y = promoted_pair(x1, x2)
    if known_rank("matmul", y) == 1:
        return sums.tensordot(x, y, 1)
    if known_rank("matmul", x) == 1:
        return sums.tensordot(x, y, [[0], [-2]])
    return sums.matmul(x, y)


def tensordot(a: TensorLike, b: TensorLike, axes: Any = 2) -> Tensor:
    """Sums over pairs of axes, one of each array.

    Args:
        a: numbers.
        b: likewise.
        axes: how many last axes of `a` and first ones of `b`; or the axes of each.
    """
    x, y = promoted_pair(a, b)
    return sums.tensordot(x, y, axes)


def vdot(a: TensorLike, b: TensorLike) -> Tensor:
    """The sum of products of all values in row-major order, with `a` conjugated."""
    x, y = (reshaping.reshape(each, [-1]) for each in promoted_pair(a, b))
    return sums.tensordot(complexes.conj(x), y, 1)


def outer(a: TensorLike, b: TensorLike) -> Tensor:
    """The products of each value of `a` (rows) with each value of `b` (columns)."""
    x, y = promoted_pair(a, b)
    return multiply(reshaping.reshape(x, [-1, 1]), reshaping.reshape(y, [1, -1]))


def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """The Kronecker product of `a` and `b`.

    Args:
        a: numbers; new axes of size 1 come first if `b` has more.
        b: likewise.
    """
    x, y = promoted_pair(a, b)
    known_rank("kron", x)
    known_rank("kron", y)
    return combined.kron(x, y, multiply)


def cross(
    a: TensorLike,
    b: TensorLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tensor:
    """The vector product.

    Args:
        a: vectors of two or three numbers; the third is 0 of two.
        b: likewise, broadcastable.
        axisa: the axis of the vectors of `a`.
        axisb: the axis of `b`.
        axisc: the axis of the result; not used where both have two numbers, which give one.
        axis: all three.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promoted_pair(a, b)
    known_rank("cross", x)
    known_rank("cross", y)
    return combined.cross(x, y, (axisa, axisb), axisc)


def einsum(subscripts: str, *operands: TensorLike, **kwargs: Any) -> Tensor:
    """The Einstein sum of a formula.

    Args:
        subscripts: such as `ij,jk->ik`.
        operands: numbers.
        kwargs: `casting`, "safe" (to the dtype that holds all) or "no"; `optimize`, False, True,
            "greedy" or "optimal", how the order of products is found.

    Raises:
        ValueError: unknown `casting` or `optimize`.
    """
    casting, optimize = kwargs.get("casting", "safe"), kwargs.get("optimize", False)
    if casting not in {"safe", "no"}:
        raise ValueError(f"einsum: casting must be 'safe' or 'no', got {casting!r}")
    if optimize not in {False, True, "greedy", "optimal"}:
        raise ValueError(
            f"einsum: optimize must be False, True, 'greedy' or 'optimal', got {optimize!r}"
        )
    arrays = promoted(*operands) if casting == "safe" else [made_array(x) for x in operands]
    order = "optimal" if optimize == "optimal" else "greedy"
    return einstein.einsum(subscripts, *arrays, optimize=order)


def diff(a: TensorLike, n: int = 1, axis: int = -1) -> Tensor:
    """The differences of neighbours; for bools, whether they differ.

    Args:
        a: numbers.
        n: how many times.
        axis: the axis.

    Raises:
        ValueError: `n` is negative, or there is no such axis.
    """
    x = made_array(a)
    rank = known_rank("diff", x)
    if not -rank <= axis < rank:
        raise ValueError(f"diff: axis {axis} is out of bounds for shape {x.shape}")
    if n < 0:
        raise ValueError(f"diff: n must be a non-negative integer, got {n}")
    return combined.differences(x, n, axis)
