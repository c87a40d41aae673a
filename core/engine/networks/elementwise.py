"""Elementwise steps as programs: instructions on blocks of numbers, from the ops' expressions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.codegen import forms
from pinnace.engine.codegen.cluster_numbers import Translator
from pinnace.engine.networks import fields
from pinnace.engine.networks.activations import read_activation
from pinnace.engine.networks.layers import Instruction, Layer, Operand, most_alive, tensors_of
from pinnace.framework import dtypes
from pinnace.ops.nn.depthwise import DEPTHWISE_CONV2D
from pinnace.ops.nn.rectifiers import LEAKY_RELU
from pinnace.ops.nn.spatial_convolutions import CONV2D, CONV3D

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.opdef import OpDef

# Ops that read images if their second input is constant, and the most elementwise steps between.
_OF_IMAGES = frozenset({CONV2D, CONV3D, DEPTHWISE_CONV2D})
_AHEAD = 8

# Most temporaries of a program; its registers limit those that are live at once.
MOST_TEMPORARIES = 64


def can_be(op: OpDef) -> bool:
    """Whether an op may have instructions."""
    return op.fuse is not None or op is LEAKY_RELU


def fixed(reader: Reader, value: Value, width: int) -> Operand | None:
    """A constant operand: one number, or one per channel; None if it is neither."""
    shape = reader.shape(value)
    if shape is None or (math.prod(shape) != 1 and not shape[-1] == math.prod(shape) == width):
        return None
    return Operand("steady", value, by_row=math.prod(shape) == 1)


class Program(Translator[Operand]):
    """The instructions of a layer while it is read.

    Attributes:
        lines: the instructions so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Instruction] = []

    def emit(self, what: str, *operands: Operand) -> Operand:
        """Add an instruction; returns the operand of its result."""
        reduces = what.startswith("ROW_")
        # An operand that is a single number fits both kinds of blocks.
        by_row = any(one.by_row for one in operands) and all(
            one.by_row or one.kind == "number" for one in operands
        )
        self.lines.append(Instruction(what, operands, by_row))
        return Operand("temporary", by_row=by_row or reduces, made=self.lines[-1])

    def step(self, node: Node, operands: Sequence[Operand]) -> Operand | None:
        """Add an elementwise step on float32; returns the operand of its result.

        Without a simple expression, it returns None and adds nothing.
        """
        if node.op is LEAKY_RELU and forms.is_float(node):
            (x,), alpha = operands, float(node.attrs["alpha"])
            if alpha > 1:
                return None
            return self.emit("LARGER", x, self.emit("MULTIPLY", x, Operand("number", None, alpha)))
        if forms.template(node) is None:
            return None
        before = len(self.lines)
        self._found.clear()  # results of other steps
        try:
            return self._computed(node, operands)
        except NotImplementedError:
            del self.lines[before:]
            return None

    def _number(self, number: float) -> Operand:
        return Operand("number", None, number)

    def _new(self, what: str, uses: list[Operand]) -> Operand:
        if what not in fields.OPERATION:
            raise NotImplementedError(what)
        return self.emit(what, *uses)

    def append(self, lines: Sequence[Instruction]) -> Operand:
        """Add another program's instructions; returns the operand of their result."""
        self.lines += lines
        return Operand("temporary", made=lines[-1])

    def ended(self, result: Operand) -> list[Instruction] | None:
        """The instructions up to a result; None if they need more registers than there are."""
        if result.made is None:
            lines = [*self.lines, Instruction("SAME", (result,))]
        else:
            lines = self.lines[: self.lines.index(result.made) + 1]
        return lines if most_alive(lines) < fields.REGISTERS else None


def read_elementwise(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place has become part of a program, with steps used only by it."""
    out = node.outputs[0]
    operands = [_operand(reader, value, out) for value in node.inputs]
    if not _is_worth_it(reader, node) or any(one is None for one in operands):
        return False
    before = {
        layer: None
        for layer in map(reader.open, node.inputs)
        if layer is not None
        and layer.kind == "PROGRAM"
        and reader.sizes[layer.out] == reader.sizes[out]
    }
    merged = Program()
    results = {layer.out: merged.append(layer.program) for layer in before}
    given = [results.get(one.value, one) for one in operands if one is not None]  # type: ignore[arg-type]  # a value or None
    result = merged.step(node, given)
    if result is None or len(merged.lines) > MOST_TEMPORARIES:
        return False
    lines = merged.ended(result)
    if lines is None:
        return False
    for layer in before:
        reader.layers.remove(layer)
        del reader.by[layer.out]
    made = Layer("PROGRAM", place, node, out, tensors_of(lines), program=lines)
    return read_activation(reader, made) or reader.add(made)


def _is_worth_it(reader: Reader, node: Node) -> bool:
    """Whether an elementwise step is next to a layer: a step alone gains nothing."""
    if not all(value.dtype is dtypes.float32 for value in node.inputs):
        return False
    out = node.outputs[0]
    if reader.sizes[out][-1] > fields.REGISTER_SIZE:
        return False
    made = any(reader.root(value) in reader.made for value in node.inputs)
    return made or is_for_windows(reader, out)


def is_for_windows(reader: Reader, value: Value) -> bool:
    """Whether one step reads a value as images, directly or through elementwise steps.

    Args:
        reader: the network so far.
        value: the result of a step.
    """
    for _ in range(_AHEAD):
        takers = reader.uses.get(value, ())
        if len(takers) != 1 or takers[0] not in reader.running:
            return False
        node = reader.steps[takers[0]].node
        if node.op in _OF_IMAGES or is_resize(node.op):
            return node.inputs[0] is value and reader.is_steady(node.inputs[1])
        if not can_be(node.op) or len(node.outputs) != 1:
            return False
        value = node.outputs[0]
    return False


def is_resize(op: OpDef) -> bool:
    """Whether an op resizes images in a way that networks support."""
    if not op.name.startswith("Resize"):
        return False
    # The image ops are loaded if a step is one of them; other programs do without them.
    from pinnace.ops.image.resizing import RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR

    return op in {RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR}


def _operand(reader: Reader, value: Value, out: Value) -> Operand | None:
    shape, wanted = reader.shape(value), reader.sizes[out]
    if shape is None:
        return None
    if reader.is_steady(value):
        return fixed(reader, value, wanted[-1])
    if not reader.is_moving(value):
        return None
    if shape == wanted:
        return Operand("tensor", value)
    if len(wanted) > 1 and shape[-1] == wanted[-1] == math.prod(shape):
        return Operand("channels", value)
    if len(wanted) == 4 and shape == (wanted[0], 1, 1, wanted[3]):
        return Operand("image", value)
    return None
