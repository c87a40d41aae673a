"""Elementwise steps as instructions on blocks of numbers, by the expressions of their ops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.codegen import forms
from pinnace.engine.codegen.cluster_numbers import Translator
from pinnace.engine.networks import fields
from pinnace.engine.networks.layers import Instruction, Operand, most_alive
from pinnace.ops.nn.rectifiers import LEAKY_RELU

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.opdef import OpDef


# Most temporaries of a program; its registers limit those that are live at once.
MOST_TEMPORARIES = 64


def can_be(op: OpDef) -> bool:
    """Whether an op may have instructions."""
    return op.fuse is not None or op is LEAKY_RELU


def fixed(reader: Reader, value: Value, width: int) -> Operand | None:
    """A constant operand: one number, or one for each of these channels; None if it is neither."""
    shape = reader.shape(value)
    if shape is None or (math.prod(shape) != 1 and not shape[-1] == math.prod(shape) == width):
        return None
    return Operand("steady", value, by_row=math.prod(shape) == 1)


class Program(Translator[Operand]):
    """The instructions of a layer while it is read.

    Attributes:
        lines: so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Instruction] = []

    def emit(self, what: str, *operands: Operand) -> Operand:
        """Add an instruction; the operand of its result."""
        reduces = what.startswith("ROW_")
        # Single numbers do not decide whether it is by row.
        by_row = any(one.by_row for one in operands) and all(
            one.by_row or one.kind == "number" for one in operands
        )
        self.lines.append(Instruction(what, operands, by_row))
        return Operand("temporary", by_row=by_row or reduces, made=self.lines[-1])

    def step(self, node: Node, operands: Sequence[Operand]) -> Operand | None:
        """Add an elementwise step on float32; the operand of its result.

        None, and nothing is added, if it has no simple expression.
        """
        if node.op is LEAKY_RELU and forms.is_float(node):
            (x,), alpha = operands, float(node.attrs["alpha"])
            if alpha > 1:
                return None
            return self.emit("LARGER", x, self.emit("MULTIPLY", x, Operand("number", None, alpha)))
        if forms.template(node) is None:
            return None
        before = len(self.lines)
        self._found.clear()  # of other steps
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
        """Add those of another program; the operand of its result."""
        self.lines += lines
        return Operand("temporary", made=lines[-1])

    def ended(self, result: Operand, count: int | None = None) -> list[Instruction] | None:
        """The instructions of a layer; None if it needs more registers than there are.

        Args:
            result: what is computed last.
            count: instructions that belong to it.
        """
        lines = self.lines[:count]
        if result.made is None or result.made is not lines[-1]:
            lines.append(Instruction("SAME", (result,)))
        return lines if most_alive(lines) < fields.REGISTERS else None
