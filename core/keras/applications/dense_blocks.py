"""Densely connected networks: blocks whose layers see all earlier ones, transitions between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.keras.applications.published import Published
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


class _Kind(NamedTuple):
    """A member of the family: layers in each of the four blocks, digests of its files."""

    depths: tuple[int, ...]
    top: str
    no_top: str


_KINDS = {
    "densenet121": _Kind(
        *((6, 12, 24, 16), "9d60b8095a5708f2dcce2bca79d332c7", "30ee3e1110167f948a6b9946edeeb738")
    ),
    "densenet169": _Kind(
        *((6, 12, 32, 32), "d699b8f76981ab1b30698df4c175e90b", "b8c4d4c20dd625c148057b9ff1c1176b")
    ),
    "densenet201": _Kind(
        *((6, 12, 48, 32), "1ceb130c1ea1b78c3bf6114dbdfd8807", "c13680b51ded0fb44dff2d8f86ac8bb1")
    ),
}


def dense_network(asked: Arguments, which: str) -> Model:
    """The model.

    Args:
        asked: the arguments that all networks have.
        which: the member of the family, `densenet121` and the like.

    Source:
        Huang, Liu, van der Maaten and Weinberger, "Densely Connected Convolutional Networks", 2016,
        table 1; names and order of layers are Keras'.
    """
    kind = _KINDS[which]
    image = asked.image(asked.checked_shape())
    x = ZeroPadding2D(((3, 3), (3, 3)))(image)
    x = Conv2D(64, 7, strides=2, use_bias=False, name="conv1_conv")(x)
    x = _normalized(x, "conv1_bn", "conv1_relu")
    x = ZeroPadding2D(((1, 1), (1, 1)))(x)
    x = MaxPooling2D(3, strides=2, name="pool1")(x)
    for number, depth in enumerate(kind.depths, 2):
        for layer in range(1, depth + 1):
            x = _layer(x, f"conv{number}_block{layer}")
        if number < 5:
            x = _transition(x, f"pool{number}")
    x = _normalized(x, "bn", "relu")
    if asked.include_top:
        x = asked.classified(GlobalAveragePooling2D(name="avg_pool")(x))
    else:
        x = asked.pooled(x, "avg_pool", "max_pool")
    ending, digest = (".h5", kind.top) if asked.include_top else ("_notop.h5", kind.no_top)
    file = Published(f"{_URL}{which}_weights_tf_dim_ordering_tf_kernels{ending}", digest)
    return asked.model(image, x, file)


def _layer(x: Any, name: str) -> Any:
    """x, and beside it the channels that a layer makes of it."""
    new = _normalized(x, f"{name}_0_bn", f"{name}_0_relu")
    new = Conv2D(4 * _GROWTH, 1, use_bias=False, name=f"{name}_1_conv")(new)
    new = _normalized(new, f"{name}_1_bn", f"{name}_1_relu")
    new = Conv2D(_GROWTH, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(new)
    return Concatenate(name=f"{name}_concat")([x, new])


def _transition(x: Any, name: str) -> Any:
    """Half the channels, half the size."""
    x = _normalized(x, f"{name}_bn", f"{name}_relu")
    x = Conv2D(x.shape[-1] // 2, 1, use_bias=False, name=f"{name}_conv")(x)
    return AveragePooling2D(2, strides=2, name=f"{name}_pool")(x)


def _normalized(x: Any, name: str, activation: str) -> Any:
    x = BatchNormalization(epsilon=1.001e-5, name=name)(x)
    return Activation("relu", name=activation)(x)
