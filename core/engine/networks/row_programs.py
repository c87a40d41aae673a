"""Normalisations as one program: reductions over the last axis and elementwise steps on rows.

Starting from a reduction, elementwise steps are added up to one whose result alone is used outside:
mean, variance and normalised rows never leave the L1 cache.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen import forms
from pinnace.engine.networks import fields
from pinnace.engine.networks.elementwise import MOST_TEMPORARIES, Program, can_be, fixed
from pinnace.engine.networks.layers import Layer, Operand, tensors_of
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.array.constants import FILL

if TYPE_CHECKING:
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

# Reductions that have an instruction, by the op's row reduction.
_REDUCTIONS = {
    ("sum", "{total}"): "ROW_SUM",
    ("sum", "{total} / T(width)"): "ROW_MEAN",
    ("max", "{total}"): "ROW_LARGEST",
}
# Steps considered after a reduction, and the fewest instructions of a program.
_AHEAD, _FEWEST = 48, 3


def read_rows(reader: Reader, place: int, node: Node) -> bool:
    """Whether the reduction at a place, and steps after it, have become a program."""
    x = node.inputs[0]
    shape = reader.shape(x)
    if not shape or not 1 < shape[-1] <= fields.REGISTER_SIZE:
        return False
    rows = _Rows(reader, shape)
    return rows.add(place, node) and rows.grow(place)


def read_fused_norm(reader: Reader, place: int, node: Node) -> bool:
    """Like `read_rows`, for a batch norm that normalises rows: each is a channel of one image.

    Keras 2 writes layer norms this way: [1, rows, width, 1], channels first, with ones and zeros as
    scale and offset, and reshaped back afterwards.
    """
    x, scale, offset = node.inputs[:3]
    takers = reader.uses.get(node.outputs[0], ())
    if not (node.attrs["is_training"] and node.attrs["data_format"] == "NCHW" and len(takers) == 1):
        return False
    if not (_is_filled(scale, 1) and _is_filled(offset, 0)) or takers[0] not in reader.running:
        return False
    (at,) = takers
    after = reader.steps[at].node
    source, out = reader.views.get(x), after.outputs[0] if after.outputs else None
    if source is None or out is None or after.op.view != "reshaped" or after.controls:
        return False
    shape = reader.sizes[source]
    rows, width = math.prod(shape[:-1]), shape[-1]
    if reader.sizes.get(out) != shape or reader.sizes[x] != (1, rows, width, 1):
        return False
    if not 1 < width <= fields.REGISTER_SIZE:
        return False
    program = _Rows(reader, shape)
    program.normalise((place, at), source, out, float(node.attrs["epsilon"]))
    return program.grow(at)


def _is_filled(value: Value, number: int) -> bool:
    """Whether all elements of a value are the same number."""
    array = constant_of(value.node.inputs[1] if value.node.op is FILL else value)
    return array is not None and bool(np.all(array == number))


class _Rows:
    """A program on rows under construction.

    Args:
        reader: the network so far.
        shape: the shape of full tensors; others have one number per row.
    """

    def __init__(self, reader: Reader, shape: tuple[int, ...]) -> None:
        self._reader = reader
        self._wide, self._narrow = shape, (*shape[:-1], 1)
        self._places: list[int] = []
        self._program = Program()
        self._known: dict[Value, Operand] = {}
        # Values computed between the program's steps, possibly from earlier values of the network.
        self._between: set[Value] = set()

    def grow(self, place: int) -> bool:
        """Whether steps after a place complete a program whose last result alone is used."""
        reader = self._reader
        ends = [len(self._places)] if self._is_whole() else []
        for at in range(place + 1, min(len(reader.steps), place + _AHEAD)):
            if at not in reader.running:
                continue
            step = reader.steps[at].node
            if all(map(reader.is_steady, step.outputs)):
                continue
            is_used = any(value in self._known for value in step.inputs)
            if is_used and self.add(at, step):
                if self._is_whole():
                    ends.append(len(self._places))
            elif is_used or any(reader.root(value) in reader.made for value in step.inputs):
                break
            else:  # unrelated to the network, it stays in the plan
                self._between.update(step.outputs)
        return bool(ends) and self._finish(ends[-1])

    def add(self, place: int, node: Node) -> bool:
        """Whether the step has become part of the program."""
        if node.controls or len(node.outputs) != 1 or not self._reader.is_number(node.outputs[0]):
            return False
        before = len(self._program.lines)
        made = self._reduced(node) if node.op.fuse_row is not None else self._computed(node)
        if made is None or len(self._program.lines) > MOST_TEMPORARIES:
            del self._program.lines[before:]
            return False
        self._known[node.outputs[0]] = made
        self._places.append(place)
        return True

    def normalise(self, places: tuple[int, int], x: Value, out: Value, epsilon: float) -> None:
        """Normalise each row of x, in place of two steps, of which the second is a reshape."""
        emit = self._program.emit
        given = Operand("tensor", x)
        apart = emit("SUBTRACT", given, emit("ROW_MEAN", given))
        variance = emit("ROW_MEAN", emit("MULTIPLY", apart, apart))
        root = emit("ROOT", emit("ADD", variance, Operand("number", None, epsilon)))
        self._known[out] = emit("DIVIDE", apart, root)
        self._places += places

    def _is_whole(self) -> bool:
        """Whether only the last result, with full rows, is used elsewhere."""
        steps, inside = self._reader.steps, set(self._places)
        made = [steps[place].node.outputs[0] for place in self._places]
        *others, last = [value for value in made if value in self._known]
        if self._known[last].by_row or self._known[last].kind != "temporary":
            return False
        return self._reader.is_used(last) and all(
            set(self._reader.uses.get(value, ())) <= inside for value in others
        )

    def _finish(self, count: int) -> bool:
        """Whether the first `count` steps have become a layer."""
        places = self._places[:count]
        reader = self._reader
        out = reader.steps[places[-1]].node.outputs[0]
        lines = self._program.ended(self._known[out])
        if lines is None or len(lines) < _FEWEST:
            return False
        node = reader.steps[places[0]].node
        reader.claim(places[1:])
        xs = tensors_of(lines)
        return reader.add(Layer("PROGRAM", places[-1], node, out, xs, program=lines))

    def _reduced(self, node: Node) -> Operand | None:
        what = _REDUCTIONS.get(node.op.fuse_row or ("", ""))
        if what is None or forms.reduced_axes(node, self._wide) != len(self._wide) - 1:
            return None
        x = self._operand(node.inputs[0], self._wide)
        return None if x is None or x.by_row else self._program.emit(what, x)

    def _computed(self, node: Node) -> Operand | None:
        out = self._reader.sizes[node.outputs[0]]
        if out not in (self._wide, self._narrow) or not can_be(node.op):
            return None
        operands = [self._operand(value, out) for value in node.inputs]
        if any(one is None for one in operands):
            return None
        made = self._program.step(node, [one for one in operands if one is not None])
        return None if made is None or made.by_row != (out == self._narrow) else made

    def _operand(self, value: Value, out: tuple[int, ...]) -> Operand | None:
        """The operand of an input; None if it is unavailable, or has rows of another shape."""
        known = self._known.get(value)
        if known is not None:
            return known
        shape = self._reader.shape(value)
        if shape is None or value.dtype is not dtypes.float32:
            return None
        if self._reader.is_steady(value):
            found = fixed(self._reader, value, self._wide[-1])
            return found if found is None or found.by_row or out == self._wide else None
        if value in self._between or not self._reader.is_moving(value):
            return None
        if shape not in (self._wide, self._narrow):
            return None
        return Operand("tensor", value, by_row=shape == self._narrow)
