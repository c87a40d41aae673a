"""`keras.applications.densenet`: blocks in which each layer sees all earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications import imagenet_utils
from pinnace.keras.applications.constructors import usual
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.published import pair
from pinnace.keras.layers import (
    Activation,
    AveragePooling2D,
    BatchNormalization,
    Concatenate,
    Conv2D,
    GlobalAveragePooling2D,
    MaxPooling2D,
    ZeroPadding2D,
)

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/tensorflow/keras-applications/densenet/"
# Channels that each layer of a block adds.
_GROWTH = 32
# The digests of the files, with the classes and without.
_DIGESTS = {
    "densenet121": ("9d60b8095a5708f2dcce2bca79d332c7", "30ee3e1110167f948a6b9946edeeb738"),
    "densenet169": ("d699b8f76981ab1b30698df4c175e90b", "b8c4d4c20dd625c148057b9ff1c1176b"),
    "densenet201": ("1ceb130c1ea1b78c3bf6114dbdfd8807", "c13680b51ded0fb44dff2d8f86ac8bb1"),
}
_GIVES = """height / 32,
    width / 32, {0}], pooled [batch, {0}]. Give it what `preprocess_input` gives."""


@usual("densenet121", _GIVES.format(1024))
def DenseNet121(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """DenseNet121: 121 layers in densely connected blocks, for images of 224 x 224."""
    return _dense_network(asked, "densenet121", (6, 12, 24, 16))


@usual("densenet169", _GIVES.format(1664))
def DenseNet169(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """DenseNet169: 169 layers in densely connected blocks, for images of 224 x 224."""
    return _dense_network(asked, "densenet169", (6, 12, 32, 32))


@usual("densenet201", _GIVES.format(1920))
def DenseNet201(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """DenseNet201: 201 layers in densely connected blocks, for images of 224 x 224."""
    return _dense_network(asked, "densenet201", (6, 12, 48, 32))


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Pixels normalized by ImageNet's means and deviations; see `imagenet_utils.preprocess_input`.

    Args:
        x: pictures, red, green, blue in 0 to 255.
        data_format: `channels_last` or `channels_first`; None is `keras.config`'s.
    """
    return imagenet_utils.preprocess_input(x, data_format, "torch")


def _dense_network(asked: Arguments, which: str, depths: tuple[int, ...]) -> Model:
    """The model.

    Args:
        asked: the arguments that all networks have.
        which: the member of the family, `densenet121` and the like.
        depths: the layers in each of the four blocks.

    Source:
        Huang, Liu, van der Maaten and Weinberger, "Densely Connected Convolutional Networks", 2016,
        table 1; names and order of layers are Keras'.
    """
    image = asked.image(asked.checked_shape())
    x = ZeroPadding2D(((3, 3), (3, 3)))(image)
    x = Conv2D(64, 7, strides=2, use_bias=False, name="conv1_conv")(x)
    x = _normalized(x, "conv1_bn", "conv1_relu")
    x = ZeroPadding2D(((1, 1), (1, 1)))(x)
    x = MaxPooling2D(3, strides=2, name="pool1")(x)
    for number, depth in enumerate(depths, 2):
        for layer in range(1, depth + 1):
            x = _layer(x, f"conv{number}_block{layer}")
        if number < 5:
            x = _transition(x, f"pool{number}")
    x = _normalized(x, "bn", "relu")
    if asked.include_top:
        x = asked.classified(GlobalAveragePooling2D(name="avg_pool")(x))
    else:
        x = asked.pooled(x, "avg_pool", "max_pool")
    files = pair(f"{_URL}{which}_weights_tf_dim_ordering_tf_kernels", *_DIGESTS[which])
    return asked.model(image, x, files[asked.include_top])


def _layer(x: Any, name: str) -> Any:
    """x concatenated with the channels that a layer computes from it."""
    new = _normalized(x, f"{name}_0_bn", f"{name}_0_relu")
    new = Conv2D(4 * _GROWTH, 1, use_bias=False, name=f"{name}_1_conv")(new)
    new = _normalized(new, f"{name}_1_bn", f"{name}_1_relu")
    new = Conv2D(_GROWTH, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(new)
    return Concatenate(name=f"{name}_concat")([x, new])


def _transition(x: Any, name: str) -> Any:
    """Halve the number of channels and the size."""
    x = _normalized(x, f"{name}_bn", f"{name}_relu")
    x = Conv2D(x.shape[-1] // 2, 1, use_bias=False, name=f"{name}_conv")(x)
    return AveragePooling2D(2, strides=2, name=f"{name}_pool")(x)


def _normalized(x: Any, name: str, activation: str) -> Any:
    x = BatchNormalization(epsilon=1.001e-5, name=name)(x)
    return Activation("relu", name=activation)(x)
