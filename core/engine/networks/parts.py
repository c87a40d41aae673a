"""Slices that are read in place, and values computed in place as parts of a concatenation.

A decoder's queries, keys and values are slices of one product; its past keys and values are slices
of a cache, and the new ones are packed into a cache again. None of these slices is copied if all
its consumers, and its producer, support strides. Other tensors are copied to their parts of a
concatenation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.codegen.strides import Loop, loops_of
from pinnace.engine.networks.attending import attends
from pinnace.engine.networks.elementwise import can_be
from pinnace.engine.networks.layers import Layer, Reach, Spread
from pinnace.engine.networks.strided import (
    SLICING,
    Strided,
    is_made,
    is_somewhere,
    lies,
    outside_slice,
    reshaped,
    slice_of,
)
from pinnace.graph.graph import constant_of
from pinnace.ops.array.joining import CONCAT_V2, PACK, SPLIT
from pinnace.ops.array.permutations import TRANSPOSE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

_JOINING = frozenset({PACK, CONCAT_V2})
# Contiguous numbers per run from which copying is fast; the most numbers of a result with shorter
# runs.
_FEWEST_TOGETHER, _MOST_ALONE = 8, 1 << 14
# Loops of a copy around contiguous runs.
_LOOPS = 3


def read_part(reader: Reader, _: int, node: Node) -> bool:
    """Whether a slice of a network's value is read in place by all its consumers."""
    x, out = node.inputs[0], node.outputs[0]
    if not is_made(reader, x) or not _is_read_apart(reader, out):
        return False
    found = slice_of(reader, node)
    if found is None:
        return False
    reader.strided[out] = found
    return True


def read_split(reader: Reader, _: int, node: Node) -> bool:
    """Whether all parts of a Split or a SplitV are read in place."""
    x, axis = (1, 0) if node.op is SPLIT else (0, 2)
    at = constant_of(node.inputs[axis])
    if at is None or not is_made(reader, node.inputs[x]):
        return False
    if not all(reader.is_number(value) for value in node.outputs):
        return False
    used = [value for value in node.outputs if reader.is_used(value)]
    if not all(_is_read_apart(reader, value) for value in used):
        return False
    base, first, along = lies(reader, node.inputs[x])
    place = int(at.reshape(())) % len(along)
    for value in node.outputs:
        reader.strided[value] = Strided(base, first, along)
        first += along[place] * reader.sizes[value][place]
    return True


def read_reshaped(reader: Reader, node: Node) -> bool:
    """Whether a reshaped slice is read in place too."""
    x, out = node.inputs[0], node.outputs[0]
    if x not in reader.strided or not _is_read_apart(reader, out):
        return False
    found = reshaped(reader.strided[x], reader.sizes[x], reader.sizes[out])
    if found is None:
        return False
    reader.strided[out] = found
    return True


def read_turned(reader: Reader, node: Node) -> bool:
    """Whether a transpose needs no copy: its consumers read the input with other strides."""
    x, out = node.inputs[0], node.outputs[0]
    order = constant_of(node.inputs[1])
    if order is None or not is_made(reader, x) or not _is_read_apart(reader, out):
        return False
    base, first, along = lies(reader, x)
    reader.strided[out] = Strided(base, first, tuple(along[int(axis)] for axis in order))
    return True


def _is_read_apart(reader: Reader, value: Value) -> bool:
    """Whether all consumers of a value seem to support strides."""
    takers = reader.uses.get(value, ())
    if not takers or value in reader.refused:
        return False
    return all(_reads_apart(reader, place, value) for place in takers)


def _reads_apart(reader: Reader, place: int, value: Value) -> bool:
    if place < 0:
        return False
    node = reader.steps[place].node
    if node.controls or attends(reader, place, value):
        return not node.controls
    out = node.outputs[0]
    if node.op in _JOINING:
        return True
    if node.op in SLICING or node.op is TRANSPOSE or node.op.view == "reshaped":
        return _is_read_apart(reader, out)
    return can_be(node.op)


def destination(reader: Reader, value: Value) -> Strided | None:
    """Offset and strides of a value within the concatenation that it is computed in; None if none.

    Before the concatenation, only attention may read it.
    """
    if value in reader.destinations:
        return reader.destinations[value]
    found = None if value in reader.refused else _destination(reader, value)
    reader.destinations[value] = found
    return found


def _destination(reader: Reader, value: Value) -> Strided | None:
    takers = set(reader.uses.get(value, ()))
    joining = [at for at in takers if at >= 0 and reader.steps[at].node.op in _JOINING]
    if len(joining) != 1 or reader.uses[value].count(joining[0]) != 1:
        return None
    node = reader.steps[joining[0]].node
    if not all(at in joining or attends(reader, at, value) for at in takers):
        return None
    axis = joined_axis(reader, node)
    if axis is None:
        return None
    parts = node.inputs if node.op is PACK else node.inputs[:-1]
    return part_of(reader, node, whole_of(reader, node), axis, list(parts).index(value))


def whole_of(reader: Reader, node: Node) -> Strided:
    """Offset and strides of the result of a concatenation."""
    out = node.outputs[0]
    return destination(reader, out) or Strided(out, 0, lies(reader, out).along)


def joined_axis(reader: Reader, node: Node) -> int | None:
    """The axis of a concatenation; None if it is unknown, or it is not supported."""
    if node.controls or not reader.is_number(node.outputs[0]):
        return None
    rank = len(reader.sizes[node.outputs[0]])
    if node.op is PACK:
        return int(node.attrs["axis"]) % rank
    at = constant_of(node.inputs[-1])
    return None if at is None else int(at.reshape(())) % rank


def part_of(reader: Reader, node: Node, out: Strided, axis: int, number: int) -> Strided:
    """Offset and strides of an input of a concatenation within the result.

    Args:
        reader: the network so far.
        node: the concatenation.
        out: offset and strides of its result.
        axis: the concatenated axis.
        number: index of the input.
    """
    base, first, along = out
    if node.op is PACK:
        return Strided(base, first + number * along[axis], along[:axis] + along[axis + 1 :])
    before = sum(reader.sizes[value][axis] for value in node.inputs[:number])
    return Strided(base, first + before * along[axis], along)


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

    It must be if one of its parts has been computed there. Images are copied instead, so that their
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
    """Copy those inputs of a concatenation that are not in place already; all may be strided."""
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
    """The loops of a copy of a value; None if there are too many, or its runs are too short."""
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
