"""`keras.applications.mobilenet_v3`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.imagenet_utils import decode_predictions
from pinnace.keras.applications.mobile_search import LARGE, SMALL, searched_network
from pinnace.keras.applications.unscaled import preprocess_input

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model

# Keras: the networks themselves stand in `applications` alone.
__all__ = ["decode_predictions", "preprocess_input"]


def MobileNetV3Small(  # noqa: N802 (Keras' name)
    input_shape: Any = None,
    alpha: float = 1.0,
    minimalistic: bool = False,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    classes: int = 1000,
    pooling: str | None = None,
    dropout_rate: float = 0.2,
    classifier_activation: Any = "softmax",
    include_preprocessing: bool = True,
    name: str | None = "MobileNetV3Small",
) -> Model:
    """MobileNetV3Small: 11 blocks found by search, for images of 224 x 224.

    Args:
        input_shape: (height, width, channels), at least 32 x 32; height and width may be None.
        alpha: factor of the channels; 0.75 or 1 with `imagenet`, 1 if minimalistic.
        minimalistic: whether it has neither gates nor hard swish nor kernels of 5.
        include_top: whether it ends in classes.
        weights: None for random values, `imagenet` for those that Keras publishes, or the path of a
            file of weights.
        input_tensor: a KerasTensor to begin with, instead of an Input of its own.
        classes: the number of classes, with the top.
        pooling: without the top: None, `avg` or `max`, over height and width.
        dropout_rate: share of the values before the classes that are dropped in training.
        classifier_activation: activation of the last layer; None gives logits.
        include_preprocessing: whether it scales pictures from 0 to 255 itself.
        name: name of the model.

    Returns:
        A model: [batch, height, width, channels] -> [batch, classes]; without the top [batch,
        height / 32, width / 32, 576], pooled [batch, 576]; channels change with alpha.

    Raises:
        ValueError: an argument that does not go with the others.
        NotFoundError: the published weights are not in Keras' cache and cannot be fetched.
    """
    asked = Arguments.of("MobileNetV3Small", locals())
    return searched_network(
        asked,
        SMALL,
        alpha=alpha,
        minimalistic=minimalistic,
        dropout_rate=dropout_rate,
        include_preprocessing=include_preprocessing,
    )


def MobileNetV3Large(  # noqa: N802 (Keras' name)
    input_shape: Any = None,
    alpha: float = 1.0,
    minimalistic: bool = False,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    classes: int = 1000,
    pooling: str | None = None,
    dropout_rate: float = 0.2,
    classifier_activation: Any = "softmax",
    include_preprocessing: bool = True,
    name: str | None = "MobileNetV3Large",
) -> Model:
    """MobileNetV3Large: 15 blocks found by search, for images of 224 x 224.

    Arguments, result and errors are those of `MobileNetV3Small`; without the top, it has 960
    channels.
    """
    asked = Arguments.of("MobileNetV3Large", locals())
    return searched_network(
        asked,
        LARGE,
        alpha=alpha,
        minimalistic=minimalistic,
        dropout_rate=dropout_rate,
        include_preprocessing=include_preprocessing,
    )
