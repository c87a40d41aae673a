"""Layers at the end of residuals: LayerScale, StochasticDepth, CustomScaleLayer.

Keras does not export them, but its files name them; `registry.py` maps these names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras.initializers import Constant
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.names import unique_name
from pinnace.ops.array import joining, shapes
from pinnace.ops.math import rounding
from pinnace.ops.random import stateful

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class LayerScale(Layer):
    """x · gamma, with a weight per channel.

    Args:
        init_values: the first value of each.
        projection_dim: the number of channels.
        **options: see Layer.

    Source:
        Touvron et al., "Going deeper with Image Transformers", 2021.
    """

    def __init__(
        self, init_values: float, projection_dim: int, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.init_values = init_values
        self.projection_dim = projection_dim

    def build(self, input_shape: Any) -> None:
        """Create gamma, [projection_dim]."""
        del input_shape
        # Keras numbers weights without a name, and files that list weights contain these names.
        self.gamma = self.add_weight(
            shape=(self.projection_dim,),
            initializer=Constant(self.init_values),
            name=unique_name("variable"),
        )

    def call(self, x: Tensor) -> Any:
        """The scaled input."""
        return x * self.gamma


class StochasticDepth(Layer):
    """Drops whole images while training, and scales the others up; otherwise returns x.

    Args:
        drop_path_rate: the share of the pictures that become 0, from 0 to 1.
        **options: see Layer.

    Raises:
        ValueError: the rate is no share.

    Source:
        Huang et al., "Deep Networks with Stochastic Depth", 2016.
    """

    def __init__(self, drop_path_rate: float, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        if not 0 <= drop_path_rate <= 1:
            raise ValueError(
                f"StochasticDepth: drop_path_rate must be from 0 to 1, got {drop_path_rate}"
            )
        self.drop_path_rate = drop_path_rate

    def call(self, x: Tensor, training: bool | None = None) -> Any:
        """The input; while training, without randomly chosen images of the batch."""
        if not training:
            return x
        kept = 1 - self.drop_path_rate
        # No SeedGenerator: Keras' layer has no state, and its files of weights hold none.
        sizes = joining.concat([shapes.shape(x)[:1], [1] * (len(x.shape) - 1)], 0)
        drawn = stateful.uniform(sizes, dtype=x.dtype)
        return x / kept * rounding.floor(kept + drawn)


class CustomScaleLayer(Layer):
    """start + residual · scale, for a pair of inputs.

    Args:
        scale: scale of the residual.
        **options: see Layer.
    """

    def __init__(self, scale: float, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.scale = scale

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """The sum."""
        start, residual = inputs
        return start + residual * self.scale
