"""Elementwise steps with broadcast or strided operands as one program.

An example is the masked update of a cache, `cache * (1 - here) + row * here`: the cache has a
matrix per image and head, `here` one number per row, `row` one row for all. The result may be a
part of a concatenation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinnace.engine.codegen import forms
from pinnace.engine.codegen.strides import Loop, contiguous, loops_of
from pinnace.engine.networks import fields
from pinnace.engine.networks.elementwise import Program, can_be, fixed
from pinnace.engine.networks.layers import Layer, Operand, Reach, Spread
from pinnace.engine.networks.parts import destination
from pinnace.engine.networks.strided import (
    Strided,
    is_somewhere,
    lies,
    outside_slice,
    spread_to,
)
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

# Most steps of a program, and most consecutive steps taken from before the network.
_MOST_STEPS, _DEEP = 16, 4
# Fewest numbers of a block, unless there are few numbers in all.
_FEWEST_TOGETHER, _MOST_ALONE = 128, 1 << 12
# Loops around blocks.
_OUTER = 2


def read_spread(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place, with steps before and after it, has become a program."""
    if node.outputs[0] in reader.refused:
        return False
    steps = _Steps(reader, place, reader.sizes[node.outputs[0]])
    if not steps.take(node) or not any(reader.root(value) in reader.made for value in steps.leaves):
        return False
    while (after := _following(reader, steps, node)) is not None:
        node = after
    return _add(reader, steps, node.outputs[0])


def _following(reader: Reader, steps: _Steps, node: Node) -> Node | None:
    """The only consumer of a step's result, if it has become part of the program."""
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
    """The steps of a program as they are found.

    Attributes:
        reader: the network so far.
        place: the place of the first step that uses a value of the network.
        shape: the shape of all results.
        nodes: the nodes of the steps, in order.
        leaves: the tensors they read, with offsets and strides.
        past: values that become unused if only these steps need them.
        fixed: constant inputs.
    """

    reader: Reader
    place: int
    shape: tuple[int, ...]
    nodes: list[Node] = field(default_factory=list)
    leaves: dict[Value, Strided] = field(default_factory=dict)
    past: list[Value] = field(default_factory=list)
    fixed: dict[Value, Operand] = field(default_factory=dict)

    @property
    def places(self) -> list[int]:
        """The places of the steps."""
        return [self.reader.step_places[node] for node in self.nodes]

    def take(self, node: Node, deep: int = 0) -> bool:
        """Add a step; returns whether it was added."""
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
        """Whether an input is computed by another of the steps, is constant, or is available."""
        if value in self.leaves or any(value is one.outputs[0] for one in self.nodes):
            return True
        reader = self.reader
        if reader.is_steady(value):
            found = fixed(reader, value, self.shape[-1])
            if found is not None:
                self.fixed[value] = found
            return found is not None
        return self._takes_before(value, deep) or self._reads(value)

    def _takes_before(self, value: Value, deep: int) -> bool:
        """Add the step that computes a value outside the network, if only these steps use it."""
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
        """Whether the step that computes a value, if any, has been read already."""
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
    """Whether the steps have become a layer."""
    there = destination(reader, out)
    by_itself = Strided(out, 0, contiguous(steps.shape))
    for lying in (there, by_itself):
        arranged = None if lying is None else _arranged(reader, steps, lying)
        if arranged is None or lying is None:
            continue
        layer = _layer(reader, steps, *arranged)
        if layer is None:
            return False
        if lying is there:
            reader.strided[out] = there
            reader.destined.add(out)
        reader.layers.append(layer)
        # Steps before the first place have been read already: they are removed if nothing else
        # uses them.
        reader.passed.update(steps.past, *(node.outputs for node in steps.nodes))
        reader.claim([place for place in steps.places if place > steps.place])
        return True
    return False


def _arranged(
    reader: Reader, steps: _Steps, lying: Strided
) -> tuple[Spread, dict[Value, Operand]] | None:
    """The loops of a program and its operands; None if it has no loops over blocks."""
    along: list[Sequence[int]] = [lying.along]
    for value, found in steps.leaves.items():
        along.append(spread_to(found, reader.sizes[value], steps.shape) or ())
    has_rows = any(not one.by_row for one in steps.fixed.values())
    most = steps.shape[-1] if has_rows else fields.REGISTER_SIZE // 2
    loops = loops_of(steps.shape, along, most)
    *outer, inner = loops
    if inner.steps[0] != 1 or inner.size > fields.REGISTER_SIZE:
        return None
    alone = Loop(1, tuple(inner.size if step else 1 for step in inner.steps))
    choices = [(outer[:-1], outer[-1])] if outer else []
    # Operands by their strides between columns and within them: full, one row for all columns, or
    # one number for each.
    kinds = {(inner.size, 1): ("tensor", False), (0, 1): ("image", False), (1, 0): ("tensor", True)}
    for around, columns in [*choices, (outer, alone)]:
        ways = [kinds.get(one) for one in zip(columns.steps, inner.steps, strict=True)]
        together = columns.size * inner.size
        is_worth_it = together >= _FEWEST_TOGETHER or math.prod(steps.shape) <= _MOST_ALONE
        is_full = ways[0] == ("tensor", False)
        if len(around) > _OUTER or not is_full or None in ways or not is_worth_it:
            continue
        operands = {
            value: Operand(one[0], value, by_row=one[1])
            for value, one in zip(steps.leaves, ways[1:], strict=True)
            if one is not None
        }
        images, rows = [Loop(1, (0,) * len(along))] * (_OUTER - len(around)) + list(around)
        places = zip(images.steps, rows.steps, columns.steps, strict=True)
        values = zip([lying, *steps.leaves.values()], places, strict=True)
        own, *others = (Reach(one.base, one.first, *place) for one, place in values)
        sizes = images.size, rows.size, columns.size, inner.size
        return Spread(sizes, dict(zip(steps.leaves, others, strict=True)), own), operands
    return None


def _layer(
    reader: Reader, steps: _Steps, spread: Spread, operands: Mapping[Value, Operand]
) -> Layer | None:
    first = reader.steps[steps.place].node
    program = Program()
    known = {**operands, **steps.fixed}
    for node in steps.nodes:
        result = program.step(node, [known[value] for value in node.inputs])
        if result is None:
            return None
        known[node.outputs[0]] = result
    lines = program.ended(known[steps.nodes[-1].outputs[0]])
    if lines is None:
        return None
    xs = list(dict.fromkeys(reach.base for reach in spread.reaches.values()))
    out = spread.out.base
    return Layer("PROGRAM", max(steps.places), first, out, xs, program=lines, spread=spread)
