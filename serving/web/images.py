"""Inputs and outputs that are images: their size, and the range of their brightness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinnace.graph.graph import FunctionRef
from pinnace.ops.array.casting import CAST
from pinnace.ops.math.arithmetic import MUL, SUB
from pinnace.ops.math.division import REAL_DIV

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.specs import TensorSpec
    from pinnace.graph.graph import Graph, Node, Value

_LEAST_SIDE, _LARGEST_SIDE = 4, 1024
_LEAST_FLAT = 64  # shorter rows are rather those of a table
_ANY_SIDE = 224  # for images of any size: the usual size of classifiers
_DEPTH = 8  # nesting depth of functions that are searched


@dataclass(frozen=True, slots=True)
class ImageForm:
    """The layout of one image in a tensor, without its batch axis.

    Attributes:
        height: the height in pixels.
        width: the width in pixels.
        channels: 1 for grey, 3 for red, green and blue.
        layout: `flat` for a row of numbers, `grey` for [height, width], `pixels` with channels.
    """

    height: int
    width: int
    channels: int
    layout: str


def image_form(spec: TensorSpec) -> ImageForm | None:
    """Return the layout of images in a tensor of this dtype and shape; None for others.

    Args:
        spec: [batch, height, width, 1 or 3], [batch, height, width] or [batch, n] with n a square,
            or three times a square; of real numbers.
    """
    dims = spec.shape.dims
    if dims is None or len(dims) < 2 or dims[0] not in (None, 1) or spec.dtype.name == "bool":
        return None
    if not (spec.dtype.is_floating or spec.dtype.is_integer):
        return None
    sizes = dims[1:]
    if len(sizes) == 1:
        return _flat_form(sizes[0])
    if len(sizes) == 3 and sizes[2] in (1, 3):
        sides = [_ANY_SIDE if size is None else size for size in sizes[:2]]
        layout, channels = "pixels", sizes[2]
    elif len(sizes) == 2 and None not in sizes and sizes[0] == sizes[1] and sizes[0] >= 8:  # type: ignore[operator]
        sides = [size for size in sizes if size is not None]
        layout, channels = "grey", 1
    else:
        return None
    if not all(_LEAST_SIDE <= side <= _LARGEST_SIDE for side in sides):
        return None
    return ImageForm(sides[0], sides[1], channels or 1, layout)


def _flat_form(size: int | None) -> ImageForm | None:
    for channels in (1, 3):
        if size is None or size < _LEAST_FLAT or size % channels:
            continue
        side = math.isqrt(size // channels)
        if side * side * channels == size and side <= _LARGEST_SIDE:
            return ImageForm(side, side, channels, "flat")
    return None


def brightness(graph: Graph | None, name: str) -> tuple[float, float] | None:
    """Return the values of black and white that the graph implies by rescaling its input.

    Args:
        graph: the signature's graph.
        name: the input's name.

    Returns:
        None if the input is not first multiplied by one number.
    """
    if graph is None or name not in graph.input_names:
        return None
    value = graph.inputs[graph.input_names.index(name)]
    for scale, offset in _scales(graph, value, _DEPTH):
        # Keras's Rescaling: to 0…1, or to -1…1.
        width = 2 if offset == -1 else 1
        if 0 < scale <= 1:
            return 0.0, float(f"{width / scale:.6g}")
    return None


def _scales(graph: Graph, value: Value, depth: int) -> Iterator[tuple[float, float]]:
    """Yield the factor and offset that are first applied to the value, for each of its uses."""
    if not depth:
        return
    for node in graph.nodes:
        if value not in node.inputs:
            continue
        if _passes(node) and node.inputs[0] is value:
            yield from _scales(graph, node.outputs[0], depth - 1)
        elif node.op.runs == "call":
            function = next(a for a in node.attrs.values() if isinstance(a, FunctionRef)).graph
            inner = function.inputs[node.inputs.index(value)]
            yield from _scales(function, inner, depth - 1)
        else:
            number = _other(node, value) if node.op in (MUL, REAL_DIV) else None
            if number:
                product = number if node.op is MUL else 1 / number
                yield product, _offset(graph, node.outputs[0])


def _passes(node: Node) -> bool:
    """Whether the result has the numbers of the first input."""
    return node.op.alias or node.op.view == "reshaped" or node.op is CAST


def _offset(graph: Graph, value: Value) -> float:
    for node in graph.nodes:
        if value in node.inputs and (node.op is SUB or (node.op.sums and len(node.inputs) == 2)):
            number = _other(node, value)
            if number is not None:
                return -number if node.op is SUB else number
    return 0.0


def _other(node: Node, value: Value) -> float | None:
    """The single number that a node combines with the value, or None."""
    source = node.inputs[1] if node.inputs[0] is value else node.inputs[0]
    while _passes(source.node) and source.node.inputs:
        source = source.node.inputs[0].node.outputs[source.node.inputs[0].index]
    if source.node.op.name != "Const":
        return None
    array = np.asarray(source.node.attrs["value"])
    return float(array.reshape(-1)[0]) if array.size == 1 else None
