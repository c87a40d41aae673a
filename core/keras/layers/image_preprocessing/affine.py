"""Rotation, translation, zoom and shear of images and masks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops
from pinnace.keras.layers.image_preprocessing.factors import (
    checked_choice,
    checked_ends,
    checked_factor,
)
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayerOptions,
    batch_size,
    images_of,
)
from pinnace.keras.layers.image_preprocessing.warps import FILLS, INTERPOLATIONS, MovingLayer
from pinnace.keras.ops import image as image_ops

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class _AffineLayer(MovingLayer):
    """The base class of layers that sample each pixel at an affinely transformed position."""

    def __init__(
        self,
        interpolation: str,
        fill_mode: str,
        fill_value: float,
        data_format: str | None,
        seed: int | None,
        options: Any,
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        who = type(self).__name__
        self.fill_mode = checked_choice(who, "fill_mode", fill_mode, FILLS)
        self.interpolation = checked_choice(who, "interpolation", interpolation, INTERPOLATIONS)
        self.fill_value = fill_value

    def _matrix(self, transformation: Any) -> Tensor:
        """[batch, 8], see `keras.ops.image.affine_transform`."""
        raise NotImplementedError

    def _moved(self, images: Tensor, transformation: Any, interpolation: str) -> Tensor:
        matrix = self._matrix(transformation)
        outside = (self.fill_mode, self.fill_value, self.data_format)
        return image_ops.affine_transform(images, matrix, interpolation, *outside)


class RandomRotation(_AffineLayer):
    """Rotates each image about its centre while training.

    Args:
        factor: the angle is between -factor and factor full turns, or between two numbers of them.
        fill_mode: values outside of an image: "reflect", "wrap", "constant" or "nearest".
        interpolation: "bilinear" or "nearest".
        seed: seed of the draws.
        fill_value: the value for "constant".
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        NotImplementedError: unknown fill mode or interpolation.
        ValueError: `factor` is not from -1 to 1.
    """

    def __init__(
        self,
        factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(interpolation, fill_mode, fill_value, data_format, seed, options)
        self.factor = checked_factor("RandomRotation", "factor", factor)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The angle of each image, in degrees."""
        if not training:
            return None
        low, high = (end * 360.0 for end in self.factor)
        angle = self._uniform([batch_size(data)], low, high, seed)
        return {"angle": angle, "size": self._size(data)}

    def _matrix(self, transformation: Any) -> Tensor:
        angle = transformation["angle"] * (math.pi / 180.0)
        cosine, sine = ops.cos(angle), ops.sin(angle)
        height, width = (ops.cast(n, angle.dtype) for n in self._size_told(transformation))
        x, y = (width - 1) * 0.5, (height - 1) * 0.5
        zeros = ops.zeros_like(angle)
        across = [cosine, -sine, x - x * cosine + y * sine]
        down = [sine, cosine, y - x * sine - y * cosine]
        return ops.stack([*across, *down, zeros, zeros], 1)


class RandomTranslation(_AffineLayer):
    """Shifts each image while training.

    Args:
        height_factor: share of the height that it is moved down by, between -factor and factor, or
            between two.
        width_factor: likewise, to the right.
        fill_mode: values outside of an image: "reflect", "wrap", "constant" or "nearest".
        interpolation: "bilinear" or "nearest".
        seed: seed of the draws.
        fill_value: the value for "constant".
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        NotImplementedError: unknown fill mode or interpolation.
        ValueError: a factor is not from -1 to 1.
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(interpolation, fill_mode, fill_value, data_format, seed, options)
        who = "RandomTranslation"
        self.height_factor, self.width_factor = height_factor, width_factor
        self._down = checked_ends(who, "height_factor", height_factor, -1.0, 1.0)
        self._right = checked_ends(who, "width_factor", width_factor, -1.0, 1.0)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The translation of each image to the right and down, in pixels, [batch, 2]."""
        if not training:
            return None
        height, width = self._size(data)
        shape = [batch_size(data), 1]
        down = self._uniform(shape, *self._down, seed)
        right = self._uniform(shape, *self._right, seed)
        moves = [right * ops.cast(width, right.dtype), down * ops.cast(height, down.dtype)]
        translations = ops.cast(ops.concatenate(moves, 1), "float32")
        return {"translations": translations, "size": (height, width)}

    def _matrix(self, transformation: Any) -> Tensor:
        right, down = ops.unstack(transformation["translations"], 2, 1)
        ones, zeros = ops.ones_like(right), ops.zeros_like(right)
        return ops.stack([ones, zeros, -right, zeros, ones, -down, zeros, zeros], 1)


class RandomZoom(_AffineLayer):
    """Zooms each image in or out about its centre while training.

    Args:
        height_factor: the share of rows that is added, between -factor and factor, or between two;
            below 0 enlarges.
        width_factor: likewise for columns; None keeps the ratio.
        fill_mode: values outside of an image: "reflect", "wrap", "constant" or "nearest".
        interpolation: "bilinear" or "nearest".
        seed: seed of the draws.
        fill_value: the value for "constant".
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        NotImplementedError: unknown fill mode or interpolation.
        ValueError: a factor is not from -1 to 1.
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any = None,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(interpolation, fill_mode, fill_value, data_format, seed, options)
        who = "RandomZoom"
        self.height_factor, self.width_factor = height_factor, width_factor
        self._down = checked_ends(who, "height_factor", height_factor, -1.0, 1.0)
        self._right = None
        if width_factor is not None:
            self._right = checked_ends(who, "width_factor", width_factor, -1.0, 1.0)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The visible fraction of each image's height and width, [batch, 1]."""
        if not training:
            return None
        shape = [batch_size(data), 1]
        height = self._uniform(shape, 1.0 + self._down[0], 1.0 + self._down[1], seed)
        width = height
        if self._right is not None:
            width = self._uniform(shape, 1.0 + self._right[0], 1.0 + self._right[1], seed)
        sizes = ops.shape(images_of(data))
        return {"height_zoom": height, "width_zoom": width, "input_shape": sizes}

    def _seen(self, transformation: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The visible fractions of width and height, and their offsets, all [batch, 1]."""
        across, down = (
            ops.cast(transformation[name], "float32") for name in ("width_zoom", "height_zoom")
        )
        height, width = (ops.cast(n, "float32") for n in self._size_told(transformation))
        left = (width - 1.0) / 2.0 * (1.0 - across)
        top = (height - 1.0) / 2.0 * (1.0 - down)
        return across, down, left, top

    def _matrix(self, transformation: Any) -> Tensor:
        across, down, left, top = self._seen(transformation)
        zero = ops.zeros_like(across)
        return ops.concatenate([across, zero, left, zero, down, top, zero, zero], 1)


class RandomShear(_AffineLayer):
    """Shears each image while training.

    Args:
        x_factor: how far rows are moved, in pixels for each pixel of height: up to this, or between
            two numbers, to either side.
        y_factor: likewise for columns, per pixel of width.
        interpolation: "bilinear" or "nearest".
        fill_mode: values outside of an image: "reflect", "wrap", "constant" or "nearest".
        fill_value: the value for "constant".
        data_format: "channels_last" (if None) or "channels_first".
        seed: seed of the draws.
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        NotImplementedError: unknown fill mode or interpolation.
        ValueError: a factor is not from 0 to 1.
    """

    def __init__(
        self,
        x_factor: Any = 0.0,
        y_factor: Any = 0.0,
        interpolation: str = "bilinear",
        fill_mode: str = "reflect",
        fill_value: float = 0.0,
        data_format: str | None = None,
        seed: int | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(interpolation, fill_mode, fill_value, data_format, seed, options)
        self.x_factor = _either_side("x_factor", x_factor)
        self.y_factor = _either_side("y_factor", y_factor)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The shear of the rows and columns of each image, [batch, 2]."""
        if not training:
            return None
        shape, kind = [batch_size(data), 1], self.compute_dtype
        way = self._uniform(shape, 0.0, 1.0, seed, kind)
        way = ops.where(way > 0.5, -ops.ones_like(way), ops.ones_like(way))
        down = self._uniform(shape, *self.y_factor, seed, kind)
        across = self._uniform(shape, *self.x_factor, seed, kind)
        shear = ops.concatenate([across, down], 1) * way
        return {"shear_factor": shear, "size": self._size(data)}

    def _matrix(self, transformation: Any) -> Tensor:
        across, down = ops.unstack(transformation["shear_factor"], 2, 1)
        ones, zeros = ops.ones_like(across), ops.zeros_like(across)
        return ops.stack([ones, across, zeros, down, ones, zeros, zeros, zeros], 1)


def _either_side(name: str, factor: Any) -> tuple[float, float]:
    # The form of a single factor in a configuration.
    pair = isinstance(factor, (tuple, list)) and len(factor) == 2 and factor[0] == -factor[1]
    return checked_ends("RandomShear", name, factor[1] if pair else factor, 0.0, 1.0)
