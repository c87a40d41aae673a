"""Convolutions, pooling, batch normalisation, biases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.converters.element_types import computed, moved
from pinnace.deploy.lite.converters.registry import converts
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.deploy.lite.ir.model import Tensor
    from pinnace.framework.tensor import Array

SAME, VALID = 0, 1


def channels_last(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """`x` in NHWC: transposed if the op's data format has the channels elsewhere."""
    if not str(call.attr("data_format")).startswith("NC"):
        return x
    rank = x.rank or 4
    return g.transpose(x, [0, *range(2, rank), 1])


def as_before(g: GraphBuilder, call: NodeView, y: Tensor) -> Tensor:
    """The inverse of `channels_last`."""
    if not str(call.attr("data_format")).startswith("NC"):
        return y
    rank = y.rank or 4
    return g.transpose(y, [0, rank - 1, *range(1, rank - 1)])


def spatial(call: NodeView, name: str) -> list[int]:
    """The values of an attribute for the spatial axes."""
    given = [int(n) for n in call.attr(name)]
    first = 2 if str(call.attr("data_format")).startswith("NC") else 1
    outside = [n for i, n in enumerate(given) if not first <= i < first + len(given) - 2]
    if any(n != 1 for n in outside):
        call.fail(f"{name} must be 1 for the batch and the channels")
    return given[first : first + len(given) - 2]


def padded(g: GraphBuilder, call: NodeView, x: Tensor, number: float = 0.0) -> tuple[Tensor, int]:
    """The input, with explicit padding as a PAD of its own, and the padding that is left."""
    padding = call.attr("padding")
    word = padding.decode() if isinstance(padding, bytes) else str(padding)
    if word != "EXPLICIT":
        return x, SAME if word == "SAME" else VALID
    pairs: Array = np.reshape([int(n) for n in call.attr("explicit_paddings")], (-1, 2))
    if str(call.attr("data_format")).startswith("NC"):
        pairs = pairs[[0, *range(2, len(pairs)), 1]]
    sizes = [
        None if n is None else n + int(pair.sum()) for n, pair in zip(x.shape, pairs, strict=True)
    ]
    if not number:
        return g.op("PAD", x, g.ints(pairs), shape=sizes), VALID
    return g.op("PADV2", x, g.ints(pairs), g.like(x, number), dtype=x.dtype, shape=sizes), VALID


def no_bias(g: GraphBuilder, channels: int | None, dtype: dtypes.DType) -> Tensor | None:
    """A bias of zeros, which the kernels require."""
    return None if channels is None else g.constant(np.zeros(channels), dtype)


def _result_shape(call: NodeView, shape: Shape) -> Shape:
    if shape.rank is None or not str(call.attr("data_format")).startswith("NC"):
        return shape
    batch, channels, *space = shape
    return Shape([batch, *space, channels])


@converts("Conv2D", to="CONV_2D")
def conv_2d(g: GraphBuilder, call: NodeView, x: Tensor, w: Tensor) -> Tensor:
    """CONV_2D with the output channels as the filter's first axis; explicit padding is a PAD."""
    high, wide = spatial(call, "strides")
    down, across = spatial(call, "dilations")
    x, padding = padded(g, call, channels_last(g, call, x))
    if x.rank != 4 or w.rank != 4:
        call.fail("the rank of its inputs must be known")
    if w.shape[3] is None:
        call.fail("the number of the filter's output channels must be known")
    made = g.op(
        "CONV_2D",
        x,
        g.transpose(w, [3, 0, 1, 2]),
        no_bias(g, w.shape[3], x.dtype),
        shape=_result_shape(call, call.shape()),
        padding=padding,
        stride_h=high,
        stride_w=wide,
        dilation_h_factor=down,
        dilation_w_factor=across,
    )
    return as_before(g, call, made)


@converts("DepthwiseConv2dNative", to="DEPTHWISE_CONV_2D")
def depthwise(g: GraphBuilder, call: NodeView, x: Tensor, w: Tensor) -> Tensor:
    """DEPTHWISE_CONV_2D with filters [1, height, width, channels · multiplier]."""
    high, wide = spatial(call, "strides")
    down, across = spatial(call, "dilations")
    x, padding = padded(g, call, channels_last(g, call, x))
    sizes = w.shape
    if sizes.rank is None or not sizes.is_fully_defined():
        call.fail("the shape of the filter must be known")
    h, w_, channels, multiplier = (int(n or 0) for n in sizes)
    made = g.op(
        "DEPTHWISE_CONV_2D",
        x,
        g.reshape(w, [1, h, w_, channels * multiplier]),
        no_bias(g, channels * multiplier, x.dtype),
        shape=_result_shape(call, call.shape()),
        padding=padding,
        stride_h=high,
        stride_w=wide,
        depth_multiplier=multiplier,
        dilation_h_factor=down,
        dilation_w_factor=across,
    )
    return as_before(g, call, made)


@converts("Conv2DBackpropInput", to="TRANSPOSE_CONV")
def transposed_conv(
    g: GraphBuilder, call: NodeView, sizes: Tensor, w: Tensor, dy: Tensor
) -> Tensor:
    """TRANSPOSE_CONV; with explicit padding, the full result is computed and sliced."""
    high, wide = spatial(call, "strides")
    if any(n != 1 for n in spatial(call, "dilations")):
        call.fail("LiteRT has no transposed convolution with dilations")
    padding = call.attr("padding")
    word = padding.decode() if isinstance(padding, bytes) else str(padding)
    around = _around(call) if word == "EXPLICIT" else None
    shape = _result_shape(call, call.shape())
    wanted = g.cast(sizes, dtypes.int32)
    known = call.constant(0)
    is_first = str(call.attr("data_format")).startswith("NC")
    if known is not None and len(known) == 4:
        order = [0, 2, 3, 1] if is_first else [0, 1, 2, 3]
        wanted = g.ints([int(known[i]) for i in order])
    elif is_first:
        wanted = g.op("GATHER", wanted, g.ints([0, 2, 3, 1]), shape=[4], axis=0)
    whole = shape
    if around is not None:
        more = around.sum(1)
        wanted = g.op("ADD", wanted, g.ints(more.tolist()), dtype=dtypes.int32, shape=[4])
        whole = Shape(None if n is None else n + int(k) for n, k in zip(shape, more, strict=True))
    made = g.op(
        "TRANSPOSE_CONV",
        wanted,
        g.transpose(w, [2, 0, 1, 3]),
        channels_last(g, call, dy),
        dtype=dy.dtype,
        shape=whole,
        padding=SAME if word == "SAME" else VALID,
        stride_h=high,
        stride_w=wide,
    )
    if around is not None:
        sizes = g.ints([-1, *(int(n or 0) for n in shape[1:3]), -1])
        made = moved(g, "SLICE", made, g.ints(around[:, 0].tolist()), sizes, shape=shape)
    return as_before(g, call, made)


def _around(call: NodeView) -> Array:
    """The explicit padding of a transposed convolution, one pair per axis of NHWC."""
    shape = call.shape()
    if shape.rank != 4 or None in _result_shape(call, shape)[1:3]:
        call.fail("the height and width of its result must be known, since its padding is explicit")
    pairs: Array = np.reshape([int(n) for n in call.attr("explicit_paddings")], (4, 2))
    is_first = str(call.attr("data_format")).startswith("NC")
    return pairs[[0, 2, 3, 1]] if is_first else pairs


@converts("Conv3D", to="CONV_3D")
def conv_3d(g: GraphBuilder, call: NodeView, x: Tensor, w: Tensor) -> Tensor:
    """CONV_3D; the filter keeps its layout."""
    return as_before(g, call, _volume(g, call, "CONV_3D", channels_last(g, call, x), w))


@converts("Conv3DBackpropInputV2", to="CONV_3D_TRANSPOSE")
def conv_3d_transpose(
    g: GraphBuilder, call: NodeView, sizes: Tensor, w: Tensor, dy: Tensor
) -> Tensor:
    """CONV_3D_TRANSPOSE; the output shape is an input."""
    if str(call.attr("data_format")) != "NDHWC":
        call.fail("LiteRT's operator takes channels last only")
    return _volume(g, call, "CONV_3D_TRANSPOSE", g.cast(sizes, dtypes.int32), w, dy)


def _volume(g: GraphBuilder, call: NodeView, kind: str, *inputs: Tensor) -> Tensor:
    deep, high, wide = spatial(call, "strides")
    back, down, across = spatial(call, "dilations")
    padding = call.attr("padding")
    word = padding.decode() if isinstance(padding, bytes) else str(padding)
    return g.op(
        kind,
        *inputs,
        dtype=inputs[-1].dtype,
        shape=_result_shape(call, call.shape()),
        padding=SAME if word == "SAME" else VALID,
        stride_d=deep,
        stride_h=high,
        stride_w=wide,
        dilation_d_factor=back,
        dilation_h_factor=down,
        dilation_w_factor=across,
    )


@converts("MaxPool", "AvgPool", to="MAX_POOL_2D AVERAGE_POOL_2D")
def pool(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """MAX_POOL_2D or AVERAGE_POOL_2D."""
    is_max = call.node.op.name == "MaxPool"
    window, steps = spatial(call, "ksize"), spatial(call, "strides")
    x = channels_last(g, call, x)
    padding = VALID
    if is_max:
        x, padding = padded(g, call, x, -np.inf)
    else:
        x, padding = padded(g, call, x)
    kind = "MAX_POOL_2D" if is_max else "AVERAGE_POOL_2D"
    shape = _result_shape(call, call.shape())
    return as_before(g, call, _pool(g, kind, x, shape, padding, window, steps))


@converts("MaxPoolV2", to="MAX_POOL_2D")
def pool_v2(g: GraphBuilder, call: NodeView, x: Tensor, size: Tensor, step: Tensor) -> Tensor:
    """MAX_POOL_2D with constant window and strides, which are inputs of the op."""
    del size, step
    if str(call.attr("data_format")) != "NHWC":
        call.fail("LiteRT's operator takes NHWC only")
    window = [int(n) for n in call.needed(1, "ksize")][1:3]
    steps = [int(n) for n in call.needed(2, "strides")][1:3]
    padding = SAME if str(call.attr("padding")) == "SAME" else VALID
    return _pool(g, "MAX_POOL_2D", x, call.shape(), padding, window, steps)


def _pool(
    g: GraphBuilder,
    kind: str,
    x: Tensor,
    shape: Shape,
    padding: int,
    window: Sequence[int],
    steps: Sequence[int],
) -> Tensor:
    return g.op(
        kind,
        x,
        shape=shape,
        padding=padding,
        stride_h=steps[0],
        stride_w=steps[1],
        filter_height=window[0],
        filter_width=window[1],
    )


@converts("MaxPool3D", "AvgPool3D", to="MAX_POOL_2D AVERAGE_POOL_2D")
def pool_3d(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """Pooling over height and width, then over depth: a max of maxima, a mean of means."""
    kind = "MAX_POOL_2D" if call.node.op.name == "MaxPool3D" else "AVERAGE_POOL_2D"
    window, steps = spatial(call, "ksize"), spatial(call, "strides")
    padding = SAME if str(call.attr("padding")) == "SAME" else VALID
    x = channels_last(g, call, x)
    batch, depth, height, width, channels = x.shape
    after = _result_shape(call, call.shape())
    if None in (depth, height, width, channels) or not Shape(after[1:]).is_fully_defined():
        call.fail("all sizes except the batch size must be known")
    depth, height, width, channels = (size or 0 for size in (depth, height, width, channels))
    deep, high, wide = (size or 0 for size in list(after)[1:4])
    flat = g.reshape(x, [None if batch is None else batch * depth, height, width, channels])
    form = Shape([flat.shape[0], high, wide, channels])
    found = _pool(g, kind, flat, form, padding, window[1:], steps[1:])
    found = g.reshape(found, [batch, depth, high * wide, channels])
    form = Shape([batch, deep, high * wide, channels])
    found = _pool(g, kind, found, form, padding, [window[0], 1], [steps[0], 1])
    return as_before(g, call, g.reshape(found, list(after)))


@converts("BiasAdd", "BiasAddV1", to="ADD")
def bias_add(g: GraphBuilder, call: NodeView, x: Tensor, bias: Tensor) -> Tensor:
    """ADD; the bias is broadcast along the channels."""
    is_first = call.node.op.name == "BiasAdd" and str(call.attr("data_format")) == "NCHW"
    if is_first:
        bias = g.reshape(bias, [bias.shape[0], *[1] * (call.rank(0) - 2)])
    return computed(g, "ADD", x, bias)


@converts("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", to="MUL ADD")
def fused_batch_norm(
    g: GraphBuilder,
    call: NodeView,
    x: Tensor,
    scale: Tensor,
    offset: Tensor,
    mean: Tensor,
    variance: Tensor,
) -> tuple[Tensor | None, ...]:
    """x · s + (offset - mean · s) with s = scale / √(variance + ε), by channel."""
    count = len(call.node.outputs)
    epsilon = float(call.attr("epsilon"))
    if any(call.takers.get(value) for value in call.node.outputs[3:]):
        call.fail("its outputs for training are used; inference has no counterpart for them")
    x_last = channels_last(g, call, x)
    statistics: list[Tensor | None] = [mean, variance]
    if call.attr("is_training"):
        mean, variance = _moments(g, call, x_last)
        statistics = [mean, _unbiased(g, call, variance)]
    if all(one.data is not None for one in (scale, offset, mean, variance)):
        s, o, m, v = (np.asarray(one.data, np.float64) for one in (scale, offset, mean, variance))
        factor = s / np.sqrt(v + epsilon)
        times, plus = (g.constant(a, x.dtype) for a in (factor, o - m * factor))
    else:
        root = g.op("RSQRT", g.op("ADD", variance, g.like(variance, epsilon)))
        times = g.op("MUL", scale, root)
        plus = g.op("SUB", offset, g.op("MUL", mean, times))
    made = as_before(g, call, g.op("ADD", g.op("MUL", x_last, times), plus))
    return (made, *statistics, *[None] * (count - 3))[:count]


def _moments(g: GraphBuilder, call: NodeView, x: Tensor) -> tuple[Tensor, Tensor]:
    if float(call.attr("exponential_avg_factor") if _has_average(call) else 1.0) != 1.0:
        call.fail("it updates its moving statistics, which inference does not")
    axes = g.ints(list(range((x.rank or 4) - 1)))
    form = [x.shape[-1]]
    mean = g.op("MEAN", x, axes, shape=form, keep_dims=False)
    gap = g.op("SQUARED_DIFFERENCE", x, mean)
    return mean, g.op("MEAN", gap, axes, shape=form, keep_dims=False)


def _has_average(call: NodeView) -> bool:
    return "exponential_avg_factor" in call.node.op.attrs


def _unbiased(g: GraphBuilder, call: NodeView, variance: Tensor) -> Tensor | None:
    if not call.takers.get(call.node.outputs[2]):
        return None
    shape = call.input_spec(0).shape
    total = shape.num_elements() if shape.is_fully_defined() else None
    channels = variance.shape[0]
    if total is None or not channels:
        call.fail("the unbiased variance needs a known batch size")
    count = total // channels
    return g.op("MUL", variance, g.like(variance, count / max(count - 1, 1)))


@converts("LRN", to="LOCAL_RESPONSE_NORMALIZATION")
def local_response(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """LOCAL_RESPONSE_NORMALIZATION."""
    options: dict[str, Any] = {n: float(call.attr(n)) for n in ("bias", "alpha", "beta")}
    return g.op("LOCAL_RESPONSE_NORMALIZATION", x, radius=int(call.attr("depth_radius")), **options)


def fused(
    g: GraphBuilder, call: NodeView, made: Tensor, rest: tuple[Tensor, ...], steps: Sequence[bytes]
) -> Tensor:
    """The steps that a fused op of Grappler applies to its product: bias, activation and so on."""
    names = [step.decode() if isinstance(step, bytes) else str(step) for step in steps]
    alpha = float(call.attr("leakyrelu_alpha"))
    activations: dict[str, Callable[[], Tensor]] = {
        "Relu": lambda: g.op("RELU", made),
        "Relu6": lambda: g.op("RELU6", made),
        "Elu": lambda: g.op("ELU", made),
        "Tanh": lambda: g.op("TANH", made),
        "Sigmoid": lambda: g.op("LOGISTIC", made),
        "LeakyRelu": lambda: g.op("LEAKY_RELU", made, alpha=alpha),
        "GeluExact": lambda: g.op("GELU", made, approximate=False),
        "GeluApproximate": lambda: g.op("GELU", made, approximate=True),
    }
    given = list(rest)
    for name in names:
        if name == "FusedBatchNorm":
            scale, offset, mean, variance = given[:4]
            epsilon = g.like(variance, float(call.attr("epsilon")))
            times = g.op("MUL", scale, g.op("RSQRT", g.op("ADD", variance, epsilon)))
            plus = g.op("SUB", offset, g.op("MUL", mean, times))
            made = g.op("ADD", g.op("MUL", made, times), plus)
            given = given[4:]
        elif name in {"BiasAdd", "Add"}:
            made = g.op("ADD", made, given.pop(0))
        elif name in activations:
            made = activations[name]()
        else:
            call.fail(f"it is fused with {name}")
    return made


@converts("_FusedConv2D", to="CONV_2D ADD")
def fused_conv(
    g: GraphBuilder,
    call: NodeView,
    x: Tensor,
    w: Tensor,
    rest: tuple[Tensor, ...],
    host: tuple[Tensor, ...] = (),
) -> Tensor:
    """The convolution, then the fused steps."""
    del host
    if str(call.attr("data_format")) != "NHWC" or str(call.attr("filter_format")) != "HWIO":
        call.fail("LiteRT's operator takes NHWC only")
    return fused(g, call, conv_2d(g, call, x, w), rest, call.attr("fused_ops"))


@converts("_FusedDepthwiseConv2dNative", to="DEPTHWISE_CONV_2D ADD")
def fused_depthwise(
    g: GraphBuilder, call: NodeView, x: Tensor, w: Tensor, rest: tuple[Tensor, ...]
) -> Tensor:
    """The convolution, then the fused steps."""
    if str(call.attr("data_format")) != "NHWC":
        call.fail("LiteRT's operator takes NHWC only")
    return fused(g, call, depthwise(g, call, x, w), rest, call.attr("fused_ops"))
