"""Joining and splitting of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.tensor import Tensor, TensorLike
from pinnace.numpy_names.axes import ravel, swapaxes
from pinnace.numpy_names.making import leading_ones
from pinnace.numpy_names.promotion import known_rank, made_array, promoted
from pinnace.ops.array import joining, reshaping

if TYPE_CHECKING:
    from collections.abc import Iterable


def atleast_1d(*arys: TensorLike) -> Any:
    """Each array with at least one axis; a list of arrays if several are given."""
    return _each([leading_ones(made_array(a), 1, "atleast_1d") for a in arys])


def atleast_2d(*arys: TensorLike) -> Any:
    """Each array with at least two axes; new ones in front."""
    return _each([leading_ones(made_array(a), 2, "atleast_2d") for a in arys])


def atleast_3d(*arys: TensorLike) -> Any:
    """Each array with at least three axes: [n] gives [1, n, 1], [m, n] gives [m, n, 1]."""
    return _each([_in_space(made_array(a)) for a in arys])


def _in_space(x: Tensor) -> Tensor:
    rank = known_rank("atleast_3d", x)
    if rank >= 3:
        return x
    flat = leading_ones(x, 2, "atleast_3d")
    return reshaping.expand_dims(flat, -1)


def _each(found: list[Tensor]) -> Any:
    return found[0] if len(found) == 1 else found


def stack(arrays: Any, axis: int = 0) -> Tensor:
    """The arrays stacked along a new axis.

    Args:
        arrays: several of one shape; or a tensor, whose parts along its first axis they are.
        axis: position of the new axis.
    """
    if isinstance(arrays, Tensor):
        return swapaxes(arrays, 0, axis) if axis else arrays
    return joining.stack(promoted(*arrays), axis)


def concatenate(arys: Any, axis: int = 0) -> Tensor:
    """The arrays concatenated along an existing axis.

    Args:
        arys: arrays of equal shape, except for that axis.
        axis: which.

    Raises:
        ValueError: no array is given.
    """
    several = list(arys) if isinstance(arys, (list, tuple)) else [arys]
    if not several:
        raise ValueError(f"concatenate: at least one array is needed, got {arys!r}")
    return joining.concat(promoted(*several), axis)


def append(arr: TensorLike, values: TensorLike, axis: int | None = None) -> Tensor:
    """`values` appended to `arr` along `axis`; by default, both flattened."""
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)


def vstack(tup: Iterable[TensorLike]) -> Tensor:
    """The arrays stacked vertically; vectors count as rows."""
    return joining.concat(promoted(*[atleast_2d(a) for a in tup]), 0)


def hstack(tup: Iterable[TensorLike]) -> Tensor:
    """The arrays stacked horizontally; vectors are concatenated."""
    arrays = promoted(*[atleast_1d(a) for a in tup])
    return joining.concat(arrays, 0 if known_rank("hstack", arrays[0]) == 1 else 1)


def dstack(tup: Iterable[TensorLike]) -> Tensor:
    """The arrays stacked along the third axis."""
    return joining.concat(promoted(*[atleast_3d(a) for a in tup]), 2)


def split(ary: TensorLike, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """`ary` split along an axis.

    Args:
        ary: any dtype.
        indices_or_sections: into how many parts of one size; or where to cut, ascending.
        axis: the axis.

    Raises:
        ValueError: the axis does not exist or has unknown size, or the cuts do not ascend.
    """
    x = made_array(ary)
    if isinstance(indices_or_sections, int):
        return joining.split(x, indices_or_sections, axis)
    rank = known_rank("split", x)
    if not -rank <= axis < rank:
        raise ValueError(f"split: axis {axis} is out of bounds for shape {x.shape}")
    whole = x.shape[axis]
    if whole is None:
        raise ValueError(f"split: the size of axis {axis} must be known, got shape {x.shape}")
    return joining.split(x, _part_sizes(list(indices_or_sections), whole), axis)


def _part_sizes(cuts: list[int], whole: int) -> list[int]:
    sizes, before = [], 0
    for place, cut in enumerate(cuts):
        if cut < before:
            raise ValueError(
                f"split: cut {place} ({cut}) is smaller than the one before ({before})"
            )
        sizes.append(min(cut, whole) - min(before, whole))
        before = cut
    return [*sizes, whole - min(before, whole)]


def vsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """`split` along the first axis."""
    return _split_evenly("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """`split` along the second axis, or the only one of a vector."""
    return _split_evenly("hsplit", ary, indices_or_sections, 1)


def dsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """`split` along the third axis."""
    return _split_evenly("dsplit", ary, indices_or_sections, 2)


def _split_evenly(who: str, ary: TensorLike, sections: Any, axis: int) -> list[Tensor]:
    x = made_array(ary)
    along = 0 if axis == 1 and x.shape.rank == 1 else axis
    if isinstance(sections, int):
        size = x.shape[along]
        if size is not None and size % sections:
            raise ValueError(
                f"{who}: array split does not result in an equal division: {size} by {sections}"
            )
    return split(x, sections, along)
