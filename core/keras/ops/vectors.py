"""Products of vectors: inner, cross, Kronecker; pairwise distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import met
from pinnace.ops.array import casting, combined, reshaping
from pinnace.ops.math import arithmetic, exponents, products, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def _summing(x1: Any, x2: Any) -> tuple[Tensor, Tensor, Any]:
    """Both in a dtype for sums of products, and the dtype of the result."""
    a, b = met(x1, x2)
    kind = a.dtype
    if kind is dtypes.bool or (kind.is_integer and kind.size < 4):
        a, b = casting.cast(a, dtypes.int32), casting.cast(b, dtypes.int32)
    elif kind.name.startswith("uint"):
        a, b = casting.cast(a, dtypes.int64), casting.cast(b, dtypes.int64)
    return a, b, kind


@operation("numpy", "Inner")
def inner(x1: Any, x2: Any) -> Tensor:
    """The sums of products along the last axes.

    Args:
        x1: [..., k], or a number.
        x2: [..., k], or a number; both are promoted to one dtype.

    Returns:
        The other axes of `x1`, then those of `x2`.
    """
    a, b, kind = _summing(x1, x2)
    scalar = a.shape.rank == 0 or b.shape.rank == 0
    return casting.cast(a * b if scalar else products.tensordot(a, b, [[-1], [-1]]), kind)


@operation("numpy", "Vdot")
def vdot(x1: Any, x2: Any) -> Tensor:
    """The sum of the products of all elements.

    Args:
        x1: n elements, of any shape.
        x2: n elements; both are promoted to one dtype.

    Returns:
        A scalar.
    """
    a, b, kind = _summing(x1, x2)
    first, second = (reshaping.reshape(x, [-1]) for x in (a, b))
    return casting.cast(products.tensordot(first, second, 1), kind)


@operation("numpy", "Cross", "axisa", "axisb", "axisc", "axis")
def cross(
    x1: Any, x2: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """The cross product: the vector orthogonal to both, as long as the area between them.

    Args:
        x1: [..., 2 or 3].
        x2: [..., 2 or 3]; both are promoted to one dtype; a third element that lacks is 0.
        axisa: axis of the vectors in `x1`.
        axisb: axis of the vectors in `x2`.
        axisc: axis of the vectors in the result.
        axis: all three at once.

    Returns:
        [..., 3]; for two vectors in a plane, only the component that is not 0, [...].

    Raises:
        ValueError: vectors of another length.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = met(x1, x2)
    if not {a.shape[axisa], b.shape[axisb]} <= {2, 3}:
        raise ValueError(
            "keras.ops.cross: vectors must have two or three elements, got shapes "
            f"{a.shape.text} and {b.shape.text}"
        )
    return combined.cross(a, b, (axisa, axisb), axisc)


@operation("numpy", "Kron")
def kron(x1: Any, x2: Any) -> Tensor:
    """The Kronecker product: x2 times each element of x1, in its place.

    Args:
        x1: [m, n], or of any rank.
        x2: [p, q]; both are promoted to one dtype; the one of fewer axes gets some in front.

    Returns:
        [m p, n q], the common dtype.
    """
    a, b = met(x1, x2)
    return combined.kron(a, b)


@operation("math", "CDist")
def cdist(x: Any, y: Any) -> Tensor:
    """The Euclidean distance of each point of one set from each of the other.

    Args:
        x: [..., m, d], a float type.
        y: [..., n, d], dtype of `x`.

    Returns:
        [..., m, n].

    Raises:
        ValueError: fewer than two axes, or another d.
    """
    a, b = convert_to_tensor(x), convert_to_tensor(y)
    few = min(a.shape.rank or 0, b.shape.rank or 0) < 2
    if few or (None not in {a.shape[-1], b.shape[-1]} and a.shape[-1] != b.shape[-1]):
        raise ValueError(
            "keras.ops.cdist: x and y must be [..., points, coordinates] of as many coordinates, "
            f"got shapes {a.shape.text} and {b.shape.text}"
        )
    apart = reshaping.expand_dims(a, -2) - reshaping.expand_dims(b, -3)
    return exponents.sqrt(reduction.reduce_sum(arithmetic.square(apart), -1))
