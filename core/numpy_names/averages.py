"""`average`, the weighted mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.numpy_names.promotion import is_inexact, known_rank, made_array, result_type
from pinnace.ops.array import broadcasting, casting, shapes
from pinnace.ops.math import arithmetic, division, products, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike


def average(
    a: TensorLike,
    axis: int | None = None,
    weights: TensorLike | None = None,
    returned: bool = False,
) -> Any:
    """The weighted mean.

    Args:
        a: numbers; integers and bools count as float64.
        axis: the axis that goes; None for all.
        weights: the shape of `a`; with `axis` also a vector of its size; None for equal ones.
        returned: whether to give the sums of the weights, too.

    Returns:
        The mean; with `returned` also the sums of the weights, of its shape.

    Raises:
        ValueError: `axis` is no integer, or the weights have another shape.
    """
    if axis is not None and not isinstance(axis, int):
        raise ValueError(f"average: axis must be an integer, got {axis!r}")
    x = made_array(a)
    if weights is None:
        if not is_inexact(x.dtype):
            x = casting.cast(x, result_type(x.dtype, result_type(float)))
        found = reduction.reduce_mean(x, axis=axis)
        total = shapes.size(x) if axis is None else shapes.shape(x)[axis]
        total = casting.cast(total, x.dtype)
    else:
        more = () if is_inexact(x.dtype) else (result_type(float),)
        kind = result_type(x.dtype, weights, *more)
        found, total = _weighted(casting.cast(x, kind), made_array(weights, kind), axis)
    if returned:
        return found, broadcasting.broadcast_to(total, shapes.sizes(found))
    return found


def _weighted(x: Tensor, weights: Tensor, axis: int | None) -> tuple[Tensor, Tensor]:
    rank, depth = known_rank("average", x), known_rank("average", weights)
    if depth == rank:
        if not x.shape.is_compatible_with(weights.shape):
            raise _unfit(x, weights)
        total = reduction.reduce_sum(weights, axis=axis)
        found = reduction.reduce_sum(arithmetic.multiply(x, weights), axis=axis)
    else:
        if axis is None or depth != 1:
            raise _unfit(x, weights)
        total = reduction.reduce_sum(weights)
        found = products.tensordot(x, weights, [[axis], [0]])
    return division.truediv(found, total), total


def _unfit(x: Tensor, weights: Tensor) -> ValueError:
    return ValueError(
        f"average: weights must have the shape of a, {x.shape}, or with axis be a vector, "
        f"got {weights.shape}"
    )
