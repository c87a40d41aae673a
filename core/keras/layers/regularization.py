"""Layers with an effect only while training: AlphaDropout, ActivityRegularization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import regularizers
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.dropout import Dropout
from pinnace.ops.array import casting, shapes
from pinnace.ops.math import arithmetic, comparison
from pinnace.ops.random import stateless

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

# selu's limit for very negative numbers (Klambauer et al. 2017).
_LOW = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946


class AlphaDropout(Dropout):
    """Sets elements to selu's lowest value during training, preserving mean and variance.

    Args:
        rate: share of the elements, from 0 to 1.
        noise_shape: shape of the choices, which is broadcast; None in it takes the input's size.
        seed: seed of the draws.
        **options: see Layer.

    Shapes:
        x [...] → the same.

    Source:
        Klambauer et al. 2017; Keras `AlphaDropout`.
    """

    def call(self, x: Tensor, training: bool = False) -> Tensor:
        """The input, with elements dropped while training."""
        if not training or self.rate == 0:
            return x
        sizes = shapes.shape(x) if self.noise_shape is None else self._noise_shape(x)
        drawn = stateless.stateless_uniform(sizes, self.seed_generator.next(), dtype=x.dtype)
        kept = casting.cast(comparison.greater_equal(drawn, self.rate), x.dtype)
        scale = ((1 - self.rate) * (1 + self.rate * _LOW**2)) ** -0.5
        low = _LOW * (1 - kept)
        return arithmetic.subtract((x * kept + low) * scale, scale * _LOW * self.rate)


class ActivityRegularization(Layer):
    """The input unchanged; its penalty is added to the loss.

    Args:
        l1: factor of the sum of absolute values.
        l2: factor of the sum of squares.
        **options: see Layer.

    Shapes:
        x [...] → the same.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **options: Unpack[LayerOptions]) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **options)  # type: ignore[misc]  # given once
        self.supports_masking = True
        self.l1 = l1
        self.l2 = l2
        self._build_at_init()

    def call(self, x: Any) -> Any:
        """The input itself."""
        return x

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        config = super().get_config()
        config.pop("activity_regularizer", None)
        return {**config, "l1": self.l1, "l2": self.l2}
