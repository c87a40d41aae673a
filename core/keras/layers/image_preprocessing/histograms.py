"""Images whose values become equally frequent: over whole channels, or tile by tile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops
from pinnace.keras.layers.image_preprocessing.factors import checked_range
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayer,
    ImageLayerOptions,
    ranged,
)
from pinnace.keras.ops.formats import images_last, images_restored
from pinnace.ops.array import joining, padding, shapes
from pinnace.ops.math import segments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

_BYTES = (0, 255)
_SHADES = 256


class Equalization(ImageLayer):
    """While training, the values of each channel become equally frequent, over all of a batch.

    Args:
        value_range: of the images.
        bins: how many shades are told apart.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

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
        channels = [self._equalised(part) for part in ops.unstack(x, axis=axis)]
        return ops.stack(channels, axis)

    def _equalised(self, channel: Tensor) -> Tensor:
        low, high = self.value_range
        scale = 255 / (high - low)
        values = channel * scale - low * scale
        top = self.bins - 1
        shades = ops.cast(ops.cast(values, "float32") * top / 255, "int32")
        shades = ops.reshape(ops.clip(shades, 0, top), [-1])
        counts = segments.unsorted_segment_sum(ops.ones_like(shades), shades, self.bins)
        # Exact for as many pixels as there can be.
        total = ops.cumsum(ops.cast(counts, "float64"))
        darkest = ops.min(ops.where(total > 0, total, total[-1]))
        spread = total[-1] - darkest
        spread = ops.where(spread == 0, ops.ones_like(spread), spread)
        table = ops.clip(ops.round((total - darkest) * 255 / spread), 0, 255)
        places = ops.cast(ops.clip(values / 255.0 * top, 0, top), "int32")
        equal = self._computed(ops.take(table, places))
        one = ops.count_nonzero(counts) <= 1
        changed = ops.where(one, values, equal)
        back = (high - low) / 255
        return changed * back + low


class ContrastLimitedAdaptiveHistogramEqualization(ImageLayer):
    """The values of each tile of images become more equally frequent, blended between tiles.

    Args:
        value_range: of the images.
        clip_limit: how much more frequent than on average a shade may count; 0 sets no limit.
        tile_grid_size: how many tiles there are, down and across.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Source:
        Zuiderveld 1994, "Contrast Limited Adaptive Histogram Equalization".
    """

    _draws_seeds = False

    def __init__(
        self,
        value_range: Sequence[float] = (0, 255),
        clip_limit: float = 4.0,
        tile_grid_size: tuple[int, int] = (8, 8),
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, **options)
        checked_range("ContrastLimitedAdaptiveHistogramEqualization", value_range)
        self.value_range = value_range
        self.clip_limit = clip_limit
        self.tile_grid_size = tile_grid_size

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The images with more contrast in each part, whether training or not."""
        del transformation, training
        given, first, single = images_last("clahe", images, self.data_format)
        x = ranged(ops.cast(given, "float32"), self.value_range, _BYTES)
        y = ranged(self._equalised(x), _BYTES, self.value_range)
        return images_restored(ops.cast(y, given.dtype), first, single)

    def _equalised(self, x: Tensor) -> Tensor:
        down, across = self.tile_grid_size
        batch, height, width, channels = shapes.axis_sizes(x)
        tall, wide = -(-height // down), -(-width // across)
        below, right = tall * down - height, wide * across - width
        edges = joining.stack(
            [[0, 0], joining.stack([0, below]), joining.stack([0, right]), [0, 0]]
        )
        whole = padding.pad(x, edges, "SYMMETRIC")
        shades = ops.cast(ops.clip(whole, 0, 255), "int32")
        rows, columns = ops.arange(tall * down), ops.arange(wide * across)
        table = self._tables(shades, rows // tall, columns // wide, (batch, channels), tall * wide)
        places = [
            (ops.cast(n, "float32") - size / 2.0) / size
            for n, size in ((rows, _number(tall)), (columns, _number(wide)))
        ]
        found = _blended(table, shades, places, (down, across), channels)
        return found[:, :height, :width]

    def _tables(
        self, shades: Tensor, rows: Tensor, columns: Tensor, sizes: tuple[Any, Any], area: Any
    ) -> Tensor:
        """What each shade becomes in each tile, [batch, down, across, channels, 256]."""
        down, across = self.tile_grid_size
        batch, channels = sizes
        image = ops.reshape(ops.arange(batch), [-1, 1, 1, 1])
        tile = (image * down + rows[None, :, None, None]) * across + columns[None, None, :, None]
        channel = ops.arange(channels)[None, None, None, :]
        index = (tile * channels + channel) * _SHADES + shades
        count = batch * down * across * channels * _SHADES
        ones = ops.ones_like(ops.reshape(index, [-1]), "float32")
        counts = segments.unsorted_segment_sum(ones, ops.reshape(index, [-1]), count)
        shape = [batch, down, across, channels, _SHADES]
        counts = ops.reshape(counts, shape)
        pixels = ops.cast(area, "float32")
        if self.clip_limit > 0:
            kept = ops.minimum(counts, self.clip_limit * pixels / _SHADES)
            counts = kept + ops.sum(counts - kept, -1, keepdims=True) / _SHADES
        total = ops.cumsum(counts, -1)
        least = ops.min(total, -1, keepdims=True)
        spread = pixels - least
        spread = ops.where(spread == 0, ops.ones_like(spread), spread)
        return ops.clip((total - least) * 255.0 / spread, 0, 255)


def _number(size: Any) -> Any:
    return size if isinstance(size, int) else ops.cast(size, "float32")


def _blended(
    table: Tensor, shades: Tensor, places: list[Tensor], tiles: tuple[int, int], channels: Any
) -> Tensor:
    """What each pixel becomes, between the middles of the four tiles around it."""
    flat = ops.reshape(table, [-1])
    down, across = tiles
    images = ops.reshape(ops.arange(ops.shape(shades)[0]), [-1, 1, 1, 1])
    channel = ops.arange(channels)[None, None, None, :]

    def at(row: Tensor, column: Tensor) -> Tensor:
        # Beyond the outer middles the outer tile counts alone.
        row = ops.cast(ops.clip(row, 0, down - 1), "int32")[None, :, None, None]
        column = ops.cast(ops.clip(column, 0, across - 1), "int32")[None, None, :, None]
        tile = (images * down + row) * across + column
        return ops.take(flat, (tile * channels + channel) * _SHADES + shades)

    (above, left) = (ops.floor(place) for place in places)
    down_share = (places[0] - above)[None, :, None, None]
    right_share = (places[1] - left)[None, None, :, None]
    upper = at(above, left) * (1.0 - right_share) + at(above, left + 1) * right_share
    lower = at(above + 1, left) * (1.0 - right_share) + at(above + 1, left + 1) * right_share
    return upper * (1.0 - down_share) + lower * down_share
