"""`keras.applications.inception_resnet_v2`: Inception blocks with residual connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications.about_zero import preprocess_input as preprocess_input
from pinnace.keras.applications.constructors import usual
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.published import pair
from pinnace.keras.applications.residual_layers import CustomScaleLayer
from pinnace.keras.layers import (
    Activation,
    AveragePooling2D,
    BatchNormalization,
    Concatenate,
    Conv2D,
    GlobalAveragePooling2D,
    MaxPooling2D,
)

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_URL = (
    "https://storage.googleapis.com/tensorflow/keras-applications/"
    "inception_resnet_v2/inception_resnet_v2_weights_tf_dim_ordering_tf_kernels"
)
_FILES = pair(_URL, "e693bd0210a403b3192acc6073ad2e96", "d19885ff4a710c122648d3b5c3b684e4")
_SIZE = 299
_LEAST_SIZE = 75
# Filters and height and width of the kernel of a convolution; a number is both.
_Step = tuple[int, int | tuple[int, int]]
# Kind of a block -> the convolutions of its branches.
_BRANCHES: dict[str, tuple[tuple[_Step, ...], ...]] = {
    "block35": (((32, 1),), ((32, 1), (32, 3)), ((32, 1), (48, 3), (64, 3))),
    "block17": (((192, 1),), ((128, 1), (160, (1, 7)), (192, (7, 1)))),
    "block8": (((192, 1),), ((192, 1), (224, (1, 3)), (256, (3, 1)))),
}
# For the docstring.
_GIVES = """8, 8, 1536]
    for 299 x 299, pooled [batch, 1536]. Give it what `preprocess_input` gives."""


@usual("inception_resnet_v2", _GIVES, _LEAST_SIZE)
def InceptionResNetV2(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """InceptionResNetV2: 40 residual blocks with branches, for images of 299 x 299.

    Source:
        Szegedy et al., "Inception-v4, Inception-ResNet and the Impact of Residual Connections on
        Learning", 2017; branches, names and order of layers are Keras'.
    """
    image = asked.image(asked.checked_shape(_SIZE, _LEAST_SIZE))
    x = _residuals(_mixed_5b(_stem(image)), "block35", 10, 0.17)
    x = _residuals(_mixed_6a(x), "block17", 20, 0.1)
    x = _residuals(_mixed_7a(x), "block8", 9, 0.2)
    x = _residual(x, "block8", 10, 1.0, activated=False)
    x = _convolved(x, 1536, 1, name="conv_7b")
    if asked.include_top:
        x = asked.classified(GlobalAveragePooling2D(name="avg_pool")(x))
    else:
        x = asked.pooled(x)
    return asked.model(image, x, _FILES[asked.include_top])


def _convolved(
    x: Any,
    filters: int,
    size: int | tuple[int, int],
    *,
    strides: int = 1,
    padding: str = "same",
    name: str | None = None,
) -> Any:
    x = Conv2D(filters, size, strides=strides, padding=padding, use_bias=False, name=name)(x)
    x = BatchNormalization(axis=3, scale=False, name=name and f"{name}_bn")(x)
    return Activation("relu", name=name and f"{name}_ac")(x)


def _chain(x: Any, steps: tuple[_Step, ...]) -> Any:
    """Convolutions applied one after the other."""
    for filters, size in steps:
        x = _convolved(x, filters, size)
    return x


def _halved(x: Any, filters: int) -> Any:
    return _convolved(x, filters, 3, strides=2, padding="valid")


def _stem(x: Any) -> Any:
    x = _halved(x, 32)
    x = _convolved(x, 32, 3, padding="valid")
    x = MaxPooling2D(3, strides=2)(_convolved(x, 64, 3))
    x = _convolved(x, 80, 1, padding="valid")
    x = _convolved(x, 192, 3, padding="valid")
    return MaxPooling2D(3, strides=2)(x)


def _mixed_5b(x: Any) -> Any:
    branches = [
        _chain(x, ((96, 1),)),
        _chain(x, ((48, 1), (64, 5))),
        _chain(x, ((64, 1), (96, 3), (96, 3))),
        _convolved(AveragePooling2D(3, strides=1, padding="same")(x), 64, 1),
    ]
    return Concatenate(axis=3, name="mixed_5b")(branches)


def _mixed_6a(x: Any) -> Any:
    branches = [
        _halved(x, 384),
        _halved(_chain(x, ((256, 1), (256, 3))), 384),
        MaxPooling2D(3, strides=2, padding="valid")(x),
    ]
    return Concatenate(axis=3, name="mixed_6a")(branches)


def _mixed_7a(x: Any) -> Any:
    branches = [
        _halved(_chain(x, ((256, 1),)), 384),
        _halved(_chain(x, ((256, 1),)), 288),
        _halved(_chain(x, ((256, 1), (288, 3))), 320),
        MaxPooling2D(3, strides=2, padding="valid")(x),
    ]
    return Concatenate(axis=3, name="mixed_7a")(branches)


def _residuals(x: Any, kind: str, count: int, scale: float) -> Any:
    for number in range(1, count + 1):
        x = _residual(x, kind, number, scale)
    return x


def _residual(x: Any, kind: str, number: int, scale: float, *, activated: bool = True) -> Any:
    """x plus the scaled result of the branches; unscaled, such wide residuals upset training."""
    name = f"{kind}_{number}"
    branches = [_chain(x, steps) for steps in _BRANCHES[kind]]
    mixed = Concatenate(axis=3, name=f"{name}_mixed")(branches)
    residual = Conv2D(x.shape[-1], 1, padding="same", name=f"{name}_conv")(mixed)
    x = CustomScaleLayer(scale)([x, residual])
    return Activation("relu", name=f"{name}_ac")(x) if activated else x
