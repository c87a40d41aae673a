"""batch_dot: products of corresponding samples of two batches."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array.reshaping import expand_dims
from pinnace.ops.math.einstein import einsum

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = ["batch_dot"]


def batch_dot(x: Any, y: Any, axes: Any = None) -> Tensor:
    """Products of the samples of two batches, summed over one axis of each.

    Args:
        x: [b, ...], two axes or more.
        y: [b, ...], two axes or more.
        axes: the axis of both, or a pair; None for the last of `x` and the last but one of `y`, or
            its last if it has two.

    Returns:
        [b, other axes of x, other axes of y]; [b, 1] if there are none.

    Raises:
        ValueError: fewer axes, batches of other sizes, axis 0, or axes of other sizes.
    """
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    ranks = len(x.shape), len(y.shape)
    if min(ranks) < 2:
        raise ValueError(
            f"batch_dot: x and y must have 2 axes or more, got shapes {x.shape} and {y.shape}"
        )
    if axes is None:
        axes = (-1, -1) if ranks[1] == 2 else (-1, -2)
    pair = (axes, axes) if isinstance(axes, int) else tuple(axes)
    if len(pair) != 2 or not all(isinstance(axis, int) for axis in pair):
        raise ValueError(f"batch_dot: axes must be None, an axis or a pair of axes, got {axes!r}")
    summed = [axis + rank if axis < 0 else axis for axis, rank in zip(pair, ranks, strict=True)]
    if not all(0 < axis < rank for axis, rank in zip(summed, ranks, strict=True)):
        raise ValueError(
            f"batch_dot: axes must be axes of x and y, and not the batch's, 0; got {axes!r} for "
            f"shapes {x.shape} and {y.shape}\n  Try: expand_dims(x, 0), if there is no batch"
        )
    sizes = [(x.shape[0], y.shape[0]), (x.shape[summed[0]], y.shape[summed[1]])]
    for what, (one, other) in zip(("batches", "axes that are summed"), sizes, strict=True):
        if None not in (one, other) and one != other:
            raise ValueError(
                f"batch_dot: {what} must have one size, got {one} and {other} of shapes {x.shape} "
                f"and {y.shape}"
            )
    batch, along, *letters = list(string.ascii_lowercase)
    first = [batch, *letters[: ranks[0] - 2]]
    second = [batch, *letters[ranks[0] - 2 : sum(ranks) - 4]]
    result = "".join([*first, *second[1:]])
    first.insert(summed[0], along)
    second.insert(summed[1], along)
    found = einsum(f"{''.join(first)},{''.join(second)}->{result}", x, y)
    return expand_dims(found, 1) if len(result) == 1 else found
