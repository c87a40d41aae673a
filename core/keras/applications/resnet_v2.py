"""`keras.applications.resnet_v2`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications import imagenet_utils
from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.residual import file_of, residual_network

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model


def ResNet50V2(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "resnet50v2",
) -> Model:
    """ResNet50V2: 50 layers in residual blocks that normalize first, for 224 x 224.

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
        height / 32, width / 32, 2048], pooled [batch, 2048]. Give it what
        `preprocess_input` gives.

    Raises:
        ValueError: an argument that does not go with the others.
        NotFoundError: the published weights are not in Keras' cache and cannot be fetched.
    """
    asked = Arguments(
        who="ResNet50V2",
        name=name,
        include_top=include_top,
        weights=weights,
        input_tensor=input_tensor,
        input_shape=input_shape,
        pooling=pooling,
        classes=classes,
        classifier_activation=classifier_activation,
    )
    return residual_network(asked, (3, 4, 6, 3), file_of("resnet50v2", include_top), before=True)


def ResNet101V2(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "resnet101v2",
) -> Model:
    """ResNet101V2: 101 layers in residual blocks that normalize first, for 224 x 224.

    Arguments, result and errors are those of `ResNet50V2`.
    """
    asked = Arguments(
        who="ResNet101V2",
        name=name,
        include_top=include_top,
        weights=weights,
        input_tensor=input_tensor,
        input_shape=input_shape,
        pooling=pooling,
        classes=classes,
        classifier_activation=classifier_activation,
    )
    return residual_network(asked, (3, 4, 23, 3), file_of("resnet101v2", include_top), before=True)


def ResNet152V2(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "resnet152v2",
) -> Model:
    """ResNet152V2: 152 layers in residual blocks that normalize first, for 224 x 224.

    Arguments, result and errors are those of `ResNet50V2`.
    """
    asked = Arguments(
        who="ResNet152V2",
        name=name,
        include_top=include_top,
        weights=weights,
        input_tensor=input_tensor,
        input_shape=input_shape,
        pooling=pooling,
        classes=classes,
        classifier_activation=classifier_activation,
    )
    return residual_network(asked, (3, 8, 36, 3), file_of("resnet152v2", include_top), before=True)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """From -1 to 1; see `imagenet_utils.preprocess_input`.

    Args:
        x: pictures, red, green, blue in 0 to 255.
        data_format: `channels_last` or `channels_first`; None is `keras.config`'s.
    """
    return imagenet_utils.preprocess_input(x, data_format, "tf")
