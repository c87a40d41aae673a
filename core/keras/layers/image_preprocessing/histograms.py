"""Histogram equalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops
from pinnace.keras.layers.image_preprocessing.factors import checked_range
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayer,
    ImageLayerOptions,
)
from pinnace.ops.math import segments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class Equalization(ImageLayer):
    """Equalizes the histogram of each channel over the batch while training.

    Args:
        value_range: range of the images' values.
        bins: how many shades are told apart.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        ValueError: `value_range` is not two numbers.
    """

    _draws_seeds = False

    def __init__(
        self,
        value_range: Sequence[float] = (0, 255),
        bins: int = 256,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, **options)
        self.bins = bins
        self.value_range = checked_range("Equalization", value_range)

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The equalised images."""
        del transformation
        x = self._computed(images)
        if not training:
            return x
        axis = self._axes[2]
        return ops.moveaxis(self._equalised(ops.moveaxis(x, axis, -1)), -1, axis)

    def _equalised(self, x: Tensor) -> Tensor:
        """The images with the channels last; a table of shades per channel, all in one."""
        low, high = self.value_range
        scale = 255 / (high - low)
        values = x * scale - low * scale
        top = self.bins - 1
        channels = ops.shape(x)[-1]
        firsts = ops.arange(channels, dtype="int32") * self.bins
        shades = ops.cast(ops.cast(values, "float32") * top / 255, "int32")
        shades = ops.reshape(ops.clip(shades, 0, top) + firsts, [-1])
        counts = segments.unsorted_segment_sum(ops.ones_like(shades), shades, channels * self.bins)
        counts = ops.reshape(counts, [channels, self.bins])
        # float64 is exact for any number of pixels.
        total = ops.cumsum(ops.cast(counts, "float64"), axis=1)
        last = total[:, -1:]
        darkest = ops.min(ops.where(total > 0, total, last), axis=1, keepdims=True)
        spread = last - darkest
        spread = ops.where(spread == 0, ops.ones_like(spread), spread)
        table = ops.clip(ops.round((total - darkest) * 255 / spread), 0, 255)
        places = ops.cast(ops.clip(values / 255.0 * top, 0, top), "int32")
        equal = self._computed(ops.take(ops.reshape(table, [-1]), places + firsts))
        one = ops.count_nonzero(counts, axis=1) <= 1
        changed = ops.where(one, values, equal)
        back = (high - low) / 255
        return changed * back + low
