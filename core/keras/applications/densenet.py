"""`keras.applications.densenet`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications import imagenet_utils
from pinnace.keras.applications.constructors import usual
from pinnace.keras.applications.dense_blocks import dense_network
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_GIVES = """height / 32,
    width / 32, {0}], pooled [batch, {0}]. Give it what `preprocess_input` gives."""


@usual("densenet121", _GIVES.format(1024))
def DenseNet121(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """DenseNet121: 121 layers, each with all earlier ones of its block, for 224 x 224."""
    return dense_network(asked, "densenet121")


@usual("densenet169", _GIVES.format(1664))
def DenseNet169(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """DenseNet169: 169 layers, each with all earlier ones of its block, for 224 x 224."""
    return dense_network(asked, "densenet169")


@usual("densenet201", _GIVES.format(1920))
def DenseNet201(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """DenseNet201: 201 layers, each with all earlier ones of its block, for 224 x 224."""
    return dense_network(asked, "densenet201")


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Less ImageNet's means, by its standard deviations; see `imagenet_utils.preprocess_input`.

    Args:
        x: pictures, red, green, blue in 0 to 255.
        data_format: `channels_last` or `channels_first`; None is `keras.config`'s.
    """
    return imagenet_utils.preprocess_input(x, data_format, "torch")
