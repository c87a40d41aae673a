"""The shape that an input of unknown rank probably has, derived from the ops that use it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from pinnace.graph.graph import FunctionRef
from pinnace.graph.walk import users

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.shapes import Shape
    from pinnace.graph.graph import Graph, Node, Value

Sizes = list[int | None]

# Ops whose result has the shape of their first input.
_KEEPS = frozenset(
    [
        *("Abs", "Cast", "CheckNumerics", "Elu", "Exp", "Identity", "LeakyRelu", "Log", "Neg"),
        *("PreventGradient", "Relu", "Relu6", "Rsqrt", "Selu", "Sigmoid", "Softplus", "Sqrt"),
        *("Square", "StopGradient", "Tanh"),
    ]
)
# Ops that broadcast two inputs.
_JOINS = frozenset({"Add", "AddV2", "Div", "Maximum", "Minimum", "Mul", "RealDiv", "Sub"})


def likely_shape(graph: Graph, value: Value) -> Sizes | None:
    """The sizes of an input, None for variable ones; None if the ops do not determine its rank.

    Args:
        graph: the program.
        value: an input of unknown rank.
    """
    waiting: deque[tuple[Graph, Value]] = deque([(graph, value)])
    seen: set[Value] = set()
    while waiting:
        where, one = waiting.popleft()
        if one in seen:
            continue
        seen.add(one)
        for node in users(where.nodes).get(one, []):
            place = node.inputs.index(one)
            if node.op.name in _KEEPS and place == 0:
                waiting.append((where, node.outputs[0]))
            elif node.op.name in _JOINS:
                other = _shape(node.inputs[1 - place])
                if other.rank == 0:
                    waiting.append((where, node.outputs[0]))
            elif isinstance(inner := node.attrs.get("f"), FunctionRef):
                waiting.append((inner.graph, inner.graph.inputs[place]))
            elif (ask := _SAYS.get(node.op.name)) is not None:
                found = ask(node, place)
                if found is not None:
                    return found
    return None


def _shape(value: Value) -> Shape:
    """The shape of a value; for the read of a variable, that of the variable."""
    if value.spec.shape.rank is None and value.node.op.name == "ReadVariableOp":
        handle = value.node.inputs[0].handle
        if handle is not None:
            return handle.shape
    return value.spec.shape


def _convolution(axes: int, channels: int) -> Callable[[Node, int], Sizes | None]:
    """The rule for convolutions whose filter has rank `axes`, with input channels at `channels`."""

    def says(node: Node, place: int) -> Sizes | None:
        if place != 0:
            return None
        filters = _shape(node.inputs[1])
        size = filters[channels] if filters.rank == axes else None
        if int(node.attrs.get("groups", 1)) != 1:
            size = None
        sizes: Sizes = [None] * axes
        is_first = _text(node.attrs.get("data_format", "NHWC")).startswith("NC")
        sizes[1 if is_first else -1] = size
        return sizes

    return says


def _text(given: object) -> str:
    return given.decode() if isinstance(given, bytes) else str(given)


def _product(node: Node, place: int) -> Sizes | None:
    """The shape [rows, columns] of an operand of a product of two matrices.

    A batched product takes operands of rank 2 as well.
    """
    keys = ("transpose_a", "transpose_b") if node.op.name == "MatMul" else ("adj_x", "adj_y")
    turned = [bool(node.attrs.get(key)) for key in keys]
    # The inner axis is the last one of the first factor, and the first one of the second.
    inner = [int(not turned[0]), int(turned[1])]
    other = _shape(node.inputs[1 - place])
    sizes: Sizes = [None, None]
    sizes[inner[place]] = other[inner[1 - place]] if other.rank == len(sizes) else None
    return sizes


def _ensured(node: Node, place: int) -> Sizes | None:
    shape = node.outputs[0].spec.shape
    return None if shape.rank is None or place != 0 else list(shape)


def _of_axes(count: int) -> Callable[[Node, int], Sizes | None]:
    return lambda _, place: [None] * count if place == 0 else None


_SAYS: dict[str, Callable[[Node, int], Sizes | None]] = {
    "Conv2D": _convolution(4, 2),
    "DepthwiseConv2dNative": _convolution(4, 2),
    "Conv3D": _convolution(5, 3),
    "MatMul": _product,
    "BatchMatMul": _product,
    "BatchMatMulV2": _product,
    "BatchMatMulV3": _product,
    "EnsureShape": _ensured,
    "MaxPool": _of_axes(4),
    "AvgPool": _of_axes(4),
    "MaxPool3D": _of_axes(5),
    "AvgPool3D": _of_axes(5),
    "ResizeBilinear": _of_axes(4),
    "ResizeNearestNeighbor": _of_axes(4),
    "ResizeBicubic": _of_axes(4),
    "SpaceToDepth": _of_axes(4),
    "DepthToSpace": _of_axes(4),
    "FusedBatchNorm": _of_axes(4),
    "FusedBatchNormV3": _of_axes(4),
    "LRN": _of_axes(4),
    "DecodeJpeg": _of_axes(0),
    "DecodePng": _of_axes(0),
    "DecodeImage": _of_axes(0),
    "ParseExample": _of_axes(1),
}
