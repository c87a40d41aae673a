"""Mixtures of several images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops, random
from pinnace.keras.layers.image_preprocessing.factors import checked_factor
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayer,
    ImageLayerOptions,
    as_shape,
    batch_size,
    images_of,
)

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

# A distribution's parameter must be positive.
_TINY = 1e-6


class MixUp(ImageLayer):
    """Mixes each image and its labels with another one of the batch while training.

    Args:
        alpha: both parameters of the beta distribution that shares are drawn from.
        data_format: "channels_last" (if None) or "channels_first".
        seed: seed of the draws.
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same; of a dict the labels, too.

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
        """The share of each image, and the image it is mixed with."""
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
            Whether each pixel is in it, [batch, height, width, channels]; its width and height.
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
    """Replaces a rectangle of each image by another image's, and mixes labels, while training.

    Args:
        factor: both parameters of the beta distribution that areas are drawn from: between 0 and
            this, or between two numbers.
        seed: seed of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same; of a dict the labels, too.

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
        """The pasted regions, the order of their sources, and the remaining share; or None."""
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
        """The mixed images."""
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

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """The mixed masks."""
        return self.transform_images(segmentation_masks, transformation, training)
