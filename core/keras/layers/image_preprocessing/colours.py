"""Images with other colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops
from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.layers.image_preprocessing.brightness import RandomBrightness, RandomContrast
from pinnace.keras.layers.image_preprocessing.factor_layer import FactorLayer
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayer,
    ImageLayerOptions,
    batch_size,
    per_image,
    ranged,
)
from pinnace.keras.ops import image as image_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor


class RandomGrayscale(ImageLayer):
    """While training, images chosen by chance lose their colours.

    Args:
        factor: the probability.
        data_format: "channels_last" (if None) or "channels_first".
        seed: of the draws.
        **options: see ImageLayer.

    Raises:
        ValueError: `factor` is not from 0 to 1.
    """

    def __init__(
        self,
        factor: float = 0.5,
        data_format: str | None = None,
        seed: int | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        if not 0 <= factor <= 1:
            raise ValueError(f"RandomGrayscale: `factor` should be between 0 and 1, got {factor}")
        self.factor = factor

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Which images become grey, [batch, 1, 1, 1]."""
        del training
        return per_image(self._uniform([batch_size(data)], 0, 1, seed) < self.factor)

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The images, some grey."""
        x = self._computed(images)
        if not training:
            return x
        chosen = transformation
        if chosen is None:
            chosen = self.get_random_transformation(x)
        return ops.where(chosen, image_ops.rgb_to_grayscale(x, self.data_format), x)


class RandomColorDegeneration(FactorLayer):
    """While training, each image is mixed with itself in grey.

    Args:
        factor: the share of grey: between -factor and factor, or between two numbers.
        value_range: what results are kept in.
        data_format: "channels_last" (if None) or "channels_first".
        seed: of the draws.
        **options: see ImageLayer.

    Raises:
        ValueError: `factor` is not from -1 to 1, or `value_range` not two numbers.
    """

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The share of grey of each image."""
        del training
        return {"factor": self._uniform([batch_size(data), 1, 1, 1], *self.factor, seed)}

    def _changed(self, x: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        share = self._computed(drawn["factor"])
        grey = image_ops.rgb_to_grayscale(x, self.data_format)
        return ops.clip(x + share * (grey - x), *self.value_range)


class RandomHue(FactorLayer):
    """While training, the hue of each image is turned.

    Args:
        factor: up to this share of a half turn, or between two shares, to either side.
        value_range: of the images.
        data_format: "channels_last" (if None) or "channels_first".
        seed: of the draws.
        **options: see ImageLayer.

    Raises:
        ValueError: `factor` is not from 0 to 1, or `value_range` not two numbers.
    """

    _lowest = 0
    _sorts_range = False

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """How far the hue of each image is turned, in turns."""
        del training
        count = [batch_size(data)]
        way = self._uniform(count, 0.0, 1.0, seed)
        way = ops.where(way > 0.5, -ops.ones_like(way), ops.ones_like(way))
        return {"factor": way * self._uniform(count, *self.factor, seed) * 0.5}

    def _changed(self, x: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        turn = per_image(self._computed(drawn["factor"]))

        def turned(hue: Tensor) -> Tensor:
            hue = hue + turn
            hue = ops.where(hue > 1.0, hue - 1.0, hue)
            return ops.where(hue < 0.0, hue + 1.0, hue)

        shares = ranged(x, self.value_range, (0, 1))
        changed = ops.clip(_part_changed(shares, 0, turned, self.data_format), 0, 1)
        return self._computed(ranged(changed, (0, 1), self.value_range))


def _part_changed(
    x: Tensor, part: int, change: Callable[[Tensor], Tensor], data_format: str
) -> Tensor:
    """Images with another hue (0) or saturation (1)."""
    axis = -1 if data_format == "channels_last" else -3
    parts = ops.split(image_ops.rgb_to_hsv(x, data_format), 3, axis)
    parts[part] = change(parts[part])
    return image_ops.hsv_to_rgb(ops.concatenate(parts, axis), data_format)


class RandomSaturation(FactorLayer):
    """While training, the saturation of each image is multiplied by f / (1 - f).

    Args:
        factor: f is between -factor and factor, or between two numbers; 0.5 changes nothing, 0
            takes all colours away.
        value_range: what saturations are kept in.
        data_format: "channels_last" (if None) or "channels_first".
        seed: of the draws.
        **options: see ImageLayer.

    Raises:
        ValueError: `factor` is not from -1 to 1, or `value_range` not two numbers.
    """

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """What the saturation of each image is multiplied by."""
        del training
        factor = self._uniform([batch_size(data)], *self.factor, seed)
        return {"factor": factor / (1 - factor + epsilon())}

    def _changed(self, x: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        factor = per_image(self._computed(drawn["factor"]))

        def scaled(saturation: Tensor) -> Tensor:
            return ops.clip(saturation * factor, *self.value_range)

        return _part_changed(x, 1, scaled, self.data_format)


class RandomColorJitter(ImageLayer):
    """While training, brightness, contrast, saturation and hue are changed, in this order.

    Args:
        value_range: of the images.
        brightness_factor: of `RandomBrightness`; None leaves it out.
        contrast_factor: of `RandomContrast`; None leaves it out.
        saturation_factor: of `RandomSaturation`; None leaves it out.
        hue_factor: of `RandomHue`; None leaves it out.
        seed: of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.
    """

    def __init__(
        self,
        value_range: Sequence[float] = (0, 255),
        brightness_factor: Any = None,
        contrast_factor: Any = None,
        saturation_factor: Any = None,
        hue_factor: Any = None,
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        self.value_range = value_range
        self.brightness_factor = brightness_factor
        self.contrast_factor = contrast_factor
        self.saturation_factor = saturation_factor
        self.hue_factor = hue_factor
        self.random_brightness = self._part(RandomBrightness, brightness_factor)
        self.random_contrast = self._part(RandomContrast, contrast_factor)
        self.random_saturation = self._part(RandomSaturation, saturation_factor)
        self.random_hue = self._part(RandomHue, hue_factor)

    def _part(self, kind: Callable[..., ImageLayer], factor: Any) -> ImageLayer | None:
        if factor is None:
            return None
        shared = {"value_range": self.value_range, "seed": self.seed, "dtype": self.dtype_policy}
        return kind(factor=factor, data_format=self.data_format, **shared)

    @property
    def _parts(self) -> list[ImageLayer]:
        every = (
            *(self.random_brightness, self.random_contrast),
            *(self.random_saturation, self.random_hue),
        )
        return [part for part in every if part is not None]

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """What is done in each step."""
        if not training:
            return None
        drawn_from = self._drawn_from(seed)
        return [part.get_random_transformation(data, seed=drawn_from) for part in self._parts]

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The images in other colours."""
        x = self._computed(images)
        if not training:
            return x
        drawn = transformation
        if drawn is None:
            drawn = self.get_random_transformation(x)
        for part, step in zip(self._parts, drawn, strict=True):
            x = part.transform_images(x, step)
        return x
