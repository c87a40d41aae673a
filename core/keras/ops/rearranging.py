"""Functions that rotate, stack and split arrays, and extract diagonals."""

from __future__ import annotations

import functools
import operator
import re
from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops.arrays import moveaxis, split
from pinnace.keras.ops.families import unary
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import met, summable
from pinnace.ops.array import joining, permutations, rearranged, reshaping, shapes
from pinnace.ops.linalg import bands
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

fliplr = unary(
    "fliplr", lambda x: permutations.reverse(x, [1]), "x with its second axis reversed.", None
)
flipud = unary(
    "flipud", lambda x: permutations.reverse(x, [0]), "The first axis the other way round.", None
)


@operation("numpy", "Append", "axis")
def append(x1: Any, x2: Any, axis: int | None = None) -> Tensor:
    """The arrays concatenated along an axis; flattened first if it is None.

    Args:
        x1: [...].
        x2: the sizes of `x1` but along `axis`; both are promoted to one dtype.
        axis: the axis of concatenation; None flattens both.

    Returns:
        [...], the common dtype.
    """
    a, b = met(x1, x2)
    if axis is None:
        return joining.concat([reshaping.reshape(a, [-1]), reshaping.reshape(b, [-1])], 0)
    return joining.concat([a, b], axis)


@operation("numpy", "ArraySplit", "indices_or_sections", "axis")
def array_split(x: Any, indices_or_sections: int, axis: int = 0) -> list[Tensor]:
    """Split along an axis; the first parts are longer by 1 if it is not divisible.

    Args:
        x: a tensor.
        indices_or_sections: how many parts.
        axis: the axis to split.

    Returns:
        A list of tensors.
    """
    tensor: Tensor = convert_to_tensor(x)
    size: Any = shapes.axis_sizes(tensor)[axis]
    # The first `size % indices_or_sections` parts are longer by 1.
    sizes = [
        (size + indices_or_sections - 1 - place) // indices_or_sections
        for place in range(indices_or_sections)
    ]
    known = isinstance(size, int)
    return list(joining.split(tensor, sizes if known else joining.stack(sizes), axis))


@operation("numpy", "Vsplit", "indices_or_sections")
def vsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    """Parts along the first axis; see `split`."""
    parts: list[Tensor] = split(x, indices_or_sections, 0)
    return parts


@operation("numpy", "Hsplit", "indices_or_sections")
def hsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    """Parts along the second axis, or the only one; see `split`."""
    tensor: Tensor = convert_to_tensor(x)
    parts: list[Tensor] = split(tensor, indices_or_sections, 0 if tensor.shape.rank == 1 else 1)
    return parts


@operation("numpy", "Dsplit", "indices_or_sections")
def dsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    """Parts along the third axis; see `split`."""
    parts: list[Tensor] = split(x, indices_or_sections, 2)
    return parts


@operation("numpy", "Vstack")
def vstack(xs: Any) -> Tensor:
    """Concatenate along the first axis.

    Args:
        xs: tensors of equal sizes but along the first axis, promoted to one dtype. Vectors are
            joined to a longer one, as in Keras on TensorFlow; they do not become rows.
    """
    return joining.concat(list(met(*xs)), 0)


@operation("numpy", "Hstack")
def hstack(xs: Any) -> Tensor:
    """Concatenate along the second axis, or the only one.

    Args:
        xs: tensors of equal sizes but along that axis, promoted to one dtype.
    """
    tensors = [_with_axes(x, 1) for x in met(*xs)]
    return joining.concat(tensors, 0 if tensors[0].shape.rank == 1 else 1)


@operation("numpy", "Dstack")
def dstack(xs: Any) -> Tensor:
    """Concatenate along the third axis.

    Args:
        xs: tensors of equal sizes but along the third axis, promoted to one dtype; vectors are
            rows of a matrix, matrices get a third axis of size 1.
    """
    tensors = []
    for x in met(*xs):
        flat = _with_axes(x, 2, front=True)
        tensors.append(_with_axes(flat, 3))
    return joining.concat(tensors, 2)


def _with_axes(x: Tensor, least: int, front: bool = False) -> Tensor:
    while (x.shape.rank or 0) < least:
        x = reshaping.expand_dims(x, 0 if front else -1)
    return x


@operation("numpy", "Rot90", "k", "axes")
def rot90(array: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """x rotated by right angles in the plane of two axes, from the first towards the second.

    Args:
        array: [...], of two axes at least.
        k: how many right angles; negative ones turn the other way.
        axes: two of its axes.

    Returns:
        [...], the sizes of the two axes exchanged if `k` is odd.

    Raises:
        ValueError: fewer than two axes, or the same one twice.
    """
    tensor: Tensor = convert_to_tensor(array)
    rank = tensor.shape.rank or 0
    if rank < 2:
        raise ValueError(f"keras.ops.rot90: array must have two axes at least, got {rank}")
    if len(axes) != 2 or len({axis % rank for axis in axes}) != 2:
        raise ValueError(f"keras.ops.rot90: axes must be two different ones, got {tuple(axes)}")
    return rearranged.rotated(tensor, k, *(axis % rank for axis in axes))


@operation("numpy", "Diag", "k")
def diag(x: Any, k: int = 0) -> Tensor:
    """The matrix with a vector on its diagonal, or the diagonal of a matrix.

    Args:
        x: [n], or [m, n].
        k: the diagonal: 0 is the main one, positive ones lie above it.

    Returns:
        [n + abs(k), n + abs(k)], else 0; or the diagonal.

    Raises:
        ValueError: neither one axis nor two.
    """
    tensor: Tensor = convert_to_tensor(x)
    if tensor.shape.rank == 1:
        return bands.diag(tensor, k=k)
    if tensor.shape.rank == 2:
        taken: Tensor = diagonal(tensor, k)
        return taken
    raise ValueError(
        f"keras.ops.diag: x must be a vector or a matrix, got shape {tensor.shape.text}"
    )


@operation("numpy", "Diagflat", "k")
def diagflat(x: Any, k: int = 0) -> Tensor:
    """The matrix with all elements on a diagonal, else 0.

    Args:
        x: n numbers, of any shape.
        k: the diagonal: 0 is the main one, positive ones lie above it.

    Returns:
        [n + abs(k), n + abs(k)], dtype of `x`.
    """
    return bands.diag(reshaping.reshape(x, [-1]), k=k)


@operation("numpy", "Diagonal", "offset", "axis1", "axis2")
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal of the matrices in the plane of two axes.

    Args:
        x: [...], of two axes at least.
        offset: the diagonal: 0 is the main one, positive ones lie above it.
        axis1: axis of the rows.
        axis2: axis of the columns.

    Returns:
        The other axes, then that of the diagonal; empty if there is none so far off.
    """
    matrices: Tensor = moveaxis(x, (axis1, axis2), (-2, -1))
    return rearranged.diagonal(matrices, offset)


@operation("numpy", "Trace", "offset", "axis1", "axis2")
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The sum of the diagonal of the matrices in the plane of two axes.

    Args:
        x: [...], of two axes at least; small integers are widened.
        offset: the diagonal: 0 is the main one, positive ones lie above it.
        axis1: axis of the rows.
        axis2: axis of the columns.

    Returns:
        The other axes.
    """
    return reduction.reduce_sum(diagonal(summable(x), offset, axis1, axis2), -1)


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Tensor:
    """The axes permuted, merged and split according to a pattern.

    Args:
        tensor: a tensor.
        pattern: names of its axes, `->`, and the names as they are in the result; axes in
            brackets are one: "b (h w) c -> b c h w".
        **axes_lengths: sizes of the axes named in brackets; one of each bracket may be left out.

    Returns:
        The axes on the right of the pattern, dtype of `tensor`.

    Raises:
        ValueError: the two sides do not have the same names, or sizes are missing.
    """
    return _rearrange(tensor, pattern, axes_lengths)


@operation("einops", "Rearrange", "pattern", "axes_lengths")
def _rearrange(tensor: Any, pattern: str, axes_lengths: dict[str, int]) -> Tensor:
    x: Tensor = convert_to_tensor(tensor)
    sides = [_groups(side) for side in pattern.split("->")]
    names = [[name for group in side for name in group] for side in sides]
    if len(sides) != 2 or sorted(names[0]) != sorted(names[1]) or len(sides[0]) != x.shape.rank:
        raise ValueError(
            f"keras.ops.rearrange: the pattern must name each of the {x.shape.rank} axes once on "
            f"both sides of ->, got {pattern!r}"
        )
    lengths: dict[str, Any] = {}
    for group, size in zip(sides[0], shapes.axis_sizes(x), strict=True):
        unknown = [name for name in group if name not in axes_lengths]
        if len(unknown) > 1:
            raise ValueError(
                f"keras.ops.rearrange: sizes of {', '.join(unknown)} cannot be told apart\n"
                f"  Try: {unknown[0]}=its size"
            )
        known = 1
        for name in group:
            if name in axes_lengths:
                lengths[name] = axes_lengths[name]
                known *= axes_lengths[name]
        if unknown:
            lengths[unknown[0]] = size if len(group) == 1 else size // known
    apart = reshaping.reshape(x, [lengths[name] for name in names[0]])
    turned = permutations.transpose(apart, [names[0].index(name) for name in names[1]])
    return reshaping.reshape(turned, [_product([lengths[name] for name in g]) for g in sides[1]])


def _groups(side: str) -> list[list[str]]:
    return [part.strip("()").split() for part in re.findall(r"\([^()]*\)|\w+", side)]


def _product(sizes: list[Any]) -> Any:
    return functools.reduce(operator.mul, sizes, 1)
