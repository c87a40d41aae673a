"""Images flipped, seen in perspective and distorted, with their boxes and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops
from pinnace.keras.bounding_boxes.changes import clip_to_image_size
from pinnace.keras.layers.image_preprocessing.factors import checked_choice, checked_factor
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayer,
    ImageLayerOptions,
    batch_size,
    images_of,
)
from pinnace.keras.ops import image as image_ops
from pinnace.keras.ops.image_warps import homography

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

FILLS = ("reflect", "wrap", "constant", "nearest")
INTERPOLATIONS = ("nearest", "bilinear")


class MovingLayer(ImageLayer):
    """A layer that takes pixels from elsewhere: masks follow by the nearest pixel."""

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
        """A batch after a transformation, or one image after that of a batch of one."""
        if len(images.shape) == 4:
            return self._moved(images, transformation, interpolation)
        moved = self._moved(ops.expand_dims(images, 0), transformation, interpolation)
        one: Tensor = ops.squeeze(moved, 0)
        return one

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """The masks, moved as the images, of the dtype they have."""
        if not training or transformation is None:
            return segmentation_masks
        masks = ops.convert_to_tensor(segmentation_masks)
        # Projections know few dtypes.
        moved = self._moved_all(self._computed(masks), transformation, "nearest")
        return ops.cast(moved, masks.dtype)

    def transform_bounding_boxes(
        self, bounding_boxes: dict[str, Any], transformation: Any, training: bool = True
    ) -> dict[str, Any]:
        """The boxes around what the boxes held, inside of the image; label -1 for what left it."""
        if not training or transformation is None:
            return bounding_boxes
        size = self._size_told(transformation)
        form = self._box_format
        boxes = self._boxes_as(bounding_boxes, None, form, size)
        boxes = {**boxes, "boxes": self._moved_boxes(boxes["boxes"], transformation)}
        return self._boxes_as(clip_to_image_size(boxes, size[0], size[1], form), form, None, size)

    _box_format = "xyxy"

    def _size_told(self, transformation: Any) -> tuple[Any, Any]:
        """Height and width of the images that a transformation was drawn for."""
        if "size" in transformation:
            size: tuple[Any, Any] = transformation["size"]
            return size
        sizes = transformation["input_shape"]  # as Keras' transformations tell it
        return sizes[self._axes[0]], sizes[self._axes[1]]

    def _moved_boxes(self, boxes: Tensor, transformation: Any) -> Tensor:
        """Boxes [batch, n, 4] in the format `_box_format` after a transformation."""
        raise NotImplementedError


class RandomFlip(MovingLayer):
    """While training, images are mirrored or not, each by chance.

    Args:
        mode: "horizontal", "vertical" or "horizontal_and_vertical", which does both or neither.
        seed: of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Raises:
        ValueError: another mode.
    """

    _box_format = "rel_xyxy"

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
        """Which images are mirrored, [batch, 1, 1, 1]."""
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

    def _moved_boxes(self, boxes: Tensor, transformation: Any) -> Tensor:
        x1, y1, x2, y2 = ops.split(boxes, 4, -1)
        if "horizontal" in self.mode:
            x1, x2 = 1 - x2, 1 - x1
        if "vertical" in self.mode:
            y1, y2 = 1 - y2, 1 - y1
        flips = ops.squeeze(transformation["flips"], -1)
        return ops.where(flips, ops.concatenate([x1, y1, x2, y2], -1), boxes)


class RandomPerspective(MovingLayer):
    """While training, images chosen by chance are seen from elsewhere.

    Args:
        factor: the probability: between 0 and this, or between two numbers.
        scale: how far corners are moved at most, as a share of their place.
        interpolation: "bilinear" or "nearest".
        fill_value: what is outside of an image.
        seed: of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Raises:
        NotImplementedError: another interpolation.
        ValueError: `factor` or `scale` is not from 0 to 1.
    """

    def __init__(
        self,
        factor: Any = 1.0,
        scale: float = 1.0,
        interpolation: str = "bilinear",
        fill_value: float = 0.0,
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        who = "RandomPerspective"
        self.factor = checked_factor(who, "factor", factor, 0)
        if not 0.0 <= scale <= 1.0:
            raise ValueError(
                f"{who}: The `scale` argument should be a number in the range [0,1], got {scale}"
            )
        self.scale = scale
        self.fill_value = fill_value
        self.interpolation = checked_choice(who, "interpolation", interpolation, INTERPOLATIONS)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Which images are changed, and where their corners come from and go to, [batch, 4, 2]."""
        if not training:
            return None
        height, width = self._size(data)
        count, kind = batch_size(data), self.compute_dtype
        chosen = self._chosen(data, self.factor, seed)
        reach = 0.5 * self.scale
        moves = self._uniform([count, 4, 2], -reach, reach, seed, kind)
        right, bottom = ops.cast(width, kind) - 1, ops.cast(height, kind) - 1
        zero = ops.zeros_like(right)
        corners = [zero, zero, right, zero, zero, bottom, right, bottom]
        start = ops.reshape(ops.stack(corners), [1, 4, 2])
        end = start + start * moves
        return {
            "apply_perspective": chosen,
            "start_points": ops.broadcast_to(start, ops.shape(end)),
            "end_points": end,
            "input_shape": ops.shape(images_of(data)),
        }

    def _moved(self, images: Tensor, transformation: Any, interpolation: str) -> Tensor:
        start, end = (
            ops.cast(transformation[f"{at}_points"], "float32") for at in ("start", "end")
        )
        moved = image_ops.perspective_transform(
            images, start, end, interpolation, self.fill_value, self.data_format
        )
        chosen = ops.convert_to_tensor(transformation["apply_perspective"])
        return ops.where(chosen[:, None, None, None], moved, images)

    def _moved_boxes(self, boxes: Tensor, transformation: Any) -> Tensor:
        start, end = transformation["start_points"], transformation["end_points"]
        matrix = ops.cast(
            homography(ops.cast(start, "float32"), ops.cast(end, "float32")), "float32"
        )
        whole = ops.concatenate([matrix, ops.ones_like(matrix[:, :1])], 1)
        forward = ops.inv(ops.reshape(whole, [-1, 3, 3]))
        x1, y1, x2, y2 = ops.split(ops.cast(boxes, "float32"), 4, -1)
        xs, ys = ops.concatenate([x1, x2, x1, x2], -1), ops.concatenate([y1, y2, y2, y1], -1)
        places = ops.stack([xs, ys, ops.ones_like(xs)], -1)
        found = ops.einsum("bij,bnkj->bnki", forward, places)
        us, vs = found[..., 0] / found[..., 2], found[..., 1] / found[..., 2]
        sides = [ops.min(us, -1), ops.min(vs, -1), ops.max(us, -1), ops.max(vs, -1)]
        around = ops.cast(ops.stack(sides, -1), boxes.dtype)
        chosen = ops.convert_to_tensor(transformation["apply_perspective"])
        return ops.where(chosen[:, None, None], around, boxes)


class RandomElasticTransform(MovingLayer):
    """While training, the pixels of images chosen by chance are moved, neighbours alike.

    Args:
        factor: the probability: between 0 and this, or between two numbers.
        scale: how strongly: between 0 and this, or between two numbers.
        interpolation: "bilinear" or "nearest".
        fill_mode: what is outside of an image: "reflect", "wrap", "constant" or "nearest".
        fill_value: for "constant".
        value_range: what results are kept in.
        seed: of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Raises:
        NotImplementedError: another fill mode or interpolation.
        ValueError: `factor` or `scale` is not from 0 to 1.
    """

    def __init__(
        self,
        factor: Any = 1.0,
        scale: Any = 1.0,
        interpolation: str = "bilinear",
        fill_mode: str = "reflect",
        fill_value: float = 0.0,
        value_range: Any = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        who = "RandomElasticTransform"
        self.factor = checked_factor(who, "factor", factor, 0)
        self.scale = checked_factor(who, "scale", scale, 0)
        self.interpolation = checked_choice(who, "interpolation", interpolation, INTERPOLATIONS)
        self.fill_mode = checked_choice(who, "fill_mode", fill_mode, FILLS)
        self.fill_value = fill_value
        self.value_range = value_range

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Which images are changed, how strongly, and the seed of how far each pixel is moved."""
        if not training or not self.scale[1] or not self.factor[1]:
            return None
        drawn_from = self._drawn_from(seed)
        return {
            "apply_transform": self._chosen(data, self.factor, drawn_from),
            "distortion_factor": self._uniform([], *self.scale, drawn_from, self.compute_dtype),
            # Drawn once, so that masks move as images do.
            "seed": drawn_from if isinstance(drawn_from, int) else drawn_from.next(),
        }

    def _moved(self, images: Tensor, transformation: Any, interpolation: str) -> Tensor:
        height, width = (ops.cast(n, self.compute_dtype) for n in self._size(images))
        strength = transformation["distortion_factor"]
        moved = image_ops.elastic_transform(
            images,
            ops.maximum(height, width) * (0.1 * strength),
            ops.minimum(height, width) * (0.05 * strength),
            interpolation,
            self.fill_mode,
            self.fill_value,
            transformation["seed"],
            self.data_format,
        )
        chosen = transformation["apply_transform"][:, None, None, None]
        return ops.clip(ops.where(chosen, moved, images), *self.value_range)

    def transform_bounding_boxes(
        self, bounding_boxes: dict[str, Any], transformation: Any, training: bool = True
    ) -> dict[str, Any]:
        """The boxes as they are: pixels move a little, each another way."""
        del transformation, training
        return bounding_boxes
