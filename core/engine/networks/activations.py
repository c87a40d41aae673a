"""Elementwise programs that are activations of a product: they become its epilogue.

Rectifiers are single ops, with rules in `rules`; hard swish and SiLU are several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.networks import fields
from pinnace.engine.networks.layers import Operand
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pinnace.engine.networks.layers import Instruction, Layer
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Value

# x * (relu6(x + 3) / 6), as instructions.
_GATES = [["ADD", "LARGER", "SMALLER", last, "MULTIPLY"] for last in ("DIVIDE", "MULTIPLY")]
_SIXTH = 1 / 6
# Activations that have an instruction.
_CURVES = {"SIGMOID": fields.SIGMOID, "TANH": fields.TANH}


def read_activation(reader: Reader, program: Layer) -> bool:
    """Whether a program has become the activation of the product before it.

    Args:
        reader: the network so far, without the program.
        program: the layer.
    """
    if len(program.xs) != 1:
        return False
    (x,) = program.xs
    layer = reader.by.get(x)
    if layer is None or layer.out is not x or not layer.is_product:
        return False
    mode = _mode(program.program, x)
    # All consumers of x are steps of the program.
    times = sum(one.operands.count(Operand("tensor", x)) for one in program.program)
    if not mode or layer.mode & fields.ACTIVATION or len(reader.uses[x]) != times:
        return False
    layer.mode |= mode
    return reader.extend(layer, program.place, x, program.out)


def _mode(program: Sequence[Instruction], x: Value) -> int:
    """The activation of a program as a bit of a tile's mode; 0 if tiles do not have it."""
    names = [one.what for one in program]
    if len(program) == 1 and program[0].operands == (Operand("tensor", x),):
        return _CURVES.get(names[0], 0)
    if names in _GATES and _is_gate(program, x):
        return fields.GATE | (fields.SIXTHS if names[3] == "DIVIDE" else 0)
    return fields.SILU if _is_silu(program, x) else 0


def _is_gate(program: Sequence[Instruction], x: Value) -> bool:
    add, larger, smaller, part, times = (set(one.operands) for one in program)
    made = [Operand("temporary", None, one.to) for one in program]
    wanted = [
        (add, Operand("tensor", x), 3.0),
        (larger, made[0], 0.0),
        (smaller, made[1], 6.0),
        (part, made[2], 6.0 if program[3].what == "DIVIDE" else _SIXTH),
    ]
    if any(given != {value, *_alike(given, number)} for given, value, number in wanted):
        return False
    return times == {Operand("tensor", x), made[3]}


def _is_silu(program: Sequence[Instruction], x: Value) -> bool:
    """x * sigmoid(x), or x * sigmoid(beta * x) with a beta of 1."""
    given = Operand("tensor", x)
    names = [one.what for one in program]
    inside = given
    if names == ["MULTIPLY", "SIGMOID", "MULTIPLY"]:
        first, *program = program
        operands = set(first.operands)
        if operands != {given, *_alike(operands, 1.0)}:
            return False
        inside = Operand("temporary", None, first.to)
    elif names != ["SIGMOID", "MULTIPLY"]:
        return False
    sigmoid, times = program
    part = Operand("temporary", None, sigmoid.to)
    return sigmoid.operands == (inside,) and set(times.operands) == {given, part}


def _alike(operands: Collection[Operand], number: float) -> list[Operand]:
    """The operands that are this float32 number."""
    found = []
    for one in operands:
        array = np.float32(one.number) if one.kind == "number" else None
        if one.kind == "steady" and one.value is not None:
            array = constant_of(one.value)  # type: ignore[assignment]
        if array is not None and np.size(array) == 1 and np.float32(array) == np.float32(number):
            found.append(one)
    return found
