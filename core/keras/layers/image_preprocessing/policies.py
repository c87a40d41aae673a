"""Layers that choose among other image layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops, random
from pinnace.keras.layers.image_preprocessing.affine import (
    RandomRotation,
    RandomShear,
    RandomTranslation,
)
from pinnace.keras.layers.image_preprocessing.brightness import (
    AutoContrast,
    RandomBrightness,
    RandomContrast,
    RandomPosterization,
    Solarization,
)
from pinnace.keras.layers.image_preprocessing.colours import RandomColorDegeneration
from pinnace.keras.layers.image_preprocessing.factors import checked_factor
from pinnace.keras.layers.image_preprocessing.filters import RandomSharpness
from pinnace.keras.layers.image_preprocessing.histograms import Equalization
from pinnace.keras.layers.image_preprocessing.image_layer import ImageLayer, ImageLayerOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor

_SHADES = ("random_brightness", "random_color_degeneration", "random_contrast", "random_sharpness")


class _ChoosingLayer(ImageLayer):
    """A layer that contains others, and draws which of them to apply."""

    # In the order in which their random numbers are drawn.
    _names: tuple[str, ...] = ()

    def __init__(
        self,
        value_range: Sequence[float],
        factor: Any,
        interpolation: str,
        data_format: str | None,
        seed: int | None,
        options: Any,
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        self.value_range = value_range
        self.factor = checked_factor(type(self).__name__, "factor", factor, 0)
        self.interpolation = interpolation

    def _make_parts(self) -> None:
        """Create the layers to choose from, as attributes with Keras' names."""
        factor = self.factor
        shared: dict[str, Any] = {
            "data_format": self.data_format,
            "dtype": self.dtype_policy,
            "bounding_box_format": self.bounding_box_format,
        }
        drawn = {**shared, "seed": self.seed}
        moved = {**drawn, "interpolation": self.interpolation}
        shaded = {**drawn, "value_range": self.value_range}
        plain = {**shared, "value_range": self.value_range}
        bits = max(1, int(8 * factor[1]))
        makers: dict[str, Callable[[], ImageLayer]] = {
            "random_shear": lambda: RandomShear(factor, factor, **moved),
            "random_translation": lambda: RandomTranslation(factor, factor, **moved),
            "random_rotation": lambda: RandomRotation(factor, **moved),
            "random_brightness": lambda: RandomBrightness(factor, **shaded),
            "random_color_degeneration": lambda: RandomColorDegeneration(factor, **shaded),
            "random_contrast": lambda: RandomContrast(factor, **shaded),
            "random_sharpness": lambda: RandomSharpness(factor, **shaded),
            "random_posterization": lambda: RandomPosterization(bits, **shaded),
            "solarization": lambda: Solarization(factor, factor, **shaded),
            "auto_contrast": lambda: AutoContrast(**plain),
            "equalization": lambda: Equalization(**plain),
        }
        for name in self._names:
            setattr(self, name, makers[name]())

    def _parts(self) -> list[tuple[str, ImageLayer]]:
        return [(name, getattr(self, name)) for name in self._names]

    def _draws(self, data: Any, seed: Any) -> dict[str, Any]:
        """A transformation for each of the layers."""
        return {
            name: layer.get_random_transformation(data, seed=seed) for name, layer in self._parts()
        }

    def _applied(self, index: Any, x: Any, draws: dict[str, Any], way: Callable[..., Any]) -> Any:
        """The result of layer number `index` on `x`; `x` itself for an index beyond the last."""

        def branch(name: str, layer: ImageLayer) -> Callable[[Any], Any]:
            return lambda given: way(layer, given, draws[name])

        branches = [branch(name, layer) for name, layer in self._parts()]
        return ops.switch(index, [*branches, lambda given: given], x)


def _images(layer: ImageLayer, x: Tensor, drawn: Any) -> Tensor:
    return layer.transform_images(x, drawn)


def _masks(layer: ImageLayer, x: Tensor, drawn: Any) -> Tensor:
    found: Tensor = layer.transform_segmentation_masks(x, drawn)
    return found


class RandAugment(_ChoosingLayer):
    """Applies randomly chosen augmentation layers in sequence during training.

    Args:
        value_range: range of the images' values.
        num_ops: how many layers are applied.
        factor: how strong they are: between 0 and this, or between two numbers.
        interpolation: "bilinear" or "nearest", of those that move pixels.
        seed: seed of the draws.
        data_format: "channels_last" (if None) or "channels_first".
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        ValueError: `factor` is not from 0 to 1.

    Source:
        Cubuk et al. 2020, "RandAugment".
    """

    _names = (
        *("random_shear", "random_translation", "random_rotation", *_SHADES),
        *("random_posterization", "solarization", "auto_contrast", "equalization"),
    )

    def __init__(
        self,
        value_range: Sequence[float] = (0, 255),
        num_ops: int = 2,
        factor: Any = 0.5,
        interpolation: str = "bilinear",
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(value_range, factor, interpolation, data_format, seed, options)
        self.num_ops = num_ops
        self._make_parts()

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The chosen layers, and a transformation for each layer."""
        if not training:
            return None
        drawn_from = self._drawn_from(seed)
        chosen = random.randint([self.num_ops], 0, len(self._names), seed=drawn_from)
        return {"transforms": self._draws(data, drawn_from), "layer_idxes": chosen}

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The images, transformed by the chosen layers."""
        x = self._computed(images)
        if not training or transformation is None:
            return x
        for place in range(self.num_ops):
            index = transformation["layer_idxes"][place]
            x = self._applied(index, x, transformation["transforms"], _images)
        return x

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """The masks, transformed like the images."""
        masks = ops.convert_to_tensor(segmentation_masks)
        if not training or transformation is None:
            return masks
        for place in range(self.num_ops):
            index = transformation["layer_idxes"][place]
            masks = self._applied(index, masks, transformation["transforms"], _masks)
        return masks
