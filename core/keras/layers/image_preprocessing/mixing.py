"""Images mixed with each other, or with parts erased."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops, random
from pinnace.keras.layers.image_preprocessing.factors import checked_factor, checked_range
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayer,
    ImageLayerOptions,
    as_shape,
    batch_size,
    images_of,
    per_image,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

# Not 0, which no distribution has as a parameter.
_TINY = 1e-6


class MixUp(ImageLayer):
    """While training, each image is mixed with another one of the batch, and so are its labels.

    Args:
        alpha: both parameters of the beta distribution that shares are drawn from.
        data_format: "channels_last" (if None) or "channels_first".
        seed: of the draws.
        **options: see ImageLayer.

    Source:
        Zhang et al. 2018, "mixup: Beyond Empirical Risk Minimization", equation 1.
    """

    def __init__(
        self,
        alpha: float = 0.2,
        data_format: str | None = None,
        seed: int | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        self.alpha = alpha

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The share of each image, and which other one it is mixed with."""
        del training
        count, drawn_from = batch_size(data), self._drawn_from(seed)
        order = random.shuffle(ops.arange(0, count, dtype="int64"), seed=drawn_from)
        weight = random.beta(as_shape([count]), self.alpha, self.alpha, seed=drawn_from)
        return {"mix_weight": weight, "permutation_order": order}

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The mixed images."""
        x = self._computed(images)
        return _mixed(x, transformation) if training else x

    def transform_labels(self, labels: Any, transformation: Any, training: bool = True) -> Any:
        """The mixed labels, [batch, classes]."""
        return _mixed(self._computed(labels), transformation) if training else labels

    def transform_bounding_boxes(
        self, bounding_boxes: dict[str, Any], transformation: Any, training: bool = True
    ) -> dict[str, Any]:
        """The boxes of both images."""
        if not training:
            return bounding_boxes
        order = transformation["permutation_order"]
        both = {
            name: ops.concatenate(
                [bounding_boxes[name], ops.take(bounding_boxes[name], order, 0)], 1
            )
            for name in ("boxes", "labels")
        }
        return {**bounding_boxes, **both}

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """The mixed masks."""
        if not training:
            return segmentation_masks
        return _mixed(self._computed(segmentation_masks), transformation)


def _mixed(x: Tensor, transformation: Any) -> Tensor:
    weight = ops.cast(transformation["mix_weight"], x.dtype)
    weight = ops.reshape(weight, [-1, *[1] * (len(x.shape) - 1)])
    others = ops.take(x, transformation["permutation_order"], 0)
    return weight * x + (1.0 - weight) * others


class _PartLayer(ImageLayer):
    """A layer that changes a rectangle of each image."""

    def _part(
        self, data: Any, across: Tensor, down: Tensor, seed: Any
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """A rectangle in each image that has these shares of its sides, [batch].

        Returns:
            Which pixels are in it, [batch, height, width, channels]; its width and height.
        """
        height, width = self._size(data)
        kind = self.compute_dtype
        (x0, x1), wide = self._ends(width, across, seed)
        (y0, y1), tall = self._ends(height, down, seed)
        columns = ops.arange(ops.cast(width, kind), dtype=kind)[None, None, :]
        rows = ops.arange(ops.cast(height, kind), dtype=kind)[None, :, None]
        inside = ops.logical_and(columns >= x0, columns < x1)
        inside = ops.logical_and(inside, ops.logical_and(rows >= y0, rows < y1))
        return ops.expand_dims(inside, self._axes[2]), (wide, tall)

    def _ends(self, size: Any, share: Tensor, seed: Any) -> tuple[tuple[Tensor, Tensor], Tensor]:
        whole = ops.cast(size, self.compute_dtype)
        length = share * whole
        drawn = self._uniform(ops.shape(share), 0, 1, seed, self.compute_dtype)
        begin = drawn * (whole - length)
        ends = ((begin)[:, None, None], (begin + length)[:, None, None])
        return ends, length


class CutMix(_PartLayer):
    """While training, a rectangle of each image comes from another one, and so do its labels.

    Args:
        factor: both parameters of the beta distribution that areas are drawn from: between 0 and
            this, or between two numbers.
        seed: of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Raises:
        ValueError: `factor` is not from 0 to 1.

    Source:
        Yun et al. 2019, "CutMix", equations 1 and 2.
    """

    def __init__(
        self,
        factor: Any = 1.0,
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        self.factor = checked_factor("CutMix", "factor", factor, 0)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Which pixels come from which other image, and what share stays; None for one image."""
        if not training or images_of(data).shape.rank == 3:
            return None
        count, kind, drawn_from = batch_size(data), self.compute_dtype, self._drawn_from(seed)
        alpha = self._uniform([], *self.factor, drawn_from, kind) + _TINY
        kept = random.beta(as_shape([count]), alpha, alpha, kind, drawn_from)
        share = ops.sqrt(1.0 - kept)
        inside, (wide, tall) = self._part(data, share, share, drawn_from)
        height, width = (ops.cast(n, kind) for n in self._size(data))
        order = random.shuffle(ops.arange(0, count, dtype="int32"), seed=drawn_from)
        return {
            "permutation_order": order,
            "batch_masks": inside,
            "mix_weight": 1.0 - wide * tall / (width * height),
        }

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The images with parts of others."""
        x = self._computed(images)
        if not training or transformation is None:
            return x
        others = ops.take(x, transformation["permutation_order"], 0)
        return ops.where(transformation["batch_masks"], others, x)

    def transform_labels(self, labels: Any, transformation: Any, training: bool = True) -> Any:
        """The mixed labels, [batch, classes]."""
        if not training or transformation is None:
            return labels
        return _mixed(self._computed(labels), transformation)

    def transform_bounding_boxes(
        self, bounding_boxes: dict[str, Any], transformation: Any, training: bool = True
    ) -> dict[str, Any]:
        """Raise NotImplementedError: what of a box a rectangle leaves is no box."""
        raise NotImplementedError("CutMix: bounding boxes cannot be cut; leave them out")

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """The masks with parts of others."""
        return self.transform_images(segmentation_masks, transformation, training)


class RandomErasing(_PartLayer):
    """While training, a rectangle of images chosen by chance is erased.

    Args:
        factor: the probability: between 0 and this, or between two numbers.
        scale: the share of each side, squared: between 0 and this, or between two numbers.
        fill_value: a number, or one for each of three channels; None draws each pixel.
        value_range: of the images.
        seed: of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Raises:
        ValueError: `factor` or `scale` is not from 0 to 1, or `fill_value` of another form.
    """

    def __init__(
        self,
        factor: Any = 1.0,
        scale: Any = (0.02, 0.33),
        fill_value: Any = None,
        value_range: Sequence[float] = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        who = "RandomErasing"
        self.factor = checked_factor(who, "factor", factor, 0)
        self.scale = checked_factor(who, "scale", scale, 0)
        several = isinstance(fill_value, (tuple, list)) and len(fill_value) == 3
        if not (several or fill_value is None or isinstance(fill_value, (int, float))):
            raise ValueError(
                f"{who}: The `fill_value` argument should be a number (or a list of three numbers),"
                f" got {fill_value!r}"
            )
        self.fill_value = fill_value
        checked_range(who, value_range)
        self.value_range = value_range

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Which pixels are erased in which images, and what stands there instead."""
        if not training:
            return None
        kind, drawn_from = self.compute_dtype, self._drawn_from(seed)
        area = self._uniform([batch_size(data), 2], *self.scale, drawn_from, kind)
        share = ops.sqrt(area)
        inside, _ = self._part(data, share[:, 0], share[:, 1], drawn_from)
        chosen = self._chosen(data, self.factor, drawn_from)
        fill = ops.clip(self._fill(data, drawn_from), *self.value_range)
        return {"apply_erasing": chosen, "batch_masks": inside, "fill_value": fill}

    def _fill(self, data: Any, seed: Any) -> Tensor:
        kind = self.compute_dtype
        if self.fill_value is None:
            shape = as_shape(ops.shape(images_of(data)))
            return random.normal(shape, dtype=kind, seed=seed) * self.value_range[1]
        given = ops.cast(self.fill_value, kind)
        first = self.data_format == "channels_first" and len(given.shape) == 1
        return ops.reshape(given, [3, 1, 1]) if first else given

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The images, some without a part."""
        x = self._computed(images)
        if not training or transformation is None:
            return x
        chosen = per_image(transformation["apply_erasing"])
        gone = ops.logical_and(chosen, transformation["batch_masks"])
        return ops.where(gone, transformation["fill_value"], x)
