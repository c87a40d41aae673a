"""A table of scalar rows as machine code of its own: each row is some instructions of LLVM.

The kernel that walks statements takes some three nanoseconds for a row, machine code a tenth. A
loop over scalars that has run for long is worth the 50 ms that LLVM takes. The instructions are
those of the walking kernel in the same order, without reassociation or contraction, so results are
the same bit for bit, and there is nothing to compare or to time.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import TYPE_CHECKING, Any

from pinnace.engine.codegen import linking
from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.function_numbers import BINARY, UNARY
from pinnace.engine.codegen.statement_walk import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pinnace.framework.tensor import Array

_INTEGERS = {
    "ADD": "add", "MULTIPLY": "mul", "SUBTRACT": "sub", "AND": "and", "OR": "or", "XOR": "xor",
    "SHIFT_LEFT": "shl", "SHIFT_RIGHT": "ashr", "UNSIGNED_SHIFT_RIGHT": "lshr",
}  # fmt: skip
_COMPARED = {
    "LESS": "slt", "LESS_EQUAL": "sle", "EQUAL": "eq", "UNSIGNED_LESS": "ult",
    "UNSIGNED_LESS_EQUAL": "ule",
}  # fmt: skip
_REALS = {
    "REAL_ADD": "fadd", "REAL_MULTIPLY": "fmul", "REAL_SUBTRACT": "fsub", "REAL_DIVIDE": "fdiv",
}  # fmt: skip
_REALS_COMPARED = {"REAL_LESS": "olt", "REAL_LESS_EQUAL": "ole", "REAL_EQUAL": "oeq"}
_CONVERTED = {"TO_REAL": "sitofp", "UNSIGNED_TO_REAL": "uitofp"}
_EXTREMES = {"SMALLER": "smin", "LARGER": "smax"}
_MEMORY = {"INT64": "i64", "INT32": "i32", "BYTE": "i8", "FLOAT32": "float", "FLOAT64": "double"}
# Functions that are instructions; the others are the system's.
_INTRINSICS = frozenset({"ceil", "copysign", "floor", "rint", "trunc"})
# What the walking kernel asks before it calls the system: the smallest argument that is passed on,
# whether it is among them, and where the result is minus infinity.
_DOMAINS = {"log": ("ogt", 0.0, 0.0), "log1p": ("ogt", -1.0, -1.0), "acosh": ("oge", 1.0, None)}
_numbers = itertools.count()


def compiled(rows: Array, registers: Array, given: Collection[int]) -> Callable[[int], int] | None:
    """The machine code of a table; None if there is no LLVM, or a row is not over scalars.

    Args:
        rows: the table.
        registers: with its constants.
        given: the registers that a call fills.

    Returns:
        A function of the registers' address; it returns what the table returns.
    """
    symbol = f"pinnace_rows_{next(_numbers)}"
    try:
        writer = _Writer(rows, registers, given)
        return _linked(writer.text(symbol), symbol, sorted(writer.called))
    except (UnsupportedError, ImportError, OSError):
        return None


def _linked(text: str, symbol: str, called: Sequence[str]) -> Callable[[int], int]:
    """The function of a module.

    Args:
        text: the module.
        symbol: the function's.
        called: functions of the system.
    """
    with linking.in_llvm():
        # What LLVM made is freed inside: a fork behind it would find llvmlite's own lock held.
        address = _address(text, symbol, called)
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)


def _address(text: str, symbol: str, called: Sequence[str]) -> int:
    from llvmlite import binding

    linker = linking.linker()
    # LLVM ends the process where it does not find one.
    if any(binding.address_of_symbol(name) is None for name in called):
        raise UnsupportedError("a function that this system does not have")
    module = binding.parse_assembly(text)
    machine = linking.machine()
    tuning = binding.create_pipeline_tuning_options(speed_level=2)
    passes = binding.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    linker.add_module(module)
    linker.finalize_object()
    return linker.get_function_address(symbol)  # type: ignore[no-any-return,unused-ignore]


class _Writer:
    """The text of a table's function.

    Args:
        rows: the table.
        registers: with its constants.
        given: the registers that a call fills.

    Attributes:
        called: the functions of the system that it calls.
    """

    def __init__(self, rows: Array, registers: Array, given: Collection[int]) -> None:
        self._rows: list[Any] = [[OPERATIONS[row[0]], *row[1:]] for row in rows.tolist()]
        self._initial, self._given = registers, given
        self._written: set[int] = {
            row[1] for row in self._rows if not row[0].startswith(_NO_RESULT)
        }
        self._lines: list[str] = []
        self._declared: set[str] = set()
        self._made = 0
        self.called: set[str] = set()

    def text(self, symbol: str) -> str:
        """The module with the function.

        Raises:
            UnsupportedError: a row is not over scalars.
        """
        targets = {row[2] for row in self._rows if row[0] in {"JUMP", "UNLESS"}}
        for place, row in enumerate(self._rows):
            if place in targets or (place and self._rows[place - 1][0] in _ENDS):
                if not place or self._rows[place - 1][0] not in _ENDS:
                    self._lines.append(f"br label %b{place}")
                self._lines.append(f"b{place}:")
            self._row(place, row)
        variables = sorted(self._written | {*self._given})
        begin = [f"%r{one} = alloca i64" for one in variables]
        for one in variables:
            value = self._initial[one]
            if one in self._given:
                begin.append(f"%p{one} = getelementptr i64, ptr %registers, i64 {one}")
                begin.append(f"%g{one} = load i64, ptr %p{one}")
                value = f"%g{one}"
            begin.append(f"store i64 {value}, ptr %r{one}")
        body = "\n".join(line if line.endswith(":") else f"  {line}" for line in self._lines)
        head = "".join(f"  {line}\n" for line in begin)
        declared = "".join(f"declare {one}\n" for one in sorted(self._declared))
        return f"{declared}define i64 @{symbol}(ptr %registers) {{\nentry:\n{head}{body}\n}}\n"

    # Values.

    def _new(self, text: str) -> str:
        """The name of an instruction's result."""
        self._made += 1
        self._lines.append(f"%t{self._made} = {text}")
        return f"%t{self._made}"

    def _integer(self, register: int) -> str:
        if register in self._written or register in self._given:
            return self._new(f"load i64, ptr %r{register}")
        return str(self._initial[register])

    def _real(self, register: int) -> str:
        if register in self._written or register in self._given:
            return self._new(f"bitcast i64 {self._integer(register)} to double")
        return f"0x{int(self._initial[register]) & ((1 << 64) - 1):016X}"

    def _put(self, register: int, value: str) -> None:
        self._lines.append(f"store i64 {value}, ptr %r{register}")

    def _put_real(self, register: int, value: str) -> None:
        self._put(register, self._new(f"bitcast double {value} to i64"))

    def _put_truth(self, register: int, value: str) -> None:
        self._put(register, self._new(f"zext i1 {value} to i64"))

    def _call(self, kind: str, name: str, *given: str) -> str:
        """A call of a function of numbers of one type."""
        self._declared.add(f"{kind} @{name}({', '.join([kind] * len(given))})")
        return self._new(f"call {kind} @{name}({', '.join(f'{kind} {one}' for one in given)})")

    # Rows.

    def _row(self, place: int, row: Sequence[Any]) -> None:
        what, to, a, b, c, *_ = row
        if what in _INTEGERS:
            self._put(to, self._new(f"{_INTEGERS[what]} i64 {self._pair(a, b)}"))
        elif what in _COMPARED:
            self._put_truth(to, self._new(f"icmp {_COMPARED[what]} i64 {self._pair(a, b)}"))
        elif what in _REALS:
            x, y = self._real(a), self._real(b)
            self._put_real(to, self._new(f"{_REALS[what]} double {x}, {y}"))
        elif what in _REALS_COMPARED:
            x, y = self._real(a), self._real(b)
            self._put_truth(to, self._new(f"fcmp {_REALS_COMPARED[what]} double {x}, {y}"))
        elif what in _EXTREMES:
            name = f"llvm.{_EXTREMES[what]}.i64"
            self._put(to, self._call("i64", name, self._integer(a), self._integer(b)))
        elif what in _CONVERTED:
            value = f"{_CONVERTED[what]} i64 {self._integer(a)} to double"
            self._put_real(to, self._new(value))
        elif what in _OTHERS:
            _OTHERS[what](self, to, a, b, c)
        elif what.startswith(("LOAD_", "STORE_")):
            self._memory(what, to, a)
        elif what in {"FUNCTION", "FUNCTION_OF_TWO"}:
            self._function(what, row)
        else:
            self._flow(place, what, row)

    def _pair(self, a: int, b: int) -> str:
        first = self._integer(a)
        return f"{first}, {self._integer(b)}"

    def _divide(self, to: int, a: int, b: int, *, rest: bool) -> None:
        """A quotient rounded down, or its remainder; of 0 and -1 as the walking kernel has them."""
        x, y = self._integer(a), self._integer(b)
        is_zero, is_minus = (self._new(f"icmp eq i64 {y}, {one}") for one in (0, -1))
        is_special = self._new(f"or i1 {is_zero}, {is_minus}")
        divisor = self._new(f"select i1 {is_special}, i64 1, i64 {y}")
        quotient = self._new(f"sdiv i64 {x}, {divisor}")
        left = self._new(f"srem i64 {x}, {divisor}")
        signs = self._new(f"xor i64 {left}, {divisor}")
        differ, some = self._new(f"icmp slt i64 {signs}, 0"), self._new(f"icmp ne i64 {left}, 0")
        is_below = self._new(f"and i1 {differ}, {some}")
        if rest:
            other = self._new(f"add i64 {left}, {divisor}")
            found = self._new(f"select i1 {is_below}, i64 {other}, i64 {left}")
            self._put(to, self._new(f"select i1 {is_special}, i64 0, i64 {found}"))
            return
        other, minus = self._new(f"sub i64 {quotient}, 1"), self._new(f"sub i64 0, {x}")
        found = self._new(f"select i1 {is_below}, i64 {other}, i64 {quotient}")
        found = self._new(f"select i1 {is_minus}, i64 {minus}, i64 {found}")
        self._put(to, self._new(f"select i1 {is_zero}, i64 0, i64 {found}"))

    def _divide_unsigned(self, to: int, a: int, b: int, *, rest: bool) -> None:
        x, y = self._integer(a), self._integer(b)
        is_zero = self._new(f"icmp eq i64 {y}, 0")
        divisor = self._new(f"select i1 {is_zero}, i64 1, i64 {y}")
        found = self._new(f"{'urem' if rest else 'udiv'} i64 {x}, {divisor}")
        self._put(to, self._new(f"select i1 {is_zero}, i64 0, i64 {found}"))

    def _wrap(self, to: int, a: int, b: int) -> None:
        x, places = self._integer(a), self._integer(b)
        high = self._new(f"shl i64 {x}, {places}")
        self._put(to, self._new(f"ashr i64 {high}, {places}"))

    def _choose(self, to: int, a: int, b: int, c: int) -> None:
        is_first = self._new(f"icmp ne i64 {self._integer(a)}, 0")
        x, y = self._integer(b), self._integer(c)
        self._put(to, self._new(f"select i1 {is_first}, i64 {x}, i64 {y}"))

    def _round(self, to: int, a: int) -> None:
        narrow = self._new(f"fptrunc double {self._real(a)} to float")
        self._put_real(to, self._new(f"fpext float {narrow} to double"))

    def _memory(self, what: str, register: int, address: int) -> None:
        verb, _, name = what.partition("_")
        kind = _MEMORY[name]
        at = self._new(f"inttoptr i64 {self._integer(address)} to ptr")
        if verb == "LOAD":
            value = self._new(f"load {kind}, ptr {at}")
            if kind == "float":
                value = self._new(f"fpext float {value} to double")
            elif kind != "double":
                wider = "zext" if kind == "i8" else "sext"
                value = value if kind == "i64" else self._new(f"{wider} {kind} {value} to i64")
            (self._put_real if kind in {"float", "double"} else self._put)(register, value)
            return
        if kind in {"float", "double"}:
            value = self._real(register)
            value = value if kind == "double" else self._new(f"fptrunc double {value} to float")
        else:
            value = self._integer(register)
            value = value if kind == "i64" else self._new(f"trunc i64 {value} to {kind}")
        self._lines.append(f"store {kind} {value}, ptr {at}")

    def _function(self, what: str, row: Sequence[Any]) -> None:
        """A function of the system, of float32 or float64 numbers."""
        names, count = (UNARY, 1) if what == "FUNCTION" else (BINARY, 2)
        name, is_single = names[row[2]], bool(row[3 + count])
        kind = "float" if is_single else "double"
        given = [self._real(one) for one in row[3 : 3 + count]]
        if is_single:
            given = [self._new(f"fptrunc double {one} to float") for one in given]
        if name in _INTRINSICS:
            found = self._call(kind, f"llvm.{name}.f{32 if is_single else 64}", *given)
        else:
            symbol = f"{name}f" if is_single else name
            self.called.add(symbol)
            found = self._call(kind, symbol, *given)
        if name in _DOMAINS:
            found = self._in_domain(kind, found, given[0], *_DOMAINS[name])
        self._put_real(row[1], self._new(f"fpext float {found} to double") if is_single else found)

    def _in_domain(
        self, kind: str, found: str, x: str, compare: str, least: float, pole: float | None
    ) -> str:
        other = "0x7FF8000000000000"
        if pole is not None:
            is_pole = self._new(f"fcmp oeq {kind} {x}, {pole:e}")
            ends = f"{kind} 0xFFF0000000000000, {kind} {other}"
            other = self._new(f"select i1 {is_pole}, {ends}")
        is_inside = self._new(f"fcmp {compare} {kind} {x}, {least:e}")
        return self._new(f"select i1 {is_inside}, {kind} {found}, {kind} {other}")

    def _flow(self, place: int, what: str, row: Sequence[Any]) -> None:
        if what == "JUMP":
            self._lines.append(f"br label %b{row[2]}")
        elif what == "UNLESS":
            is_true = self._new(f"icmp ne i64 {self._integer(row[1])}, 0")
            self._lines.append(f"br i1 {is_true}, label %b{place + 1}, label %b{row[2]}")
        elif what == "END":
            self._lines.append(f"ret i64 {self._integer(row[1])}")
        else:
            raise UnsupportedError(f"{what} is not over scalars")


_ENDS = frozenset({"JUMP", "UNLESS", "END"})
_NO_RESULT = ("STORE_", "JUMP", "UNLESS", "END")
_OTHERS: dict[str, Callable[[_Writer, int, int, int, int], None]] = {
    "FLOOR_DIVIDE": lambda self, to, a, b, _: self._divide(to, a, b, rest=False),
    "MODULO": lambda self, to, a, b, _: self._divide(to, a, b, rest=True),
    "UNSIGNED_DIVIDE": lambda self, to, a, b, _: self._divide_unsigned(to, a, b, rest=False),
    "UNSIGNED_MODULO": lambda self, to, a, b, _: self._divide_unsigned(to, a, b, rest=True),
    "WRAP": lambda self, to, a, b, _: self._wrap(to, a, b),
    "MOVE": lambda self, to, a, *_: self._put(to, self._integer(a)),
    "CHOOSE": _Writer._choose,
    "REAL_ROOT": lambda self, to, a, *_: self._put_real(
        to, self._call("double", "llvm.sqrt.f64", self._real(a))
    ),
    "REAL_ABSOLUTE": lambda self, to, a, *_: self._put_real(
        to, self._call("double", "llvm.fabs.f64", self._real(a))
    ),
    "ROUND": lambda self, to, a, *_: self._round(to, a),
    "TO_INTEGER": lambda self, to, a, *_: self._put(
        to, self._new(f"fptosi double {self._real(a)} to i64")
    ),
}
