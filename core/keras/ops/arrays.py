"""Functions that move, join, split and select elements."""

from __future__ import annotations

import builtins
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor as as_tensor
from pinnace.graph.static_values import get_static_value
from pinnace.keras.ops import making
from pinnace.keras.ops.families import unary
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import alike
from pinnace.ops.array import (
    broadcasting,
    casting,
    constants,
    gathering,
    identities,
    joining,
    padding,
    permutations,
    rearranged,
    reshaping,
    selecting,
    slicing,
    tiling,
)
from pinnace.ops.array import shapes as _shapes
from pinnace.ops.linalg import bands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

_TRIANGLE = """Args:
    x: [..., m, n].
    k: the diagonal, a number or a scalar tensor: 0 is the main one, positive ones lie above it.

Returns:
    The shape and dtype of `x`."""

ravel = unary("ravel", lambda x: reshaping.reshape(x, [-1]), "All elements along one axis.", None)
copy = unary("copy", identities.identity, "The same values.", None, sparse="of_values")


@operation("numpy", "GetItem")
def get_item(x: Any, key: Any) -> Tensor:
    """x[key].

    Args:
        x: a tensor.
        key: an index, a slice, or a tuple or list of them, as in NumPy.
    """
    picked = tuple(key) if isinstance(key, list) else key
    return slicing.getitem(x, picked)


@operation("numpy", "Reshape", "newshape", sparse="reshape")
def reshape(x: Any, newshape: Any) -> Tensor:
    """x in another shape; one size may be -1 or None, which is inferred.

    Args:
        x: a tensor.
        newshape: a size or several; -1 or None, once, is the remaining size.

    Returns:
        The shape `newshape`, dtype of `x`.
    """
    sizes = [newshape] if isinstance(newshape, int) else list(newshape)
    return reshaping.reshape(x, [-1 if n is None else n for n in sizes])


@operation("numpy", "Transpose", "axes", sparse="transpose")
def transpose(x: Any, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order; reversed if None.

    Args:
        x: a tensor.
        axes: the old axis of each new one; reversed if None.
    """
    return permutations.transpose(x, None if axes is None else list(axes))


@operation("numpy", "Swapaxes", "axis1", "axis2")
def swapaxes(x: Any, axis1: int, axis2: int) -> Tensor:
    """x with two axes swapped.

    Args:
        x: a tensor of known rank.
        axis1: an axis; negative ones count from the end.
        axis2: likewise.

    Raises:
        ValueError: there is no such axis.
    """
    x = as_tensor(x)
    _require_axes("swapaxes", x, axis1, axis2)
    return rearranged.swapped(x, axis1, axis2)


@operation("numpy", "Moveaxis", "source", "destination")
def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """x with axes moved to other positions.

    Args:
        x: a tensor of known rank.
        source: an axis or several.
        destination: as many new positions.

    Raises:
        ValueError: there is no such axis.
    """
    x = as_tensor(x)
    _require_axes("moveaxis", x, *np.atleast_1d(source), *np.atleast_1d(destination))
    return rearranged.moved(x, source, destination)


def _require_axes(name: str, x: Tensor, *axes: int) -> None:
    rank = len(x.shape)
    for axis in axes:
        if not -rank <= axis < rank:
            raise ValueError(
                f"keras.ops.{name}: axis {axis} is out of bounds for an array with dimension {rank}"
            )


@operation("numpy", "ExpandDims", "axis", sparse="expand_dims")
def expand_dims(x: Any, axis: Any) -> Tensor:
    """x with axes of size 1 inserted.

    Args:
        x: a tensor.
        axis: position of the new axis, or of several, in the result.
    """
    x = as_tensor(x)
    if isinstance(axis, int):
        return reshaping.expand_dims(x, axis)
    rank = len(x.shape) + len(axis)
    for place in sorted(n % rank for n in axis):
        x = reshaping.expand_dims(x, place)
    return x  # type: ignore[no-any-return]  # a tensor


@operation("numpy", "Squeeze", "axis", sparse="squeeze")
def squeeze(x: Any, axis: Any = None) -> Tensor:
    """x without axes of size 1.

    Args:
        x: a tensor.
        axis: an axis of size 1 or several; all of them if None.
    """
    if axis is None:
        sizes = as_tensor(x).shape
        if sizes.rank is None:
            return reshaping.squeeze(x)
        # Keras: an axis of unknown size stays.
        axis = [at for at, size in enumerate(sizes) if size == 1]
        if not axis:
            return identities.identity(x)
    return reshaping.squeeze(x, [axis] if isinstance(axis, int) else list(axis))


@operation("numpy", "BroadcastTo", "shape")
def broadcast_to(x: Any, shape: Any) -> Tensor:
    """x repeated along axes of size 1 up to the shape.

    Args:
        x: a tensor.
        shape: sizes to broadcast to.

    Returns:
        The shape `shape`, dtype of `x`.
    """
    return broadcasting.broadcast_to(x, list(shape))


@operation("numpy", "Concatenate", "axis", sparse="concatenate")
def concatenate(xs: Any, axis: int = 0) -> Tensor:
    """Concatenate along an axis.

    Args:
        xs: tensors with equal sizes but along `axis`; promoted to one dtype.
        axis: the axis of concatenation.
    """
    return joining.concat(list(alike(*xs)), axis)


@operation("numpy", "Stack", "axis")
def stack(x: Any, axis: int = 0) -> Tensor:
    """Stack along a new axis.

    Args:
        x: tensors of one shape; promoted to one dtype.
        axis: position of the new axis in the result.
    """
    return joining.stack(list(alike(*x)), axis)


@operation("core", "Unstack", "num", "axis")
def unstack(x: Any, num: int | None = None, axis: int = 0) -> list[Tensor]:
    """The slices along an axis, without that axis.

    Args:
        x: a tensor.
        num: size of `axis`; needed if it is not known.
        axis: the axis to unstack.

    Returns:
        A list of tensors.
    """
    return list(joining.unstack(x, num, axis))


@operation("numpy", "Split", "indices_or_sections", "axis")
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Parts along an axis: a number of equal ones, or split at these indices.

    Args:
        x: a tensor.
        indices_or_sections: a number of equal parts, or the places to cut at.
        axis: the axis to split.

    Returns:
        A list of tensors.

    Raises:
        ValueError: the number of places is not known.
    """
    x = as_tensor(x)
    if isinstance(indices_or_sections, int):
        return list(joining.split(x, indices_or_sections, axis))
    size = x.shape[axis]
    known = get_static_value(as_tensor(indices_or_sections))
    if known is None:
        cuts = casting.cast(indices_or_sections, "int32")
        end = _shapes.shape(x)[axis] if size is None else size
        sizes = joining.concat([cuts[:1], cuts[1:] - cuts[:-1], end - cuts[-1:]], 0)
        return list(joining.split(x, sizes, axis))
    places = [0, *(int(n) for n in known)]
    # -1 is whatever is left of an axis of unknown size.
    last = -1 if size is None else size - places[-1]
    return list(joining.split(x, [*(b - a for a, b in itertools.pairwise(places)), last], axis))


@operation("numpy", "Repeat", "repeats", "axis")
def repeat(x: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element repeated.

    Args:
        x: a tensor.
        repeats: how often, for all elements or for each along `axis`.
        axis: the axis; the flat tensor if None.
    """
    return tiling.repeat(x, repeats, axis)


@operation("numpy", "Tile", "repeats")
def tile(x: Any, repeats: Any) -> Tensor:
    """The whole repeated along each axis.

    Args:
        x: a tensor of known rank.
        repeats: how often along each axis, counted from the last.
    """
    x = as_tensor(x)
    times = [repeats] if isinstance(repeats, int) else list(repeats)
    rank = len(x.shape)
    while len(times) < rank:
        times.insert(0, 1)
    for _ in range(len(times) - rank):
        x = reshaping.expand_dims(x, 0)
    return tiling.tile(x, times)


@operation("numpy", "Flip", "axis")
def flip(x: Any, axis: Any = None) -> Tensor:
    """The elements in reverse order along axes; along all if None.

    Args:
        x: a tensor of known rank.
        axis: an axis or several; all if None.

    Returns:
        The shape and dtype of `x`.
    """
    x = as_tensor(x)
    every = list(range(len(x.shape))) if axis is None else axis
    return permutations.reverse(x, [every] if isinstance(every, int) else list(every))


@operation("numpy", "Roll", "shift", "axis")
def roll(x: Any, shift: Any, axis: Any = None) -> Tensor:
    """x rolled along axes.

    Args:
        x: a tensor.
        shift: number of places, one number or one per axis.
        axis: an axis or several; the flat tensor if None.

    Returns:
        The shape and dtype of `x`.
    """
    return rearranged.rolled(as_tensor(x), shift, axis)


@operation("numpy", "Pad", "pad_width", "mode")
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> Tensor:
    """Pad both ends of each axis: by a constant, or by mirrored values (`reflect`, `symmetric`).

    Args:
        x: a tensor of known rank.
        pad_width: a number, a pair (before, after), or a pair per axis.
        mode: "constant", "reflect" or "symmetric".
        constant_values: the constant; 0 if None.

    Raises:
        ValueError: unknown mode, or a constant with a mode that takes none.
    """
    if mode != "constant" and constant_values is not None:
        raise ValueError(
            "keras.ops.pad: Argument `constant_values` can only be provided when "
            f"`mode == 'constant'`, got mode={mode!r} and constant_values={constant_values!r}"
        )
    x = as_tensor(x)
    rank = len(x.shape)
    if isinstance(pad_width, int):
        pairs = [[pad_width, pad_width]] * rank
    else:
        rows = list(pad_width)
        pairs = [rows] if rows and isinstance(rows[0], int) else [list(row) for row in rows]
        pairs = pairs * rank if len(pairs) == 1 else pairs
    if mode == "constant":
        return padding.pad(x, pairs, "CONSTANT", casting.cast(constant_values or 0, x.dtype))
    if mode not in {"reflect", "symmetric"}:
        raise ValueError(
            f"keras.ops.pad: mode must be constant, reflect or symmetric, got {mode!r}"
        )
    return padding.pad(x, pairs, mode.upper())


@operation("numpy", "Take", "axis", sparse="take")
def take(x: Any, indices: Any, axis: int | None = None) -> Tensor:
    """The elements at these indices along an axis; of the flat tensor if None. -1 is the last.

    Args:
        x: a tensor.
        indices: integers of any shape; negative ones count from the end.
        axis: the axis; the flat tensor if None.

    Returns:
        `axis` is replaced by the axes of `indices`; dtype of `x`.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = reshaping.reshape(x, [-1]), 0
    return gathering.gather(x, _from_the_front(x, indices, axis), axis=axis)


@operation("numpy", "TakeAlongAxis", "axis")
def take_along_axis(x: Any, indices: Any, axis: int | None = None) -> Tensor:
    """The elements that `indices` selects along an axis.

    Args:
        x: a tensor of known rank.
        indices: the rank of `x`; negative ones count from the end. Sizes of 1 of either are
            repeated where the other's are larger, but along `axis`.
        axis: the axis; the flat tensor if None.

    Returns:
        The shape of `indices`, repeated likewise; dtype of `x`.
    """
    x = as_tensor(x)
    if axis is None:
        return gathering.gather(reshaping.reshape(x, [-1]), _from_the_front(x, indices, 0))
    rank = len(x.shape)
    last = permutations.transpose(x, _last(rank, axis % rank))
    places = permutations.transpose(_from_the_front(x, indices, axis), _last(rank, axis % rank))
    last, places = _beside(last, places)
    found = gathering.gather(last, places, batch_dims=rank - 1)
    back = list(range(rank - 1))
    back.insert(axis % rank, rank - 1)
    return permutations.transpose(found, back)


def _beside(x: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """Both, broadcast to common sizes of all axes but the last."""
    front, others = x.shape[:-1], places.shape[:-1]
    if len(front) != len(others) or tuple(front) == tuple(others):
        return x, places
    sizes, other_sizes = _shapes.shape(x), _shapes.shape(places)
    joint = _shapes.broadcast_dynamic_shape(sizes[:-1], other_sizes[:-1])
    return tuple(  # type: ignore[return-value]  # two
        broadcasting.broadcast_to(one, joining.concat([joint, its[-1:]], 0))
        for one, its in ((x, sizes), (places, other_sizes))
    )


def _last(rank: int, axis: int) -> list[int]:
    return [*(n for n in range(rank) if n != axis), axis]


def _from_the_front(x: Tensor, indices: Any, axis: int) -> Tensor:
    if hasattr(indices, "flat_values"):  # a RaggedTensor
        return indices.with_flat_values(_from_the_front(x, indices.flat_values, axis))  # type: ignore[no-any-return]
    places = as_tensor(indices)
    if not places.dtype.is_integer:
        places = casting.cast(places, "int32")
    size = x.shape[axis]
    count = casting.cast(_shapes.shape(x)[axis] if size is None else size, places.dtype)
    return selecting.where(places < 0, places + count, places)


@operation("core", "Slice", "shape")
def slice(inputs: Any, start_indices: Any, shape: Any) -> Tensor:
    """The block of that shape starting at given indices.

    Args:
        inputs: a tensor.
        start_indices: the first place along each axis.
        shape: the sizes of the block.

    Returns:
        The shape `shape`, dtype of `inputs`.
    """
    return slicing.slice(inputs, start_indices, list(shape))


@operation("numpy", "Tril", "k", takes=_TRIANGLE)
def tril(x: Any, k: Any = 0) -> Tensor:
    """The matrix's part on and below the k-th diagonal; 0 elsewhere."""
    if isinstance(k, int) and k >= 0:
        return bands.band_part(x, -1, k)
    given: Tensor = as_tensor(x)
    *_, rows, columns = _shapes.axis_sizes(given)
    lower = making.tri(rows, columns, k, "bool")
    zero = constants.zeros([], given.dtype)
    return selecting.where(lower, given, zero)


@operation("numpy", "Triu", "k", takes=_TRIANGLE)
def triu(x: Any, k: Any = 0) -> Tensor:
    """The matrix's part on and above the k-th diagonal; 0 elsewhere."""
    if isinstance(k, int) and k <= 0:
        return bands.band_part(x, -k, -1)
    given: Tensor = as_tensor(x)
    *_, rows, columns = _shapes.axis_sizes(given)
    lower = making.tri(rows, columns, k - 1, "bool")
    zero = constants.zeros([], given.dtype)
    return selecting.where(lower, zero, given)


@operation("core", "StopGradient")
def stop_gradient(variable: Any) -> Tensor:
    """The same values, without a gradient."""
    return identities.stop_gradient(variable)


@operation("core", "ConvertToTensor", "dtype")
def convert_to_tensor(
    x: Any, dtype: Any = None, sparse: bool | None = None, ragged: bool | None = None
) -> Any:
    """`x` as a tensor, in the given dtype if any.

    Args:
        x: convertible to a tensor; or a sparse or ragged tensor.
        dtype: to cast to; whatever it has if None.
        sparse: whether a sparse tensor stays one; only False makes it dense.
        ragged: whether a ragged tensor stays one; only False fills it up with zeros.
    """
    x = _of_parts(x, sparse, ragged) if is_composite(x) else as_tensor(x)
    return x if dtype is None else casting.cast(x, dtype)


def _of_parts(x: Any, sparse: bool | None, ragged: bool | None) -> Any:
    """Apply to the components of a sparse or ragged tensor, or to a dense tensor."""
    # Late: few models have such tensors.
    from pinnace.ops.composites.ragged.tensor import RaggedTensor
    from pinnace.ops.composites.sparse.functions import to_dense
    from pinnace.ops.composites.sparse.tensor import SparseTensor

    if isinstance(x, SparseTensor):
        return to_dense(x) if sparse is False else x
    if isinstance(x, RaggedTensor):
        return x.to_tensor() if ragged is False else x
    return as_tensor(x)


@operation("numpy", "FullLike", "dtype")
def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """A constant, or an array, broadcast to the shape of x.

    Args:
        x: a tensor.
        fill_value: a number or an array, broadcastable to `x`.
        dtype: dtype of the result; that of `x` if None.

    Returns:
        The shape of `x`.
    """
    x = as_tensor(x)
    value = casting.cast(fill_value, dtype or x.dtype)
    return broadcasting.broadcast_to(value, _shapes.shape(x))


def shape(x: Any) -> tuple[Any, ...]:
    """The sizes of the axes: numbers where they are known, else scalar tensors.

    Args:
        x: a tensor; a sparse or ragged one, of which ragged sizes are None; or a KerasTensor, of
            which unknown sizes are None.
    """
    from pinnace.keras.symbolic import KerasTensor

    if isinstance(x, KerasTensor):
        return builtins.tuple(x.shape)
    x = x if is_composite(x) else as_tensor(x)
    if x.shape.is_fully_defined():
        return builtins.tuple(x.shape)
    if hasattr(x, "flat_values"):  # a RaggedTensor
        inner = shape(x.flat_values)[1:]
        rows = x.nrows("int32") if x.shape[0] is None else x.shape[0]
        return (rows, *x.shape[1 : x.ragged_rank + 1], *inner)
    sizes = casting.cast(x.dense_shape, "int32") if is_composite(x) else _shapes.shape(x)
    return builtins.tuple(sizes[i] if n is None else n for i, n in enumerate(x.shape))
