"""`keras.applications.efficientnet_v2`: EfficientNetV2, B0 to B3 and S, M, L."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.efficientnet_v2_network import efficientnet_v2
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
    include_preprocessing: bool,
    name: str | None,
) -> Model:
    asked = Arguments(
        who=f"EfficientNetV2{which.upper()}",
        name=name,
        include_top=include_top,
        weights=weights,
        input_tensor=input_tensor,
        input_shape=input_shape,
        pooling=pooling,
        classes=classes,
        classifier_activation=classifier_activation,
    )
    return efficientnet_v2(asked, which, include_preprocessing)


def EfficientNetV2B0(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    include_preprocessing: bool = True,
    name: str | None = "efficientnetv2-b0",
) -> Model:
    """EfficientNetV2B0: 21 blocks, for pictures of 224 x 224.

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
        include_preprocessing: whether the model scales pixels from 0 to 255 itself; otherwise give
            it what B0 to B3 were trained on: less ImageNet's mean, by its deviation; S, M and L:
            from -1 to 1.
        name: of the model.

    Returns:
        A model: [batch, height, width, channels] -> [batch, classes]; without the top [batch,
        height / 32, width / 32, 1280], rounded up, pooled [batch, 1280].

    Raises:
        ValueError: an argument that does not go with the others.
        NotFoundError: the published weights are not in Keras' cache and cannot be fetched.
    """
    return _model(
        *("b0", include_top, weights, input_tensor, input_shape, pooling),
        *(classes, classifier_activation, include_preprocessing, name),
    )


def EfficientNetV2B1(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    include_preprocessing: bool = True,
    name: str | None = "efficientnetv2-b1",
) -> Model:
    """EfficientNetV2B1: 27 blocks, for pictures of 240 x 240; without the top 1280 channels.

    Args:
        include_top: see `EfficientNetV2B0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        include_preprocessing: see there.
        name: of the model.
    """
    return _model(
        *("b1", include_top, weights, input_tensor, input_shape, pooling),
        *(classes, classifier_activation, include_preprocessing, name),
    )


def EfficientNetV2B2(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    include_preprocessing: bool = True,
    name: str | None = "efficientnetv2-b2",
) -> Model:
    """EfficientNetV2B2: 28 blocks, for pictures of 260 x 260; without the top 1408 channels.

    Args:
        include_top: see `EfficientNetV2B0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        include_preprocessing: see there.
        name: of the model.
    """
    return _model(
        *("b2", include_top, weights, input_tensor, input_shape, pooling),
        *(classes, classifier_activation, include_preprocessing, name),
    )


def EfficientNetV2B3(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    include_preprocessing: bool = True,
    name: str | None = "efficientnetv2-b3",
) -> Model:
    """EfficientNetV2B3: 32 blocks, for pictures of 300 x 300; without the top 1536 channels.

    Args:
        include_top: see `EfficientNetV2B0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        include_preprocessing: see there.
        name: of the model.
    """
    return _model(
        *("b3", include_top, weights, input_tensor, input_shape, pooling),
        *(classes, classifier_activation, include_preprocessing, name),
    )


def EfficientNetV2S(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    include_preprocessing: bool = True,
    name: str | None = "efficientnetv2-s",
) -> Model:
    """EfficientNetV2S: 40 blocks, for pictures of 384 x 384; without the top 1280 channels.

    Args:
        include_top: see `EfficientNetV2B0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        include_preprocessing: see there.
        name: of the model.
    """
    return _model(
        *("s", include_top, weights, input_tensor, input_shape, pooling),
        *(classes, classifier_activation, include_preprocessing, name),
    )


def EfficientNetV2M(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    include_preprocessing: bool = True,
    name: str | None = "efficientnetv2-m",
) -> Model:
    """EfficientNetV2M: 57 blocks, for pictures of 480 x 480; without the top 1280 channels.

    Args:
        include_top: see `EfficientNetV2B0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        include_preprocessing: see there.
        name: of the model.
    """
    return _model(
        *("m", include_top, weights, input_tensor, input_shape, pooling),
        *(classes, classifier_activation, include_preprocessing, name),
    )


def EfficientNetV2L(  # noqa: N802 (Keras' name)
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    include_preprocessing: bool = True,
    name: str | None = "efficientnetv2-l",
) -> Model:
    """EfficientNetV2L: 79 blocks, for pictures of 480 x 480; without the top 1280 channels.

    Args:
        include_top: see `EfficientNetV2B0`.
        weights: see there.
        input_tensor: see there.
        input_shape: see there.
        pooling: see there.
        classes: see there.
        classifier_activation: see there.
        include_preprocessing: see there.
        name: of the model.
    """
    return _model(
        *("l", include_top, weights, input_tensor, input_shape, pooling),
        *(classes, classifier_activation, include_preprocessing, name),
    )
