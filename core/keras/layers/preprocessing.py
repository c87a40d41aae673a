"""Preprocessing as part of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class Rescaling(Layer):
    """X scale + offset; integers become floats first.

    Args:
        scale: a number, or an array that broadcasts.
        offset: a number, or an array that broadcasts.
        **options: see Layer.
    """

    def __init__(self, scale: Any, offset: Any = 0.0, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.scale = scale
        self.offset = offset
        self.built = True

    def call(self, x: Tensor) -> Tensor:
        """The rescaled input."""
        kind = self._policy._compute
        if x.dtype is not kind:
            x = casting.cast(x, kind)
        y = x * convert_to_tensor(self.scale, kind)
        return (
            y
            if isinstance(self.offset, float) and self.offset == 0
            else y + convert_to_tensor(self.offset, kind)
        )
