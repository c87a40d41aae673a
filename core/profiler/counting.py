"""Floating-point operations of ops and of layers, from shapes alone.

A multiplication and an addition are two. Elementwise ops and reductions count one for each number,
whatever it costs to compute; what only moves numbers counts none. None where nobody knows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.networks.layers import Layer
    from pinnace.engine.networks.region import Network
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.opdef import OpDef

    Shapes = Sequence[tuple[int, ...]]
    Count = Callable[[Mapping[str, Any], Shapes, Shapes], int]


def _matrices(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    is_transposed = attrs.get("transpose_a") or attrs.get("adj_x")
    inner: int = took[0][-2 if is_transposed else -1]
    return 2 * math.prod(gave[0]) * inner


def _einsum(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    del gave
    terms = str(attrs["equation"]).split("->")[0].replace(" ", "").split(",")
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, took, strict=True):
        ahead, _, behind = term.partition("...")
        ends = (*zip(ahead, shape, strict=False),)
        tail = zip(behind, shape[len(shape) - len(behind) :], strict=True)
        sizes.update((*ends, *tail))
        if "..." in term:
            spread = shape[len(ahead) : len(shape) - len(behind)]
            sizes["..."] = max(sizes.get("...", 1), math.prod(spread))
    return (2 if len(took) > 1 else 1) * math.prod(sizes.values())


def _convolution(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    del attrs
    return 2 * math.prod(gave[0]) * math.prod(took[1][:-1])


def _depthwise(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    del attrs
    return 2 * math.prod(gave[0]) * math.prod(took[1][:-2])


def _input_gradient(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    del attrs, gave
    return 2 * math.prod(took[2]) * math.prod(took[1][:-1])


def _input_gradient_depthwise(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    del attrs, gave
    return 2 * math.prod(took[2]) * math.prod(took[1][:-2])


def _filter_gradient(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    del attrs
    return 2 * math.prod(took[2]) * math.prod(gave[0][:-1])


def _filter_gradient_depthwise(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    del attrs
    return 2 * math.prod(took[2]) * math.prod(gave[0][:-2])


def _pooling(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    del took
    taps: int = math.prod(attrs["ksize"])
    return math.prod(gave[0]) * taps


def _each(times: int) -> Count:
    """So many for each number of the first input."""

    def count(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
        del attrs, gave
        return times * math.prod(took[0])

    return count


# Operations for each number of a softmax: its maximum, difference, exponential, sum and quotient.
_SOFTMAX = 5
_COUNTS: dict[str, Count] = {
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _matrices),
    "Einsum": _einsum,
    **dict.fromkeys(("Conv2D", "Conv3D"), _convolution),
    "DepthwiseConv2dNative": _depthwise,
    **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInputV2"), _input_gradient),
    **dict.fromkeys(("Conv2DBackpropFilter", "Conv3DBackpropFilterV2"), _filter_gradient),
    "DepthwiseConv2dNativeBackpropInput": _input_gradient_depthwise,
    "DepthwiseConv2dNativeBackpropFilter": _filter_gradient_depthwise,
    **dict.fromkeys(("MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D"), _pooling),
    **dict.fromkeys(("Sum", "Mean", "Prod", "Max", "Min", "ArgMax", "ArgMin", "L2Loss"), _each(1)),
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), _each(2)),
    # A maximum, a difference, an exponential, a sum, a quotient.
    **dict.fromkeys(("Softmax", "LogSoftmax"), _each(5)),
}


def operations(op: OpDef, attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int | None:
    """What an op computes.

    Args:
        op: the op.
        attrs: of the node.
        took: shapes of what it took.
        gave: shapes of what it made.

    Returns:
        Floating-point operations; 0 for what only moves numbers, None for what is not known.
    """
    count = _COUNTS.get(op.name)
    if count is not None:
        try:
            return count(attrs, took, gave)
        except (IndexError, KeyError, ValueError):
            return None
    if op.view is not None or op.shape_query:
        return 0
    if op.fuse is not None or op.elementwise:
        return math.prod(gave[0]) if gave else 0
    return 0 if op.name in _MOVES else None


_MOVES = frozenset(
    {
        *("Const", "Pad", "PadV2", "MirrorPad", "ConcatV2", "Split", "SplitV", "Pack", "Unpack"),
        *("GatherV2", "Gather", "GatherNd", "ResourceGather", "Slice", "StridedSlice", "Transpose"),
        *("Tile", "BroadcastTo", "ReverseV2", "Fill", "ZerosLike", "OnesLike", "OneHot", "Range"),
        *("ReadVariableOp", "AssignVariableOp", "Shape", "Cast", "Identity", "NoOp", "Reshape"),
    }
)


def of_nodes(nodes: Sequence[Node], known: Mapping[Value, tuple[int, ...]]) -> int | None:
    """What several steps compute together; None if one's shapes, or its count, are not known."""
    total = 0
    for node in nodes:
        took, gave = _shapes(node.inputs, known), _shapes(node.outputs, known)
        if took is None or gave is None:
            return None
        found = operations(node.op, node.attrs, took, gave)
        if found is None:
            return None
        total += found
    return total


def _shapes(values: Sequence[Value], known: Mapping[Value, tuple[int, ...]]) -> Shapes | None:
    found = []
    for value in values:
        constant = constant_of(value)
        shape = known.get(value) if constant is None else np.shape(constant)
        if shape is None and value.shape.is_fully_defined():
            shape = tuple(value.shape.as_list())
        if shape is None:
            return None
        found.append(tuple(shape))
    return found


def of_layer(network: Network, layer: Layer) -> tuple[int, int]:
    """Floating-point operations and bytes (read and written once) of a row of a network's table."""
    y = network.image(layer.out)
    numbers = y.pixels * y.channels
    read = sum(math.prod(network.image(value)) for value in layer.reads())
    if layer.attending is not None:
        images, heads, queries, keys, depth, width = layer.attending.sizes
        scores = images * heads * queries * keys
        return scores * (2 * (depth + width) + _SOFTMAX), 4 * (read + numbers)
    if not layer.is_product:
        taps = math.prod(layer.window.taps)
        if layer.kind == "MEAN":
            return read, 4 * (read + numbers)
        each = {"PROGRAM": len(layer.program), "COPY": 0, "SOFTMAX": _SOFTMAX}.get(layer.kind, taps)
        return numbers * each, 4 * (read + numbers)
    if layer.phases:  # each a row that makes some of the pixels
        (phase,) = layer.phases
        numbers = y.batch * math.prod(phase.counts) * y.channels
    window = layer.phases[0].window if layer.phases else layer.window
    channels = 1 if layer.kind == "CHANNELWISE" else network.image(layer.xs[0]).channels
    if layer.flat is not None:
        x, y = layer.flat
        channels = x.channels
    inner = math.prod(window.taps) * channels
    weights = inner * y.channels
    return 2 * numbers * inner, 4 * (read + numbers + weights)
