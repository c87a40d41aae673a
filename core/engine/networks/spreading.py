"""Elementwise steps on values of several shapes, wherever they lie, as one program.

A row that a mask puts into a cache, `cache * (1 - here) + row * here`, is such: for each image and
head the cache has a whole matrix, `here` a number for each of its rows, and `row` one row for all.
What is made may be a part of what is joined later.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.codegen import forms
from pinnace.engine.networks import fields
from pinnace.engine.networks.expressions import can_be, instructions_of
from pinnace.engine.networks.layers import (
    Instruction,
    Layer,
    Operand,
    Reach,
    Spread,
    most_alive,
)
from pinnace.engine.networks.parts import destination
from pinnace.engine.networks.strided import (
    Loop,
    Strided,
    contiguous,
    is_somewhere,
    lies,
    loops_of,
    numbers_of,
    outside_slice,
    spread_to,
)
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

# Steps of a program, and how many of them one after another may be taken from before the network.
_MOST_STEPS, _DEEP = 16, 4
# Numbers of a block that are worth an instruction each, unless there are few in all.
_FEWEST_TOGETHER, _MOST_ALONE = 128, 1 << 12
# Loops around blocks.
_OUTER = 2


def read_spread(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place is a program now, with steps that only it takes and behind it."""
    if node.outputs[0] in reader.refused:
        return False
    steps = _Steps(reader, place, reader.sizes[node.outputs[0]])
    if not steps.take(node) or not steps.has_made:
        return False
    while (after := _following(reader, steps, node)) is not None:
        node = after
    return _add(reader, steps, node.outputs[0])


def _following(reader: Reader, steps: _Steps, node: Node) -> Node | None:
    """The step that alone takes what a step makes, if it is taken now."""
    takers = reader.uses.get(node.outputs[0], ())
    if len(takers) != 1 or takers[0] < 0:
        return None
    after = reader.steps[takers[0]].node
    if reader.is_barred(range(steps.place, takers[0])):
        return None
    if reader.sizes.get(after.outputs[0]) != steps.shape or not steps.take(after):
        return None
    return after


@dataclass
class _Steps:
    """The steps of a program, as they are found.

    Attributes:
        reader: the network so far.
        place: of the first one that takes what the network makes.
        shape: of what all make.
        nodes: in their order.
        leaves: what they take, and where it lies.
        past: values that nothing makes any more if only these steps want them.
        has_rows: whether something steady has one number for each of the last axis.
    """

    reader: Reader
    place: int
    shape: tuple[int, ...]
    nodes: list[Node] = field(default_factory=list)
    leaves: dict[Value, Strided] = field(default_factory=dict)
    past: list[Value] = field(default_factory=list)
    has_rows: bool = False

    @property
    def places(self) -> list[int]:
        """Of the steps."""
        return [self.reader.step_places[node] for node in self.nodes]

    @property
    def has_made(self) -> bool:
        """Whether they take something that the network makes."""
        return any(self.reader.root(value) in self.reader.made for value in self.leaves)

    def take(self, node: Node, deep: int = 0) -> bool:
        """Whether a step is one of them now; if not, nothing has changed."""
        state = len(self.nodes), dict(self.leaves), len(self.past)
        fits = (
            deep <= _DEEP and len(self.nodes) < _MOST_STEPS and _is_elementwise(self.reader, node)
        )
        if fits and all(self._finds(value, deep) for value in node.inputs):
            self.nodes.append(node)
            return True
        count, self.leaves, past = state
        del self.nodes[count:], self.past[past:]
        return False

    def _finds(self, value: Value, deep: int) -> bool:
        """Whether an input is made by another of the steps, or lies somewhere."""
        if value in self.leaves or any(value is one.outputs[0] for one in self.nodes):
            return True
        reader = self.reader
        if reader.is_steady(value):
            return self._is_fixed(reader.shape(value))
        return self._takes_before(value, deep) or self._reads(value)

    def _is_fixed(self, shape: tuple[int, ...] | None) -> bool:
        """Whether what is steady is one number, or one for each of the last axis."""
        if shape is None or math.prod(shape) == 1:
            return shape is not None
        self.has_rows = True
        return bool(shape[-1] == math.prod(shape) == self.shape[-1])

    def _takes_before(self, value: Value, deep: int) -> bool:
        """Whether what makes it is none of the network's so far, and wanted by these alone."""
        reader = self.reader
        if value in reader.made or reader.sizes.get(value) != self.shape or not value.node.inputs:
            return False
        if not reader.may_pass(value.node) or len(reader.uses.get(value, ())) != 1:
            return False
        return self.take(value.node, deep + 1)

    def _reads(self, value: Value) -> bool:
        reader = self.reader
        if not reader.is_number(value):
            return False
        found = outside_slice(reader, value)
        if found is not None and self._is_there(found.base):
            self.past.append(value)
        elif is_somewhere(reader, value) and self._is_there(value):
            found = lies(reader, value)
        else:
            return False
        if spread_to(found, reader.sizes[value], self.shape) is None:
            return False
        self.leaves[value] = found
        return True

    def _is_there(self, value: Value) -> bool:
        """Whether what becomes of the step that makes it, if any, is known by now."""
        return self.reader.step_places.get(value.node, -1) < self.place


def _is_elementwise(reader: Reader, node: Node) -> bool:
    return (
        can_be(node.op)
        and forms.template(node) is not None
        and not node.controls
        and len(node.outputs) == 1
        and reader.is_number(node.outputs[0])
        and all(value.dtype is dtypes.float32 for value in node.inputs)
    )


def _add(reader: Reader, steps: _Steps, out: Value) -> bool:
    """Whether the steps are a layer of the network now."""
    there = destination(reader, out)
    by_itself = Strided(out, 0, contiguous(steps.shape))
    for lying in (there, by_itself):
        arranged = None if lying is None else _arranged(reader, steps, lying)
        if arranged is None or lying is None:
            continue
        layer = _layer(reader, steps, lying, arranged)
        if layer is None:
            return False
        if lying is there:
            reader.strided[out] = there
            reader.destined.add(out)
        reader.layers.append(layer)
        # Those before the first one had their turn: they go where nothing else wants them.
        reader.passed.update(steps.past, *(node.outputs for node in steps.nodes))
        reader.claim([place for place in steps.places if place > steps.place])
        return True
    return False


class _Arranged(NamedTuple):
    """How blocks go over values: sizes of the loops, operands, and where those lie.

    Attributes:
        sizes: images, rows, columns and width.
        operands: for each leaf.
        steps: numbers from image to image, row to row, column to column, of each leaf and, first of
            all, the result.
    """

    sizes: tuple[int, int, int, int]
    operands: dict[Value, Operand]
    steps: list[tuple[int, int, int]]


def _arranged(reader: Reader, steps: _Steps, lying: Strided) -> _Arranged | None:
    along: list[Sequence[int]] = [lying.along]
    for value, found in steps.leaves.items():
        along.append(spread_to(found, reader.sizes[value], steps.shape) or ())
    most = steps.shape[-1] if steps.has_rows else fields.REGISTER_SIZE // 2
    loops = loops_of(steps.shape, along, most)
    *outer, inner = loops
    if inner.steps[0] != 1 or inner.size > fields.REGISTER_SIZE:
        return None
    alone = Loop(1, tuple(inner.size if step else 1 for step in inner.steps))
    choices = [(outer[:-1], outer[-1])] if outer else []
    for around, columns in [*choices, (outer, alone)]:
        kinds = [
            _kind(column, step, inner.size)
            for column, step in zip(columns.steps, inner.steps, strict=True)
        ]
        together = columns.size * inner.size
        is_worth_it = together >= _FEWEST_TOGETHER or numbers_of(loops) <= _MOST_ALONE
        if len(around) > _OUTER or kinds[0] != "tensor" or None in kinds or not is_worth_it:
            continue
        around = [Loop(1, (0,) * len(along))] * (_OUTER - len(around)) + list(around)
        operands = {
            value: Operand("tensor", value, by_row=True)
            if kind == "by row"
            else Operand(str(kind), value)
            for value, kind in zip(steps.leaves, kinds[1:], strict=True)
        }
        places = zip(around[0].steps, around[1].steps, columns.steps, strict=True)
        sizes = around[0].size, around[1].size, columns.size, inner.size
        return _Arranged(sizes, operands, list(places))
    return None


def _kind(column: int, step: int, width: int) -> str | None:
    """What a block has of an operand: all its numbers, one row for all rows, or one for each."""
    kinds = {(width, 1): "tensor", (0, 1): "image", (1, 0): "by row"}
    return kinds.get((column, step))


def _fixed(reader: Reader, value: Value) -> Operand:
    """What is steady: a number, which is each row's, or a row."""
    return Operand("steady", value, by_row=math.prod(reader.shape(value) or ()) == 1)


def _layer(reader: Reader, steps: _Steps, lying: Strided, arranged: _Arranged) -> Layer | None:
    first = reader.steps[steps.place].node
    layer = Layer("PROGRAM", max(steps.places), first, lying.base, [])

    def temporary() -> int:
        layer.temporaries += 1
        return layer.temporaries - 1

    known = dict(arranged.operands)
    for node in steps.nodes:
        given = [known.get(value) or _fixed(reader, value) for value in node.inputs]
        made = instructions_of(node, given, temporary)
        if made is None:
            return None
        instructions, result = made
        layer.program += instructions
        known[node.outputs[0]] = result
    if result.kind != "temporary" or layer.program[-1].to != result.number:
        layer.program.append(Instruction("SAME", temporary(), (result,)))
    if most_alive(layer.program) >= fields.REGISTERS:
        return None
    own, *others = arranged.steps
    reaches = {
        value: Reach(found.base, found.first, *step)
        for (value, found), step in zip(steps.leaves.items(), others, strict=True)
    }
    layer.spread = Spread(arranged.sizes, reaches, Reach(lying.base, lying.first, *own))
    layer.xs = list(dict.fromkeys(reach.base for reach in reaches.values()))
    return layer
