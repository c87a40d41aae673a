"""Axes of size 1, which JAX adds for groups and broadcasts: values are computed without them.

`attention` of Keras on JAX has an axis for groups of heads, of which there is one. Without it,
products and softmax are those of Keras on TensorFlow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.saved_model.stablehlo.lowering.kept_axes import with_axes
from pinnace.saved_model.stablehlo.lowering.operands import Dim, Operand, reshaped
from pinnace.saved_model.stablehlo.lowering.origins import inputs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor


def core_of(x: Operand) -> tuple[Tensor, tuple[int, ...]] | None:
    """A tensor with the elements of an operand in order, and the operand's axes that it has.

    The other axes have size 1. None for a broadcast operand.
    """
    small = x.small
    lead = x.rank - len(small.shape)
    lacking = {*range(lead), *x.spread}
    if any(x.shape[axis] != 1 for axis in lacking):
        return None
    axes = tuple(range(lead, x.rank))
    while True:
        source = inputs_of(small, "Reshape")
        places = None if source is None else _aligned(source[0].shape, small.shape)
        if source is None or places is None:
            return small, axes
        small, axes = source[0], tuple(axes[place] for place in places)


def _aligned(
    before: Sequence[int | None] | Shape, after: Sequence[int | None] | Shape
) -> list[int] | None:
    """The axes of a reshaped tensor that its source has, in order; the others have size 1.

    Args:
        before: the sizes of the source.
        after: those of the reshaped tensor.

    Returns:
        None if the reshape does anything else.
    """
    if len(before) > len(after) or max(list(before).count(None), list(after).count(None)) > 1:
        return None
    places: list[int] = []
    for place, size in enumerate(after):
        if len(places) < len(before) and before[len(places)] == size:
            places.append(place)
        elif size != 1:
            return None
    return places if len(places) == len(before) else None


def placed(tensor: Tensor, axes: Sequence[int], shape: Sequence[Dim]) -> Operand:
    """An operand of a tensor that has these of its axes; the others have size 1."""
    rank = len(shape)
    if list(axes) == list(range(rank - len(axes), rank)):
        return Operand(tensor, shape, frozenset(range(rank - len(axes))))
    return Operand(reshaped(tensor, shape[axes[0] :]), shape, frozenset(range(axes[0])))


def computed_without(
    compute: Callable[..., Tensor], operands: Sequence[Operand], shape: Sequence[Dim]
) -> Operand | None:
    """The result of an elementwise function, computed without added axes of size 1.

    None if no operand has such axes, or another operand is larger along them.
    """
    cores = [core_of(one) if len(one.small.shape) else None for one in operands]
    whole = [
        core[1]
        for core, one in zip(cores, operands, strict=True)
        if core is not None and one.rank == len(shape) and core[1]
    ]
    axes = max(whole, key=len, default=())
    if not axes or all(len(one.small.shape) <= len(axes) for one in operands):
        return None
    if any(shape[axis] != 1 for axis in range(len(shape)) if axis not in axes):
        return None
    given: list[Tensor] = []
    for core, one in zip(cores, operands, strict=True):
        tensor = one.small
        if core is not None and one.rank == len(shape) and core[1] == axes:
            tensor = core[0]
        elif len(tensor.shape):
            other = _along(tensor, axes, len(shape))
            if other is None:
                return None
            tensor = other
        given.append(tensor)
    return placed(compute(*given), axes, shape)


def _along(tensor: Tensor, axes: Sequence[int], rank: int) -> Tensor | None:
    """A tensor without the axes of a broadcast to `rank` that are not in `axes`, else None."""
    lead = rank - len(tensor.shape)
    kept = [axis for axis in axes if axis >= lead]
    sizes = [tensor.shape[axis - lead] for axis in kept]
    if sizes.count(None) > 1 or 0 in tensor.shape:
        return None
    if any(tensor.shape[axis - lead] != 1 for axis in range(lead, rank) if axis not in kept):
        return None
    if len(sizes) == len(tensor.shape):
        return tensor
    return with_ones(tensor, [-1 if size is None else size for size in sizes])


def with_ones(x: Tensor, shape: Sequence[Dim]) -> Tensor:
    """A reshaped tensor; reductions restore added axes of size 1 themselves."""
    before = inputs_of(x, "Reshape")
    x = x if before is None else before[0]
    places = _aligned(x.shape, [n if isinstance(n, int) and n >= 0 else None for n in shape])
    kept = None if places is None else with_axes(x, places, len(shape))
    return reshaped(x, shape) if kept is None else kept
