"""`keras.applications.convnext`: ConvNeXtTiny, and Small to XLarge, which are deeper and wider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.convnext_network import convnext
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.unscaled import preprocess_input as preprocess_input

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model


def _model(
    which: str,
    include_top: bool,
    include_preprocessing: bool,
    weights: Any,
    input_tensor: Any,
    input_shape: Any,
    pooling: str | None,
    classes: int,
    classifier_activation: Any,
    name: str | None,
) -> Model:
    asked = Arguments(
        who=f"ConvNeXt{which}",
        name=name,
        include_top=include_top,
        weights=weights,
        input_tensor=input_tensor,
        input_shape=input_shape,
        pooling=pooling,
        classes=classes,
        classifier_activation=classifier_activation,
    )
    return convnext(asked, which.lower(), include_preprocessing)


def ConvNeXtTiny(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    include_preprocessing: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "convnext_tiny",
) -> Model:
    """ConvNeXtTiny: 18 blocks, for pictures of 224 x 224.

    Args:
        include_top: whether it ends in classes.
        include_preprocessing: whether the model scales pixels from 0 to 255 itself, if they have 3
            channels; otherwise give it what it was trained on: less ImageNet's mean, by its
            deviation.
        weights: None for random values, `imagenet` for those that Keras publishes, or the path of a
            file of weights.
        input_tensor: a KerasTensor to begin with, instead of an Input of its own.
        input_shape: (height, width, channels), at least 32 x 32; height and width may be None
            without the top.
        pooling: without the top: None, `avg` or `max`, over height and width.
        classes: how many, with the top.
        classifier_activation: of the last layer; None gives logits.
        name: of the model, with which the names of all of its layers begin.

    Returns:
        A model: [batch, height, width, channels] -> [batch, classes]; without the top [batch,
        height / 32, width / 32, 768], rounded down, pooled [batch, 768].

    Raises:
        ValueError: an argument that does not go with the others.
        NotFoundError: the published weights are not in Keras' cache and cannot be fetched.
    """
    return _model(
        *("Tiny", include_top, include_preprocessing, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )


def ConvNeXtSmall(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    include_preprocessing: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "convnext_small",
) -> Model:
    """ConvNeXtSmall: 36 blocks, for pictures of 224 x 224; without the top 768 channels.

    Args:
        include_top: see `ConvNeXtTiny`.
        include_preprocessing: see there.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: see there.
    """
    return _model(
        *("Small", include_top, include_preprocessing, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )


def ConvNeXtBase(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    include_preprocessing: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "convnext_base",
) -> Model:
    """ConvNeXtBase: 36 blocks, for pictures of 224 x 224; without the top 1024 channels.

    Args:
        include_top: see `ConvNeXtTiny`.
        include_preprocessing: see there.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: see there.
    """
    return _model(
        *("Base", include_top, include_preprocessing, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )


def ConvNeXtLarge(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    include_preprocessing: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "convnext_large",
) -> Model:
    """ConvNeXtLarge: 36 blocks, for pictures of 224 x 224; without the top 1536 channels.

    Args:
        include_top: see `ConvNeXtTiny`.
        include_preprocessing: see there.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: see there.
    """
    return _model(
        *("Large", include_top, include_preprocessing, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )


def ConvNeXtXLarge(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    include_preprocessing: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = "convnext_xlarge",
) -> Model:
    """ConvNeXtXLarge: 36 blocks, for pictures of 224 x 224; without the top 2048 channels.

    Args:
        include_top: see `ConvNeXtTiny`.
        include_preprocessing: see there.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        name: see there.
    """
    return _model(
        *("XLarge", include_top, include_preprocessing, weights, input_tensor, input_shape),
        *(pooling, classes, classifier_activation, name),
    )
