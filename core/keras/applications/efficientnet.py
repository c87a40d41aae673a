"""`keras.applications.efficientnet`: a table of blocks, made wider and deeper from B0 to B7."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.keras.applications import mbconv
from pinnace.keras.applications.constructors import usual
from pinnace.keras.applications.halving import multiple_near, padding_before
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.published import pair
from pinnace.keras.applications.unscaled import preprocess_input as preprocess_input
from pinnace.keras.layers import DepthwiseConv2D, Normalization, Rescaling, ZeroPadding2D

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/keras-applications/efficientnet"
_MOMENTUM = 0.99
# The standard deviation of ImageNet's images, per channel. The published weights were trained on
# images divided by it; the normalization layer divides by its root, and so does a layer after it.
_DEVIATION = (0.229, 0.224, 0.225)


class _Stage(NamedTuple):
    """Blocks of one kind for width and depth 1; the first of them has the strides."""

    size: int
    repeats: int
    filters: int
    expansion: int
    strides: int


_STAGES = (
    _Stage(3, 1, 16, 1, 1),
    _Stage(3, 2, 24, 6, 2),
    _Stage(5, 2, 40, 6, 2),
    _Stage(3, 3, 80, 6, 2),
    _Stage(5, 3, 112, 6, 1),
    _Stage(5, 4, 192, 6, 2),
    _Stage(3, 1, 320, 6, 1),
)

# The digests of the files, with the classes and without.
DIGESTS = {
    "b0": ("902e53a9f72be733fc0bcb005b3ebbac", "50bc09e76180e00e4465e1a485ddc09d"),
    "b1": ("1d254153d4ab51201f1646940f018540", "74c4e6b3e1f6a1eea24c589628592432"),
    "b2": ("b15cce36ff4dcbd00b6dd88e7857a6ad", "111f8e2ac8aa800a7a99e3239f7bfb39"),
    "b3": ("ffd1fdc53d0ce67064dc6a9c7960ede0", "af6d107764bb5b1abb91932881670226"),
    "b4": ("18c95ad55216b8f92d7e70b3a046e2fc", "ebc24e6d6c33eaebbd558eafbeedf1ba"),
    "b5": ("ace28f2a6363774853a83a0b21b9421a", "38879255a25d3c92d5e44e04ae6cec6f"),
    "b6": ("165f6e37dce68623721b423839de8be5", "9ecce42647a20130c1f39a5d4cb75743"),
    "b7": ("8c03f828fec3ef71311cd463b6759d99", "cbcfe4450ddf6f3ad90b1b398090fe4a"),
}
_GIVES = """height / 32,
    width / 32, {0}], rounded up, pooled [batch, {0}]. Pixels are 0 to 255: the model scales them
    itself."""


@usual("efficientnetb0", _GIVES.format(1280))
def EfficientNetB0(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB0: 16 blocks, for images of 224 x 224."""
    return _efficientnet(asked, "b0", width=1.0, depth=1.0, size=224, dropout=0.2)


@usual("efficientnetb1", _GIVES.format(1280))
def EfficientNetB1(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB1: 23 blocks, for images of 240 x 240."""
    return _efficientnet(asked, "b1", width=1.0, depth=1.1, size=240, dropout=0.2)


@usual("efficientnetb2", _GIVES.format(1408))
def EfficientNetB2(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB2: 23 blocks, for images of 260 x 260."""
    return _efficientnet(asked, "b2", width=1.1, depth=1.2, size=260, dropout=0.3)


@usual("efficientnetb3", _GIVES.format(1536))
def EfficientNetB3(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB3: 26 blocks, for images of 300 x 300."""
    return _efficientnet(asked, "b3", width=1.2, depth=1.4, size=300, dropout=0.3)


@usual("efficientnetb4", _GIVES.format(1792))
def EfficientNetB4(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB4: 32 blocks, for images of 380 x 380."""
    return _efficientnet(asked, "b4", width=1.4, depth=1.8, size=380, dropout=0.4)


@usual("efficientnetb5", _GIVES.format(2048))
def EfficientNetB5(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB5: 39 blocks, for images of 456 x 456."""
    return _efficientnet(asked, "b5", width=1.6, depth=2.2, size=456, dropout=0.4)


@usual("efficientnetb6", _GIVES.format(2304))
def EfficientNetB6(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB6: 45 blocks, for images of 528 x 528."""
    return _efficientnet(asked, "b6", width=1.8, depth=2.6, size=528, dropout=0.5)


@usual("efficientnetb7", _GIVES.format(2560))
def EfficientNetB7(asked: Arguments) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetB7: 55 blocks, for images of 600 x 600."""
    return _efficientnet(asked, "b7", width=2.0, depth=3.1, size=600, dropout=0.5)


def _efficientnet(
    asked: Arguments, which: str, *, width: float, depth: float, size: int, dropout: float
) -> Model:
    """The model.

    Args:
        asked: the arguments that all networks have.
        which: the member of the family, `b0` to `b7`.
        width: factor of the channels.
        depth: factor of the blocks of each stage.
        size: height and width of the usual pictures.
        dropout: before the classes.

    Source:
        Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks",
        2019, table 1; names and order of layers are Keras'.
    """
    image = asked.image(asked.checked_shape(size))
    x = Normalization(axis=3)(Rescaling(1 / 255)(image))
    if asked.imagenet:
        x = Rescaling([1 / math.sqrt(deviation) for deviation in _DEVIATION])(x)
    x = ZeroPadding2D(padding_before(x, 3), name="stem_conv_pad")(x)
    filters = multiple_near(32 * width)
    x = mbconv.convolved(x, filters, 3, "stem_", _MOMENTUM, strides=2, padding="valid")
    x = _blocks(x, width, depth)
    x = mbconv.convolved(x, multiple_near(1280 * width), 1, "top_", _MOMENTUM)
    x = mbconv.topped(asked, x, dropout, "zeros")
    files = pair(f"{_URL}{which}", *DIGESTS[which])
    return asked.model(image, x, files[asked.include_top])


def _blocks(x: Any, width: float, depth: float) -> Any:
    repeats = [math.ceil(depth * stage.repeats) for stage in _STAGES]
    number = 0
    for index, (stage, count) in enumerate(zip(_STAGES, repeats, strict=True), 1):
        filters = multiple_near(stage.filters * width)
        for place in range(count):
            rate = mbconv.DROPPED * number / sum(repeats)
            prefix = f"block{index}{chr(ord('a') + place)}_"
            x = _block(x, filters, stage, 1 if place else stage.strides, rate, prefix)
            number += 1
    return x


def _block(x: Any, filters: int, stage: _Stage, strides: int, rate: float, prefix: str) -> Any:
    start, channels = x, x.shape[-1]
    if stage.expansion != 1:
        x = mbconv.convolved(x, channels * stage.expansion, 1, f"{prefix}expand_", _MOMENTUM)
    if strides == 2:
        x = ZeroPadding2D(padding_before(x, stage.size), name=f"{prefix}dwconv_pad")(x)
    x = DepthwiseConv2D(
        stage.size,
        strides=strides,
        padding="valid" if strides == 2 else "same",
        use_bias=False,
        depthwise_initializer=mbconv.kernels(),
        name=f"{prefix}dwconv",
    )(x)
    x = mbconv.normalized(x, prefix, _MOMENTUM)
    x = mbconv.excited(x, int(channels * 0.25), prefix)
    x = mbconv.convolved(x, filters, 1, f"{prefix}project_", _MOMENTUM, activated=False)
    if strides == 1 and filters == channels:
        x = mbconv.added(x, start, rate, prefix)
    return x
