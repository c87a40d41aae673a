"""The network of EfficientNetV2: tables of blocks, whose first ones do with one convolution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.keras.applications import mbconv
from pinnace.keras.applications.published import Published
from pinnace.keras.initializers import Constant
from pinnace.keras.layers import DepthwiseConv2D, Normalization, Rescaling

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/tensorflow/keras-applications/efficientnet_v2/"
_MOMENTUM = 0.9
_SIZE = 3
# Of the pictures of ImageNet, by channel, in 0 to 1.
_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)


class _Stage(NamedTuple):
    """Blocks of one kind, for width and depth 1; the first of them has the strides."""

    fused: bool
    repeats: int
    filters: int
    expansion: int
    strides: int


_BASE = (
    _Stage(True, 1, 16, 1, 1),
    _Stage(True, 2, 32, 4, 2),
    _Stage(True, 2, 48, 4, 2),
    _Stage(False, 3, 96, 4, 2),
    _Stage(False, 5, 112, 6, 1),
    _Stage(False, 8, 192, 6, 2),
)
_SMALL = (
    _Stage(True, 2, 24, 1, 1),
    _Stage(True, 4, 48, 4, 2),
    _Stage(True, 4, 64, 4, 2),
    _Stage(False, 6, 128, 4, 2),
    _Stage(False, 9, 160, 6, 1),
    _Stage(False, 15, 256, 6, 2),
)
_MEDIUM = (
    _Stage(True, 3, 24, 1, 1),
    _Stage(True, 5, 48, 4, 2),
    _Stage(True, 5, 80, 4, 2),
    _Stage(False, 7, 160, 4, 2),
    _Stage(False, 14, 176, 6, 1),
    _Stage(False, 18, 304, 6, 2),
    _Stage(False, 5, 512, 6, 1),
)
_LARGE = (
    _Stage(True, 4, 32, 1, 1),
    _Stage(True, 7, 64, 4, 2),
    _Stage(True, 7, 96, 4, 2),
    _Stage(False, 10, 192, 4, 2),
    _Stage(False, 19, 224, 6, 1),
    _Stage(False, 25, 384, 6, 2),
    _Stage(False, 7, 640, 6, 1),
)


class Kind(NamedTuple):
    """A member of the family: its blocks and what is before them, width, depth, pictures, files."""

    stages: tuple[_Stage, ...]
    stem: int
    width: float
    depth: float
    size: int
    top: str
    no_top: str


KINDS = {
    "b0": Kind(
        *(_BASE, 32, 1.0, 1.0, 224),
        *("21ecbf6da12460d5c40bb2f29ceb2188", "893217f2bb855e2983157299931e43ff"),
    ),
    "b1": Kind(
        *(_BASE, 32, 1.0, 1.1, 240),
        *("069f0534ff22adf035c89e2d9547a9dc", "0e80663031ca32d657f9caa404b6ec37"),
    ),
    "b2": Kind(
        *(_BASE, 32, 1.1, 1.2, 260),
        *("424e49f28180edbde1e94797771950a7", "1dfe2e7a5d45b6632553a8961ea609eb"),
    ),
    "b3": Kind(
        *(_BASE, 32, 1.2, 1.4, 300),
        *("1f1fc43bd98a6e4fd8fdfd551e02c7a0", "f6abf7b5849ac99a89b50dd3fd532856"),
    ),
    "s": Kind(
        *(_SMALL, 24, 1.0, 1.0, 384),
        *("e1d88a8495beba45748fedd0cecbe016", "af0682fb74e8c54910f2d4393339c070"),
    ),
    "m": Kind(
        *(_MEDIUM, 24, 1.0, 1.0, 480),
        *("a3bf6aa3276309f4fc6a34aa114c95cd", "1b8dc055df72dde80d614482840fe342"),
    ),
    "l": Kind(
        *(_LARGE, 32, 1.0, 1.0, 480),
        *("27e6d408b53c7ebc868fefa357689935", "b0b66b5c863aef5b46e8608fe1711615"),
    ),
}


def efficientnet_v2(asked: Arguments, which: str, include_preprocessing: bool) -> Model:
    """The model.

    Args:
        asked: the arguments that all networks have.
        which: the member of the family, `b0` to `b3`, `s`, `m` or `l`.
        include_preprocessing: whether the model scales pixels itself.

    Source:
        Tan and Le, "EfficientNetV2: Smaller Models and Faster Training", 2021, table 4; names and
        order of layers are Keras'.
    """
    kind = KINDS[which]
    shape = asked.checked_shape(kind.size)
    image = asked.image(shape)
    x = image
    if include_preprocessing:
        x = _scaled(x, by_mean=which.startswith("b") and shape[-1] == 3)
    x = mbconv.convolved(x, _filters(kind, kind.stem), _SIZE, "stem_", _MOMENTUM, strides=2)
    x = _blocks(x, kind)
    x = mbconv.convolved(x, _filters(kind, 1280), 1, "top_", _MOMENTUM)
    x = mbconv.topped(asked, x, 0.2, Constant(0.0))
    url = f"{_URL}efficientnetv2-{which}"
    file = Published(f"{url}.h5", kind.top)
    if not asked.include_top:
        file = Published(f"{url}_notop.h5", kind.no_top)
    return asked.model(image, x, file)


def _filters(kind: Kind, filters: int) -> int:
    """The multiple of 8 next to a number of filters; there may be more than a tenth less."""
    return max(8, int(filters * kind.width + 4) // 8 * 8)


def _scaled(x: Any, *, by_mean: bool) -> Any:
    """Pixels from 0 to 255 less ImageNet's mean and by its deviation, or from -1 to 1."""
    if not by_mean:
        return Rescaling(scale=1 / 128, offset=-1)(x)
    variance = [deviation**2 for deviation in _DEVIATION]
    return Normalization(axis=3, mean=list(_MEAN), variance=variance)(Rescaling(1 / 255)(x))


def _blocks(x: Any, kind: Kind) -> Any:
    # Depth adds blocks and not to this number, so that the last rates are above the largest.
    usual = sum(stage.repeats for stage in kind.stages)
    number = 0
    for index, stage in enumerate(kind.stages, 1):
        make = _fused_block if stage.fused else _block
        for place in range(math.ceil(kind.depth * stage.repeats)):
            rate = mbconv.DROPPED * number / usual
            prefix = f"block{index}{chr(ord('a') + place)}_"
            start, strides = x, 1 if place else stage.strides
            x = make(x, _filters(kind, stage.filters), stage.expansion, strides, prefix)
            if strides == 1 and x.shape[-1] == start.shape[-1]:
                x = mbconv.added(x, start, rate, prefix)
            number += 1
    return x


def _block(x: Any, filters: int, expansion: int, strides: int, prefix: str) -> Any:
    channels = x.shape[-1]
    x = mbconv.convolved(x, channels * expansion, 1, f"{prefix}expand_", _MOMENTUM)
    x = DepthwiseConv2D(
        _SIZE,
        strides=strides,
        padding="same",
        use_bias=False,
        depthwise_initializer=mbconv.kernels(),
        name=f"{prefix}dwconv2",
    )(x)
    x = mbconv.normalized(x, prefix, _MOMENTUM)
    x = mbconv.excited(x, int(channels * 0.25), prefix)
    return mbconv.convolved(x, filters, 1, f"{prefix}project_", _MOMENTUM, activated=False)


def _fused_block(x: Any, filters: int, expansion: int, strides: int, prefix: str) -> Any:
    if expansion == 1:
        step = f"{prefix}project_"
        return mbconv.convolved(x, filters, _SIZE, step, _MOMENTUM, strides=strides)
    wide, step = x.shape[-1] * expansion, f"{prefix}expand_"
    x = mbconv.convolved(x, wide, _SIZE, step, _MOMENTUM, strides=strides)
    return mbconv.convolved(x, filters, 1, f"{prefix}project_", _MOMENTUM, activated=False)
