"""Rearranged tensors: swapped and moved axes, rolled values, diagonals.

The functions of NumPy's names (`numpy_names`) and of `keras.ops` share these. They take tensors of
known rank: each caller converts its arguments, and checks them, by its own rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.array import constants, permutations, reshaping, shapes
from pinnace.ops.linalg import bands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

__all__: list[str] = []


def swapped(x: Tensor, axis1: int, axis2: int) -> Tensor:
    """`x` with two axes exchanged."""
    order = list(range(len(x.shape)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return permutations.transpose(x, order)


def moved(x: Tensor, sources: Sequence[int], places: Sequence[int]) -> Tensor:
    """`x` with axes moved to other positions; the others keep their order.

    Args:
        x: any dtype.
        sources: the axes, counted from the front.
        places: the new position of each, counted from the front.
    """
    order = [axis for axis in range(len(x.shape)) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return permutations.transpose(x, order)


def rolled(x: Tensor, shift: Any, axis: Any) -> Tensor:
    """`x` rolled along axes; along all values in row-major order if `axis` is None."""
    if axis is not None:
        return permutations.roll(x, shift, axis)
    flat = permutations.roll(reshaping.reshape(x, [-1]), shift, 0)
    return reshaping.reshape(flat, shapes.sizes(x))


def diagonal(x: Tensor, offset: int) -> Tensor:
    """The diagonals of the matrices in the last two axes; empty beyond the corners."""
    rows, columns = x.shape[-2], x.shape[-1]
    below = rows is not None and -offset >= rows
    beside = columns is not None and offset >= columns
    if below or beside:
        return constants.zeros([*shapes.axis_sizes(x)[:-2], 0], x.dtype)
    return bands.diag_part(x, k=offset)
