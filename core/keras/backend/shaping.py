"""Reshaping, joining, repeating and padding under the names of Keras' older backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.image_format import checked_format
from pinnace.ops.array import (
    joining,
    permutations,
    reshaping,
    shapes,
    tiling,
)
from pinnace.ops.array.padding import pad
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

__all__ = [
    "batch_flatten",
    "concatenate",
    "expand_dims",
    "flatten",
    "permute_dimensions",
    "repeat",
    "repeat_elements",
    "reverse",
    "spatial_2d_padding",
    "squeeze",
    "stack",
    "temporal_padding",
    "tile",
    "transpose",
]


def flatten(x: Any) -> Tensor:
    """A vector of all elements."""
    return reshaping.reshape(x, [-1])


def batch_flatten(x: Any) -> Tensor:
    """A matrix in which all axes but the first are merged."""
    x = convert_to_tensor(x)
    return reshaping.reshape(x, joining.stack([-1, reduction.reduce_prod(shapes.shape(x)[1:])]))


def expand_dims(x: Any, axis: int = -1) -> Tensor:
    """Insert an axis of size 1.

    Args:
        x: a tensor.
        axis: position of the new axis in the result.
    """
    return reshaping.expand_dims(x, axis)


def squeeze(x: Any, axis: int) -> Tensor:
    """x without an axis of size 1.

    Args:
        x: a tensor.
        axis: an axis of size 1.
    """
    return reshaping.squeeze(x, [axis])


def transpose(x: Any) -> Tensor:
    """The axes in reverse order."""
    return permutations.transpose(x)


def permute_dimensions(x: Any, pattern: Sequence[int]) -> Tensor:
    """The axes in another order.

    Args:
        x: a tensor.
        pattern: the old axis of each new one.
    """
    return permutations.transpose(x, pattern)


def concatenate(tensors: Sequence[Any], axis: int = -1) -> Tensor:
    """Tensors concatenated along an axis.

    Args:
        tensors: tensors of one dtype, with equal sizes except along `axis`.
        axis: the axis of concatenation.
    """
    return joining.concat(list(tensors), axis)


def stack(x: Sequence[Any], axis: int = 0) -> Tensor:
    """The tensors stacked along a new axis.

    Args:
        x: tensors of one shape and dtype.
        axis: position of the new axis in the result.
    """
    return joining.stack(list(x), axis)


def tile(x: Any, n: Any) -> Tensor:
    """x repeated a number of times along each axis.

    Args:
        x: a tensor.
        n: how often along each axis; a number for vectors.
    """
    return tiling.tile(x, [n] if isinstance(n, int) else n)


def repeat(x: Any, n: int) -> Tensor:
    """Each row of a matrix repeated n times: [b, features] → [b, n, features].

    Args:
        x: [b, features].
        n: how often.

    Raises:
        ValueError: `x` is no matrix.
    """
    x = convert_to_tensor(x)
    if len(x.shape) != 2:
        raise ValueError(f"repeat: x must be a matrix, got shape {x.shape}")
    return tiling.tile(reshaping.expand_dims(x, 1), [1, n, 1])


def repeat_elements(x: Any, rep: int, axis: int) -> Tensor:
    """Each element repeated `rep` times along an axis.

    Args:
        x: a tensor.
        rep: how often.
        axis: the axis.
    """
    return tiling.repeat(x, rep, axis)


def reverse(x: Any, axes: Any) -> Tensor:
    """x reversed along axes.

    Args:
        x: a tensor.
        axes: an axis or several.

    Returns:
        The shape and dtype of `x`.
    """
    return permutations.reverse(x, [axes] if isinstance(axes, int) else axes)


def temporal_padding(x: Any, padding: tuple[int, int] = (1, 1)) -> Tensor:
    """x padded with zeros along the second of three axes.

    Args:
        x: [b, steps, features].
        padding: number of zeros before and behind.

    Returns:
        [b, before + steps + behind, features].
    """
    return pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(
    x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Images padded with zeros.

    Args:
        x: [b, rows, columns, channels], or channels first.
        padding: pairs (before, behind) for rows and columns.
        data_format: "channels_first" or "channels_last" (if None).
    """
    inner = [list(padding[0]), list(padding[1])]
    if checked_format("spatial_2d_padding", data_format) == "channels_first":
        return pad(x, [[0, 0], [0, 0], *inner])
    return pad(x, [[0, 0], *inner, [0, 0]])
