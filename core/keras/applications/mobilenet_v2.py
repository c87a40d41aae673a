"""`keras.applications.mobilenet_v2`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from pinnace.keras.applications.about_zero import preprocess_input as preprocess_input
from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.halving import multiple_near, padding_before
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.published import Published
from pinnace.keras.applications.trained_sizes import check_one_of, trained_size, usual_size
from pinnace.keras.layers import (
    Add,
    BatchNormalization,
    Conv2D,
    DepthwiseConv2D,
    GlobalAveragePooling2D,
    ReLU,
    ZeroPadding2D,
)
from pinnace.keras.symbolic import KerasTensor

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/tensorflow/keras-applications/mobilenet_v2/"
_SIZES = (96, 128, 160, 192, 224)
_ALPHAS = (0.35, 0.5, 0.75, 1.0, 1.3, 1.4)
# Channels and stride of each block.
_BLOCKS = (
    *((16, 1), (24, 2), (24, 1), (32, 2), (32, 1), (32, 1)),
    *((64, 2), (64, 1), (64, 1), (64, 1), (96, 1), (96, 1), (96, 1)),
    *((160, 2), (160, 1), (160, 1), (320, 1)),
)
_EXPANSION = 6


def MobileNetV2(  # noqa: N802 (Keras' name)
    input_shape: Any = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = None,
) -> Model:
    """MobileNetV2: 17 inverted residual blocks, for images of 224 x 224.

    Args:
        input_shape: (height, width, channels), at least 32 x 32; height and width may be None
            without the top.
        alpha: factor of the channels; 0.35, 0.5, 0.75, 1, 1.3 or 1.4 with `imagenet`.
        include_top: whether it ends in classes.
        weights: None for random values, `imagenet` for those that Keras publishes, or the path of a
            file of weights.
        input_tensor: a KerasTensor to begin with, instead of an Input of its own.
        pooling: without the top: None, `avg` or `max`, over height and width.
        classes: the number of classes, with the top.
        classifier_activation: activation of the last layer; None gives logits.
        name: name of the model; `mobilenetv2_1.00_224` for alpha 1 and 224 x 224 if None.

    Returns:
        A model: [batch, height, width, channels] -> [batch, classes]; without the top [batch,
        height / 32, width / 32, 1280], pooled [batch, 1280]; channels grow with an alpha above 1.
        Its input is the result of `preprocess_input`.

    Raises:
        ValueError: an argument that does not go with the others.
        NotFoundError: the published weights are not in Keras' cache and cannot be fetched.

    Source:
        Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018, table 2;
        names and order of layers are Keras'.
    """
    asked = Arguments.of("MobileNetV2", locals())
    shape = asked.checked_shape(_default_size(asked))
    size, file = shape[0], None
    if asked.imagenet:
        check_one_of("MobileNetV2", "alpha", alpha, _ALPHAS)
        size = trained_size("MobileNetV2", shape, _SIZES)
        ending = "" if include_top else "_no_top"
        stem = "mobilenet_v2_weights_tf_dim_ordering_tf_kernels"
        file = Published(f"{_URL}{stem}_{float(alpha)}_{size}{ending}.h5")
    if name is None:
        asked = dataclasses.replace(asked, name=f"mobilenetv2_{alpha:0.2f}_{size}")
    image = asked.image(shape)
    channels = multiple_near(32 * alpha)
    x = Conv2D(channels, 3, strides=2, padding="same", use_bias=False, name="Conv1")(image)
    x = ReLU(6.0, name="Conv1_relu")(_normalized(x, "bn_Conv1"))
    for number, (channels, stride) in enumerate(_BLOCKS):
        x = _block(x, number, multiple_near(int(channels * alpha)), stride)
    # The paper: a narrower network keeps the width of its last convolution.
    x = Conv2D(multiple_near(1280 * max(alpha, 1.0)), 1, use_bias=False, name="Conv_1")(x)
    x = ReLU(6.0, name="out_relu")(_normalized(x, "Conv_1_bn"))
    x = asked.classified(GlobalAveragePooling2D()(x)) if include_top else asked.pooled(x)
    return asked.model(image, x, file)


def _default_size(asked: Arguments) -> int:
    """The image size if the requested shape does not determine it."""
    if not isinstance(asked.input_tensor, KerasTensor):
        return usual_size(asked.input_shape, _SIZES)
    here = asked.input_tensor.shape
    if asked.input_shape is None:
        return usual_size(here[1:], _SIZES)
    if here[2] != asked.input_shape[1]:
        raise ValueError(
            f"MobileNetV2: input_shape must be that of input_tensor, {list(here)}, got "
            f"{tuple(asked.input_shape)}"
        )
    return usual_size(asked.input_shape, _SIZES)


def _block(x: Any, number: int, channels: int, stride: int) -> Any:
    before, name = x, f"block_{number}_" if number else "expanded_conv_"
    if number:
        wide = _EXPANSION * x.shape[-1]
        x = Conv2D(wide, 1, padding="same", use_bias=False, name=f"{name}expand")(x)
        x = ReLU(6.0, name=f"{name}expand_relu")(_normalized(x, f"{name}expand_BN"))
    if stride == 2:
        x = ZeroPadding2D(padding_before(x, 3), name=f"{name}pad")(x)
    x = DepthwiseConv2D(
        3,
        strides=stride,
        padding="same" if stride == 1 else "valid",
        use_bias=False,
        name=f"{name}depthwise",
    )(x)
    x = ReLU(6.0, name=f"{name}depthwise_relu")(_normalized(x, f"{name}depthwise_BN"))
    x = Conv2D(channels, 1, padding="same", use_bias=False, name=f"{name}project")(x)
    x = _normalized(x, f"{name}project_BN")
    if stride == 1 and before.shape[-1] == channels:
        x = Add(name=f"{name}add")([before, x])
    return x


def _normalized(x: Any, name: str) -> Any:
    return BatchNormalization(momentum=0.999, epsilon=1e-3, name=name)(x)
