"""Layers of Keras 1 and 2 that Keras 3 keeps for compatibility."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops, random
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.seeds import SeedGenerator
from pinnace.ops.image import resizing

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class _RandomSize(Layer):
    """A layer that randomly resizes one side of images while training."""

    _axis: int

    def __init__(
        self,
        factor: Any,
        interpolation: str = "bilinear",
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        ends = tuple(factor) if isinstance(factor, (tuple, list)) else (-factor, factor)
        if len(ends) != 2 or ends[1] < ends[0] or ends[0] < -1.0:
            raise ValueError(
                f"{type(self).__name__}: factor must be a number above 0, or two ascending ones "
                f"larger than -1, got {factor!r}"
            )
        self.factor = factor
        self.interpolation = interpolation
        self.seed = seed
        self._ends = ends
        self.generator = SeedGenerator(seed)
        self._build_at_init()

    def call(self, inputs: Tensor, training: bool = True) -> Tensor:
        """The images, with another size while training."""
        x = ops.cast(inputs, self.compute_dtype)
        if not training:
            return x
        sizes = ops.shape(x)[-3:-1]
        low, high = (1.0 + end for end in self._ends)
        factor = random.uniform([], low, high, seed=self.generator)
        size = list(sizes)
        place = self._axis + 3
        size[place] = ops.cast(factor * ops.cast(sizes[place], "float32"), "int32")
        y = resizing.resize(x, ops.stack(size), method=self.interpolation)
        known = x.shape.as_list()
        known[self._axis] = None
        y = ops.cast(y, self.compute_dtype)
        y.set_shape(known)
        return y


class RandomHeight(_RandomSize):
    """Resizes batches of images to a random height while training.

    Args:
        factor: share that is added to the height, between -factor and factor, or between two.
        interpolation: see `tf.image.resize`.
        seed: seed of the draws.
        **options: see Layer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same with other rows.

    Raises:
        ValueError: `factor` is not ascending, or below -1.
    """

    _axis = -3


class RandomWidth(_RandomSize):
    """Resizes batches of images to a random width while training.

    Args:
        factor: share that is added to the width, between -factor and factor, or between two.
        interpolation: see `tf.image.resize`.
        seed: seed of the draws.
        **options: see Layer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same with other columns.

    Raises:
        ValueError: `factor` is not ascending, or below -1.
    """

    _axis = -2


class ThresholdedReLU(Layer):
    """x where it is above a threshold, else 0.

    Args:
        theta: the threshold, not below 0.
        **options: see Layer.

    Shapes:
        x [...] → the same.

    Raises:
        ValueError: `theta` is None or below 0.
    """

    def __init__(self, theta: float = 1.0, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        if theta is None or theta < 0:
            raise ValueError(
                "ThresholdedReLU: theta value of a Thresholded ReLU layer should be >=0, got "
                f"{theta!r}"
            )
        self.theta = float(theta)
        self.supports_masking = True
        self._build_at_init()

    def call(self, inputs: Tensor) -> Tensor:
        """The values above the threshold, and 0 elsewhere."""
        return inputs * ops.cast(inputs > self.theta, inputs.dtype)
