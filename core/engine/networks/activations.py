"""Elementwise programs that are activations of a product: they become its epilogue.

Rectifiers are single ops, with rules in `rules`; hard swish, SiLU and GELU are several.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.engine.networks import fields
from pinnace.engine.networks.layers import Operand
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.layers import Instruction, Layer
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

# An operand in a pattern: x, the index of an earlier instruction, or a number.
_Read: TypeAlias = "str | int | float"


def _gate(*part: _Read) -> tuple[tuple[_Read, ...], ...]:
    """The pattern of x * (relu6(x + 3) / 6), given the instruction that divides by 6."""
    limited = ("ADD", "x", 3.0), ("LARGER", 0, 0.0), ("SMALLER", 1, 6.0)
    return *limited, part, ("MULTIPLY", "x", 3)


def _by_error_function(*part: tuple[_Read, ...]) -> tuple[tuple[_Read, ...], ...]:
    """The pattern of (x / 2) * (1 + erf(x / √2)), given the instruction that divides by √2."""
    return ("MULTIPLY", "x", 0.5), *part, ("ERF", 1), ("ADD", 2, 1.0), ("MULTIPLY", 0, 3)


def _by_tanh(slope: float) -> list[tuple[tuple[_Read, ...], ...]]:
    """The patterns of x / 2 * (1 + tanh(slope * (x + 0.044715 x³))); x is halved first or last."""

    def inner(first: int) -> tuple[tuple[_Read, ...], ...]:
        cube = ("MULTIPLY", "x", "x"), ("MULTIPLY", first, "x"), ("MULTIPLY", first + 1, 0.044715)
        scaled = ("ADD", first + 2, "x"), ("MULTIPLY", first + 3, slope)
        return *cube, *scaled, ("TANH", first + 4), ("ADD", first + 5, 1.0)

    return [
        (("MULTIPLY", "x", 0.5), *inner(1), ("MULTIPLY", 0, 7)),
        (*inner(0), ("MULTIPLY", 6, 0.5), ("MULTIPLY", 7, "x")),
    ]


# √(2 / π), rounded once, and computed from float32 numbers.
_SLOPES = (math.sqrt(2 / math.pi), float(np.sqrt(np.float32(2 / math.pi))))
# The programs that tiles compute as activations, and their bits of the mode.
_MODES = {
    (("SIGMOID", "x"),): fields.SIGMOID,
    (("TANH", "x"),): fields.TANH,
    (("SIGMOID", "x"), ("MULTIPLY", "x", 0)): fields.SILU,
    (("MULTIPLY", "x", 1.0), ("SIGMOID", 0), ("MULTIPLY", "x", 1)): fields.SILU,
    _gate("DIVIDE", 2, 6.0): fields.GATE | fields.SIXTHS,
    _gate("MULTIPLY", 2, 1 / 6): fields.GATE,
    (
        *(("MULTIPLY", "x", 0.5), ("NEGATIVE", "x"), ("MULTIPLY", 1, math.sqrt(0.5))),
        *(("ERFC", 2), ("MULTIPLY", 0, 3)),
    ): fields.GELU,
    _by_error_function(("DIVIDE", "x", math.sqrt(2))): fields.GELU,
    _by_error_function(("MULTIPLY", "x", math.sqrt(0.5))): fields.GELU,
    (
        *(("DIVIDE", "x", math.sqrt(2)), ("ERF", 0), ("ADD", 1, 1.0)),
        *(("MULTIPLY", 2, 0.5), ("MULTIPLY", 3, "x")),
    ): fields.GELU,
    **{one: fields.GELU_BY_TANH for slope in _SLOPES for one in _by_tanh(slope)},
}


def read_activation(reader: Reader, program: Layer) -> bool:
    """Whether a program has become the activation of the product before it.

    Args:
        reader: the network so far, without the program.
        program: the elementwise layer.
    """
    if len(program.xs) != 1:
        return False
    (x,) = program.xs
    base = x
    while base in reader.views:
        base = reader.views[base]
        if len(reader.uses[base]) != 1:
            return False
    layer = reader.by.get(base)
    if layer is None or layer.out is not base or not layer.is_product:
        return False
    lines = program.program
    mode = next((mode for wanted, mode in _MODES.items() if _is_like(lines, wanted, x)), 0)
    if not mode or layer.mode & fields.ACTIVATION:
        return False
    if set(reader.uses[x]) != _readers_in(reader, program.node, x):  # others need x
        return False
    layer.mode |= mode
    return reader.extend(layer, program.place, x, program.out)


def _readers_in(reader: Reader, last: Node, x: Value) -> set[int]:
    """The places of a program's steps that read x, its only tensor, from its last step."""
    found: set[Node] = set()
    left = [last]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            inner = (value for value in node.inputs if value is not x)
            left += [value.node for value in inner if not reader.is_steady(value)]
    return {reader.step_places[node] for node in found if x in node.inputs}


def _is_like(program: Sequence[Instruction], wanted: Sequence[Sequence[_Read]], x: Value) -> bool:
    """Whether a program of x matches a pattern; operands may be swapped, except in a division."""
    if [one.what for one in program] != [what for what, *_ in wanted]:
        return False

    def is_read(operand: Operand, read: _Read) -> bool:
        if isinstance(read, float):
            return _is_number(operand, read)
        if read == "x":
            return operand == Operand("tensor", x)
        return operand.made is program[int(read)]

    for one, (what, *reads) in zip(program, wanted, strict=True):
        orders = [one.operands] if what == "DIVIDE" else [one.operands, one.operands[::-1]]
        if not any(all(map(is_read, order, reads)) for order in orders):
            return False
    return True


def _is_number(operand: Operand, number: float) -> bool:
    """Whether an operand is this float32 number."""
    array = np.float32(operand.number) if operand.kind == "number" else None
    if operand.kind == "steady" and operand.value is not None:
        array = constant_of(operand.value)  # type: ignore[assignment]
    return (
        array is not None and np.size(array) == 1 and bool(np.float32(array) == np.float32(number))
    )
