"""`keras.applications.inception_v3`: blocks of parallel convolutions of several sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications.about_zero import preprocess_input as preprocess_input
from pinnace.keras.applications.constructors import usual
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.published import pair
from pinnace.keras.layers import (
    Activation,
    AveragePooling2D,
    BatchNormalization,
    Conv2D,
    GlobalAveragePooling2D,
    MaxPooling2D,
    concatenate,
)

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_URL = (
    "https://storage.googleapis.com/tensorflow/keras-applications/"
    "inception_v3/inception_v3_weights_tf_dim_ordering_tf_kernels"
)
_FILES = pair(_URL, "9a0d58056eeedaa3f26cb7ebd46da564", "bcbd6486424b2319ff4ef7d526e38f63")
_SIZE = 299
_LEAST_SIZE = 75
# For the docstring.
_GIVES = """8, 8, 2048]
    for 299 x 299, pooled [batch, 2048]. Give it what `preprocess_input` gives."""


@usual("inception_v3", _GIVES, _LEAST_SIZE)
def InceptionV3(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """InceptionV3: 11 blocks with branches, for images of 299 x 299.

    Source:
        Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2016; branches,
        names and order of layers are Keras'.
    """
    image = asked.image(asked.checked_shape(_SIZE, _LEAST_SIZE))
    x = _halved(image, 32)
    x = _convolved(x, 32, 3, 3, padding="valid")
    x = _convolved(x, 64, 3, 3)
    x = MaxPooling2D((3, 3), strides=(2, 2))(x)
    x = _convolved(x, 80, 1, 1, padding="valid")
    x = _convolved(x, 192, 3, 3, padding="valid")
    x = MaxPooling2D((3, 3), strides=(2, 2))(x)
    for block, pooled in enumerate((32, 64, 64)):
        x = _squares(x, pooled, f"mixed{block}")
    x = _first_reduction(x)
    for block, inner in enumerate((128, 160, 160, 192), 4):
        x = _lines(x, inner, f"mixed{block}")
    x = _second_reduction(x)
    for place in (0, 1):
        x = _forks(x, place)
    if asked.include_top:
        x = asked.classified(GlobalAveragePooling2D(name="avg_pool")(x))
    else:
        x = asked.pooled(x)
    return asked.model(image, x, _FILES[asked.include_top])


def _convolved(
    x: Any, filters: int, rows: int, columns: int, padding: str = "same", strides: int = 1
) -> Any:
    x = Conv2D(
        filters, (rows, columns), strides=(strides, strides), padding=padding, use_bias=False
    )(x)
    x = BatchNormalization(axis=3, scale=False)(x)
    return Activation("relu")(x)


def _halved(x: Any, filters: int) -> Any:
    return _convolved(x, filters, 3, 3, padding="valid", strides=2)


def _chain(x: Any, *steps: tuple[int, int, int]) -> Any:
    """Convolutions applied one after the other, each given as filters, rows, columns."""
    for filters, rows, columns in steps:
        x = _convolved(x, filters, rows, columns)
    return x


def _pooled(x: Any, filters: int) -> Any:
    x = AveragePooling2D((3, 3), strides=(1, 1), padding="same")(x)
    return _convolved(x, filters, 1, 1)


def _squares(x: Any, pooled: int, name: str) -> Any:
    """Branches 1x1, 5x5, two of 3x3, and a mean: [batch, height, width, 224 + pooled]."""
    branches = [
        _chain(x, (64, 1, 1)),
        _chain(x, (48, 1, 1), (64, 5, 5)),
        _chain(x, (64, 1, 1), (96, 3, 3), (96, 3, 3)),
        _pooled(x, pooled),
    ]
    return concatenate(branches, axis=3, name=name)


def _first_reduction(x: Any) -> Any:
    branches = [
        _halved(x, 384),
        _halved(_chain(x, (64, 1, 1), (96, 3, 3)), 96),
        MaxPooling2D((3, 3), strides=(2, 2))(x),
    ]
    return concatenate(branches, axis=3, name="mixed3")


def _lines(x: Any, inner: int, name: str) -> Any:
    """1x1, 7x7 and twice 7x7 as rows and columns, and a mean: [batch, height, width, 768]."""
    twice = ((inner, 7, 1), (inner, 1, 7), (inner, 7, 1), (192, 1, 7))
    branches = [
        _chain(x, (192, 1, 1)),
        _chain(x, (inner, 1, 1), (inner, 1, 7), (192, 7, 1)),
        _chain(x, (inner, 1, 1), *twice),
        _pooled(x, 192),
    ]
    return concatenate(branches, axis=3, name=name)


def _second_reduction(x: Any) -> Any:
    branches = [
        _halved(_chain(x, (192, 1, 1)), 320),
        _halved(_chain(x, (192, 1, 1), (192, 1, 7), (192, 7, 1)), 192),
        MaxPooling2D((3, 3), strides=(2, 2))(x),
    ]
    return concatenate(branches, axis=3, name="mixed8")


def _forks(x: Any, place: int) -> Any:
    """Branches that end in parallel rows and columns: [batch, height, width, 2048]."""
    first = _chain(x, (320, 1, 1))
    second = _fork(_chain(x, (384, 1, 1)), f"mixed9_{place}")
    third = _fork(_chain(x, (448, 1, 1), (384, 3, 3)), None)
    branches = [first, second, third, _pooled(x, 192)]
    return concatenate(branches, axis=3, name=f"mixed{9 + place}")


def _fork(x: Any, name: str | None) -> Any:
    both = [_convolved(x, 384, 1, 3), _convolved(x, 384, 3, 1)]
    return concatenate(both, axis=3, name=name)
