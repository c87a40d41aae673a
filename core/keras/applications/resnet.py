"""`keras.applications.resnet`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.keras.applications.constructors import usual
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.less_means import preprocess_input as preprocess_input
from pinnace.keras.applications.residual import GIVES, residual_network

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model


@usual("resnet50", GIVES)
def ResNet50(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """ResNet50: 50 layers in residual blocks, for images of 224 x 224."""
    return residual_network(asked, "resnet50", (3, 4, 6, 3))


@usual("resnet101", GIVES)
def ResNet101(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """ResNet101: 101 layers in residual blocks, for images of 224 x 224."""
    return residual_network(asked, "resnet101", (3, 4, 23, 3))


@usual("resnet152", GIVES)
def ResNet152(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """ResNet152: 152 layers in residual blocks, for images of 224 x 224."""
    return residual_network(asked, "resnet152", (3, 8, 36, 3))
