"""MobileNetV3: blocks found by search, with channel gates and hard swish."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.keras.applications.halving import multiple_near, padding_before
from pinnace.keras.applications.published import Published
from pinnace.keras.applications.trained_sizes import USUAL, check_one_of
from pinnace.keras.layers import (
    Activation,
    Add,
    BatchNormalization,
    Conv2D,
    DepthwiseConv2D,
    Dropout,
    Flatten,
    GlobalAveragePooling2D,
    Multiply,
    ReLU,
    Rescaling,
    ZeroPadding2D,
)
from pinnace.keras.symbolic import KerasTensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/tensorflow/keras-applications/mobilenet_v3/"
# Kind and alpha -> the digests of the files with the top and without.
_DIGESTS = {
    "large_224_0.75": ("765b44a33ad4005b3ac83185abf1d0eb", "40af19a13ebea4e2ee0c676887f69a2e"),
    "large_224_1.0": ("59e551e166be033d707958cf9e29a6a7", "07fb09a5933dd0c8eaafa16978110389"),
    "large_minimalistic_224_1.0": (
        "675e7b876c45c57e9e63e6d90a36599c",
        "ec5221f64a2f6d1ef965a614bdae7973",
    ),
    "small_224_0.75": ("cb65d4e5be93758266aa0a7f2c6708b7", "ebdb5cc8e0b497cd13a7c275d475c819"),
    "small_224_1.0": ("8768d4c2e7dee89b9d02b2d03d65d862", "d3e8ec802a04aa4fc771ee12a9a9b836"),
    "small_minimalistic_224_1.0": (
        "99cd97fb2fcdad2bf028eb838de69e37",
        "cde8136e733e811080d9fcd8a252f7e4",
    ),
}
_GATE_RATIO = 0.25


class Block(NamedTuple):
    """A row of the paper's tables.

    Attributes:
        expansion: channels inside by channels before.
        channels: after it, at alpha 1.
        kernel: size of the depthwise convolution; a minimalistic network has 3 everywhere.
        stride: stride of the depthwise convolution.
        gated: whether each channel has a gate.
        swish: whether its activation is hard swish and not ReLU.
    """

    expansion: float
    channels: int
    kernel: int
    stride: int
    gated: bool
    swish: bool


class Kind(NamedTuple):
    """The configuration of one of the two networks.

    Attributes:
        name: part of the file names.
        blocks: in order.
        width: channels of the last convolution before the classes.
    """

    name: str
    blocks: tuple[Block, ...]
    width: int


LARGE = Kind(
    "large",
    (
        Block(1, 16, 3, 1, gated=False, swish=False),
        Block(4, 24, 3, 2, gated=False, swish=False),
        Block(3, 24, 3, 1, gated=False, swish=False),
        Block(3, 40, 5, 2, gated=True, swish=False),
        Block(3, 40, 5, 1, gated=True, swish=False),
        Block(3, 40, 5, 1, gated=True, swish=False),
        Block(6, 80, 3, 2, gated=False, swish=True),
        Block(2.5, 80, 3, 1, gated=False, swish=True),
        Block(2.3, 80, 3, 1, gated=False, swish=True),
        Block(2.3, 80, 3, 1, gated=False, swish=True),
        Block(6, 112, 3, 1, gated=True, swish=True),
        Block(6, 112, 3, 1, gated=True, swish=True),
        Block(6, 160, 5, 2, gated=True, swish=True),
        Block(6, 160, 5, 1, gated=True, swish=True),
        Block(6, 160, 5, 1, gated=True, swish=True),
    ),
    1280,
)
SMALL = Kind(
    "small",
    (
        Block(1, 16, 3, 2, gated=True, swish=False),
        Block(72 / 16, 24, 3, 2, gated=False, swish=False),
        Block(88 / 24, 24, 3, 1, gated=False, swish=False),
        Block(4, 40, 5, 2, gated=True, swish=True),
        Block(6, 40, 5, 1, gated=True, swish=True),
        Block(6, 40, 5, 1, gated=True, swish=True),
        Block(3, 48, 5, 1, gated=True, swish=True),
        Block(3, 48, 5, 1, gated=True, swish=True),
        Block(6, 96, 5, 2, gated=True, swish=True),
        Block(6, 96, 5, 1, gated=True, swish=True),
        Block(6, 96, 5, 1, gated=True, swish=True),
    ),
    1024,
)


def searched_network(
    asked: Arguments,
    kind: Kind,
    *,
    alpha: float,
    minimalistic: bool,
    dropout_rate: float,
    include_preprocessing: bool,
) -> Model:
    """The model.

    Args:
        asked: the arguments that all networks have.
        kind: LARGE or SMALL.
        alpha: factor of the channels.
        minimalistic: whether it has neither gates nor hard swish nor kernels of 5.
        dropout_rate: before the classes.
        include_preprocessing: whether it scales pictures from 0 to 255 itself.

    Source:
        Howard et al., "Searching for MobileNetV3", 2019, tables 1 and 2; names and order of layers
        are Keras'.
    """
    shape = _shape(asked)
    file = _file(asked, kind, alpha, minimalistic, shape) if asked.imagenet else None
    swish = _rectified if minimalistic else _swished
    x = image = asked.image(shape)
    if include_preprocessing:
        x = Rescaling(1.0 / 127.5, offset=-1.0)(x)
    x = Conv2D(16, 3, strides=2, padding="same", use_bias=False, name="conv")(x)
    x = swish(_normalized(x, "conv_bn"))
    for number, block in enumerate(kind.blocks):
        if minimalistic:
            block = block._replace(kernel=3, gated=False, swish=False)
        x = _block(x, number, block, multiple_near(block.channels * alpha))
    wide = multiple_near(x.shape[-1] * 6)
    x = Conv2D(wide, 1, padding="same", use_bias=False, name="conv_1")(x)
    x = swish(_normalized(x, "conv_1_bn"))
    if asked.include_top:
        width = multiple_near(kind.width * alpha) if alpha > 1.0 else kind.width
        x = _top(x, asked, width, swish, dropout_rate)
    else:
        x = asked.pooled(x, "avg_pool", "max_pool")
    return asked.model(image, x, file)


def _shape(asked: Arguments) -> tuple[int | None, ...]:
    """The shape of an image: that of `input_tensor` unless another is requested.

    As in Keras: any number of channels, and any size also with the top, which pools it.
    """
    given, x = asked.input_shape, asked.input_tensor
    if given is None:
        here = x.shape if isinstance(x, KerasTensor) else (None, None, None)
        shape: tuple[int | None, ...] = (here[1], here[2], 3)
    else:
        shape = tuple(given)
        if len(shape) != 3:
            raise ValueError(
                f"{asked.who}: input_shape must be a tuple of three integers, got {shape}"
            )
        if isinstance(x, KerasTensor) and x.shape[2] != shape[1]:
            raise ValueError(
                f"{asked.who}: input_shape must be that of input_tensor, {x.spec.shape.text}, got "
                f"{shape}"
            )
    if shape[0] and shape[1] and min(shape[0], shape[1]) < 32:
        raise ValueError(f"{asked.who}: input size must be at least 32x32, got input_shape={shape}")
    return shape


def _file(
    asked: Arguments, kind: Kind, alpha: float, minimalistic: bool, shape: tuple[int | None, ...]
) -> Published:
    which = "a minimalistic network's alpha" if minimalistic else "alpha"
    check_one_of(asked.who, which, alpha, (1.0,) if minimalistic else (0.75, 1.0))
    if shape[0] != shape[1] or shape[0] != USUAL:
        warnings.warn(
            f"{asked.who}: the weights were trained on pictures of {USUAL} x {USUAL}, got "
            f"{shape[0]} x {shape[1]}",
            stacklevel=4,
        )
    key = f"{kind.name}{'_minimalistic' if minimalistic else ''}_{USUAL}_{float(alpha)}"
    ending = "" if asked.include_top else "_no_top_v2"
    digest = _DIGESTS[key][0 if asked.include_top else 1]
    return Published(f"{_URL}weights_mobilenet_v3_{key}_float{ending}.h5", digest)


def _block(x: Any, number: int, block: Block, channels: int) -> Any:
    activated = _swished if block.swish else _rectified
    before, name = x, f"expanded_conv_{number}_" if number else "expanded_conv_"
    wide = multiple_near(x.shape[-1] * block.expansion)
    if number:
        x = Conv2D(wide, 1, padding="same", use_bias=False, name=f"{name}expand")(x)
        x = activated(_normalized(x, f"{name}expand_bn"))
    if block.stride == 2:
        x = ZeroPadding2D(padding_before(x, block.kernel), name=f"{name}depthwise_pad")(x)
    x = DepthwiseConv2D(
        block.kernel,
        strides=block.stride,
        padding="same" if block.stride == 1 else "valid",
        use_bias=False,
        name=f"{name}depthwise",
    )(x)
    x = activated(_normalized(x, f"{name}depthwise_bn"))
    if block.gated:
        x = _gated(x, wide, f"{name}squeeze_excite_")
    x = Conv2D(channels, 1, padding="same", use_bias=False, name=f"{name}project")(x)
    x = _normalized(x, f"{name}project_bn")
    if block.stride == 1 and before.shape[-1] == channels:
        x = Add(name=f"{name}add")([before, x])
    return x


def _gated(x: Any, channels: int, name: str) -> Any:
    """x with each channel scaled by a gate in [0, 1], computed from the means of all channels."""
    gate = GlobalAveragePooling2D(keepdims=True, name=f"{name}avg_pool")(x)
    narrow = multiple_near(channels * _GATE_RATIO)
    gate = Conv2D(narrow, 1, padding="same", name=f"{name}conv")(gate)
    gate = ReLU(name=f"{name}relu")(gate)
    gate = Conv2D(channels, 1, padding="same", name=f"{name}conv_1")(gate)
    # A hard sigmoid in Keras' three steps, since each is a node and node names are numbered.
    gate = ReLU(6.0)(gate + 3.0) * (1.0 / 6.0)
    return Multiply(name=f"{name}mul")([x, gate])


def _top(
    x: Any, asked: Arguments, width: int, swish: Callable[[Any], Any], dropout_rate: float
) -> Any:
    x = GlobalAveragePooling2D(keepdims=True)(x)
    x = swish(Conv2D(width, 1, padding="same", name="conv_2")(x))
    if dropout_rate > 0:
        x = Dropout(dropout_rate)(x)
    x = Flatten()(Conv2D(asked.classes, 1, padding="same", name="logits")(x))
    asked.check_activation()
    return Activation(asked.classifier_activation, name="predictions")(x)


def _rectified(x: Any) -> Any:
    return ReLU()(x)


def _swished(x: Any) -> Any:
    return Activation("hard_swish")(x)


def _normalized(x: Any, name: str) -> Any:
    return BatchNormalization(momentum=0.999, epsilon=1e-3, name=name)(x)
