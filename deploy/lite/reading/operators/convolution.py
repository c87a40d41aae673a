"""Convolutions and pooling, with the format's filter layouts and biases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.reading.quantised import to_real
from pinnace.deploy.lite.reading.registry import Call, constant, op, reads
from pinnace.deploy.lite.reading.translation import transposed
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_PADDINGS = ("SAME", "VALID")
_WHOLE = frozenset({dtypes.int32, dtypes.int64})


def padding_of(call: Call) -> str:
    """The op's name for the padding."""
    number = call.options["padding"]
    if not 0 <= number < len(_PADDINGS):
        call.damaged(f"its padding is {number}, must be 0 or 1")
    return _PADDINGS[number]


def with_bias(call: Call, x: Tensor, index: int) -> Tensor:
    """`x` plus a bias per channel, if there is one."""
    if not call.has(index):
        return x
    source, bias = call.source(index), call.x(index)
    if bias.dtype in _WHOLE and x.dtype is dtypes.float32:
        if source.quantization is None:
            call.damaged("its quantised bias has no scale")
        bias = to_real(bias, source.quantization, 1)
    if bias.shape.rank != 1:
        bias = op("Reshape", bias, constant([-1], dtypes.int32))
    return op("BiasAdd", x, bias)


def _numbers(call: Call, *names: str) -> list[int]:
    found = [int(call.options[name]) for name in names]
    if any(n < 1 for n in found):
        call.damaged(f"its {', '.join(names)} are {found}, must be positive")
    return found


@reads("CONV_2D")
def conv_2d(call: Call) -> Tensor:
    """A convolution with filters [out, height, width, in]."""
    high, wide = _numbers(call, "stride_h", "stride_w")
    down, across = _numbers(call, "dilation_h_factor", "dilation_w_factor")
    found = op(
        "Conv2D",
        call.x(0),
        transposed(call, 1, (1, 2, 3, 0)),
        strides=[1, high, wide, 1],
        padding=padding_of(call),
        dilations=[1, down, across, 1],
    )
    return call.activated(with_bias(call, found, 2))


@reads("DEPTHWISE_CONV_2D")
def depthwise(call: Call) -> Tensor:
    """A depthwise convolution with filters [1, height, width, channels · multiplier]."""
    high, wide = _numbers(call, "stride_h", "stride_w")
    down, across = _numbers(call, "dilation_h_factor", "dilation_w_factor")
    x, weights = call.x(0), call.x(1)
    sizes = call.source(1).shape
    depth = x.shape[-1] if x.shape.rank else None
    if sizes.rank != 4 or not sizes.is_fully_defined():
        call.fail("the shape of its filter must be known")
    _, height, width, channels = (int(n or 0) for n in sizes)
    times = int(call.options["depth_multiplier"]) or 1
    inputs = depth or channels // times
    if not inputs or channels % inputs:
        call.damaged(f"its filter has {channels} channels, and its input {inputs}")
    filters = op(
        "Reshape",
        weights,
        constant([height, width, inputs, channels // inputs], dtypes.int32),
    )
    # TensorFlow's op takes one stride: if the two differ, all positions are computed, then sliced.
    if high != wide:
        return _uneven(call, x, filters, (high, wide), (down, across))
    found = op(
        "DepthwiseConv2dNative",
        x,
        filters,
        strides=[1, high, wide, 1],
        padding=padding_of(call),
        dilations=[1, down, across, 1],
    )
    return call.activated(with_bias(call, found, 2))


def _uneven(
    call: Call, x: Tensor, filters: Tensor, strides: tuple[int, int], rates: tuple[int, int]
) -> Tensor:
    """A depthwise convolution with different strides: of stride 1, then sliced with strides."""
    if padding_of(call) == "SAME":
        pairs = [[0, 0]]
        for size, stride, rate, length in zip(
            x.shape[1:3], strides, rates, filters.shape[:2], strict=True
        ):
            if size is None or length is None:
                call.fail("with different strides and padding, the size of its input must be known")
            reach = (length - 1) * rate + 1
            total = max((-(-size // stride) - 1) * stride + reach - size, 0)
            pairs.append([total // 2, total - total // 2])
        x = op("Pad", x, constant([*pairs, [0, 0]], dtypes.int32))
    found = op(
        "DepthwiseConv2dNative",
        x,
        filters,
        strides=[1, 1, 1, 1],
        padding="VALID",
        dilations=[1, *rates, 1],
    )
    found = op(
        "StridedSlice",
        found,
        constant([0, 0, 0, 0], dtypes.int32),
        constant([0, 0, 0, 0], dtypes.int32),
        constant([1, *strides, 1], dtypes.int32),
        begin_mask=15,
        end_mask=15,
    )
    return call.activated(with_bias(call, found, 2))


@reads("TRANSPOSE_CONV")
def transpose_conv(call: Call) -> Tensor:
    """A transposed convolution; inputs: output shape, filters [out, height, width, in], x, bias."""
    high, wide = _numbers(call, "stride_h", "stride_w")
    found = op(
        "Conv2DBackpropInput",
        call.stored(0),
        transposed(call, 1, (1, 2, 0, 3)),
        call.x(2),
        strides=[1, high, wide, 1],
        padding=padding_of(call),
    )
    return call.activated(with_bias(call, found, 3))


@reads("CONV_3D")
def conv_3d(call: Call) -> Tensor:
    """A 3D convolution; the filter has TensorFlow's layout."""
    strides = _numbers(call, "stride_d", "stride_h", "stride_w")
    rates = _numbers(call, "dilation_d_factor", "dilation_h_factor", "dilation_w_factor")
    found = op(
        "Conv3D",
        call.x(0),
        call.x(1),
        strides=[1, *strides, 1],
        padding=padding_of(call),
        dilations=[1, *rates, 1],
    )
    return call.activated(with_bias(call, found, 2))


@reads("CONV_3D_TRANSPOSE")
def conv_3d_transpose(call: Call) -> Tensor:
    """A transposed 3D convolution; inputs: output shape, filters, x, and maybe a bias."""
    strides = _numbers(call, "stride_d", "stride_h", "stride_w")
    rates = _numbers(call, "dilation_d_factor", "dilation_h_factor", "dilation_w_factor")
    found = op(
        "Conv3DBackpropInputV2",
        call.stored(0),
        call.x(1),
        call.x(2),
        strides=[1, *strides, 1],
        padding=padding_of(call),
        dilations=[1, *rates, 1],
    )
    return call.activated(with_bias(call, found, 3))


@reads("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
def pool(call: Call) -> Tensor:
    """Mean, maximum or root mean square over windows."""
    x = call.x()
    high, wide = _numbers(call, "stride_h", "stride_w")
    window = _numbers(call, "filter_height", "filter_width")
    is_root = call.kind == "L2_POOL_2D"
    found = op(
        "MaxPool" if call.kind == "MAX_POOL_2D" else "AvgPool",
        op("Square", x) if is_root else x,
        ksize=[1, *window, 1],
        strides=[1, high, wide, 1],
        padding=padding_of(call),
    )
    return call.activated(op("Sqrt", found) if is_root else found)
