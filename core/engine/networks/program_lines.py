"""The instructions of an elementwise layer in the kernel's format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.networks import fields
from pinnace.engine.networks.layers import last_uses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.engine.networks.layers import Instruction, Layer, Operand
    from pinnace.engine.networks.table import Table
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value


# Kinds of operands that are repeated to fill a block.
_SPREAD = frozenset({"image", "channels"})
# Kinds of constant operands; divisors below _LEAST, or above its inverse, are not inverted.
_FIXED = frozenset({"number", "steady"})
_LEAST = 1e-12
# Commutative instructions; swapping may change which NaN results.
_COMMUTATIVE = frozenset({"ADD", "MULTIPLY", "LARGER", "SMALLER"})
# Numbers per row from which rows are multiplied by one row in place, not by a broadcast copy.
_WIDE_ROW = 32


@dataclass(eq=False)
class Writer:
    """The instructions of one program.

    Args:
        table: keeps constants, and returns their addresses.
        layer: the layer of the program.
        places: indices of its tensors.
        count: numbers per block.
        width: numbers per row.
        holds: whether the result stays in a register.

    Attributes:
        held: the result's register, after `write`.
    """

    table: Table
    layer: Layer
    places: Mapping[Value, int]
    count: int
    width: int
    holds: bool = False
    held: int = 0
    _registers: dict[Instruction | None, int] = field(default_factory=dict)
    _free: list[int] = field(default_factory=lambda: list(range(fields.REGISTERS))[::-1])

    def write(self, lines: list[list[int]]) -> None:
        """Append the program's instructions to those of other programs."""
        program = self.layer.program
        last = last_uses(program)
        for at, one in enumerate(program):
            what, sides, fixed = self._split(one)
            if what == "MULTIPLY" and self._scales_rows(sides):
                what, row = "MULTIPLY_ROWS", sides[1]
                assert row.value is not None  # noqa: S101 - for mypy
                operands = [self._operand(sides[0], 0, one.by_row, lines)]
                operands.append((fields.TENSOR, self.places[row.value]))
            else:
                operands = [
                    self._operand(operand, side, one.by_row, lines)
                    for side, operand in enumerate(sides)
                ]
            if fixed is not None:
                operands.append((fields.ADDRESS, self.table.spread(fixed, self.count)))
            if at == len(program) - 1 and not self.holds:
                to = (fields.TENSOR, self.places[self.layer.out])
            else:
                self.held = self._registers[one] = self._free.pop()
                to = (fields.REGISTER, self.held)
            for made in (operand.made for operand in one.operands):
                if made in self._registers and made is not None and last[made] == at:
                    self._free.append(self._registers.pop(made))
            operands.append(operands[0])
            lines.append([fields.OPERATION[what], *to, *operands[0], *operands[1], int(one.by_row)])

    def _split(self, one: Instruction) -> tuple[str, tuple[Operand, ...], Array | None]:
        """The operation, its variable operands, and its constant operand; None if it has none.

        A single number avoids reading a block of constants from the cache. Division by many
        constants becomes multiplication by their inverses: an eighth of the time, and an ulp.
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
        if len(sides) != 2 or self.width < _WIDE_ROW:
            return False
        x, row = sides
        is_whole = x.kind in {"temporary", "tensor"} and not x.by_row
        return is_whole and row.kind in _SPREAD

    def _numbers(self, operand: Operand) -> Array:
        """The constant values of an operand."""
        if operand.value is None:
            return np.array([operand.number], np.float32)
        return self.table.array(operand.value)

    def _operand(
        self, operand: Operand, side: int, by_row: bool, lines: list[list[int]]
    ) -> tuple[int, int]:
        if operand.made is not None:
            found = fields.REGISTER, self._registers[operand.made]
        elif operand.kind in _FIXED:
            return fields.ADDRESS, self.table.spread(self._numbers(operand), self.count)
        else:
            assert operand.value is not None  # noqa: S101 - for mypy
            found = fields.TENSOR, self.places[operand.value]
        if operand.by_row and not by_row:
            return self._spread("SPREAD_ROWS", found, side, lines)
        return self._spread("SPREAD", found, side, lines) if operand.kind in _SPREAD else found

    @staticmethod
    def _spread(
        what: str, source: tuple[int, int], side: int, lines: list[list[int]]
    ) -> tuple[int, int]:
        """Broadcast a number per channel or per row to a separate register: the new operand."""
        to = fields.REGISTER, fields.REGISTERS + side
        lines.append([fields.OPERATION[what], *to, *source, *source, 0])
        return to
