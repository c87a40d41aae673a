"""Slices that are read in place, and values computed in place as parts of a concatenation.

A decoder's queries, keys and values are slices of one product; its past keys and values are slices
of a cache, and the new ones are packed into a cache again. None of these slices is copied if all
its consumers, and its producer, support strides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.networks.attending import attends
from pinnace.engine.networks.elementwise import can_be
from pinnace.engine.networks.strided import (
    SLICING,
    Strided,
    is_made,
    lies,
    reshaped,
    slice_of,
)
from pinnace.graph.graph import constant_of
from pinnace.ops.array.joining import CONCAT_V2, PACK, SPLIT
from pinnace.ops.array.permutations import TRANSPOSE

if TYPE_CHECKING:
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

_JOINING = frozenset({PACK, CONCAT_V2})


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
    """The same for all parts of a Split or a SplitV."""
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
    """Where a value is computed in place if one step concatenates it; None if it is separate.

    Only attention may read it before that.
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
    """Where the result of a concatenation is."""
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
    """Where one of the inputs of a concatenation is.

    Args:
        reader: the network so far.
        node: the step's.
        out: where its result is.
        axis: of the concatenation.
        number: index of the input.
    """
    base, first, along = out
    if node.op is PACK:
        return Strided(base, first + number * along[axis], along[:axis] + along[axis + 1 :])
    before = sum(reader.sizes[value][axis] for value in node.inputs[:number])
    return Strided(base, first + before * along[axis], along)
