"""The instructions of an elementwise layer in the kernel's format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pinnace.engine.networks import fields

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Instruction, Layer, Operand
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value


# Most numbers of an operand that is repeated to fill a block.
_SPREAD = frozenset({"image", "channels"})
# Constant operands; divisors below the least, or above its inverse, are not inverted.
_FIXED = frozenset({"number", "steady"})
_LEAST = 1e-12
# Commutative instructions; which NaN results may differ.
_COMMUTATIVE = frozenset({"ADD", "MULTIPLY", "LARGER", "SMALLER"})
# Numbers per row from which rows are multiplied by one row in place, not by a broadcast copy.
_WIDE_ROW = 32


class Addresses(Protocol):
    """Returns addresses of constant values."""

    def spread(self, array: Array, count: int) -> int:
        """Address of an array that is repeated to fill a block."""

    def array(self, value: Value) -> Array:
        """The array of a constant value."""


class Writer:
    """The instructions of one program.

    Args:
        table: returns addresses of constants.
        layer: the program.
        places: indices of its tensors.
        count: numbers per block.
        width: numbers per row.
        holds: whether the result stays in a register.

    Attributes:
        held: that register, after `write`.
    """

    held = 0

    def __init__(
        self,
        table: Addresses,
        layer: Layer,
        places: dict[Value, int],
        count: int,
        width: int,
        *,
        holds: bool = False,
    ) -> None:
        self._table = table
        self._layer = layer
        self._places = places
        self._count = count
        self._width = width
        self._holds = holds
        self._registers: dict[int, int] = {}
        self._free = list(range(fields.REGISTERS))[::-1]

    def write(self, lines: list[list[int]]) -> None:
        """Append them to those of other programs."""
        program = self._layer.program
        last: dict[int, int] = {}
        for at, one in enumerate(program):
            for operand in one.operands:
                if operand.kind == "temporary":
                    last[int(operand.number)] = at
        for at, one in enumerate(program):
            what, sides, fixed = self._split(one)
            if what == "MULTIPLY" and self._scales_rows(sides):
                what, row = "MULTIPLY_ROWS", sides[1]
                assert row.value is not None  # noqa: S101 - for mypy
                operands = [self._operand(sides[0], 0, one.by_row, lines)]
                operands.append((fields.TENSOR, self._places[row.value]))
            else:
                operands = [
                    self._operand(operand, side, one.by_row, lines)
                    for side, operand in enumerate(sides)
                ]
            if fixed is not None:
                operands.append((fields.ADDRESS, self._table.spread(fixed, self._count)))
            if at == len(program) - 1 and not self._holds:
                to = (fields.TENSOR, self._places[self._layer.out])
            else:
                self._registers[one.to] = self._free.pop()
                self.held = self._registers[one.to]
                to = (fields.REGISTER, self.held)
            for operand in one.operands:
                if operand.kind == "temporary" and last[int(operand.number)] == at:
                    self._release(int(operand.number))
            operands.append(operands[0])
            lines.append([fields.OPERATION[what], *to, *operands[0], *operands[1], int(one.by_row)])

    def _split(self, one: Instruction) -> tuple[str, tuple[Operand, ...], Array | None]:
        """The operation, its operands, and its constant operands.

        With a single number, no block of constants is read from the cache. Division by many
        constants becomes multiplication by their inverses, which takes an eighth of the time and
        costs an ulp.
        """
        what, sides = one.what, one.operands
        if len(sides) == 2 and what in _COMMUTATIVE:
            first, second = (one.kind for one in sides)
            if first in _FIXED or (first in _SPREAD and second not in _FIXED):
                sides = sides[::-1]
        if len(sides) != 2 or sides[1].kind not in _FIXED:
            return what, sides, None
        numbers = self._numbers(sides[1])
        size = np.abs(numbers)
        if what == "DIVIDE" and bool(np.all((size > _LEAST) & (size < 1 / _LEAST))):
            inverse = (1 / numbers.astype(np.float64)).astype(np.float32)
            # With a single divisor that is no power of two, every quotient would be biased in the
            # same direction, which accumulates over twenty layers. `DIVIDE_ONE` rounds correctly.
            if numbers.size > 1 or inverse.astype(np.float64) * numbers == 1:
                what, numbers = "MULTIPLY", inverse
        if numbers.size == 1 and f"{what}_ONE" in fields.OPERATION:
            what = f"{what}_ONE"
        return what, sides[:1], numbers

    def _scales_rows(self, sides: tuple[Operand, ...]) -> bool:
        """Whether all rows of a block are multiplied by the same row of a tensor."""
        if len(sides) != 2 or self._width < _WIDE_ROW:
            return False
        x, row = sides
        is_whole = x.kind in {"temporary", "tensor"} and not x.by_row
        return is_whole and row.kind in _SPREAD

    def _numbers(self, operand: Operand) -> Array:
        """The constant values of an operand."""
        if operand.value is None:
            return np.array([operand.number], np.float32)
        return self._table.array(operand.value)

    def _release(self, temporary: int) -> None:
        register = self._registers.pop(temporary, None)
        if register is not None:
            self._free.append(register)

    def _operand(
        self, operand: Operand, side: int, by_row: bool, lines: list[list[int]]
    ) -> tuple[int, int]:
        if operand.kind == "temporary":
            found = fields.REGISTER, self._registers[int(operand.number)]
        elif operand.kind in _FIXED:
            return fields.ADDRESS, self._table.spread(self._numbers(operand), self._count)
        else:
            assert operand.value is not None  # noqa: S101 - for mypy
            found = fields.TENSOR, self._places[operand.value]
        if operand.by_row and not by_row:
            return self._spread("SPREAD_ROWS", found, side, lines)
        return self._spread("SPREAD", found, side, lines) if operand.kind in _SPREAD else found

    @staticmethod
    def _spread(
        what: str, source: tuple[int, int], side: int, lines: list[list[int]]
    ) -> tuple[int, int]:
        """One number per channel of the image, or per row, broadcast to a separate register."""
        to = fields.REGISTER, fields.REGISTERS + side
        lines.append([fields.OPERATION[what], *to, *source, *source, 0])
        return to
