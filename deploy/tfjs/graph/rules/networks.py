"""Convolutions, pooling and normalisation in NHWC, without attributes that are ignored."""

from collections.abc import Sequence

import numpy as np

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.graph import Value

FIRST = {"NCHW": "NHWC", "NCDHW": "NDHWC"}
# Attributes with one or two numbers per axis.
_BY_AXIS = {"strides": 1, "dilations": 1, "ksize": 1, "explicit_paddings": 2}


@rule(
    "Conv2D",
    "DepthwiseConv2dNative",
    "AvgPool",
    "DepthToSpace",
)
def in_space(r: Rewrite) -> tuple[Value, ...] | None:
    """The op in NHWC."""
    if r.node.op.name == "DepthwiseConv2dNative":
        strides = r.attr("strides")
        r.needs(len(set(strides[1:3])) == 1 or 1 not in strides[1:3], "with unequal strides")
    if r.attr("data_format") not in FIRST:
        return None
    return with_channels_last(r, 0)


@rule("MaxPool")
def max_pool(r: Rewrite) -> tuple[Value, ...] | Value | None:
    """Pooling; explicit padding becomes a Pad of its own."""
    edges = r.attr("explicit_paddings")
    if r.attr("data_format") in FIRST:
        return with_channels_last(r, 0) if not edges else _padded_pool(r, first=True)
    return None if not edges else _padded_pool(r, first=False)


def _padded_pool(r: Rewrite, *, first: bool) -> tuple[Value, ...]:
    x = r.inputs[0]
    sizes = np.array(r.attr("explicit_paddings"), np.int32).reshape(-1, 2)
    lowest = r.constant(np.finfo(x.dtype.numpy).min, x.dtype)
    padded = r.op("PadV2", x, r.constant(sizes), lowest)
    inner = {"explicit_paddings": (), "padding": "VALID"}
    if first:
        return with_channels_last(r, 0, {0: padded}, **inner)
    return r.same(padded, **inner)


@rule("Conv2DBackpropInput")
def transposed_convolution(r: Rewrite) -> tuple[Value, ...] | None:
    """A transposed convolution in NHWC; dilations are refused."""
    r.needs(set(r.attr("dilations")) == {1}, "with dilations")
    if r.attr("data_format") not in FIRST:
        return None
    sizes = r.op(
        "GatherV2", r.inputs[0], r.constant([0, 2, 3, 1], np.int32), r.constant(0, np.int32)
    )
    return with_channels_last(r, 2, {0: sizes})


@rule("BiasAdd")
def bias_add(r: Rewrite) -> Value | None:
    """An addition along the channels' axis."""
    x, bias = r.inputs
    if r.attr("data_format") != "NCHW" or x.shape.rank == 2:
        return None
    r.needs(x.shape.rank is not None, "of a tensor with an unknown number of axes")
    return r.op("AddV2", x, r.reshaped(bias, [-1, *[1] * (len(x.shape) - 2)]))


@rule("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def batch_norm(r: Rewrite) -> tuple[Value, ...]:
    """Normalisation with given mean and variance; other outputs are refused."""
    r.needs(not r.attr("is_training"), "in training")
    first = r.attr("data_format") in FIRST
    made = with_channels_last(r, 0) if first else r.same()
    mean, variance = r.inputs[3:5]
    rest = [mean, variance, mean, variance, r.constant(np.zeros(0, np.float32))]
    return (made[0], *rest[: len(r.node.outputs) - 1])


@rule("LRN")
def local_response(r: Rewrite) -> None:
    """Refuse a rank other than 4."""
    r.needs(r.inputs[0].shape.rank == 4, "of other tensors than pictures")


def with_channels_last(
    r: Rewrite, index: int, others: dict[int, Value] | None = None, **attrs: object
) -> tuple[Value, ...]:
    """The node in NHWC, between transposes of its input and of its first output.

    Args:
        r: the node.
        index: the index of the input with channels.
        others: replacements of inputs, by index.
        attrs: replacements of attributes.
    """
    node, inputs = r.node, list(r.inputs)
    for place, value in (others or {}).items():
        inputs[place] = value
    rank = len(node.inputs[index].shape)
    there = (0, *range(2, rank), 1)
    back = (0, rank - 1, *range(1, rank - 1))
    inputs[index] = r.transposed(inputs[index], there)
    changed = {
        name: _ordered(r.attr(name), there, width)
        for name, width in _BY_AXIS.items()
        if name in node.attrs and name not in attrs and r.attr(name)
    }
    made = r.same(*inputs, **changed, **attrs, data_format=FIRST[r.attr("data_format")])
    result = made[0]
    sizes = node.outputs[0].shape
    if sizes.rank is not None:
        result.refine(Shape([sizes[axis] for axis in there]))
    turned = r.transposed(result, back)
    turned.spec = TensorSpec.of(sizes, turned.dtype)
    return (turned, *made[1:])


def _ordered(values: Sequence[int], order: Sequence[int], width: int) -> tuple[int, ...]:
    pieces = [tuple(values[place * width : (place + 1) * width]) for place in order]
    return tuple(one for piece in pieces for one in piece)


@rule("FakeQuantWithMinMaxVars")
def fake_quantization(r: Rewrite) -> None:
    """Refuse fake quantisation, for which TensorFlow.js returns the input."""
    r.needs(False, "rounds numbers, which TensorFlow.js leaves out")


@rule("ImageProjectiveTransformV3")
def projection(r: Rewrite) -> None:
    """Refuse projections, for which TensorFlow.js computes other pixels at the edges."""
    r.needs(False, "gives other pixels in TensorFlow.js")


@rule("NonMaxSuppressionV4")
def suppression(r: Rewrite) -> None:
    """Refuse `pad_to_max_output_size`."""
    r.needs(not r.attr("pad_to_max_output_size"), "with padding")


@rule("NonMaxSuppressionV5")
def soft_suppression(r: Rewrite) -> tuple[Value, ...]:
    """The third output is the number of boxes, which TensorFlow.js does not return."""
    r.needs(not r.attr("pad_to_max_output_size"), "with padding")
    softness = r.known(5)
    r.needs(softness is not None and not np.any(softness), "with scores that are made smaller")
    indices, scores, _ = r.same()
    return indices, scores, r.op("Size", indices)


@rule("MaxPoolWithArgmax")
def places_of_maxima(r: Rewrite) -> None:
    """Refuse MaxPoolWithArgmax, whose results differ between backends."""
    r.needs(False, "gives other numbers in WebAssembly")
