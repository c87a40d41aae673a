"""A kernel's statements as a table, which is called like the kernel of their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.engine.codegen import compiler, general
from pinnace.engine.codegen.statement_walk import NAME
from pinnace.ops.kernels import lending
from pinnace.ops.kernels.addresses import address_of

if TYPE_CHECKING:
    from pinnace.engine.codegen.cluster_programs import Program
    from pinnace.framework.tensor import Array

# Float32 numbers and bytes of a cache line.
LINE, _LINE_BYTES = 16, 64


class Argument(NamedTuple):
    """A parameter of a kernel.

    Attributes:
        name: of the parameter.
        dtype: of an array; None for a number.
        rank: of the array.
    """

    name: str
    dtype: str | None = None
    rank: int = 0


@dataclass(slots=True)
class Walk:
    """A kernel whose statements are a table; it is called with the same arguments as its text.

    Attributes:
        rows: the table.
        registers: with constants.
        places: the registers that a call fills: the address of scratch memory, and `taken`.
        operands: those of all programs, one after the other.
        programs: keeps their tables.
        taken: what a call says of its arguments: the argument's index, and "at", an axis of
            "strides" or "shape", or "value" for a number.
        memory: float32 numbers of scratch memory.
    """

    rows: Array
    registers: Array
    places: Array
    operands: Array
    programs: list[Program]
    taken: list[tuple[int, str, int]]
    memory: int

    def __call__(self, *given: int | Array) -> int:
        """The kernel's result for these arguments."""
        function = kernel().function
        assert function is not None  # noqa: S101 - it was asked for before this was made
        scratch = lending.lend("statements", self.memory + LINE, np.float32)
        found: list[int] = [-(-address_of(scratch) // _LINE_BYTES) * _LINE_BYTES]
        for number, what, axis in self.taken:
            one = given[number]
            if what == "value":
                found.append(one)  # type: ignore[arg-type] # a number
            elif what == "at":
                found.append(address_of(one))  # type: ignore[arg-type] # an array
            else:
                found.append(getattr(one, what)[axis])
        registers = self.registers.copy()
        registers[self.places] = found
        return int(function(self.rows, registers, self.operands.copy()))


def kernel() -> compiler.Kernel:
    """The kernel that walks statements."""
    return compiler.request(general.text(NAME))


def is_ahead() -> bool:
    """Whether a loaded library has that kernel."""
    return compiler.is_ahead(general.text(NAME))
