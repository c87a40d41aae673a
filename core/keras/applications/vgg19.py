"""`keras.applications.vgg19`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.keras.applications.constructors import usual
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.less_means import preprocess_input as preprocess_input
from pinnace.keras.applications.vgg import GIVES, vgg

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model


@usual("vgg19", GIVES)
def VGG19(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """VGG19: 16 convolutions and 3 dense layers, for pictures of 224 x 224."""
    return vgg(asked, "vgg19")
