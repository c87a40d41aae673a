"""Data formats: ops compute with channels last, and convert the caller's format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.image_format import checked_format
from pinnace.ops.array import permutations, reshaping

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def channels_last(name: str, x: Any, data_format: str | None) -> tuple[Tensor, bool]:
    """`x` with channels last, and whether they were first.

    Args:
        name: name of the function, for messages.
        x: [batch, *spatial, channels], or channels first.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Raises:
        ValueError: unknown format, or not one to three spatial axes.
    """
    chosen = checked_format(f"keras.ops.{name}", data_format)
    tensor: Tensor = convert_to_tensor(x)
    rank = tensor.shape.rank or 0
    if not 3 <= rank <= 5:
        raise ValueError(
            f"keras.ops.{name}: the input must have one to three spatial axes beside batch and "
            f"channels, got shape {tensor.shape.text}"
        )
    if chosen == "channels_last":
        return tensor, False
    return permutations.transpose(tensor, [0, *range(2, rank), 1]), True


def channels_restored(x: Tensor, first: bool) -> Tensor:
    """`x` with its channels first again, if they were."""
    if not first:
        return x
    rank = x.shape.rank or 0
    return permutations.transpose(x, [0, rank - 1, *range(1, rank - 1)])


def images_last(name: str, images: Any, data_format: str | None) -> tuple[Tensor, bool, bool]:
    """`images` as a channels-last batch, and whether channels were first and it was a batch.

    Args:
        name: name of the function, for messages.
        images: [batch, height, width, channels], one image without `batch`, or channels first.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        [batch, height, width, channels]; channels were first; there was no batch.

    Raises:
        ValueError: unknown format or number of axes.
    """
    tensor: Tensor = convert_to_tensor(images)
    single = tensor.shape.rank == 3
    if tensor.shape.rank not in {3, 4}:
        raise ValueError(
            f"keras.ops.image.{name}: Invalid images rank: expected rank 3 (single image) or rank "
            f"4 (batch of images), got shape {tensor.shape.text}"
        )
    batch = reshaping.expand_dims(tensor, 0) if single else tensor
    last, first = channels_last(f"image.{name}", batch, data_format)
    return last, first, single


def images_restored(x: Tensor, first: bool, single: bool) -> Tensor:
    """A channels-last batch in the form that `images_last` was given."""
    restored = channels_restored(x, first)
    return reshaping.squeeze(restored, [0]) if single else restored
