"""The registers of a table, and the rows that put numbers into them.

Numbers that do not change during a call are computed once, before the first statement. A repeated
operation is not computed again, unless a variable in it has changed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.statement_walk import ACROSS, OPERATION
from pinnace.engine.codegen.walks import Argument

if TYPE_CHECKING:
    from collections.abc import Sequence

CONSTANT, STEADY, CHANGING = range(3)


class Number(NamedTuple):
    """The value of an expression.

    Attributes:
        register: its register.
        level: whether it is a constant, the same during a call, or changing.
        kind: "integer", "unsigned" (64 bits whose sign is a bit), "float32" or "float64".
        value: the value of a constant.
    """

    register: int
    level: int
    kind: str = "integer"
    value: float = 0

    @property
    def is_real(self) -> bool:
        """Whether the register has the bits of a float64."""
        return self.kind.startswith("float")


class Held(NamedTuple):
    """A contiguous array whose shape is known.

    Attributes:
        dtype: the dtype of its numbers.
        begin: the address of the first.
        shape: its shape.
    """

    dtype: str
    begin: Number
    shape: tuple[int, ...]


class StatementRegisters:
    """The rows that compute numbers, and the registers that have them.

    Args:
        arguments: the kernel's parameters.
    """

    def __init__(self, arguments: Sequence[Argument]) -> None:
        self._arguments = {one.name: (place, one) for place, one in enumerate(arguments)}
        # The fields of arguments that calls provide (see `walks.Walk`), and their registers.
        self._taken: list[tuple[int, int, str, int]] = []
        self._entries: dict[tuple[str, str, int], Number] = {}
        self._constants: dict[tuple[str, float], int] = {}
        # The rows before the first statement, and the rows of statements.
        self._ahead: list[list[int]] = []
        self._rows: list[list[int]] = []
        # Results that are the same during a call, and others, by operation and operands.
        self._steady: dict[tuple[object, ...], Number] = {}
        self._found: dict[tuple[object, ...], Number] = {}
        # Named numbers in memory: their dtype and the address of the first.
        self._begins: dict[str, tuple[str, Number]] = {}
        # Arrays that are not parameters, by name.
        self._held: dict[str, Held] = {}
        # Registers whose number is 1 or 0.
        self._truths: set[int] = set()
        self._registers = 0
        self._names = {
            "w": Number(self._register(), STEADY),
            "ACROSS": Number(self._register(), STEADY),
        }
        assert self._names["ACROSS"].register == ACROSS  # noqa: S101 - the kernel puts it there
        # Adjacent registers for all fields of arguments that a call may provide.
        self._reserved = {
            (one.name, what, axis): self._register()
            for one in arguments
            for what, axis in _sayings(one)
        }

    # Registers and rows.

    def _register(self) -> int:
        self._registers += 1
        return self._registers - 1

    def _constant(self, value: int) -> Number:
        value = (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)
        found = self._constants.get(("integer", value))
        if found is None:
            found = self._constants["integer", value] = self._register()
        return Number(found, CONSTANT, "integer", value)

    def _real_constant(self, value: float, kind: str) -> Number:
        if kind == "float32":
            value = float(np.float32(value))
        # Zeros of either sign are equal, and NaN is not.
        key = ("real", value) if value and value == value else (f"real {value!r}", value)
        if key[0] != "real":
            bits = int(np.array(value, np.float64).view(np.int64))
            register = self._constant(bits).register
        else:
            register = self._constants.setdefault(key, self._registers)
            if register == self._registers:
                self._register()
        return Number(register, CONSTANT, kind, value)

    def _emit(self, level: int, name: str, *operands: int) -> None:
        (self._rows if level == CHANGING else self._ahead).append([OPERATION[name], *operands])

    def _computed(self, name: str, operands: Sequence[Number], kind: str = "integer") -> Number:
        """The result of an operation, which is computed only once."""
        level = max(max(one.level for one in operands), STEADY)
        key = (name, kind, *(one.register for one in operands))
        for held in (self._steady, self._found):
            if key in held:
                return held[key]
        made = Number(self._register(), level, kind)
        self._emit(level, name, made.register, *(one.register for one in operands))
        (self._found if level == CHANGING else self._steady)[key] = made
        return made

    def _entry(self, name: str, what: str, axis: int = 0) -> Number:
        """A field of an argument: its address, a stride, a size, or a number's value."""
        if name in self._held:
            return self._of_held(self._held[name], what, axis)
        key = name, what, axis
        if key not in self._entries:
            place, one = self._arguments.get(name, (-1, Argument(name)))
            if place < 0 or (one.dtype is None) != (what == "value") or axis >= max(one.rank, 1):
                raise UnsupportedError(f"argument {name} has no {what}")
            register = self._reserved[key]
            self._entries[key] = Number(register, STEADY)
            self._taken.append((register, place, what, axis))
        return self._entries[key]

    def _of_held(self, held: Held, what: str, axis: int) -> Number:
        """The address, a stride or a size of an array."""
        if what == "at":
            return held.begin
        if what == "shape":
            return self._constant(held.shape[axis])
        each = np.dtype(held.dtype).itemsize
        return self._constant(each * math.prod(held.shape[axis + 1 :]))

    def _folded(self, what: str, a: Number, b: Number) -> Number:
        if a.level == b.level == CONSTANT and what not in {"FLOOR_DIVIDE", "MODULO"}:
            x, y = int(a.value), int(b.value)
            if what == "ADD":
                return self._constant(x + y)
            if what == "SUBTRACT":
                return self._constant(x - y)
            if what == "MULTIPLY":
                return self._constant(x * y)
        if what in {"ADD", "MULTIPLY"}:
            for one, other in ((a, b), (b, a)):
                is_neutral = one.value == (0 if what == "ADD" else 1)
                if one.level == CONSTANT and is_neutral:
                    return other
                if one.level == CONSTANT and what == "MULTIPLY" and one.value == 0:
                    return one
        return self._computed(what, (a, b))


def _sayings(argument: Argument) -> list[tuple[str, int]]:
    """The fields of an argument that a call may provide, and their axes."""
    if argument.dtype is None:
        return [("value", 0)]
    axes = range(max(argument.rank, 1))
    return [("at", 0), *((what, axis) for what in ("strides", "shape") for axis in axes)]
