"""Combined tensors: cross and Kronecker products, differences of neighbours, closeness.

The functions of NumPy's names (`numpy_names`) and of `keras.ops` share these; see `rearranged`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.array import constants, padding, rearranged, reshaping, shapes
from pinnace.ops.math import arithmetic, comparison, logic, polar, products

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor

__all__: list[str] = []


def cross(x: Tensor, y: Tensor, axes: tuple[int, int], axis: int) -> Tensor:
    """The cross products of vectors of two or three elements; the third is 0 of two.

    Args:
        x: vectors, of one dtype with `y`.
        y: vectors, broadcastable to `x` but along the axes.
        axes: the axis of the vectors in each.
        axis: that of the result; not used where both have two elements, which give one.
    """
    x, y = (rearranged.moved(each, n, -1) for each, n in zip((x, y), axes, strict=True))
    flat = x.shape[-1] == 2 and y.shape[-1] == 2
    x, y = rearranged.broadcast(_in_space(x), _in_space(y))
    found = products.cross(x, y)
    return found[..., 2] if flat else rearranged.moved(found, -1, axis)


def _in_space(x: Tensor) -> Tensor:
    if x.shape[-1] != 2:
        return x
    return padding.pad(x, [[0, 0]] * (len(x.shape) - 1) + [[0, 1]])


def kron(x: Tensor, y: Tensor, multiply: Callable[..., Tensor] = arithmetic.multiply) -> Tensor:
    """The Kronecker product: `y` times each element of `x`, in its place.

    Args:
        x: any rank, of one dtype with `y`.
        y: likewise; the one of fewer axes gets axes of size 1 in front.
        multiply: the product of both, element by element.
    """
    rank = max(len(x.shape), len(y.shape))
    sizes = [[1] * (rank - len(each.shape)) + shapes.axis_sizes(each) for each in (x, y)]
    wide: list[Any] = [part for size in sizes[0] for part in (size, 1)]
    narrow: list[Any] = [part for size in sizes[1] for part in (1, size)]
    product = multiply(reshaping.reshape(x, wide), reshaping.reshape(y, narrow))
    return reshaping.reshape(product, [m * n for m, n in zip(*sizes, strict=True)])


def differences(x: Tensor, count: int, axis: int) -> Tensor:
    """Differences of neighbours along an axis, taken `count` times; of bools, if they differ."""
    before = (slice(None),) * (axis % (len(x.shape) or 1))
    differ = comparison.not_equal if x.dtype.is_bool else arithmetic.subtract
    for _ in range(count):
        x = differ(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])
    return x


def near(x: Tensor, y: Tensor, rtol: float, atol: float) -> Tensor:
    """Whether |x - y| ≤ atol + rtol |y|, for floating or complex tensors of one dtype."""
    relative, absolute = (constants.constant(t, x.dtype.real_dtype) for t in (rtol, atol))
    allowed = arithmetic.add(absolute, arithmetic.multiply(relative, polar.abs(y)))
    return comparison.less_equal(polar.abs(arithmetic.subtract(x, y)), allowed)


def or_both_nan(x: Tensor, y: Tensor, found: Tensor) -> Tensor:
    """`found`, or that both are NaN."""
    return logic.logical_or(found, logic.logical_and(comparison.is_nan(x), comparison.is_nan(y)))
