"""Masking: masks the steps of a sequence in which all features equal one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import masks, ops
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.ops.array import casting, reshaping
from pinnace.ops.math import arithmetic, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class Masking(Layer):
    """Sets steps whose features all equal a value to 0, and masks them for later layers.

    Args:
        mask_value: the value of masked places.
        **options: see Layer.

    Shapes:
        x [b, steps, ...] → the same, with a mask [b, steps, ...] without the last axis.
    """

    def __init__(self, mask_value: float = 0.0, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.mask_value = mask_value
        self.supports_masking = True
        self._build_at_init()

    def compute_mask(self, inputs: Tensor, previous_mask: Any = None) -> Tensor:
        """The mask of the valid steps."""
        del previous_mask
        return reduction.reduce_any(ops.not_equal(inputs, self.mask_value), -1)

    def call(self, x: Tensor) -> Tensor:
        """The input, with masked steps set to 0."""
        counts = reduction.reduce_any(ops.not_equal(x, self.mask_value), -1, keepdims=True)
        y = arithmetic.multiply(x, casting.cast(counts, x.dtype))
        masks.attach(y, reshaping.squeeze(counts, [-1]))
        return y
