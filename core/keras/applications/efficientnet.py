"""`keras.applications.efficientnet`: EfficientNetB0, and B1 to B7, which are wider and deeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.keras.applications.constructors import usual
from pinnace.keras.applications.efficientnet_network import efficientnet
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.unscaled import preprocess_input as preprocess_input

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_GIVES = """height / 32,
    width / 32, {0}], rounded up, pooled [batch, {0}]. Pixels are 0 to 255: the model scales them
    itself."""


@usual("efficientnetb0", _GIVES.format(1280))
def EfficientNetB0(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB0: 16 blocks, for pictures of 224 x 224."""
    return efficientnet(asked, "b0")


@usual("efficientnetb1", _GIVES.format(1280))
def EfficientNetB1(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB1: 23 blocks, for pictures of 240 x 240."""
    return efficientnet(asked, "b1")


@usual("efficientnetb2", _GIVES.format(1408))
def EfficientNetB2(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB2: 23 blocks, for pictures of 260 x 260."""
    return efficientnet(asked, "b2")


@usual("efficientnetb3", _GIVES.format(1536))
def EfficientNetB3(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB3: 26 blocks, for pictures of 300 x 300."""
    return efficientnet(asked, "b3")


@usual("efficientnetb4", _GIVES.format(1792))
def EfficientNetB4(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB4: 32 blocks, for pictures of 380 x 380."""
    return efficientnet(asked, "b4")


@usual("efficientnetb5", _GIVES.format(2048))
def EfficientNetB5(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB5: 39 blocks, for pictures of 456 x 456."""
    return efficientnet(asked, "b5")


@usual("efficientnetb6", _GIVES.format(2304))
def EfficientNetB6(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB6: 45 blocks, for pictures of 528 x 528."""
    return efficientnet(asked, "b6")


@usual("efficientnetb7", _GIVES.format(2560))
def EfficientNetB7(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB7: 55 blocks, for pictures of 600 x 600."""
    return efficientnet(asked, "b7")
