"""As many bounding boxes for each image, so that batches can be made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayer,
    ImageLayerOptions,
    as_shape,
)

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class MaxNumBoundingBoxes(ImageLayer):
    """A given number of boxes for each image: others are left out, or `fill_value` is added.

    Args:
        max_number: how many.
        fill_value: numbers and labels of the boxes that are added.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.
    """

    _draws_seeds = False

    def __init__(
        self,
        max_number: int,
        fill_value: int = -1,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, **options)
        self.max_number = int(max_number)
        self.fill_value = int(fill_value)

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The images as they are."""
        del transformation, training
        kept: Tensor = ops.convert_to_tensor(images)
        return kept

    def transform_bounding_boxes(
        self, bounding_boxes: dict[str, Any], transformation: Any, training: bool = True
    ) -> dict[str, Any]:
        """The first boxes, and empty ones, whether training or not."""
        del transformation, training
        boxes = self._filled(bounding_boxes["boxes"])
        return {**bounding_boxes, "boxes": boxes, "labels": self._filled(bounding_boxes["labels"])}

    def _filled(self, x: Tensor) -> Tensor:
        """[batch, n, ...] with n = max_number."""
        rest = x.shape.as_list()[2:]
        added = [ops.shape(x)[0], self.max_number, *rest]
        empty = ops.full(as_shape(added), self.fill_value, x.dtype)
        found: Tensor = ops.concatenate([x, empty], 1)[:, : self.max_number]
        return found
