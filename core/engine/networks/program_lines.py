"""The instructions of an elementwise layer as the walker reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pinnace.engine.networks import fields

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Layer, Operand
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value


class Addresses(Protocol):
    """What gives addresses of what is steady."""

    def spread(self, array: Array, count: int) -> int:
        """Of a block of so many numbers: the array, again and again."""

    def array(self, value: Value) -> Array:
        """The array of a steady value."""


class Writer:
    """The instructions of one program.

    Args:
        table: gives addresses of what is steady.
        layer: the program.
        places: of its tensors.
        count: numbers of a block.
    """

    def __init__(
        self, table: Addresses, layer: Layer, places: dict[Value, int], count: int
    ) -> None:
        self._table = table
        self._layer = layer
        self._places = places
        self._count = count
        self._registers: dict[int, int] = {}
        self._free = list(range(fields.REGISTERS))[::-1]

    def write(self, lines: list[list[int]]) -> None:
        """Add them to those of other programs."""
        program = self._layer.program
        last: dict[int, int] = {}
        for at, one in enumerate(program):
            for operand in one.operands:
                if operand.kind == "temporary":
                    last[int(operand.number)] = at
        for at, one in enumerate(program):
            operands = [
                self._operand(operand, side, one.by_row, lines)
                for side, operand in enumerate(one.operands)
            ]
            if at == len(program) - 1:
                to = (fields.TENSOR, self._places[self._layer.out])
            else:
                self._registers[one.to] = self._free.pop()
                to = (fields.REGISTER, self._registers[one.to])
            for operand in one.operands:
                if operand.kind == "temporary" and last[int(operand.number)] == at:
                    self._release(int(operand.number))
            operands.append(operands[0])
            what = fields.OPERATION[one.what]
            lines.append([what, *to, *operands[0], *operands[1], int(one.by_row)])

    def _release(self, temporary: int) -> None:
        register = self._registers.pop(temporary, None)
        if register is not None:
            self._free.append(register)

    def _operand(
        self, operand: Operand, side: int, by_row: bool, lines: list[list[int]]
    ) -> tuple[int, int]:
        if operand.kind == "temporary":
            found = fields.REGISTER, self._registers[int(operand.number)]
        elif operand.kind == "number":
            number = np.array([operand.number], np.float32)
            return fields.ADDRESS, self._table.spread(number, self._count)
        else:
            assert operand.value is not None  # noqa: S101 - for mypy
            if operand.kind == "steady":
                array = self._table.array(operand.value)
                return fields.ADDRESS, self._table.spread(array, self._count)
            found = fields.TENSOR, self._places[operand.value]
        if operand.by_row and not by_row:
            return self._spread("SPREAD_ROWS", found, side, lines)
        return self._spread("SPREAD", found, side, lines) if operand.kind == "image" else found

    @staticmethod
    def _spread(
        what: str, source: tuple[int, int], side: int, lines: list[list[int]]
    ) -> tuple[int, int]:
        """A number for each channel of the image, or for each row: in a register of its own."""
        to = fields.REGISTER, fields.REGISTERS + side
        lines.append([fields.OPERATION[what], *to, *source, *source, 0])
        return to
