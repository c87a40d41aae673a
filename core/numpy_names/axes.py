"""Changes of axes: reshaped, transposed, rotated, repeated, padded arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.numpy_names.making import leading_ones
from pinnace.numpy_names.promotion import known_rank, made_array
from pinnace.ops.array import (
    constants,
    joining,
    padding,
    permutations,
    rearranged,
    reshaping,
    shapes,
    tiling,
)

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike


def reshape(a: TensorLike, newshape: Any, order: str = "C") -> Tensor:
    """The values in another shape.

    Args:
        a: any dtype.
        newshape: the size of each axis, one of which may be -1; a number for one axis.
        order: "C" (the last axis varies fastest) or "F" (the first one does).

    Raises:
        ValueError: `order` is another.
    """
    if order not in {"C", "F"}:
        raise ValueError(f"reshape: order must be 'C' or 'F', got {order!r}")
    x = made_array(a)
    shape = [newshape] if isinstance(newshape, int) else newshape
    if order == "C":
        return reshaping.reshape(x, shape)
    back = shape[::-1]
    return permutations.transpose(reshaping.reshape(permutations.transpose(x), back))


def ravel(a: TensorLike) -> Tensor:
    """The values along one axis."""
    return reshaping.reshape(made_array(a), [-1])


def flatten(a: TensorLike, order: str = "C") -> Tensor:
    """The values along one axis.

    Args:
        a: any dtype.
        order: "C", "A" or "K" (the last axis varies fastest), or "F" (the first one does).

    Raises:
        ValueError: `order` is another.
    """
    if order not in {"C", "A", "K", "F"}:
        raise ValueError(f"flatten: order must be 'C', 'A', 'K' or 'F', got {order!r}")
    return ravel(permutations.transpose(made_array(a)) if order == "F" else a)


def expand_dims(a: TensorLike, axis: Any) -> Tensor:
    """`a` with a new axis of size 1 at `axis`."""
    return reshaping.expand_dims(made_array(a), axis)


def squeeze(a: TensorLike, axis: Any = None) -> Tensor:
    """`a` without axes of size 1: those in `axis`, or all."""
    return reshaping.squeeze(made_array(a), axis)


def transpose(a: TensorLike, axes: Any = None) -> Tensor:
    """`a` with its axes permuted; reversed by default."""
    return permutations.transpose(made_array(a), axes)


def swapaxes(a: TensorLike, axis1: int, axis2: int) -> Tensor:
    """`a` with two axes swapped."""
    x = made_array(a)
    known_rank("swapaxes", x)
    return rearranged.swapped(x, axis1, axis2)


def moveaxis(a: TensorLike, source: Any, destination: Any) -> Tensor:
    """`a` with axes moved to other positions; the others keep their order.

    Args:
        a: any dtype.
        source: the axes, one or several.
        destination: the new position of each.

    Raises:
        ValueError: not as many places as axes.
    """
    x = made_array(a)
    known_rank("moveaxis", x)
    if np.size(source) != np.size(destination):
        raise ValueError(
            "moveaxis: the lengths of source and destination must be equal, got "
            f"{source!r} and {destination!r}"
        )
    return rearranged.moved(x, source, destination)


def flip(m: TensorLike, axis: int | None = None) -> Tensor:
    """`m` reversed along `axis`, or along all axes if it is None."""
    x = made_array(m)
    rank = known_rank("flip", x)
    if rank == 0:
        return x
    return permutations.reverse(
        x, list(range(rank)) if axis is None else rearranged.from_front(axis, rank)
    )


def flipud(m: TensorLike) -> Tensor:
    """`m` with its first axis reversed."""
    return flip(m, 0)


def fliplr(m: TensorLike) -> Tensor:
    """`m` with its second axis reversed."""
    return flip(m, 1)


def roll(a: TensorLike, shift: TensorLike, axis: Any = None) -> Tensor:
    """`a` rolled: values that leave at the end enter at the start.

    Args:
        a: any dtype.
        shift: number of places, for each axis.
        axis: the axis or axes; None for the values in row-major order.
    """
    return rearranged.rolled(made_array(a), shift, axis)


def rot90(m: TensorLike, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    """`m` rotated by right angles in the plane of two axes.

    Args:
        m: any dtype.
        k: how many quarters, from the first axis towards the second.
        axes: the two.
    """
    x = made_array(m)
    first, second = rearranged.from_front(axes, known_rank("rot90", x))
    return rearranged.rotated(x, k, first, second)


def tile(a: TensorLike, reps: TensorLike) -> Tensor:
    """`a` repeated as a whole along each axis.

    Args:
        a: any dtype.
        reps: how often along each axis, the last axes if there are fewer numbers than axes.

    Raises:
        ValueError: the number of axes is not known while a function is traced.
    """
    x, times = made_array(a), reshaping.reshape(made_array(reps, dtypes.int32), [-1])
    rank, count = known_rank("tile", x), times.shape[0]
    if count is None:
        raise ValueError(f"tile: how many numbers reps has must be known, got {times!r}")
    if count < rank:
        times = joining.concat([constants.ones([rank - count], dtypes.int32), times], 0)
    return tiling.tile(leading_ones(x, count, "tile"), times)


def repeat(a: TensorLike, repeats: TensorLike, axis: int | None = None) -> Tensor:
    """Each element or slice of `a` repeated.

    Args:
        a: any dtype.
        repeats: how often, for all parts or for each.
        axis: the axis; None for the values in row-major order.
    """
    return tiling.repeat(made_array(a), made_array(repeats), axis)


def pad(array: TensorLike, pad_width: TensorLike, mode: str, **kwargs: Any) -> Tensor:
    """`array` padded at both ends of its axes.

    Args:
        array: any number type.
        pad_width: [rank, 2], how wide before and after along each axis.
        mode: "constant", "reflect" or "symmetric".
        kwargs: `constant_values`, what a constant margin holds, 0 if not given.

    Raises:
        ValueError: unknown mode.
    """
    if mode not in {"constant", "reflect", "symmetric"}:
        raise ValueError(f"pad: mode must be 'constant', 'reflect' or 'symmetric', got {mode!r}")
    widths = made_array(pad_width, dtypes.int32)
    constant = kwargs.get("constant_values", 0)
    return padding.pad(made_array(array), widths, mode.upper(), constant_values=constant)


def broadcast_arrays(*args: TensorLike, **kwargs: Any) -> list[Tensor]:
    """The arrays, each repeated to the shape that all of them broadcast to.

    Args:
        args: any dtypes.
        kwargs: `subok`, False.

    Raises:
        ValueError: unknown keyword.
    """
    if kwargs.pop("subok", False) or kwargs:
        raise ValueError(f"broadcast_arrays: only subok=False can be given, got {kwargs}")
    return rearranged.broadcast(*[made_array(a) for a in args]) if args else []


def shape(a: TensorLike) -> Any:
    """The sizes of the axes, a TensorShape."""
    return made_array(a).shape


def ndim(a: TensorLike) -> int | None:
    """The number of axes; None if unknown while a function is traced."""
    return made_array(a).shape.rank


def isscalar(num: TensorLike) -> bool:
    """Whether it has no axes; unlike in NumPy, also true for tensors."""
    return ndim(num) == 0


def size(x: TensorLike, axis: Any = None) -> Any:
    """The number of elements; a tensor if it is unknown while a function is traced.

    Args:
        x: any dtype.
        axis: None.

    Raises:
        NotImplementedError: an axis is named.
    """
    if axis is not None:
        raise NotImplementedError(f"size: axis must be None, got {axis!r}\n  Try: x.shape[axis]")
    if isinstance(x, (int, float)):
        return 1
    tensor = made_array(x)
    count = tensor.shape.num_elements()
    return shapes.size(tensor) if count is None else np.int64(count)
