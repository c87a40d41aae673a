"""`keras.applications.densenet`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications import imagenet_utils
from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.dense_blocks import dense_network
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model


def DenseNet121(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "densenet121",
) -> Model:
    """DenseNet121: 121 layers, each with all earlier ones of its block, for 224 x 224.

    Args:
        include_top: whether it ends in classes.
        weights: None for random values, `imagenet` for those that Keras publishes, or the path of a
            file of weights.
        input_tensor: a KerasTensor to begin with, instead of an Input of its own.
        input_shape: (height, width, channels), at least 32 x 32; height and width may be None
            without the top.
        pooling: without the top: None, `avg` or `max`, over height and width.
        classes: how many, with the top.
        classifier_activation: of the last layer; None gives logits.
        name: of the model.

    Returns:
        A model: [batch, height, width, channels] -> [batch, classes]; without the top [batch,
        height / 32, width / 32, 1024], pooled [batch, 1024]. Give it what
        `preprocess_input` gives.

    Raises:
        ValueError: an argument that does not go with the others.
        NotFoundError: the published weights are not in Keras' cache and cannot be fetched.
    """
    asked = Arguments(
        who="DenseNet121",
        name=name,
        include_top=include_top,
        weights=weights,
        input_tensor=input_tensor,
        input_shape=input_shape,
        pooling=pooling,
        classes=classes,
        classifier_activation=classifier_activation,
    )
    return dense_network(asked, (6, 12, 24, 16), "densenet121")


def DenseNet169(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "densenet169",
) -> Model:
    """DenseNet169: 169 layers, each with all earlier ones of its block, for 224 x 224.

    Arguments, result and errors are those of `DenseNet121`; without the top it gives 1664 channels.
    """
    asked = Arguments(
        who="DenseNet169",
        name=name,
        include_top=include_top,
        weights=weights,
        input_tensor=input_tensor,
        input_shape=input_shape,
        pooling=pooling,
        classes=classes,
        classifier_activation=classifier_activation,
    )
    return dense_network(asked, (6, 12, 32, 32), "densenet169")


def DenseNet201(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "densenet201",
) -> Model:
    """DenseNet201: 201 layers, each with all earlier ones of its block, for 224 x 224.

    Arguments, result and errors are those of `DenseNet121`; without the top it gives 1920 channels.
    """
    asked = Arguments(
        who="DenseNet201",
        name=name,
        include_top=include_top,
        weights=weights,
        input_tensor=input_tensor,
        input_shape=input_shape,
        pooling=pooling,
        classes=classes,
        classifier_activation=classifier_activation,
    )
    return dense_network(asked, (6, 12, 48, 32), "densenet201")


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Less ImageNet's means, by its standard deviations; see `imagenet_utils.preprocess_input`.

    Args:
        x: pictures, red, green, blue in 0 to 255.
        data_format: `channels_last` or `channels_first`; None is `keras.config`'s.
    """
    return imagenet_utils.preprocess_input(x, data_format, "torch")
