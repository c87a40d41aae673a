"""Floating-point operations of ops and of layers, from shapes alone.

A multiplication and an addition are two. Elementwise ops and reductions count one for each number,
whatever it costs to compute; ops that only move numbers count none. The count is None if it is
unknown.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.graph.graph import constant_of
from pinnace.ops import flops

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.networks.layers import Layer
    from pinnace.engine.networks.region import Network
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.flops import Shapes
    from pinnace.ops.opdef import OpDef


def operations(op: OpDef, attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int | None:
    """The operations that an op computes.

    Args:
        op: the op.
        attrs: attributes of the node.
        took: shapes of what it took.
        gave: shapes of what it made.

    Returns:
        Floating-point operations; 0 for ops that only move numbers, None if unknown.
    """
    if op.flops is not None:
        try:
            return op.flops(attrs, took, gave)
        except (IndexError, KeyError, ValueError):
            return None
    if op.view is not None or op.shape_query:
        return 0
    if op.fuse is not None or op.elementwise:
        return math.prod(gave[0]) if gave else 0
    return None


def of_nodes(nodes: Sequence[Node], known: Mapping[Value, tuple[int, ...]]) -> int | None:
    """The operations of several steps; None if a shape or count is unknown."""
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
    """Floating-point operations and bytes (read and written once) of a network's row."""
    y = network.image(layer.out)
    numbers = y.pixels * y.channels
    deep = 1 if layer.depth is None else layer.depth.taps
    read = sum(math.prod(network.image(value)) for value in layer.reads())
    if layer.attending is not None:
        images, heads, queries, keys, depth, width = layer.attending.sizes
        scores = images * heads * queries * keys
        return scores * (2 * (depth + width) + flops.SOFTMAX), 4 * (read + numbers)
    if not layer.is_product:
        taps = math.prod(layer.window.taps) * deep
        if layer.kind == "MEAN":
            return read, 4 * (read + numbers)
        moving = dict.fromkeys(("COPY", "LOOKUP"), 0)
        each = {"PROGRAM": len(layer.program), "SOFTMAX": flops.SOFTMAX, **moving}.get(
            layer.kind, taps
        )
        return numbers * each, 4 * (read + numbers)
    if layer.phases:  # each phase computes a part of the pixels
        (phase,) = layer.phases
        numbers = y.batch * math.prod(phase.counts) * y.channels
    window = layer.phases[0].window if layer.phases else layer.window
    channels = 1 if layer.kind == "CHANNELWISE" else network.image(layer.xs[0]).channels
    if layer.flat is not None:
        x, y = layer.flat
        channels = x.channels
    inner = math.prod(window.taps) * deep * channels
    weights = inner * y.channels
    return 2 * numbers * inner, 4 * (read + numbers + weights)
