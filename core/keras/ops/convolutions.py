"""Transposed and depthwise convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops.formats import channels_last, channels_restored
from pinnace.keras.ops.operation import operation
from pinnace.ops.array import joining, reshaping, shapes
from pinnace.ops.array import padding as _padding
from pinnace.ops.math import arithmetic
from pinnace.ops.nn import convolutions, depthwise

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_SETTINGS = ("strides", "padding", "data_format", "dilation_rate")


def _each(name: str, what: str, given: Any, rank: int) -> list[int]:
    sizes = [given] * rank if isinstance(given, int) else list(given)
    if len(sizes) != rank:
        raise ValueError(
            f"keras.ops.{name}: {what} must be a number or {rank} of them, got {given!r}"
        )
    return sizes


def _checked_padding(name: str, given: str) -> str:
    if given.lower() not in {"valid", "same"}:
        raise ValueError(f"keras.ops.{name}: padding must be valid or same, got {given!r}")
    return given.upper()


@operation(
    "nn",
    "ConvTranspose",
    *("strides", "padding", "output_padding", "data_format", "dilation_rate"),
)
def conv_transpose(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    output_padding: Any = None,
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Tensor:
    """The transpose of a convolution: each input is spread over a window of outputs.

    Args:
        inputs: [batch, *spatial, channels], a float type; one to three spatial axes.
        kernel: [*window, outputs, channels].
        strides: a number, or one per spatial axis.
        padding: "valid" or "same".
        output_padding: sizes added to the output; None lets strides decide.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.
        dilation_rate: distance of the taps, a number or one per spatial axis.

    Returns:
        [batch, *spatial', outputs].

    Raises:
        ValueError: unknown padding, or a setting for another number of axes.
    """
    x, kept = channels_last("conv_transpose", inputs, data_format)
    weights: Tensor = convert_to_tensor(kernel)
    rank = (x.shape.rank or 3) - 2
    same = _checked_padding("conv_transpose", padding) == "SAME"
    steps = _each("conv_transpose", "strides", strides, rank)
    rates = _each("conv_transpose", "dilation_rate", dilation_rate, rank)
    extra = (
        None
        if output_padding is None
        else _each("conv_transpose", "output_padding", output_padding, rank)
    )
    sizes = shapes.axis_sizes(x)
    lengths = []
    for axis, (size, step, rate) in enumerate(zip(sizes[1:-1], steps, rates, strict=True)):
        window = ((weights.shape[axis] or 1) - 1) * rate + 1
        if extra is None:
            length = size * step + (0 if same else max(window - step, 0))
        else:
            length = (size - 1) * step + (window % 2 if same else window) + extra[axis]
        lengths.append(length)
    shape = [sizes[0], *lengths, weights.shape[-2]]
    wanted = shape if x.shape.is_fully_defined() else joining.stack(shape)
    found = convolutions.conv_transpose(
        x, weights, wanted, steps, "SAME" if same else "VALID", dilations=rates
    )
    return channels_restored(found, kept)


@operation("nn", "DepthwiseConv", *_SETTINGS)
def depthwise_conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Tensor:
    """A depthwise convolution: each channel is convolved by itself, with several kernels.

    Args:
        inputs: [batch, *spatial, channels], a float type; one or two spatial axes.
        kernel: [*window, channels, multiplier].
        strides: a number, or one per spatial axis.
        padding: "valid" or "same".
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.
        dilation_rate: distance of the taps, a number or one per spatial axis.

    Returns:
        [batch, *spatial', channels · multiplier].

    Raises:
        ValueError: unknown padding, more axes, or a setting for another number of axes.
    """
    name = "depthwise_conv"
    x, kept = channels_last(name, inputs, data_format)
    found = _depthwise(name, x, kernel, strides, padding, dilation_rate)
    return channels_restored(found, kept)


@operation("nn", "SeparableConv", *_SETTINGS)
def separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Tensor:
    """A depthwise convolution, then a pointwise one that mixes the channels.

    Args:
        inputs: [batch, *spatial, channels], a float type; one or two spatial axes.
        depthwise_kernel: [*window, channels, multiplier].
        pointwise_kernel: [1 per spatial axis, channels · multiplier, outputs].
        strides: a number, or one per spatial axis.
        padding: "valid" or "same".
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.
        dilation_rate: distance of the taps, a number or one per spatial axis.

    Returns:
        [batch, *spatial', outputs].

    Raises:
        ValueError: unknown padding, more axes, or a setting for another number of axes.
    """
    name = "separable_conv"
    x, kept = channels_last(name, inputs, data_format)
    found = _depthwise(name, x, depthwise_kernel, strides, padding, dilation_rate)
    mixed = convolutions.convolution(found, pointwise_kernel, padding="VALID")
    return channels_restored(mixed, kept)


def _depthwise(
    name: str, x: Tensor, kernel: Any, strides: Any, padding: str, dilation_rate: Any
) -> Tensor:
    rank = (x.shape.rank or 3) - 2
    if rank not in {1, 2}:
        raise ValueError(
            f"keras.ops.{name}: inputs must have one or two spatial axes, got shape {x.shape.text}"
        )
    weights: Tensor = convert_to_tensor(kernel)
    steps = _each(name, "strides", strides, rank)
    rates = _each(name, "dilation_rate", dilation_rate, rank)
    way = _checked_padding(name, padding)
    if rank == 1:  # a picture of one row
        x, weights = reshaping.expand_dims(x, 1), reshaping.expand_dims(weights, 0)
        steps, rates = [1, *steps], [1, *rates]
    # The op has one step for both axes, and none where taps are apart: places are left out behind.
    plain = max(rates) == 1 and (steps[0] == steps[1] or rank == 1)
    if plain:
        inner = [max(steps)] * 2
    else:
        inner = [1, 1]
        if way == "SAME":
            x, way = _padded(x, weights, steps, rates), "VALID"
    found = depthwise.depthwise_conv2d(x, weights, [1, *inner, 1], way, "NHWC", rates)
    if not plain:
        found = found[:, :: steps[0], :: steps[1]]
    return reshaping.squeeze(found, [1]) if rank == 1 else found


def _padded(x: Tensor, kernel: Tensor, steps: list[int], rates: list[int]) -> Tensor:
    """The padding for "same" of a convolution with these strides."""
    pads: list[Any] = [[0, 0]]
    sizes = shapes.axis_sizes(x)
    for axis in (0, 1):
        size, step = sizes[axis + 1], steps[axis]
        window = ((kernel.shape[axis] or 1) - 1) * rates[axis] + 1
        places = (size + step - 1) // step
        more = (places - 1) * step + window - size
        more = max(more, 0) if isinstance(more, int) else arithmetic.maximum(more, 0)
        pads.append([more // 2, more - more // 2])
    return _padding.pad(x, joining.stack([joining.stack(ends) for ends in [*pads, [0, 0]]]))
