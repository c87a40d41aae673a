"""`keras.applications.mobilenet`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from pinnace.keras.applications.about_zero import preprocess_input as preprocess_input
from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.published import Published
from pinnace.keras.applications.trained_sizes import check_one_of, trained_size, usual_size
from pinnace.keras.layers import (
    Activation,
    BatchNormalization,
    Conv2D,
    DepthwiseConv2D,
    Dropout,
    GlobalAveragePooling2D,
    ReLU,
    Reshape,
    ZeroPadding2D,
)

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/tensorflow/keras-applications/mobilenet/"
_SIZES = (128, 160, 192, 224)
# Alpha as it is written in file names.
_ALPHAS = {0.25: "2_5", 0.5: "5_0", 0.75: "7_5", 1.0: "1_0"}
# Channels and stride of each pair of a depthwise and a pointwise convolution.
_PAIRS = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1)),
)


def MobileNet(  # noqa: N802 (Keras' name)
    input_shape: Any = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float = 1e-3,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = None,
) -> Model:
    """MobileNet: 13 depthwise separable convolutions, for images of 224 x 224.

    Args:
        input_shape: (height, width, channels), at least 32 x 32; height and width may be None
            without the top.
        alpha: factor of the channels; 0.25, 0.5, 0.75 or 1 with `imagenet`.
        depth_multiplier: channels that a depthwise convolution makes of each; 1 with `imagenet`.
        dropout: share of the values before the classes that are dropped in training.
        include_top: whether it ends in classes.
        weights: None for random values, `imagenet` for those that Keras publishes, or the path of a
            file of weights.
        input_tensor: a KerasTensor to begin with, instead of an Input of its own.
        pooling: without the top: None, `avg` or `max`, over height and width.
        classes: the number of classes, with the top.
        classifier_activation: activation of the last layer; None gives logits.
        name: name of the model; `mobilenet_1.00_224` for alpha 1 and 224 x 224 if None.

    Returns:
        A model: [batch, height, width, channels] -> [batch, classes]; without the top [batch,
        height / 32, width / 32, 1024 alpha], pooled [batch, 1024 alpha]. Its input is the result of
        `preprocess_input`.

    Raises:
        ValueError: an argument that does not go with the others.
        NotFoundError: the published weights are not in Keras' cache and cannot be fetched.

    Source:
        Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
        Applications", 2017, table 1; names and order of layers are Keras'.
    """
    asked = Arguments.of("MobileNet", locals())
    shape = asked.checked_shape(usual_size(input_shape, _SIZES))
    size, file = shape[0], None
    if asked.imagenet:
        check_one_of("MobileNet", "depth_multiplier", depth_multiplier, (1,))
        check_one_of("MobileNet", "alpha", alpha, tuple(_ALPHAS))
        size = trained_size("MobileNet", shape, _SIZES)
        ending = "" if include_top else "_no_top"
        file = Published(f"{_URL}mobilenet_{_ALPHAS[alpha]}_{size}_tf{ending}.h5")
    if name is None:
        asked = dataclasses.replace(asked, name=f"mobilenet_{alpha:0.2f}_{size}")
    image = asked.image(shape)
    x = Conv2D(int(32 * alpha), 3, strides=2, padding="same", use_bias=False, name="conv1")(image)
    x = _rectified(x, "conv1")
    for number, (channels, stride) in enumerate(_PAIRS, 1):
        x = _pair(x, number, int(channels * alpha), stride, depth_multiplier)
    x = _top(x, asked, dropout) if include_top else asked.pooled(x)
    return asked.model(image, x, file)


def _pair(x: Any, number: int, channels: int, stride: int, depth_multiplier: int) -> Any:
    if stride == 2:
        x = ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{number}")(x)
    x = DepthwiseConv2D(
        3,
        strides=stride,
        padding="same" if stride == 1 else "valid",
        depth_multiplier=depth_multiplier,
        use_bias=False,
        name=f"conv_dw_{number}",
    )(x)
    x = _rectified(x, f"conv_dw_{number}")
    x = Conv2D(channels, 1, padding="same", use_bias=False, name=f"conv_pw_{number}")(x)
    return _rectified(x, f"conv_pw_{number}")


def _rectified(x: Any, name: str) -> Any:
    return ReLU(6.0, name=f"{name}_relu")(BatchNormalization(name=f"{name}_bn")(x))


def _top(x: Any, asked: Arguments, dropout: float) -> Any:
    x = GlobalAveragePooling2D(keepdims=True)(x)
    x = Dropout(dropout, name="dropout")(x)
    x = Conv2D(asked.classes, 1, padding="same", name="conv_preds")(x)
    x = Reshape((asked.classes,), name="reshape_2")(x)
    asked.check_activation()
    return Activation(asked.classifier_activation, name="predictions")(x)
