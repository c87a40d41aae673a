"""`keras.applications.efficientnet_v2`: the first blocks fuse two convolutions into one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pinnace.keras.applications import mbconv
from pinnace.keras.applications.arguments import Arguments
from pinnace.keras.applications.constructors import told
from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.published import pair
from pinnace.keras.applications.unscaled import preprocess_input as preprocess_input
from pinnace.keras.initializers import Constant
from pinnace.keras.layers import DepthwiseConv2D, Normalization, Rescaling

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/tensorflow/keras-applications/efficientnet_v2/"
_MOMENTUM = 0.9
_SIZE = 3
# Mean and variance of ImageNet's images, per channel, for values in [0, 1].
_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)


class _Stage(NamedTuple):
    """Blocks of one kind for width and depth 1; the first of them has the strides."""

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
# The digests of the files, with the classes and without.
DIGESTS = {
    "b0": ("21ecbf6da12460d5c40bb2f29ceb2188", "893217f2bb855e2983157299931e43ff"),
    "b1": ("069f0534ff22adf035c89e2d9547a9dc", "0e80663031ca32d657f9caa404b6ec37"),
    "b2": ("424e49f28180edbde1e94797771950a7", "1dfe2e7a5d45b6632553a8961ea609eb"),
    "b3": ("1f1fc43bd98a6e4fd8fdfd551e02c7a0", "f6abf7b5849ac99a89b50dd3fd532856"),
    "s": ("e1d88a8495beba45748fedd0cecbe016", "af0682fb74e8c54910f2d4393339c070"),
    "m": ("a3bf6aa3276309f4fc6a34aa114c95cd", "1b8dc055df72dde80d614482840fe342"),
    "l": ("27e6d408b53c7ebc868fefa357689935", "b0b66b5c863aef5b46e8608fe1711615"),
}
_GIVES = """height / 32,
    width / 32, {0}], rounded up, pooled [batch, {0}]."""
_SCALING = """include_preprocessing: whether the model scales pixels from 0 to 255 itself; otherwise
    give it what B0 to B3 were trained on: less ImageNet's mean, by its deviation; S, M and L: from
    -1 to 1.
"""


class _Network(Protocol):
    def __call__(
        self,
        include_top: bool = True,
        weights: Any = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = 1000,
        classifier_activation: Any = "softmax",
        include_preprocessing: bool = True,
        name: str | None = ...,
    ) -> Model: ...


def _scaling(
    known_as: str, channels: int
) -> Callable[[Callable[[Arguments, bool], Model]], _Network]:
    """A decorator like `usual`, for functions with an argument for scaling inside the model."""

    def decorated(build: Callable[[Arguments, bool], Model]) -> _Network:
        def made(
            include_top: bool = True,
            weights: Any = "imagenet",
            input_tensor: Any = None,
            input_shape: Any = None,
            pooling: str | None = None,
            classes: int = 1000,
            classifier_activation: Any = "softmax",
            include_preprocessing: bool = True,
            name: str | None = known_as,
        ) -> Model:
            asked = Arguments.of(build.__name__, locals())
            return build(asked, include_preprocessing)

        return told(made, build, _GIVES.format(channels), last=_SCALING)

    return decorated


@_scaling("efficientnetv2-b0", 1280)
def EfficientNetV2B0(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2B0: 21 blocks, for images of 224 x 224."""
    return _efficientnet_v2(asked, "b0", scales, 224)


@_scaling("efficientnetv2-b1", 1280)
def EfficientNetV2B1(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2B1: 27 blocks, for images of 240 x 240."""
    return _efficientnet_v2(asked, "b1", scales, 240, depth=1.1)


@_scaling("efficientnetv2-b2", 1408)
def EfficientNetV2B2(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2B2: 28 blocks, for images of 260 x 260."""
    return _efficientnet_v2(asked, "b2", scales, 260, width=1.1, depth=1.2)


@_scaling("efficientnetv2-b3", 1536)
def EfficientNetV2B3(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2B3: 32 blocks, for images of 300 x 300."""
    return _efficientnet_v2(asked, "b3", scales, 300, width=1.2, depth=1.4)


@_scaling("efficientnetv2-s", 1280)
def EfficientNetV2S(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2S: 40 blocks, for images of 384 x 384."""
    return _efficientnet_v2(asked, "s", scales, 384, _SMALL, stem=24)


@_scaling("efficientnetv2-m", 1280)
def EfficientNetV2M(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2M: 57 blocks, for images of 480 x 480."""
    return _efficientnet_v2(asked, "m", scales, 480, _MEDIUM, stem=24)


@_scaling("efficientnetv2-l", 1280)
def EfficientNetV2L(asked: Arguments, scales: bool) -> Model:  # noqa: N802 (Keras' name)
    """EfficientNetV2L: 79 blocks, for images of 480 x 480."""
    return _efficientnet_v2(asked, "l", scales, 480, _LARGE)


def _efficientnet_v2(
    asked: Arguments,
    which: str,
    scales: bool,
    size: int,
    stages: tuple[_Stage, ...] = _BASE,
    *,
    stem: int = 32,
    width: float = 1.0,
    depth: float = 1.0,
) -> Model:
    """The model.

    Args:
        asked: the arguments that all networks have.
        which: the member of the family, `b0` to `b3`, `s`, `m` or `l`.
        scales: whether the model scales pixels itself.
        size: height and width of the usual pictures.
        stages: the blocks.
        stem: channels before them.
        width: factor of the channels.
        depth: factor of the blocks of each stage.

    Source:
        Tan and Le, "EfficientNetV2: Smaller Models and Faster Training", 2021, table 4; names and
        order of layers are Keras'.
    """
    shape = asked.checked_shape(size)
    image = asked.image(shape)
    x = image
    if scales:
        x = _scaled(x, by_mean=which.startswith("b") and shape[-1] == 3)
    x = mbconv.convolved(x, _wide(stem, width), _SIZE, "stem_", _MOMENTUM, strides=2)
    x = _blocks(x, stages, width, depth)
    x = mbconv.convolved(x, _wide(1280, width), 1, "top_", _MOMENTUM)
    x = mbconv.topped(asked, x, 0.2, Constant(0.0))
    files = pair(f"{_URL}efficientnetv2-{which}", *DIGESTS[which])
    return asked.model(image, x, files[asked.include_top])


def _wide(filters: int, width: float) -> int:
    """The scaled number of filters, rounded to a multiple of 8, even if it is a tenth less."""
    return max(8, int(filters * width + 4) // 8 * 8)


def _scaled(x: Any, *, by_mean: bool) -> Any:
    """Pixels in [0, 255], normalized by ImageNet's mean and deviation, or scaled to [-1, 1]."""
    if not by_mean:
        return Rescaling(scale=1 / 128, offset=-1)(x)
    variance = [deviation**2 for deviation in _DEVIATION]
    return Normalization(axis=3, mean=list(_MEAN), variance=variance)(Rescaling(1 / 255)(x))


def _blocks(x: Any, stages: tuple[_Stage, ...], width: float, depth: float) -> Any:
    # `depth` adds blocks but does not change this count, so the last rates exceed the maximum.
    usual = sum(stage.repeats for stage in stages)
    number = 0
    for index, stage in enumerate(stages, 1):
        make = _fused_block if stage.fused else _block
        for place in range(math.ceil(depth * stage.repeats)):
            rate = mbconv.DROPPED * number / usual
            prefix = f"block{index}{chr(ord('a') + place)}_"
            start, strides = x, 1 if place else stage.strides
            x = make(x, _wide(stage.filters, width), stage.expansion, strides, prefix)
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
