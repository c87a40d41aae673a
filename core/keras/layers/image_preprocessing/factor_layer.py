"""The base class of augmentation layers with a random factor and a value range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from pinnace.keras.layers.image_preprocessing.factors import checked_factor, checked_range
from pinnace.keras.layers.image_preprocessing.image_layer import ImageLayer, ImageLayerOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class FactorLayer(ImageLayer):
    """Transforms images during training by a random number from `factor`.

    A subclass defines `get_random_transformation` and `_changed`.

    Args:
        factor: a number or two, within `_lowest` and `_highest`.
        value_range: range of the images' values.
        data_format: "channels_last" (if None) or "channels_first".
        seed: seed of the draws.
        **options: see ImageLayer.

    Raises:
        ValueError: `factor` is out of range, or `value_range` not two numbers.
    """

    # Configurations contain them as written here: 0 or 0.0.
    _lowest: ClassVar[float] = -1.0
    _highest: ClassVar[float] = 1.0
    # Keras: some layers store `value_range` sorted, others as given.
    _sorts_range: ClassVar[bool] = True

    def __init__(
        self,
        factor: Any,
        value_range: Sequence[float] = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        who = type(self).__name__
        self.factor = checked_factor(who, "factor", factor, self._lowest, self._highest)
        ends = checked_range(who, value_range)
        self.value_range = ends if self._sorts_range else value_range

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The transformed images; unchanged outside training."""
        x = self._computed(images)
        return self._changed(x, transformation) if training else x

    def _changed(self, x: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        """Images in the compute dtype, transformed by the result of `get_random_transformation`."""
        raise NotImplementedError
