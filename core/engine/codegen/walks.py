"""A kernel's statements as a table that is called like the kernel."""

from __future__ import annotations

import functools
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.engine.codegen import kernels
from pinnace.engine.codegen.statement_walk import NAME
from pinnace.framework import config
from pinnace.ops.kernels import lending
from pinnace.ops.kernels.addresses import address_of
from pinnace.ops.kernels.poison import fill

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.codegen.cluster_programs import Program
    from pinnace.framework.tensor import Array

# Float32 numbers and bytes of a cache line.
LINE, _LINE_BYTES = 16, 64
# Most float32 numbers of scratch memory that stay between calls.
_KEPT = 1 << 13


class Argument(NamedTuple):
    """A parameter of a kernel.

    Attributes:
        name: the parameter's name.
        dtype: the dtype of an array; None for a number.
        rank: the array's rank.
    """

    name: str
    dtype: str | None = None
    rank: int = 0


class Function(NamedTuple):
    """A kernel's statements with their parameters and memory; other kernels may call it.

    Attributes:
        arguments: the parameters.
        lines: the statements; the last returns a number.
        scratch: float32 numbers of the memory at the address `w`.
        constants: the arrays `k0`, `k1`, …
    """

    arguments: Sequence[Argument]
    lines: Sequence[str]
    scratch: int = 0
    constants: Sequence[Array] = ()


class _State(NamedTuple):
    """The memory of one call at a time.

    Attributes:
        registers: the kernel's registers.
        operands: the operands of all programs, one after the other.
        fill: writes the fields of arguments into their registers.
        scratch: memory; None if it is lent for each call.
    """

    registers: Array
    operands: Array
    fill: Callable[..., None]
    scratch: Array | None


class Walk:
    """A kernel whose statements are a table; it is called with the same arguments as its text.

    Args:
        rows: the table.
        registers: the registers, with constants; the first gets the address of scratch memory.
        operands: the operands of all programs, one after the other.
        kept: keeps tables of programs and constants, whose addresses are in the table.
        taken: the fields of arguments to read: the register, the argument's index, and "at", an
            axis of "strides" or "shape", or "value" for a number.
        memory: float32 numbers of scratch memory.
    """

    __slots__ = (
        "_addressed", "_filled", "_kept", "_memory", "_operands", "_registers", "_rows", "_states",
        "_taken", "_walk",
    )  # fmt: skip

    def __init__(
        self,
        rows: Array,
        registers: Array,
        operands: Array,
        kept: Sequence[Program | Array],
        taken: Sequence[tuple[int, int, str, int]],
        memory: int,
    ) -> None:
        self._rows, self._registers, self._operands = rows, registers, operands
        self._kept, self._memory = kept, memory
        taken = sorted(taken)
        self._taken = [one[1:] for one in taken]
        self._addressed = None
        if all(what == "at" for _, what, _ in self._taken):
            self._addressed = [number for number, _, _ in self._taken]
        # These registers are adjacent, except for those of fields that are not read.
        first = taken[0][0] if taken else 0
        form, end = "", first
        for register, *_ in taken:
            form += "8x" * (register - end) + "q"
            end = register + 1
        self._filled = Struct(f"={form}"), 8 * first
        # There are as many as concurrent calls.
        self._states: list[_State] = []
        self._walk: Callable[..., Any] | None = None

    def __call__(self, *given: Any) -> int:
        """The kernel's result for these arguments, numbers or arrays."""
        try:
            state = self._states.pop()
        except IndexError:  # other threads may have taken the last one since a look
            state = self._state()
        if self._addressed is not None:
            state.fill(*[address_of(given[number]) for number in self._addressed])
        else:
            state.fill(*[_said(given[number], what, axis) for number, what, axis in self._taken])
        scratch = state.scratch
        if scratch is None:
            scratch = lending.lend("statements", self._memory + LINE, np.float32)
            state.registers[0] = _aligned(scratch)
        elif config.settings.poison:
            fill(scratch)
        if self._walk is None:
            self._walk = kernels.function(NAME)
        found: int = self._walk(self._rows, state.registers, state.operands)
        self._states.append(state)
        return found

    def _state(self) -> _State:
        """A new state, with everything in it that calls do not write."""
        registers, scratch = self._registers.copy(), None
        if self._memory <= _KEPT:
            scratch = np.empty(self._memory + LINE, np.float32)
            registers[0] = _aligned(scratch)
        form, first = self._filled
        put = functools.partial(form.pack_into, registers.data, first)
        return _State(registers, self._operands.copy(), put, scratch)


def _aligned(scratch: Array) -> int:
    return -(-address_of(scratch) // _LINE_BYTES) * _LINE_BYTES


def _said(one: Any, what: str, axis: int) -> int:
    if what == "at":
        return address_of(one)
    return one if what == "value" else getattr(one, what)[axis]  # type: ignore[no-any-return]
