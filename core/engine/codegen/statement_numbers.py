"""The expressions of a kernel's statements as rows of the kernel that walks them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.function_numbers import BINARY, UNARY
from pinnace.engine.codegen.statement_registers import (
    CHANGING,
    CONSTANT,
    STEADY,
    Number,
    StatementRegisters,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SIGNED = {"np.int8": 8, "np.int16": 16, "np.int32": 32}
_UNSIGNED = {"np.uint8": 8, "np.uint16": 16, "np.uint32": 32}
_BINARY: dict[type, str] = {
    ast.Add: "ADD", ast.Sub: "SUBTRACT", ast.Mult: "MULTIPLY", ast.FloorDiv: "FLOOR_DIVIDE",
    ast.Mod: "MODULO", ast.BitAnd: "AND", ast.BitOr: "OR", ast.BitXor: "XOR",
    ast.LShift: "SHIFT_LEFT", ast.RShift: "SHIFT_RIGHT",
}  # fmt: skip
_REAL: dict[type, str] = {
    ast.Add: "REAL_ADD", ast.Sub: "REAL_SUBTRACT", ast.Mult: "REAL_MULTIPLY",
    ast.Div: "REAL_DIVIDE",
}  # fmt: skip
# Comparison -> the operation, whether operands are swapped, whether the result is negated.
_COMPARED: dict[type, tuple[str, bool, bool]] = {
    ast.Lt: ("LESS", False, False),
    ast.LtE: ("LESS_EQUAL", False, False),
    ast.Gt: ("LESS", True, False),
    ast.GtE: ("LESS_EQUAL", True, False),
    ast.Eq: ("EQUAL", False, False),
    ast.NotEq: ("EQUAL", False, True),
}
_EXTREMES = {"min": "SMALLER", "minimum": "SMALLER", "max": "LARGER", "maximum": "LARGER"}
LOADS = {"int64": "INT64", "int32": "INT32", "bool": "BYTE", "uint8": "BYTE"}
LOADS |= {"float32": "FLOAT32", "float64": "FLOAT64", "uint64": "INT64", "uint32": "INT32"}
LOADS |= {"int8": "BYTE", "int16": "SHORT", "uint16": "SHORT"}
# Comparisons and divisions of unsigned numbers with 64 bits.
_OF_UNSIGNED = {"FLOOR_DIVIDE": "DIVIDE", "MODULO": "MODULO", "SHIFT_RIGHT": "SHIFT_RIGHT"}


_VIEWS = {"floats": "float32", "truths": "bool", "ints": "int32", "longs": "int64"}


def numbers_at(tree: ast.expr) -> tuple[str, ast.expr] | None:
    """The dtype and address of `floats(address, count)`, similar views, or their first element."""
    match tree:
        case ast.Subscript(value=ast.Call() as whole, slice=ast.Constant(value=0)):
            return numbers_at(whole)
        case ast.Call(func=ast.Name(id=name), args=[address, _]) if name in _VIEWS:
            return _VIEWS[name], address
    return None


class StatementNumbers(StatementRegisters):
    """The rows that compute expressions."""

    def _number(self, tree: ast.expr) -> Number:
        """The value of an expression."""
        read = _READERS.get(type(tree))
        if read is None:
            raise UnsupportedError(f"there is no row for {ast.unparse(tree)}")
        return read(self, tree)

    def _literal(self, tree: ast.Constant) -> Number:
        if isinstance(tree.value, float):
            return self._real_constant(tree.value, "float64")
        return self._constant(int(tree.value))  # type: ignore[arg-type] # or a truth value

    def _attribute(self, tree: ast.Attribute) -> Number:
        known = {"np.nan": np.nan, "np.inf": np.inf}.get(ast.unparse(tree))
        if known is None:
            raise UnsupportedError(f"there is no row for {ast.unparse(tree)}")
        return self._real_constant(known, "float64")

    def _logical(self, tree: ast.BoolOp) -> Number:
        what = "AND" if isinstance(tree.op, ast.And) else "OR"
        found, *others = (self._truth(self._number(one)) for one in tree.values)
        for one in others:
            found = self._folded(what, found, one)
        return found

    def _choice(self, tree: ast.IfExp) -> Number:
        test = self._truth(self._number(tree.test))
        given = test, self._number(tree.body), self._number(tree.orelse)
        if given[1].kind != given[2].kind:
            raise UnsupportedError(f"operands of two kinds: {ast.unparse(tree)}")
        return self._computed("CHOOSE", given, given[1].kind)

    def _named(self, name: str) -> Number:
        found = self._names.get(name)
        return self._entry(name, "value") if found is None else found

    def _binary(self, op: type, a: Number, b: Number) -> Number:
        if a.is_real or b.is_real or op is ast.Div:
            what = _REAL.get(op)
            if what is None:
                raise UnsupportedError(f"there is no row for {op.__name__} of floats")
            # The result of an integer and a float is a float64, as in NumPy.
            kinds = {one.kind for one in (a, b)}
            kind = "float32" if kinds == {"float32"} else "float64"
            found = self._computed(what, (self._as_real(a), self._as_real(b)), "float64")
            return self._rounded(found) if kind == "float32" else found
        what = _BINARY.get(op)
        if what is None:
            raise UnsupportedError(f"there is no row for {op.__name__}")
        is_unsigned = "unsigned" in {a.kind, b.kind}
        if is_unsigned and what in _OF_UNSIGNED:
            what = f"UNSIGNED_{_OF_UNSIGNED[what]}"
        found = self._folded(what, a, b)
        return found._replace(kind="unsigned") if is_unsigned else found

    def _unary(self, op: ast.unaryop, a: Number) -> Number:
        if isinstance(op, ast.Not):
            return self._negated(self._truth(a))
        if isinstance(op, ast.UAdd):
            return a
        if isinstance(op, ast.Invert) and not a.is_real:
            return self._computed("XOR", (a, self._constant(-1)))
        if not isinstance(op, ast.USub):
            raise UnsupportedError("a unary operator without a row")
        if a.is_real:
            if a.level == CONSTANT:
                return self._real_constant(-a.value, a.kind)
            minus = self._real_constant(-1.0, a.kind)
            return self._computed("REAL_MULTIPLY", (a, minus), a.kind)
        return self._folded("SUBTRACT", self._constant(0), a)

    def _compared(self, tree: ast.Compare) -> Number:
        found: Number | None = None
        first = self._number(tree.left)
        for op, other in zip(tree.ops, tree.comparators, strict=True):
            second = self._number(other)
            what, turned, negated = _COMPARED[type(op)]
            a, b = (second, first) if turned else (first, second)
            if a.is_real or b.is_real:
                one = self._computed(f"REAL_{what}", (self._as_real(a), self._as_real(b)))
            elif "unsigned" in {a.kind, b.kind} and what != "EQUAL":
                one = self._computed(f"UNSIGNED_{what}", (a, b))
            else:
                one = self._computed(what, (a, b))
            self._truths.add(one.register)
            if negated:
                one = self._negated(one)
            found = one if found is None else self._folded("AND", found, one)
            first = second
        assert found is not None  # noqa: S101 - Python's grammar
        return found

    def _negated(self, truth: Number) -> Number:
        found = self._computed("EQUAL", (truth, self._constant(0)))
        self._truths.add(found.register)
        return found

    def _truth(self, a: Number) -> Number:
        """1 for a number other than 0, else 0."""
        if a.register in self._truths:
            return a
        if a.is_real:
            return self._negated(
                self._computed("REAL_EQUAL", (a, self._real_constant(0.0, "float64")))
            )
        return self._negated(self._negated(a))

    def _as_real(self, a: Number) -> Number:
        if a.is_real:
            return a
        is_unsigned = a.kind == "unsigned"
        if a.level == CONSTANT:
            value = int(a.value) % (1 << 64) if is_unsigned else int(a.value)
            return self._real_constant(float(value), "float64")
        what = "UNSIGNED_TO_REAL" if is_unsigned else "TO_REAL"
        return self._computed(what, (a,), "float64")

    def _rounded(self, a: Number) -> Number:
        if a.kind == "float32":
            return a
        if a.level == CONSTANT:
            return self._real_constant(a.value, "float32")
        return self._computed("ROUND", (a,), "float32")

    def _called(self, tree: ast.Call) -> Number:
        name, args = ast.unparse(tree.func), tree.args
        match args:
            case [ast.Name(id=array)] if name == "at":
                return self._entry(array, "at")
            case [one]:
                return self._of_one(name, self._number(one))
        given = [self._number(one) for one in args]
        if name in BINARY and any(one.is_real for one in given):
            given = [self._as_real(one) for one in given]
            return self._of_system("FUNCTION_OF_TWO", BINARY.index(name), given)
        what = _EXTREMES.get(name)
        if what is None or len(given) != 2:
            raise UnsupportedError(f"there is no row for {ast.unparse(tree)}")
        if any(one.is_real for one in given):
            return self._extreme(what, *given)
        if any(one.kind == "unsigned" for one in given):
            is_less = self._computed("UNSIGNED_LESS", given)
            chosen = given if what == "SMALLER" else reversed(given)
            return self._computed("CHOOSE", (is_less, *chosen), "unsigned")
        return self._computed(what, given)

    def _extreme(self, what: str, a: Number, b: Number) -> Number:
        """The larger or the smaller float; NaN if either is NaN."""
        if a.kind != b.kind:
            raise UnsupportedError("operands of two kinds")
        pair = (b, a) if what == "LARGER" else (a, b)
        is_first = self._computed("REAL_LESS", pair)
        is_nan = self._negated(self._computed("REAL_EQUAL", (a, a)))
        return self._computed("CHOOSE", (self._folded("OR", is_first, is_nan), a, b), a.kind)

    def _of_one(self, name: str, a: Number) -> Number:
        """A function of one number, or its conversion."""
        match name:
            case "T" | "np.float32":
                return self._rounded(self._as_real(a))
            case "np.float64":
                return self._as_real(a)._replace(kind="float64")
            case "bool":
                return self._truth(a)
            case "abs" if a.is_real:
                return self._computed("REAL_ABSOLUTE", (a,), a.kind)
            case "abs":
                return self._computed("LARGER", (a, self._unary(ast.USub(), a)))
            case "sqrt" if a.is_real:
                return self._rounded_as(a, self._computed("REAL_ROOT", (a,), "float64"))
        if name in UNARY and a.is_real:
            return self._of_system("FUNCTION", UNARY.index(name), (a,))
        return self._converted(name, a)

    def _of_system(self, what: str, which: int, given: Sequence[Number]) -> Number:
        """A function of the system, in the dtype of its operands."""
        kinds = {one.kind for one in given}
        kind = "float32" if kinds == {"float32"} else "float64"
        level = max(max(one.level for one in given), STEADY)
        key = (what, kind, *(one.register for one in given), which)
        held = self._found if level == CHANGING else self._steady
        if key not in held:
            made = held[key] = Number(self._register(), level, kind)
            operands = [one.register for one in given]
            self._emit(level, what, made.register, which, *operands, int(kind == "float32"))
        return held[key]

    def _rounded_as(self, like: Number, a: Number) -> Number:
        return self._rounded(a) if like.kind == "float32" else a

    def _converted(self, name: str, a: Number) -> Number:
        """A conversion to an integer."""
        if a.is_real:
            a = self._unsigned(a) if name == "np.uint64" else self._computed("TO_INTEGER", (a,))
        if name in {"int64", "np.int64", "int"}:
            return a._replace(kind="integer")
        if name == "np.uint64":
            return a._replace(kind="unsigned")
        a = a._replace(kind="integer")
        if name in _SIGNED:
            bits = _SIGNED[name]
            if a.level == CONSTANT:
                half = 1 << (bits - 1)
                return self._constant((int(a.value) + half) % (2 * half) - half)
            return self._computed("WRAP", (a, self._constant(64 - bits)))
        if name in _UNSIGNED:
            return self._folded("AND", a, self._constant((1 << _UNSIGNED[name]) - 1))
        raise UnsupportedError(f"there is no row for {name}")

    def _unsigned(self, a: Number) -> Number:
        """A float from 0 up to 2**64 as an unsigned integer."""
        half = self._real_constant(2.0**63, "float64")
        low = self._computed("TO_INTEGER", (a,))
        rest = self._computed("REAL_SUBTRACT", (a, half), "float64")
        high = self._computed("TO_INTEGER", (rest,))
        high = self._computed("XOR", (high, self._constant(1 << 63)))
        is_high = self._computed("REAL_LESS_EQUAL", (half, a))
        return self._computed("CHOOSE", (is_high, high, low))

    def _element(self, tree: ast.Subscript) -> Number:
        """An element of an array: of a table, of a list of numbers, or at an address."""
        found = numbers_at(tree)
        if found is not None:
            return self._loaded(found[0], self._number(found[1]))
        base = tree.value
        if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            return self._entry(base.value.id, base.attr, int(self._number(tree.slice).value))
        if not isinstance(base, ast.Name):
            raise UnsupportedError(f"there is no row for {ast.unparse(tree)}")
        dtype, address = self._place(base.id, tree.slice)
        if base.id == "lengths" and base.id not in self._held:  # nothing changes them
            key = ("length", address.register)
            if key not in self._steady:
                self._steady[key] = made = Number(self._register(), STEADY)
                self._emit(STEADY, "LOAD_INT64", made.register, address.register)
            return self._steady[key]
        return self._loaded(dtype, address)

    def _place(self, name: str, index: ast.expr) -> tuple[str, Number]:
        """The dtype and address of an array's element."""
        if name in self._begins:
            dtype, begin = self._begins[name]
        else:
            held, found = self._held.get(name), self._arguments.get(name)
            named = held.dtype if held is not None else found[1].dtype if found else None
            if named is None:
                raise UnsupportedError(f"{name} is not an array of numbers")
            dtype, begin = named, self._entry(name, "at")
        axes = index.elts if isinstance(index, ast.Tuple) else [index]
        if dtype not in LOADS or len(axes) != self._rank(name):
            raise UnsupportedError(f"{name} cannot be indexed like this")
        at = self._constant(0)
        for axis, one in enumerate(axes):
            if axis:
                at = self._folded("MULTIPLY", at, self._entry(name, "shape", axis))
            number = self._number(one)
            if isinstance(one, ast.UnaryOp):  # the last
                number = self._folded("ADD", self._entry(name, "shape", axis), number)
            at = self._folded("ADD", at, number)
        size = self._constant(np.dtype(dtype).itemsize)
        return dtype, self._folded("ADD", begin, self._folded("MULTIPLY", at, size))

    def _rank(self, name: str) -> int:
        if name in self._begins:
            return 1
        held = self._held.get(name)
        return self._arguments[name][1].rank if held is None else len(held.shape)

    def _loaded(self, dtype: str, address: Number) -> Number:
        """The number at an address."""
        kind = LOADS[dtype]
        if kind == "SHORT":
            byte = self._folded("ADD", address, self._constant(1))
            high = self._folded("SHIFT_LEFT", self._loaded("uint8", byte), self._constant(8))
            found = self._folded("ADD", self._loaded("uint8", address), high)
        else:
            register = self._register()
            self._emit(CHANGING, f"LOAD_{kind}", register, address.register)
            name = {"FLOAT32": "float32", "FLOAT64": "float64"}.get(kind, "integer")
            found = Number(register, CHANGING, name)
        if dtype in {"int8", "int16", "uint32", "uint64"}:
            return self._converted(f"np.{dtype}", found)
        return found


_READERS: dict[type, Callable[[Any, Any], Number]] = {
    ast.Attribute: StatementNumbers._attribute,
    ast.BinOp: lambda self, tree: self._binary(
        type(tree.op), self._number(tree.left), self._number(tree.right)
    ),
    ast.BoolOp: StatementNumbers._logical,
    ast.Call: StatementNumbers._called,
    ast.Compare: StatementNumbers._compared,
    ast.Constant: StatementNumbers._literal,
    ast.IfExp: StatementNumbers._choice,
    ast.Name: lambda self, tree: self._named(tree.id),
    ast.Subscript: StatementNumbers._element,
    ast.UnaryOp: lambda self, tree: self._unary(tree.op, self._number(tree.operand)),
}
