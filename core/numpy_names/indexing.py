"""x[key] as in NumPy: with index arrays and boolean masks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.indexing import is_plain
from pinnace.framework.tensor import Operands, Tensor
from pinnace.numpy_names.axes import moveaxis
from pinnace.numpy_names.promotion import known_rank, made_array, promoted
from pinnace.ops.array import (
    casting,
    constants,
    gathering,
    joining,
    masking,
    rearranged,
    reshaping,
    selecting,
    shapes,
    slicing,
)
from pinnace.ops.math import arithmetic, comparison


class _Chosen(NamedTuple):
    """An array among the items of an index key: its position there, and the indices."""

    place: int
    indices: Tensor


def getitem(x: Tensor, key: Any) -> Tensor:
    """`x[key]` by NumPy's rules.

    As in TensorFlow, integers among the items drop their axes before arrays are looked at, so that
    `x[0, :, [1, 2]]` puts the axis of the array where its own axis stood.

    Args:
        x: any dtype.
        key: integers, slices, `...`, None, arrays of integers, vectors of bools, or a tuple of
            these; or one array of bools of any rank.

    Raises:
        IndexError: an item has another dtype.
        NotImplementedError: an array of bools with several axes stands beside other items.
    """
    if is_plain(key):
        return slicing.getitem(x, key)
    if _is_bool(key):
        return masking.boolean_mask(x, key)
    items = key if isinstance(key, tuple) else _items(key)
    plain: list[Any] = []
    chosen: list[_Chosen] = []
    for place, item in enumerate(items):
        if item is None or item is Ellipsis:
            plain.append(item)
        elif isinstance(item, slice):
            plain.append(slice(*[_bound(n) for n in (item.start, item.stop, item.step)]))
        else:
            indices = _indices(item)
            if isinstance(indices, Tensor) and indices.shape.rank != 0:
                chosen.append(_Chosen(place, indices))
                plain.append(slice(None))
            else:
                plain.append(indices)
    found = slicing.getitem(x, tuple(plain))
    if not chosen:
        return found
    axes = [_axis_of(items, plain, one.place, known_rank("getitem", found)) for one in chosen]
    return _gathered(found, axes, [one.indices for one in chosen])


def _axis_of(items: tuple[Any, ...], plain: list[Any], place: int, rank: int) -> int:
    """The axis, among those the plain items leave, to which the item at `place` refers."""
    stays = [item is None or isinstance(item, slice) for item in plain]
    dots = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    if place < dots:
        return sum(stays[:place])
    return rank - sum(stays[place:])


def _gathered(x: Tensor, axes: list[int], indices: list[Tensor]) -> Tensor:
    """The values at all indices; their axes are at the position of the first of `axes`.

    If `axes` are not adjacent, they come first.
    """
    if len(axes) == 1:
        size = shapes.axis_sizes(x)[axes[0]]
        return gathering.gather(x, from_end(indices[0], size), axis=axes[0])
    sizes = shapes.axis_sizes(x)
    together = rearranged.broadcast(*promoted(*indices))
    depth = known_rank("getitem", together[0])
    places = joining.stack(
        [from_end(each, sizes[axis]) for each, axis in zip(together, axes, strict=True)], -1
    )
    found = gathering.gather_nd(moveaxis(x, axes, range(len(axes))), places)
    contiguous = axes == list(range(axes[0], axes[0] + len(axes)))
    if contiguous and axes[0] and depth:
        return moveaxis(found, range(depth), range(axes[0], axes[0] + depth))
    return found


def from_end(indices: Tensor, size: Any) -> Tensor:
    """The indices, with `size` added to negative ones."""
    last = casting.cast(size, indices.dtype)
    below = comparison.less(indices, constants.zeros([], indices.dtype))
    return selecting.where(below, arithmetic.add(indices, last), indices)


def _is_bool(key: Any) -> bool:
    if isinstance(key, (bool, np.bool_)):
        return True
    if isinstance(key, Operands):
        return bool(key.dtype.is_bool)
    return isinstance(key, np.ndarray) and key.dtype.kind == "b"


def _items(key: Any) -> tuple[Any, ...]:
    """The items of a key: a list is an array of indices, or a tuple if it has other items."""
    if isinstance(key, list):
        for item in key:
            array = isinstance(item, (Operands, np.ndarray)) and item.ndim != 0  # type: ignore[union-attr]
            if item is None or item is Ellipsis or isinstance(item, (list, tuple, slice)) or array:
                return tuple(key)
    return (key,)


def _bound(n: Any) -> Any:
    return n if n is None else _indices(n)


def _indices(item: Any) -> Any:
    """An item as an integer, or as an int32 or int64 tensor."""
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int(item)
    x = made_array(item)
    if x.dtype.is_bool:
        if x.shape.rank != 1:
            raise NotImplementedError(
                f"an array of bools beside other items must be a vector, got {x!r}\n"
                "  Try: x[mask], or nonzero(mask)"
            )
        return reshaping.reshape(selecting.where(x), [-1])
    if not x.dtype.is_integer:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
            f"boolean arrays are valid indices, got {item!r}"
        )
    if x.dtype is dtypes.uint64:
        raise IndexError(f"indices of uint64 are not valid, got {item!r}\n  Try: cast(x, 'int64')")
    if x.dtype in dtypes.INDEX:
        return x
    return casting.cast(x, dtypes.int64 if x.dtype is dtypes.uint32 else dtypes.int32)
