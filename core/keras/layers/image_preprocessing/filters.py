"""Image filters: sharpening."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras import ops
from pinnace.keras.layers.image_preprocessing.factor_layer import FactorLayer
from pinnace.keras.layers.image_preprocessing.image_layer import (
    batch_size,
    per_image,
)
from pinnace.keras.ops.formats import channels_last, channels_restored

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

# A smoothing kernel: the centre pixel has five times its neighbours' weight.
_SMOOTH = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]])[:, :, None, None] / 13


class RandomSharpness(FactorLayer):
    """Mixes each image with its smoothed version while training.

    Args:
        factor: between 0 and this, or between two numbers: 0 smooths, 0.5 changes nothing, 1
            sharpens.
        value_range: range that results are clamped to.
        data_format: "channels_last" (if None) or "channels_first".
        seed: seed of the draws.
        **options: see ImageLayer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same.

    Raises:
        ValueError: `factor` is not from 0 to 1, or `value_range` not two numbers.
    """

    _lowest = 0

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """The sharpness of each image."""
        del training
        return {"factor": self._uniform([batch_size(data)], *self.factor, seed)}

    def _changed(self, x: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        x, first = channels_last("RandomSharpness", x, self.data_format)
        factor = per_image(self._computed(drawn["factor"] * 2))
        kernel = ops.tile(ops.cast(_SMOOTH, x.dtype), [1, 1, ops.shape(x)[-1], 1])
        smooth = ops.depthwise_conv(x, kernel, 1, "same")
        y = ops.clip(x + (1.0 - factor) * (smooth - x), *self.value_range)
        return channels_restored(y, first)
