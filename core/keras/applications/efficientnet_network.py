"""The network of EfficientNetB0 to B7: one table of blocks, made wider and deeper."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.keras.applications import mbconv
from pinnace.keras.applications.halving import multiple_near, padding_before
from pinnace.keras.applications.published import Published
from pinnace.keras.layers import DepthwiseConv2D, Normalization, Rescaling, ZeroPadding2D

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/keras-applications/efficientnet"
_MOMENTUM = 0.99
# Of the pictures of ImageNet, by channel. The published weights were trained on pictures that were
# divided by it, not by its root, of which the normalization is told.
_DEVIATION = (0.229, 0.224, 0.225)


class _Stage(NamedTuple):
    """Blocks of one kind, for width and depth 1; the first of them has the strides."""

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


class Scale(NamedTuple):
    """A member of the family: how wide and deep, the usual pictures, its top, its two files."""

    width: float
    depth: float
    size: int
    dropout: float
    top: str
    no_top: str


SCALES = {
    "b0": Scale(
        *(1.0, 1.0, 224, 0.2),
        *("902e53a9f72be733fc0bcb005b3ebbac", "50bc09e76180e00e4465e1a485ddc09d"),
    ),
    "b1": Scale(
        *(1.0, 1.1, 240, 0.2),
        *("1d254153d4ab51201f1646940f018540", "74c4e6b3e1f6a1eea24c589628592432"),
    ),
    "b2": Scale(
        *(1.1, 1.2, 260, 0.3),
        *("b15cce36ff4dcbd00b6dd88e7857a6ad", "111f8e2ac8aa800a7a99e3239f7bfb39"),
    ),
    "b3": Scale(
        *(1.2, 1.4, 300, 0.3),
        *("ffd1fdc53d0ce67064dc6a9c7960ede0", "af6d107764bb5b1abb91932881670226"),
    ),
    "b4": Scale(
        *(1.4, 1.8, 380, 0.4),
        *("18c95ad55216b8f92d7e70b3a046e2fc", "ebc24e6d6c33eaebbd558eafbeedf1ba"),
    ),
    "b5": Scale(
        *(1.6, 2.2, 456, 0.4),
        *("ace28f2a6363774853a83a0b21b9421a", "38879255a25d3c92d5e44e04ae6cec6f"),
    ),
    "b6": Scale(
        *(1.8, 2.6, 528, 0.5),
        *("165f6e37dce68623721b423839de8be5", "9ecce42647a20130c1f39a5d4cb75743"),
    ),
    "b7": Scale(
        *(2.0, 3.1, 600, 0.5),
        *("8c03f828fec3ef71311cd463b6759d99", "cbcfe4450ddf6f3ad90b1b398090fe4a"),
    ),
}


def efficientnet(asked: Arguments, which: str) -> Model:
    """The model.

    Args:
        asked: the arguments that all networks have.
        which: the member of the family, `b0` to `b7`.

    Source:
        Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks",
        2019, table 1; names and order of layers are Keras'.
    """
    scale = SCALES[which]
    image = asked.image(asked.checked_shape(scale.size))
    x = Normalization(axis=3)(Rescaling(1 / 255)(image))
    if asked.imagenet:
        x = Rescaling([1 / math.sqrt(deviation) for deviation in _DEVIATION])(x)
    x = ZeroPadding2D(padding_before(x, 3), name="stem_conv_pad")(x)
    filters = multiple_near(32 * scale.width)
    x = mbconv.convolved(x, filters, 3, "stem_", _MOMENTUM, strides=2, padding="valid")
    x = _blocks(x, scale)
    x = mbconv.convolved(x, multiple_near(1280 * scale.width), 1, "top_", _MOMENTUM)
    x = mbconv.topped(asked, x, scale.dropout, "zeros")
    file = Published(f"{_URL}{which}.h5", scale.top)
    if not asked.include_top:
        file = Published(f"{_URL}{which}_notop.h5", scale.no_top)
    return asked.model(image, x, file)


def _blocks(x: Any, scale: Scale) -> Any:
    repeats = [math.ceil(scale.depth * stage.repeats) for stage in _STAGES]
    number = 0
    for index, (stage, count) in enumerate(zip(_STAGES, repeats, strict=True), 1):
        filters = multiple_near(stage.filters * scale.width)
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
