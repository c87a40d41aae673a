"""Concatenation: each tensor is copied to its part of the result.

Tensors that were computed in place are not copied.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.codegen.strides import Loop, loops_of
from pinnace.engine.networks.attending import attends
from pinnace.engine.networks.layers import Layer, Reach, Spread
from pinnace.engine.networks.parts import joined_axis, part_of, whole_of
from pinnace.engine.networks.strided import Strided, is_somewhere, lies, outside_slice
from pinnace.ops.array.joining import CONCAT_V2, PACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

# Contiguous numbers from which copying run by run is fast; the most numbers of a result with
# shorter runs.
_FEWEST_TOGETHER, _MOST_ALONE = 8, 1 << 14
# Loops of a copy around contiguous runs.
_LOOPS = 3


def read_joined(reader: Reader, place: int, node: Node) -> bool:
    """Whether the concatenation at a place has become layers."""
    axis = joined_axis(reader, node)
    if axis is None:
        return False
    parts = node.inputs if node.op is PACK else node.inputs[:-1]
    if not all(is_somewhere(reader, value) for value in parts):
        return False
    if not any(reader.root(value) in reader.made for value in parts):
        return False
    widths = [math.prod(reader.sizes[value][axis:]) for value in parts]
    out = node.outputs[0]
    if min(widths) < _FEWEST_TOGETHER and math.prod(reader.sizes[out]) > _MOST_ALONE:
        return False
    whole = whole_of(reader, node) if _goes_on(reader, node) else lies(reader, out)
    sources = [outside_slice(reader, value) for value in parts]
    if whole.base is out and not any(sources) and reader.strided.keys().isdisjoint(parts):
        return _joined(reader, place, node, widths, axis)
    return _joined_apart(reader, place, node, whole, axis)


def _goes_on(reader: Reader, node: Node) -> bool:
    """Whether the result is written directly to its part of a further concatenation.

    It must be if one of the tensors is there already. Images are copied instead, so that their
    networks can run in blocks (`blocks`).
    """
    out = node.outputs[0]
    takers = reader.uses.get(out, ())
    has_part = not reader.destined.isdisjoint(node.inputs)
    return has_part or any(attends(reader, place, out) for place in takers)


def _joined(reader: Reader, place: int, node: Node, widths: Sequence[int], axis: int) -> bool:
    """Concatenate contiguous tensors."""
    out = node.outputs[0]
    is_plain = node.op is CONCAT_V2 and axis == len(reader.sizes[out]) - 1
    channel = 0
    for value, width in zip(node.inputs, widths, strict=False):
        layer = Layer("COPY", place, node, out, [value], channel=channel)
        layer.over = None if is_plain else (axis, axis)
        reader.layers.append(layer)
        channel += width
    return True


def _joined_apart(reader: Reader, place: int, node: Node, whole: Strided, axis: int) -> bool:
    """Concatenate tensors that are parts of others, go to parts of others, or are in place."""
    copies: list[Layer] = []
    past: list[Value] = []
    parts = node.inputs if node.op is PACK else node.inputs[:-1]
    for number, value in enumerate(parts):
        target = part_of(reader, node, whole, axis, number)
        if value in reader.destined and reader.strided[value] == target:
            continue
        source = outside_slice(reader, value)
        if source is not None:
            past.append(value)
        copy = copied(reader, value, source or lies(reader, value), target)
        if copy is None:
            return False
        copies.append(Layer("COPY", place, node, whole.base, [copy.reaches[value].base]))
        copies[-1].spread = copy
    reader.layers += copies
    reader.passed.update(past)
    if whole.base is not node.outputs[0]:
        reader.strided[node.outputs[0]] = whole
        reader.destined.add(node.outputs[0])
    return True


def copied(reader: Reader, value: Value, source: Strided, target: Strided) -> Spread | None:
    """The strides of a copy of a value."""
    shape = reader.sizes[value]
    *outer, inner = loops_of(shape, [target.along, source.along])
    if inner.steps != (1, 1):
        outer, inner = [*outer, inner], Loop(1, (1, 1))
    alone = inner.size < _FEWEST_TOGETHER and math.prod(shape) > _MOST_ALONE
    if alone or len(outer) > _LOOPS:
        return None
    images, rows, columns = [Loop(1, (0, 0))] * (_LOOPS - len(outer)) + outer
    to, at = (
        Reach(one.base, one.first, images.steps[side], rows.steps[side], columns.steps[side])
        for side, one in enumerate((target, source))
    )
    return Spread((images.size, rows.size, columns.size, inner.size), {value: at}, to)
