"""Tensors behind one another along an axis: each is copied to its part of the result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.networks.layers import Layer
from pinnace.graph.graph import constant_of
from pinnace.ops.array.joining import CONCAT_V2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

# Numbers that lie together, from which copying them one piece at a time is quick; of a result whose
# pieces are smaller, at most so many.
_FEWEST_TOGETHER, _MOST_ALONE = 8, 1 << 14


def read_concat(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place joins what the network makes, and is layers now."""
    *parts, axis = node.inputs
    at = constant_of(axis)
    if at is None:
        return False
    rank = len(reader.sizes[node.outputs[0]])
    return _joined(reader, place, node, parts, int(at) % rank)


def read_pack(reader: Reader, place: int, node: Node) -> bool:
    """The same along an axis of its own."""
    rank = len(reader.sizes[node.outputs[0]])
    return _joined(reader, place, node, node.inputs, int(node.attrs["axis"]) % rank)


def _joined(reader: Reader, place: int, node: Node, parts: Sequence[Value], axis: int) -> bool:
    """Tensors behind one another along an axis, along which they may have none."""
    out = node.outputs[0]
    if not all(reader.is_moving(value) for value in parts):
        return False
    if not any(reader.root(value) in reader.made for value in parts):
        return False
    widths = [math.prod(reader.sizes[value][axis:]) for value in parts]
    if min(widths) < _FEWEST_TOGETHER and math.prod(reader.sizes[out]) > _MOST_ALONE:
        return False
    is_plain = node.op is CONCAT_V2 and axis == len(reader.sizes[out]) - 1
    channel = 0
    for value, width in zip(parts, widths, strict=True):
        layer = Layer("COPY", place, node, out, [value], channel=channel)
        layer.over = None if is_plain else (axis, axis)
        reader.layers.append(layer)
        channel += width
    return True
