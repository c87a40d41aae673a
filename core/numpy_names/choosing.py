"""Selection of values by indices or conditions, and sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.numpy_names.axes import ravel, swapaxes
from pinnace.numpy_names.indexing import from_end
from pinnace.numpy_names.joining import atleast_1d
from pinnace.numpy_names.promotion import (
    PREFERENCES,
    known_rank,
    made_array,
    promoted,
)
from pinnace.ops.array import (
    broadcasting,
    casting,
    constants,
    gathering,
    joining,
    masking,
    reshaping,
    selecting,
    shapes,
    sorting,
)
from pinnace.ops.math import arithmetic, clipping, division

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor, TensorLike


def take(
    a: TensorLike,
    indices: TensorLike,
    axis: int | None = None,
    out: Any = None,
    mode: str = "clip",
) -> Tensor:
    """The slices at given indices along an axis.

    Args:
        a: any dtype.
        indices: integers of any shape.
        axis: the axis; None for the values in row-major order.
        out: None: tensors cannot be written to.
        mode: "clip" (out-of-bounds indices mean the nearest slice) or "wrap" (they wrap around).

    Raises:
        ValueError: `out` is given, or another mode.
    """
    if out is not None:
        raise ValueError("take: out must be None: tensors cannot be written to")
    if mode not in {"clip", "wrap"}:
        raise ValueError(f"take: mode must be 'clip' or 'wrap', got {mode!r}")
    x, places = made_array(a), made_array(indices)
    if axis is None:
        x, axis = ravel(x), 0
    size = shapes.shape(x, out_type=places.dtype)[axis]
    if mode == "clip":
        places = clipping.clip_by_value(places, 0, arithmetic.subtract(size, 1))
    else:
        places = division.floormod(places, size)
    return gathering.gather(x, places, axis=axis)


def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int | None) -> Tensor:
    """The values at given indices along an axis, each in its own row.

    Args:
        arr: any dtype.
        indices: integers, with as many axes as `arr`; both broadcast except along `axis`. Negative
            ones count from the end.
        axis: the axis; None for the values of `arr` in row-major order.
    """
    x, places = made_array(arr), made_array(indices)
    if axis is None:
        return take_along_axis(ravel(x), places, 0)
    axis %= known_rank("take_along_axis", x)
    rows, wanted = (swapaxes(each, axis, -1) for each in (x, places))
    around = _broadcast_sizes(rows, wanted)
    rows, wanted = (_with_rows(each, around) for each in (rows, wanted))
    *_, length = shapes.axis_sizes(rows)
    *_, count = shapes.axis_sizes(wanted)
    flat = reshaping.reshape(from_end(wanted, length), [-1, count])
    found = gathering.gather(reshaping.reshape(rows, [-1, length]), flat, batch_dims=1)
    return swapaxes(reshaping.reshape(found, shapes.sizes(wanted)), axis, -1)


def _broadcast_sizes(x: Tensor, y: Tensor) -> Any:
    """The broadcast shape of all axes except the last."""
    known = shapes.broadcast_static_shape(x.shape[:-1], y.shape[:-1])
    if known.is_fully_defined():
        return known.as_list()
    return shapes.broadcast_dynamic_shape(shapes.shape(x)[:-1], shapes.shape(y)[:-1])


def _with_rows(x: Tensor, around: Any) -> Tensor:
    *_, length = shapes.axis_sizes(x)
    if isinstance(around, list):
        return broadcasting.broadcast_to(x, [*around, length])
    return broadcasting.broadcast_to(x, joining.concat([around, [length]], 0))


def where(condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None) -> Any:
    """`x` where a condition holds, else `y`; without both, `nonzero(condition)`.

    Args:
        condition: numbers; those other than 0 count as true.
        x: broadcastable with the others.
        y: likewise.

    Raises:
        ValueError: only one of `x` and `y` is given.
    """
    held = made_array(condition, dtypes.bool)
    if x is None and y is None:
        return nonzero(held)
    if x is None or y is None:
        raise ValueError("where: x and y must be given both or neither")
    first, second = promoted(x, y)
    return selecting.where(held, first, second)


def select(
    condlist: Sequence[TensorLike], choicelist: Sequence[TensorLike], default: TensorLike = 0
) -> Tensor:
    """At each position, the choice for the first condition that holds there.

    Args:
        condlist: conditions.
        choicelist: as many arrays; all broadcast together.
        default: the value where no condition holds.

    Raises:
        ValueError: not as many choices as conditions, or none.
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            "select: condlist must be non-empty and have length equal to choicelist, "
            f"got {len(condlist)} and {len(choicelist)}"
        )
    found, *choices = promoted(default, *choicelist)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        found = where(condition, choice, found)
    return found


def nonzero(a: TensorLike) -> list[Tensor]:
    """The indices of non-zero elements in row-major order: an int64 vector per axis."""
    x = atleast_1d(a)
    rank = known_rank("nonzero", x)
    places = selecting.where(casting.cast(x, dtypes.bool))
    return joining.unstack(places, rank, axis=1)


def compress(condition: TensorLike, a: TensorLike, axis: int | None = None) -> Tensor:
    """The slices along an axis for which a condition holds.

    Args:
        condition: a vector; slices beyond its end are left out.
        a: any dtype.
        axis: the axis; None for the values in row-major order.

    Raises:
        ValueError: `condition` is no vector, or there is no such axis.
    """
    held, x = made_array(condition, dtypes.bool), made_array(a)
    if known_rank("compress", held) != 1:
        raise ValueError(f"compress: condition must be a 1-d array, got shape {held.shape}")
    if axis is None or x.shape.rank == 0:
        x, axis = ravel(x), axis or 0
    rank = known_rank("compress", x)
    if not -rank <= axis < rank:
        raise ValueError(f"compress: axis {axis} is out of bounds for shape {x.shape}")
    missing = arithmetic.subtract(shapes.size(x[_first(rank, axis)]), shapes.size(held))
    more = constants.fill([arithmetic.maximum(missing, 0)], False)
    return masking.boolean_mask(x, joining.concat([held, more], 0), axis=axis % rank)


def _first(rank: int, axis: int) -> tuple[Any, ...]:
    """The key of a vector along an axis."""
    return tuple(slice(None) if place == axis % rank else 0 for place in range(rank))


def ix_(*args: TensorLike) -> list[Tensor]:
    """Indices that together select every combination of those given.

    Args:
        args: vectors of integers or bools, one for each axis.

    Returns:
        Arrays that broadcast to the shape of the selected array.

    Raises:
        ValueError: an argument is no vector, or of another dtype.
    """
    found = []
    for place, each in enumerate(args):
        x = made_array(each)
        if known_rank("ix_", x) != 1:
            raise ValueError(f"ix_: arguments must be 1-d, argument {place} has shape {x.shape}")
        if not (x.dtype.is_bool or x.dtype.is_integer):
            raise ValueError(f"ix_: only integer and bool dtypes are supported, got {x.dtype.name}")
        shape = [1] * len(args)
        shape[place] = -1
        found.append(reshaping.reshape(nonzero(x)[0] if x.dtype.is_bool else x, shape))
    return found


def sort(
    a: TensorLike, axis: int | None = -1, kind: str = "quicksort", order: Any = None
) -> Tensor:
    """The values in ascending order.

    Args:
        a: numbers, not complex.
        axis: the axis; None for the values in row-major order.
        kind: "quicksort".
        order: None: there are no fields.

    Raises:
        ValueError: unknown `kind` or `order`.
    """
    _check_order("sort", kind, ("quicksort",), order)
    x = made_array(a)
    return sorting.sort(ravel(x), 0) if axis is None else sorting.sort(x, axis)


def argsort(
    a: TensorLike, axis: int | None = -1, kind: str = "quicksort", order: Any = None
) -> Tensor:
    """The indices that put the values in ascending order: int64, int32 under weak promotion.

    Args:
        a: numbers, not complex.
        axis: the axis; None for the values in row-major order.
        kind: "quicksort" or "stable"; both are stable here.
        order: None: there are no fields.

    Raises:
        ValueError: unknown `kind` or `order`.
        TypeError: the numbers are complex.
    """
    _check_order("argsort", kind, ("quicksort", "stable"), order)
    x = made_array(a)
    if x.dtype.is_complex:
        raise TypeError(f"argsort: complex numbers have no order, got {x.dtype.name}")
    index = dtypes.int32 if PREFERENCES.weak else dtypes.int64
    if x.shape.rank == 0:
        return constants.constant([0], index)
    found = sorting.argsort(ravel(x), 0) if axis is None else sorting.argsort(x, axis)
    return casting.cast(found, index)


def _check_order(who: str, kind: str, kinds: tuple[str, ...], order: Any) -> None:
    if kind not in kinds or order is not None:
        allowed = " or ".join(map(repr, kinds))
        raise ValueError(
            f"{who}: kind must be {allowed} and order None, got kind={kind!r}, order={order!r}"
        )
