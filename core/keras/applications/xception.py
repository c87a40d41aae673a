"""`keras.applications.xception`: depthwise separable convolutions in residual blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications.about_zero import preprocess_input as preprocess_input
from pinnace.keras.applications.constructors import usual
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.published import pair
from pinnace.keras.layers import (
    Activation,
    BatchNormalization,
    Conv2D,
    GlobalAveragePooling2D,
    MaxPooling2D,
    SeparableConv2D,
    add,
)

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_URL = (
    "https://storage.googleapis.com/tensorflow/keras-applications/"
    "xception/xception_weights_tf_dim_ordering_tf_kernels"
)
_FILES = pair(_URL, "0a58e3b7378bc2990ea3b43d5981f1f6", "b0042744bf5b25fce3cb969f33bebb97")
_SIZE = 299
_LEAST_SIZE = 71
_MIDDLE = 728
# For the docstring.
_GIVES = """about
    height / 32, about width / 32, 2048], pooled [batch, 2048]. Give it what
    `preprocess_input` gives."""


@usual("xception", _GIVES, _LEAST_SIZE)
def Xception(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """Xception: 14 blocks of separable convolutions, for images of 299 x 299.

    Source:
        Chollet, "Xception: Deep Learning with Depthwise Separable Convolutions", 2017, figure 5;
        names and order of layers are Keras'.
    """
    image = asked.image(asked.checked_shape(_SIZE, _LEAST_SIZE))
    x = image
    for place, (filters, strides) in enumerate(((32, 2), (64, 1)), 1):
        step = f"block1_conv{place}"
        x = Conv2D(filters, (3, 3), strides=(strides, strides), use_bias=False, name=step)(x)
        x = _activated(BatchNormalization(axis=-1, name=f"{step}_bn")(x), step)
    for block, filters in enumerate((128, 256, _MIDDLE), 2):
        # The input of the second block is already activated.
        x = _halving(x, block, (filters, filters), activates_first=block > 2)
    for block in range(5, 13):
        start = x
        for place in (1, 2, 3):
            step = f"block{block}_sepconv{place}"
            x = _separable(_activated(x, step), _MIDDLE, step)
        x = add([x, start])
    x = _halving(x, 13, (_MIDDLE, 1024), activates_first=True)
    for place, filters in enumerate((1536, 2048), 1):
        step = f"block14_sepconv{place}"
        x = _activated(_separable(x, filters, step), step)
    if asked.include_top:
        x = asked.classified(GlobalAveragePooling2D(name="avg_pool")(x))
    else:
        x = asked.pooled(x)
    return asked.model(image, x, _FILES[asked.include_top])


def _activated(x: Any, step: str) -> Any:
    return Activation("relu", name=f"{step}_act")(x)


def _separable(x: Any, filters: int, step: str) -> Any:
    x = SeparableConv2D(filters, (3, 3), padding="same", use_bias=False, name=step)(x)
    return BatchNormalization(axis=-1, name=f"{step}_bn")(x)


def _halving(x: Any, block: int, filters: tuple[int, int], *, activates_first: bool) -> Any:
    """A block that halves height and width, added to a strided convolution."""
    beside = Conv2D(filters[1], (1, 1), strides=(2, 2), padding="same", use_bias=False)(x)
    beside = BatchNormalization(axis=-1)(beside)
    for place, number in enumerate(filters, 1):
        step = f"block{block}_sepconv{place}"
        if place > 1 or activates_first:
            x = _activated(x, step)
        x = _separable(x, number, step)
    pool = MaxPooling2D((3, 3), strides=(2, 2), padding="same", name=f"block{block}_pool")
    return add([pool(x), beside])
