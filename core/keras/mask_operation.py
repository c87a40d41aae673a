"""The mask of a KerasTensor, itself a tensor of functional models."""

from __future__ import annotations

from typing import Any

from pinnace.keras import masks, registry
from pinnace.keras.operation import Operation
from pinnace.keras.symbolic import KerasTensor


# Keras has no such class: there the mask is what `compute_mask` made of operations.
@registry.register_keras_serializable(package="pinnace")
class MaskOf(Operation):
    """The mask that its input carries; of a KerasTensor, what that one will carry."""

    def call(self, x: Any) -> Any:
        """The mask.

        Raises:
            ValueError: there is none.
        """
        mask = masks.mask_of(x)
        if mask is None:
            raise ValueError(
                f"{self.name}: the tensor has no mask, and its KerasTensor had one\n"
                "  Try: give the model inputs with masks, as when it was made"
            )
        return mask

    def compute_output_spec(self, x: Any) -> Any:
        """What is known of the mask."""
        return x.mask_spec if isinstance(x, KerasTensor) else super().compute_output_spec(x)


def mask_of_keras_tensor(x: KerasTensor) -> KerasTensor:
    """The KerasTensor of the mask that `x` will carry."""
    mask: KerasTensor = MaskOf()(x)
    return mask
