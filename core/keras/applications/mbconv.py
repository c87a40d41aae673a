"""Common parts of both EfficientNets: convolutions, channel attention, residuals, the top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.initializers import VarianceScaling
from pinnace.keras.layers import (
    Activation,
    BatchNormalization,
    Conv2D,
    Dense,
    Dropout,
    GlobalAveragePooling2D,
    Reshape,
    add,
    multiply,
)

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments

# The drop rate of the residual in the last block, the largest one.
DROPPED = 0.2


def kernels() -> VarianceScaling:
    """A new kernel initializer, since two convolutions must not draw the same numbers."""
    return VarianceScaling(scale=2.0, mode="fan_out", distribution="truncated_normal")


def normalized(x: Any, prefix: str, momentum: float, *, activated: bool = True) -> Any:
    """x after batch normalization, and swish except at the end of a block.

    Args:
        x: [batch, height, width, channels].
        prefix: prefix of the names of the layers.
        momentum: momentum of the moving averages.
        activated: whether swish follows.
    """
    x = BatchNormalization(axis=3, momentum=momentum, name=f"{prefix}bn")(x)
    return Activation("swish", name=f"{prefix}activation")(x) if activated else x


def convolved(
    x: Any,
    filters: int,
    size: int,
    prefix: str,
    momentum: float,
    *,
    strides: int = 1,
    padding: str = "same",
    activated: bool = True,
) -> Any:
    """x after a convolution without bias, normalized.

    Args:
        x: [batch, height, width, channels].
        filters: channels of the answer.
        size: size of the kernel.
        prefix: prefix of the names of the layers.
        momentum: see `normalized`.
        strides: strides of the convolution.
        padding: padding of the convolution.
        activated: see `normalized`.
    """
    layer = Conv2D(
        filters,
        size,
        strides=strides,
        padding=padding,
        use_bias=False,
        kernel_initializer=kernels(),
        name=f"{prefix}conv",
    )
    return normalized(layer(x), prefix, momentum, activated=activated)


def excited(x: Any, reduced: int, prefix: str) -> Any:
    """x with channels scaled by squeeze and excitation over the whole image.

    Args:
        x: [batch, height, width, channels].
        reduced: channels between the two dense steps, at least 1.
        prefix: prefix of the names of the layers.

    Source:
        Hu et al., "Squeeze-and-Excitation Networks", 2018.
    """
    channels = x.shape[-1]
    weights = GlobalAveragePooling2D(name=f"{prefix}se_squeeze")(x)
    weights = Reshape((1, 1, channels), name=f"{prefix}se_reshape")(weights)
    for filters, activation, step in (
        (max(1, reduced), "swish", "reduce"),
        (channels, "sigmoid", "expand"),
    ):
        weights = Conv2D(
            filters,
            1,
            padding="same",
            activation=activation,
            kernel_initializer=kernels(),
            name=f"{prefix}se_{step}",
        )(weights)
    return multiply([x, weights], name=f"{prefix}se_excite")


def added(x: Any, start: Any, rate: float, prefix: str) -> Any:
    """The sum of a block's input and its output, which is dropped at times while training.

    Args:
        x: the end of the block.
        start: its input, of the same shape.
        rate: the share of the pictures for which x is dropped.
        prefix: prefix of the names of the layers.
    """
    if rate > 0:
        x = Dropout(rate, noise_shape=(None, 1, 1, 1), name=f"{prefix}drop")(x)
    return add([x, start], name=f"{prefix}add")


def topped(asked: Arguments, x: Any, dropout: float, bias_initializer: Any) -> Any:
    """x as class probabilities, or pooled if there is no top.

    Args:
        asked: the arguments that all networks have.
        x: [batch, height, width, channels].
        dropout: before the dense layer.
        bias_initializer: initializer of the dense layer.
    """
    if not asked.include_top:
        return asked.pooled(x, "avg_pool", "max_pool")
    asked.check_activation()
    x = GlobalAveragePooling2D(name="avg_pool")(x)
    x = Dropout(dropout, name="top_dropout")(x)
    uniform = VarianceScaling(scale=1 / 3, mode="fan_out", distribution="uniform")
    return Dense(
        asked.classes,
        activation=asked.classifier_activation,
        kernel_initializer=uniform,
        bias_initializer=bias_initializer,
        name="predictions",
    )(x)
