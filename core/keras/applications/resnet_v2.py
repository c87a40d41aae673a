"""`keras.applications.resnet_v2`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.keras.applications.about_zero import preprocess_input as preprocess_input
from pinnace.keras.applications.constructors import usual
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.residual import GIVES, residual_network

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model


@usual("resnet50v2", GIVES)
def ResNet50V2(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """ResNet50V2: 50 layers in pre-activation residual blocks, for images of 224 x 224."""
    return residual_network(asked, "resnet50v2", (3, 4, 6, 3))


@usual("resnet101v2", GIVES)
def ResNet101V2(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """ResNet101V2: 101 layers in pre-activation residual blocks, for images of 224 x 224."""
    return residual_network(asked, "resnet101v2", (3, 4, 23, 3))


@usual("resnet152v2", GIVES)
def ResNet152V2(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """ResNet152V2: 152 layers in pre-activation residual blocks, for images of 224 x 224."""
    return residual_network(asked, "resnet152v2", (3, 8, 36, 3))
