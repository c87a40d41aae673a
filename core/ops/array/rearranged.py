"""Rearranged tensors: moved axes, rotated planes, rolled values, diagonals, broadcast shapes.

The functions of NumPy's names (`numpy_names`) and of `keras.ops` share these. They take tensors of
known rank: each caller converts its arguments, and checks them, by its own rules.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pinnace.ops.array import broadcasting, constants, permutations, reshaping, shapes
from pinnace.ops.linalg import bands
from pinnace.ops.math import arithmetic, ranges

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__: list[str] = []


def swapped(x: Tensor, axis1: int, axis2: int) -> Tensor:
    """`x` with two axes exchanged."""
    order = list(range(len(x.shape)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return permutations.transpose(x, order)


def from_front(axes: Any, rank: int) -> list[int]:
    """An axis or several, counted from the front."""
    several = [axes] if isinstance(axes, int) else axes
    return [axis + rank if axis < 0 else axis for axis in several]


def moved(x: Tensor, source: Any, destination: Any) -> Tensor:
    """`x` with axes moved to other positions; the others keep their order.

    Args:
        x: any dtype.
        source: an axis or several.
        destination: the new position of each.
    """
    rank = len(x.shape)
    sources, places = from_front(source, rank), from_front(destination, rank)
    order = [axis for axis in range(rank) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return permutations.transpose(x, order)


def rotated(x: Tensor, turns: int, first: int, second: int) -> Tensor:
    """`x` rotated by right angles in the plane of two axes, from the first towards the second."""
    match turns % 4:
        case 1:
            return swapped(permutations.reverse(x, [second]), first, second)
        case 2:
            return permutations.reverse(permutations.reverse(x, [first]), [second])
        case 3:
            return permutations.reverse(swapped(x, first, second), [second])
    return x


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


def offsets(rows: Any, columns: Any) -> Tensor:
    """How far each element of a matrix is to the right of the main diagonal, int32."""
    down = reshaping.expand_dims(ranges.range(rows), 1)
    return arithmetic.subtract(reshaping.expand_dims(ranges.range(columns), 0), down)


def broadcast(*tensors: Tensor) -> list[Tensor]:
    """The tensors, broadcast to a common shape."""
    known = functools.reduce(shapes.broadcast_static_shape, [x.shape for x in tensors])
    if known.is_fully_defined():
        shape: Any = known.as_list()
    else:
        shape = functools.reduce(shapes.broadcast_dynamic_shape, map(shapes.shape, tensors))
    return [broadcasting.broadcast_to(x, shape) for x in tensors]
