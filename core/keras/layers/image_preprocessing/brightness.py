"""Layers that change each pixel value on its own: brightness, contrast, inversion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops, random
from pinnace.keras.layers.image_preprocessing.factor_layer import FactorLayer
from pinnace.keras.layers.image_preprocessing.factors import checked_range
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayer,
    ImageLayerOptions,
    as_shape,
    batch_size,
    images_of,
    per_image,
    ranged,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

_BYTES = (0, 255)
_BITS = 8


def _one_per_image(data: Any) -> list[Any]:
    """The shape of one number per image."""
    return [1, 1, 1] if images_of(data).shape.rank == 3 else [batch_size(data), 1, 1, 1]


class RandomBrightness(FactorLayer):
    """Adds a random number to each image during training.

    Args:
        factor: the number is from -factor to factor, or between two, times the width of
            `value_range`.
        value_range: range that results are clamped to.
        seed: seed of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        ValueError: `factor` is not from -1 to 1, or `value_range` not two numbers.
    """

    def __init__(
        self,
        factor: Any,
        value_range: Sequence[float] = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(factor, value_range, data_format, seed, **options)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The number added to each image."""
        shape = _one_per_image(data)
        if not training:
            return {"rgb_delta": ops.zeros(as_shape(shape))}
        low, high = self.value_range
        return {"rgb_delta": self._uniform(shape, *self.factor, seed) * (high - low)}

    def _changed(self, x: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        return ops.clip(x + self._computed(drawn["rgb_delta"]), *self.value_range)


class RandomContrast(FactorLayer):
    """While training, (x - mean) f + mean, with a factor f and mean for each image.

    Args:
        factor: f is from 1 to 1 + factor, or from 1 - factor[0] to 1 + factor[1].
        value_range: range that results are clamped to.
        seed: seed of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        ValueError: `factor` is not from 0 to 1, or `value_range` not two numbers.

    Source:
        Keras `RandomContrast`: the mean is that of a channel; a single factor only enhances.
    """

    _lowest = 0.0
    _sorts_range = False

    def __init__(
        self,
        factor: Any,
        value_range: Sequence[float] = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(factor, value_range, data_format, seed, **options)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The factor of each image."""
        shape = _one_per_image(data)
        if not training:
            return {"contrast_factor": ops.zeros(as_shape(shape))}
        low, high = self.factor
        drawn = self._uniform(shape, 1.0 - low, 1.0 + high, seed, self.compute_dtype)
        return {"contrast_factor": drawn}

    def _changed(self, x: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        mean = ops.mean(x, self._axes[:2], keepdims=True)
        factor = self._computed(drawn["contrast_factor"])
        return ops.clip((x - mean) * factor + mean, *self.value_range)


class AutoContrast(ImageLayer):
    """Stretches each channel of each image to the full range of values.

    Args:
        value_range: range of the images' values.
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
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, **options)
        self.value_range = checked_range("AutoContrast", value_range)

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The stretched images, whether training or not."""
        del transformation, training
        given = self._computed(images)
        x = ranged(given, self.value_range, _BYTES)
        # Keras: the second and third axis, whatever the data format.
        low, high = ops.min(x, (1, 2), keepdims=True), ops.max(x, (1, 2), keepdims=True)
        scale = 255.0 / (high - low)
        stretched = ops.clip(x * scale - low * scale, 0.0, 255.0)
        y = ranged(stretched, _BYTES, self.value_range)
        # A constant channel is unchanged.
        return ops.where(ops.isnan(y), given, y)


class Solarization(ImageLayer):
    """Adds a random number to each image during training, then inverts values above a threshold.

    Args:
        addition_factor: the number is up to this share of 255, or between two.
        threshold_factor: likewise for the threshold.
        value_range: range of the images' values.
        seed: seed of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        ValueError: a factor is not from 0 to 1, or `value_range` not two numbers.
    """

    def __init__(
        self,
        addition_factor: Any = 0.0,
        threshold_factor: Any = 0.0,
        value_range: Sequence[float] = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        self.addition_factor = _from_zero("addition_factor", addition_factor)
        self.threshold_factor = _from_zero("threshold_factor", threshold_factor)
        self.value_range = checked_range("Solarization", value_range)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The number added to each image, and its threshold, both in [0, 255]."""
        if not training:
            return None
        shape, kind = _one_per_image(data), self.compute_dtype
        return {
            name: self._uniform(shape, low, high * 255, seed, kind)
            for name, (low, high) in (
                ("additions", self.addition_factor),
                ("thresholds", self.threshold_factor),
            )
        }

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The images, inverted where they are above the threshold."""
        x = self._computed(images)
        if not training or transformation is None:
            return x
        x = ranged(x, self.value_range, _BYTES)
        x = ops.clip(x + transformation["additions"], 0, 255)
        y = ops.where(x < transformation["thresholds"], x, 255 - x)
        return ranged(y, _BYTES, self.value_range)


def _from_zero(name: str, factor: Any) -> tuple[float, float]:
    ends = factor if isinstance(factor, (tuple, list)) else (0, factor)
    if len(ends) != 2 or not all(isinstance(end, (int, float)) and 0 <= end <= 1 for end in ends):
        raise ValueError(
            "Solarization: The `addition_factor` and `threshold_factor` arguments should be a "
            f"number (or a list of two numbers) in the range [0, 1], got {name}={factor!r}"
        )
    low, high = sorted(ends)
    return low, high


class RandomPosterization(FactorLayer):
    """Reduces the number of bits of each image during training.

    Args:
        factor: how many bits: from 1 up to this, or from one number up to another, which is not
            reached.
        value_range: range of the images' values.
        data_format: "channels_last" (if None) or "channels_first".
        seed: seed of the draws.
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        ValueError: `factor` is not from 1 to 8, or `value_range` not two numbers.
    """

    _lowest = 1
    _highest = _BITS

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The number of bits cleared in each image."""
        del training
        shape, (low, high) = as_shape([batch_size(data)]), self.factor
        if low != high:
            bits = random.randint(shape, low, high, "uint8", self._drawn_from(seed))
        else:
            bits = ops.ones(shape, "uint8") * int(low)
        return {"shift_factor": _BITS - bits}

    def _changed(self, x: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        shift = per_image(drawn["shift_factor"])
        whole = ops.cast(ranged(x, self.value_range, _BYTES), "uint8")
        cleared = ops.bitwise_left_shift(ops.bitwise_right_shift(whole, shift), shift)
        return ranged(self._computed(cleared), _BYTES, self.value_range)
