"""Random changes of images' colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import ops
from pinnace.keras.layers.image_preprocessing.factor_layer import FactorLayer
from pinnace.keras.layers.image_preprocessing.image_layer import (
    batch_size,
)
from pinnace.keras.ops import image as image_ops

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class RandomColorDegeneration(FactorLayer):
    """Mixes each image with its grey version while training.

    Args:
        factor: the share of grey: between -factor and factor, or between two numbers.
        value_range: range that results are clamped to.
        data_format: "channels_last" (if None) or "channels_first".
        seed: seed of the draws.
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

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
