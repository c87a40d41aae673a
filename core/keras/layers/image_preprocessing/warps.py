"""Flipping of images and masks, and the base of layers that move pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayer,
    ImageLayerOptions,
    batch_size,
    images_of,
)

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

FILLS = ("reflect", "wrap", "constant", "nearest")
INTERPOLATIONS = ("nearest", "bilinear")


class MovingLayer(ImageLayer):
    """A layer that moves pixels; masks are moved too, by their nearest pixels."""

    interpolation: str = "nearest"

    def _moved(self, images: Tensor, transformation: Any, interpolation: str) -> Tensor:
        """Images or masks after a transformation."""
        raise NotImplementedError

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The moved images."""
        x = self._computed(images)
        if not training or transformation is None:
            return x
        return self._moved_all(x, transformation, self.interpolation)

    def _moved_all(self, images: Tensor, transformation: Any, interpolation: str) -> Tensor:
        """A transformed batch, or a single image transformed as a batch of one."""
        if len(images.shape) == 4:
            return self._moved(images, transformation, interpolation)
        moved = self._moved(ops.expand_dims(images, 0), transformation, interpolation)
        one: Tensor = ops.squeeze(moved, 0)
        return one

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """The masks, moved like the images, in their own dtype."""
        if not training or transformation is None:
            return segmentation_masks
        masks = ops.convert_to_tensor(segmentation_masks)
        # The projection op supports few dtypes.
        moved = self._moved_all(self._computed(masks), transformation, "nearest")
        return ops.cast(moved, masks.dtype)

    def _size_told(self, transformation: Any) -> tuple[Any, Any]:
        """Height and width of the images for which a transformation was drawn."""
        if "size" in transformation:
            size: tuple[Any, Any] = transformation["size"]
            return size
        sizes = transformation["input_shape"]  # as in Keras' transformations
        return sizes[self._axes[0]], sizes[self._axes[1]]


class RandomFlip(MovingLayer):
    """Flips images at random while training.

    Args:
        mode: "horizontal", "vertical" or "horizontal_and_vertical", which does both or neither.
        seed: seed of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        ValueError: unknown mode.
    """

    def __init__(
        self,
        mode: str = "horizontal_and_vertical",
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        if mode not in {"horizontal", "vertical", "horizontal_and_vertical"}:
            raise ValueError(
                "RandomFlip: mode must be horizontal, vertical or horizontal_and_vertical, "
                f"got {mode!r}"
            )
        self.mode = mode

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Whether each image is flipped, [batch, 1, 1, 1], and the shape of the images."""
        if not training:
            return None
        drawn = self._uniform([batch_size(data), 1, 1, 1], 0.0, 1.0, seed)
        return {"flips": drawn <= 0.5, "input_shape": ops.shape(images_of(data))}

    def _size_told(self, transformation: Any) -> tuple[Any, Any]:
        shape = transformation["input_shape"]
        return shape[self._axes[0]], shape[self._axes[1]]

    def _moved(self, images: Tensor, transformation: Any, interpolation: str) -> Tensor:
        del interpolation
        for axis, name in zip(self._axes, ("vertical", "horizontal"), strict=False):
            if name in self.mode:
                images = ops.where(transformation["flips"], ops.flip(images, axis), images)
        return images
