"""Elementwise steps as instructions on blocks of numbers, by the expressions of their ops."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pinnace.engine.codegen import forms
from pinnace.engine.codegen.cluster_numbers import step_of
from pinnace.engine.networks import fields
from pinnace.engine.networks.layers import Instruction, Operand, most_alive
from pinnace.framework.parsing import parsed
from pinnace.ops.nn.rectifiers import LEAKY_RELU

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.graph.graph import Node
    from pinnace.ops.opdef import OpDef


# Most temporaries of a program; its registers limit those that are live at once.
MOST_TEMPORARIES = 64


def can_be(op: OpDef) -> bool:
    """Whether an op may have instructions."""
    return op.fuse is not None or op is LEAKY_RELU


class Program:
    """The instructions of a layer while it is read.

    Attributes:
        lines: so far.
    """

    def __init__(self) -> None:
        self.lines: list[Instruction] = []
        self._temporaries = 0
        # Results of a step's subexpressions.
        self._found: dict[tuple[str, tuple[Operand, ...]], Operand] = {}

    def emit(self, what: str, *operands: Operand) -> Operand:
        """Add an instruction; the operand of its result."""
        reduces = what.startswith("ROW_")
        # Single numbers do not decide whether it is by row.
        by_row = any(one.by_row for one in operands) and all(
            one.by_row or one.kind == "number" for one in operands
        )
        self.lines.append(Instruction(what, self._temporaries, operands, by_row))
        self._temporaries += 1
        return Operand("temporary", None, self._temporaries - 1, by_row or reduces)

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
        known = {f"x{number}": one for number, one in enumerate(operands)}
        tree = parsed(forms.written(node, list(known)), "eval").body
        before = len(self.lines)
        self._found.clear()
        try:
            return self._walk(tree, known)
        except NotImplementedError:
            del self.lines[before:]
            return None

    def _walk(self, tree: ast.expr, known: Mapping[str, Operand]) -> Operand:
        """The operand of a subexpression's result."""
        match tree:
            case ast.Name(id=name):
                return known[name]
            case ast.Call(func=ast.Name(id="T"), args=[number]):
                return Operand("number", None, float(ast.literal_eval(number)))
        what, parts = step_of(tree)
        if what not in fields.OPERATION:
            raise NotImplementedError(what)
        key = what, tuple(self._walk(one, known) for one in parts)
        if key not in self._found:
            self._found[key] = self.emit(what, *key[1])
        return self._found[key]

    def append(self, lines: Sequence[Instruction]) -> Operand:
        """Add those of another program; the operand of its result."""
        shift = self._temporaries
        for one in lines:
            operands = tuple(
                given._replace(number=given.number + shift) if given.kind == "temporary" else given
                for given in one.operands
            )
            self.lines.append(one._replace(to=one.to + shift, operands=operands))
            self._temporaries = max(self._temporaries, one.to + shift + 1)
        return Operand("temporary", None, self.lines[-1].to)

    def ended(self, result: Operand, count: int | None = None) -> list[Instruction] | None:
        """The instructions of a layer; None if it needs more registers than there are.

        Args:
            result: what is computed last.
            count: instructions that belong to it.
        """
        lines = self.lines[:count]
        if result.kind != "temporary" or lines[-1].to != result.number:
            lines.append(Instruction("SAME", self._temporaries, (result,)))
        return lines if most_alive(lines) < fields.REGISTERS else None
