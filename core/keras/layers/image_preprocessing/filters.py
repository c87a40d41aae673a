"""Images sharpened or blurred."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from pinnace.keras import ops
from pinnace.keras.layers.image_preprocessing.factor_layer import FactorLayer
from pinnace.keras.layers.image_preprocessing.factors import checked_factor, checked_range
from pinnace.keras.layers.image_preprocessing.image_layer import (
    ImageLayer,
    ImageLayerOptions,
    batch_size,
    per_image,
)
from pinnace.keras.ops.formats import channels_last, channels_restored
from pinnace.keras.ops.image_windows import blurred

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

# What smooths: a pixel counts five times as much as each of its neighbours.
_SMOOTH = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]])[:, :, None, None] / 13


class RandomSharpness(FactorLayer):
    """While training, each image is mixed with itself smoothed.

    Args:
        factor: between 0 and this, or between two numbers: 0 smooths, 0.5 changes nothing, 1
            sharpens.
        value_range: what results are kept in.
        data_format: "channels_last" (if None) or "channels_first".
        seed: of the draws.
        **options: see ImageLayer.

    Raises:
        ValueError: `factor` is not from 0 to 1, or `value_range` not two numbers.
    """

    _lowest = 0

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """How sharp each image becomes."""
        del training
        return {"factor": self._uniform([batch_size(data)], *self.factor, seed)}

    def _changed(self, x: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        x, first = channels_last("RandomSharpness", x, self.data_format)
        factor = per_image(self._computed(drawn["factor"] * 2))
        kernel = ops.tile(ops.cast(_SMOOTH, x.dtype), [1, 1, ops.shape(x)[-1], 1])
        smooth = ops.depthwise_conv(x, kernel, 1, "same")
        y = ops.clip(x + (1.0 - factor) * (smooth - x), *self.value_range)
        return channels_restored(y, first)


class RandomGaussianBlur(ImageLayer):
    """While training, images chosen by chance are smoothed by a normal distribution.

    Args:
        factor: the probability: between 0 and this, or between two numbers.
        kernel_size: rows and columns of the window, one odd number or two, in pixels.
        sigma: both standard deviations: between 0 and this, or between two numbers, in pixels.
        value_range: what results are kept in.
        data_format: "channels_last" (if None) or "channels_first".
        seed: of the draws.
        **options: see ImageLayer.

    Raises:
        ValueError: `factor` or `sigma` is not from 0 to 1, or `kernel_size` is even.
    """

    def __init__(
        self,
        factor: Any = 1.0,
        kernel_size: Any = 3,
        sigma: Any = 1.0,
        value_range: Sequence[float] = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **options: Unpack[ImageLayerOptions],
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        who = "RandomGaussianBlur"
        self.factor = checked_factor(who, "factor", factor, 0)
        sizes = (kernel_size,) * 2 if isinstance(kernel_size, int) else tuple(kernel_size)
        if len(sizes) != 2 or any(size % 2 == 0 for size in sizes):
            raise ValueError(
                f"{who}: kernel_size must be an odd number, or two of them, got {kernel_size!r}"
            )
        self.kernel_size = sizes
        self.sigma = checked_factor(who, "sigma", sigma, 0)
        checked_range(who, value_range)
        self.value_range = value_range

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Which images are smoothed, and how much."""
        if not training:
            return None
        chosen = self._chosen(data, self.factor, seed)
        # Not 0, which is divided by.
        sigma = self._uniform([2], *self.sigma, seed, self.compute_dtype) + 1e-6
        return {"should_apply_blur": chosen, "blur_factor": sigma}

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """The images, some smoothed."""
        given = self._computed(images)
        if not training or transformation is None:
            return given
        x, first = channels_last("RandomGaussianBlur", given, self.data_format)
        smooth = blurred(x, self.kernel_size, transformation["blur_factor"])
        chosen = per_image(transformation["should_apply_blur"])
        y = ops.clip(ops.where(chosen, smooth, x), *self.value_range)
        return channels_restored(y, first)
