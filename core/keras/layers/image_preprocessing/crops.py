"""Random crops of images during training, with their masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayer,
    ImageLayerOptions,
)
from pinnace.keras.ops import image as image_ops
from pinnace.keras.seeds import make_default_seed

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class RandomCrop(ImageLayer):
    """Crops images at a random offset, the same for a batch, during training.

    Outside training the result is the largest centre crop with the target's aspect ratio, resized.

    Args:
        height: height of the result.
        width: width of the result.
        seed: seed of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same with `height` rows and `width`
        columns.

    Source:
        Keras 3.15 `RandomCrop`, by its documentation: there images stay as they are without
        training.
    """

    def __init__(
        self,
        height: int,
        width: int,
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        # Keras: without a seed, one is drawn and stored, and another is drawn for the generator.
        kept = make_default_seed() if seed is None else seed
        super().__init__(data_format=data_format, seed=seed, **options)
        self.seed = kept
        self.height = height
        self.width = width

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The vertical and horizontal offset of the crop."""
        rows, columns = self._size(data)
        known = isinstance(rows, int) and isinstance(columns, int)
        top: Any
        left: Any
        if training and (not known or (rows > self.height and columns > self.width)):
            top, left = (
                self._place(over, seed) for over in (rows - self.height, columns - self.width)
            )
        else:
            top, left, _, _ = self._middle(rows, columns)
        return top, left

    def _middle(self, rows: Any, columns: Any) -> tuple[Any, Any, Any, Any]:
        """The offset and size of the largest centre crop with the target's aspect ratio."""
        tall = _share(columns, self.height, self.width, rows)
        wide = _share(rows, self.width, self.height, columns)
        return (rows - tall) // 2, (columns - wide) // 2, tall, wide

    def _place(self, over: Any, seed: Any) -> Any:
        if isinstance(over, int):
            return ops.cast(self._uniform([], 0, float(over + 1), seed), "int32")
        share = self._uniform([], 0.0, 1.0, seed)
        most = ops.cast(ops.maximum(over, 0) + 1, share.dtype)
        return ops.cast(share * most, "int32")

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The crop, resized to the layer's target size."""
        if training and transformation is None:
            whole: Tensor = ops.convert_to_tensor(images)
            return whole
        return self._part(self._computed(images), transformation, training, "bilinear")

    def _part(
        self, images: Tensor, transformation: Any, training: bool, interpolation: str
    ) -> Tensor:
        parts: list[Any] = [slice(None)] * len(images.shape)
        sizes = (self.height, self.width)
        top, left, *extents = (
            (*transformation, *sizes) if training else self._middle(*self._size(images))
        )
        for axis, begin, size in zip(self._axes, (top, left), extents, strict=False):
            parts[axis] = slice(begin, begin + size)
        part = images[tuple(parts)]
        if tuple(part.shape[axis] for axis in self._axes[:2]) == sizes:
            return part
        resized = image_ops.resize(part, sizes, interpolation, data_format=self.data_format)
        return ops.cast(resized, images.dtype)

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """The same crop of the masks."""
        if training and transformation is None:
            return segmentation_masks
        masks = ops.convert_to_tensor(segmentation_masks)
        return self._part(masks, transformation, training, "nearest")

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the images in the layer's target size."""
        if isinstance(input_shape, dict):
            return {**input_shape, "images": self.compute_output_shape(input_shape["images"])}
        sizes = list(input_shape)
        sizes[self._axes[0]], sizes[self._axes[1]] = self.height, self.width
        return tuple(sizes)


def _share(size: Any, wanted: int, other: int, most: Any) -> Any:
    """`size * wanted / other`, truncated and clipped to [1, most]."""
    if isinstance(size, int) and isinstance(most, int):
        return max(min(most, int(size * wanted / other)), 1)
    found = ops.cast(ops.cast(size * wanted, "float32") / float(other), "int32")
    return ops.maximum(ops.minimum(found, most), 1)
