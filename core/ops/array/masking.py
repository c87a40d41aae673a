"""Selection by a boolean mask."""

from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Tensor, TensorLike
from pinnace.ops.array import gathering, joining, reshaping, selecting, shapes
from pinnace.ops.array.broadcasting import known_value
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.math import reduction

__all__ = ["boolean_mask"]


@takes_composites(ragged="gathering:boolean_mask")
def boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: Any = None, name: str | None = "boolean_mask"
) -> Tensor:
    """The slices of `tensor` where `mask` is true, concatenated.

    Args:
        tensor: [a, m, b]: groups of axes.
        mask: [m], bool or numbers (chosen where not 0), of known rank, at least 1.
        axis: the axis of `tensor` at which `m` begins, a number or a scalar tensor; None is 0.
        name: name of the node while tracing.

    Returns:
        [a, count, b], dtype of `tensor`.

    Raises:
        ValueError: the shape of `mask` is not that of these axes, or its rank is 0 or unknown.
    """
    x = convert_to_tensor(tensor)
    chosen = convert_to_tensor(mask)  # numbers too: all but zero are chosen
    width = chosen.shape.rank
    if width is None:
        raise ValueError(
            "boolean_mask: the rank of mask must be known: the number of its dimensions must be "
            "specified"
        )
    if not width:
        raise ValueError("boolean_mask: mask must have at least one axis, got a scalar")
    first = _first_axis(x, axis, width)
    if not isinstance(first, int):
        sizes = shapes.shape(x)
        x, chosen = _joined(x, sizes, first, width), reshaping.reshape(chosen, [-1])
        positions = reshaping.reshape(selecting.where(chosen), [-1])
        return gathering.gather(x, positions, axis=first, name=name)
    part = x.shape[first : first + width] if x.shape.rank is not None else Shape(None)
    if not part.is_compatible_with(chosen.shape):
        raise ValueError(
            f"boolean_mask: mask must have the shape of axes {first} to {first + width - 1} of "
            "tensor, these are incompatible: "
            f"got {chosen.shape.text} and {part.text}\n  tensor: {x.dtype.name}{x.shape.text}"
        )
    if width > 1:
        x = _merged(x, first, width)
        chosen = reshaping.reshape(chosen, [-1])
    positions = reshaping.reshape(selecting.where(chosen), [-1])
    return gathering.gather(x, positions, axis=first, name=name)


def _first_axis(x: Tensor, axis: Any, width: int) -> int | Tensor:
    """The axis as a number, or a tensor if it is known only at run time."""
    if axis is None:
        return 0
    if isinstance(axis, Tensor):
        value = known_value(axis)
        if value is None:
            return axis
        axis = value.reshape(-1)[0]
    first = int(axis)
    if first < 0:
        rank = x.shape.rank
        if rank is None:
            raise ValueError(
                "boolean_mask: the rank of tensor must be known where axis is negative"
            )
        first += rank
    if x.shape.rank is not None and not 0 <= first <= x.shape.rank - width:
        raise ValueError(
            f"boolean_mask: axes {first} to {first + width - 1} must be axes of tensor\n"
            f"  tensor: {x.dtype.name}{x.shape.text}"
        )
    return first


def _merged(x: Tensor, first: int, width: int) -> Tensor:
    """`x` with the axes from `first` to `first + width` merged."""
    if x.shape.is_fully_defined():
        known: list[Any] = x.shape.as_list()
        count = int(np.prod(known[first : first + width], dtype=np.int64))
        return reshaping.reshape(x, [*known[:first], count, *known[first + width :]])
    return _joined(x, shapes.shape(x), first, width)


def _joined(x: Tensor, sizes: Tensor, first: int | Tensor, width: int) -> Tensor:
    rows = reduction.reduce_prod(sizes[first : first + width], [0])
    parts = [sizes[:first], reshaping.reshape(rows, [1]), sizes[first + width :]]
    return reshaping.reshape(x, joining.concat(parts, 0))
