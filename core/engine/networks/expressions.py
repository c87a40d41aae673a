"""The scalar expression of an op as instructions on blocks of numbers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pinnace.engine.codegen import forms
from pinnace.engine.networks.layers import Instruction, Operand
from pinnace.framework.parsing import parsed
from pinnace.ops.nn.rectifiers import LEAKY_RELU

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.graph.graph import Node
    from pinnace.ops.opdef import OpDef

_BINARY: dict[type, str] = {
    ast.Add: "ADD",
    ast.Sub: "SUBTRACT",
    ast.Mult: "MULTIPLY",
    ast.Div: "DIVIDE",
}
_CALLS = {
    "maximum": "LARGER",
    "minimum": "SMALLER",
    "abs": "ABSOLUTE",
    "sqrt": "ROOT",
    "exp": "EXP",
    "expm1": "EXPM1",
    "tanh": "TANH",
    "erf": "ERF",
    "erfc": "ERFC",
    "sigmoid": "SIGMOID",
}


class _UnsupportedError(Exception):
    """Part of an expression that no instruction computes."""


class _Compilation:
    """An expression being compiled.

    Args:
        known: operands by name.
        temporary: allocates a new one.
    """

    def __init__(self, known: dict[str, Operand], temporary: Callable[[], int]) -> None:
        self.made: list[Instruction] = []
        # Results of common subexpressions.
        self._found: dict[tuple[str, tuple[Operand, ...]], Operand] = {}
        self._known = known
        self._temporary = temporary

    def emit(self, what: str, *operands: Operand) -> Operand:
        """Add an instruction, unless it exists; the operand of its result."""
        key = what, operands
        if key in self._found:
            return self._found[key]
        to = self._temporary()
        # Single numbers do not decide whether it is by row.
        by_row = any(one.by_row for one in operands) and all(
            one.by_row or one.kind == "number" for one in operands
        )
        self.made.append(Instruction(what, to, operands, by_row))
        found = self._found[key] = Operand("temporary", None, to, by_row)
        return found

    def walk(self, tree: ast.expr) -> Operand:
        """The operand of a subexpression's result."""
        match tree:
            case ast.Name(id=name) if name in self._known:
                return self._known[name]
            case ast.Call(func=ast.Name(id="T"), args=[number]):
                return Operand("number", None, float(ast.literal_eval(number)))
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in _CALLS:
                return self.emit(_CALLS[name], *map(self.walk, arguments))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self.emit(_BINARY[type(op)], self.walk(left), self.walk(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.emit("NEGATIVE", self.walk(operand))
        raise _UnsupportedError


def can_be(op: OpDef) -> bool:
    """Whether an op may have instructions."""
    return op.fuse is not None or op is LEAKY_RELU


def _leaky(
    node: Node, compilation: _Compilation, x: Operand
) -> tuple[list[Instruction], Operand] | None:
    """Leaky ReLU, max(x, alpha x), with the op's attribute alpha."""
    alpha = float(node.attrs["alpha"])
    if alpha > 1:
        return None
    share = compilation.emit("MULTIPLY", x, Operand("number", None, alpha))
    return compilation.made, compilation.emit("LARGER", x, share)


def instructions_of(
    node: Node, operands: Sequence[Operand], temporary: Callable[[], int]
) -> tuple[list[Instruction], Operand] | None:
    """An op's instructions, and the operand of its result; None without a simple expression.

    Args:
        node: an elementwise op of float32.
        operands: its inputs.
        temporary: allocates a new one.
    """
    if node.op is LEAKY_RELU and forms.is_float(node):
        return _leaky(node, _Compilation({}, temporary), operands[0])
    if forms.template(node) is None:
        return None
    names = [f"x{number}" for number in range(len(operands))]
    text = forms.written(node, names)
    compilation = _Compilation(dict(zip(names, operands, strict=True)), temporary)
    try:
        result = compilation.walk(parsed(text, "eval").body)
    except _UnsupportedError:
        return None
    return compilation.made, result
