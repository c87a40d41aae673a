"""`keras.applications.efficientnet`: EfficientNetB0, and B1 to B7, which are wider and deeper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.efficientnet_network import efficientnet
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.unscaled import preprocess_input as preprocess_input

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model


def _model(
    which: str,
    include_top: bool,
    weights: Any,
    input_tensor: Any,
    input_shape: Any,
    pooling: str | None,
    classes: int,
    classifier_activation: Any,
    name: str | None,
) -> Model:
    asked = Arguments(
        who=f"EfficientNet{which.upper()}",
        name=name,
        include_top=include_top,
        weights=weights,
        input_tensor=input_tensor,
        input_shape=input_shape,
        pooling=pooling,
        classes=classes,
        classifier_activation=classifier_activation,
    )
    return efficientnet(asked, which)


def EfficientNetB0(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "efficientnetb0",
) -> Model:
    """EfficientNetB0: 16 blocks, for pictures of 224 x 224.

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
        height / 32, width / 32, 1280], rounded up, pooled [batch, 1280]. Pixels are 0 to 255: the
        model scales them itself.

    Raises:
        ValueError: an argument that does not go with the others.
        NotFoundError: the published weights are not in Keras' cache and cannot be fetched.
    """
    return _model(
        *("b0", include_top, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )


def EfficientNetB1(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "efficientnetb1",
) -> Model:
    """EfficientNetB1: 23 blocks, for pictures of 240 x 240; without the top 1280 channels.

    Args:
        include_top: see `EfficientNetB0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: of the model.
    """
    return _model(
        *("b1", include_top, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )


def EfficientNetB2(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "efficientnetb2",
) -> Model:
    """EfficientNetB2: 23 blocks, for pictures of 260 x 260; without the top 1408 channels.

    Args:
        include_top: see `EfficientNetB0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: of the model.
    """
    return _model(
        *("b2", include_top, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )


def EfficientNetB3(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "efficientnetb3",
) -> Model:
    """EfficientNetB3: 26 blocks, for pictures of 300 x 300; without the top 1536 channels.

    Args:
        include_top: see `EfficientNetB0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: of the model.
    """
    return _model(
        *("b3", include_top, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )


def EfficientNetB4(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "efficientnetb4",
) -> Model:
    """EfficientNetB4: 32 blocks, for pictures of 380 x 380; without the top 1792 channels.

    Args:
        include_top: see `EfficientNetB0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: of the model.
    """
    return _model(
        *("b4", include_top, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )


def EfficientNetB5(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "efficientnetb5",
) -> Model:
    """EfficientNetB5: 39 blocks, for pictures of 456 x 456; without the top 2048 channels.

    Args:
        include_top: see `EfficientNetB0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: of the model.
    """
    return _model(
        *("b5", include_top, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )


def EfficientNetB6(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "efficientnetb6",
) -> Model:
    """EfficientNetB6: 45 blocks, for pictures of 528 x 528; without the top 2304 channels.

    Args:
        include_top: see `EfficientNetB0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: of the model.
    """
    return _model(
        *("b6", include_top, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )


def EfficientNetB7(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "efficientnetb7",
) -> Model:
    """EfficientNetB7: 55 blocks, for pictures of 600 x 600; without the top 2560 channels.

    Args:
        include_top: see `EfficientNetB0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: of the model.
    """
    return _model(
        *("b7", include_top, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )
