"""Numbers of a kernel's statements as rows of the kernel that walks them.

What does not change during a call is computed once, before the first statement; an expression that
occurs again is not computed again, unless a variable in it has changed.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.nests import view_of
from pinnace.engine.codegen.statement_walk import ACROSS, OPERATION
from pinnace.engine.codegen.walks import Argument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CONSTANT, STEADY, CHANGING = range(3)
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
# Comparison -> the operation, whether operands change places, whether the result is negated.
_COMPARED: dict[type, tuple[str, bool, bool]] = {
    ast.Lt: ("LESS", False, False),
    ast.LtE: ("LESS_EQUAL", False, False),
    ast.Gt: ("LESS", True, False),
    ast.GtE: ("LESS_EQUAL", True, False),
    ast.Eq: ("EQUAL", False, False),
    ast.NotEq: ("EQUAL", False, True),
}
_EXTREMES = {"min": "SMALLER", "minimum": "SMALLER", "max": "LARGER", "maximum": "LARGER"}
_LOADS = {"int64": "INT64", "int32": "INT32", "bool": "BYTE", "uint8": "BYTE"}
_LOADS |= {"float32": "FLOAT32", "float64": "FLOAT64"}


class Number(NamedTuple):
    """The value of an expression.

    Attributes:
        register: its register.
        level: whether it is a constant, the same during a call, or changes.
        kind: "integer", "unsigned" (64 bits whose sign is a bit), "float32" or "float64".
        value: of a constant.
    """

    register: int
    level: int
    kind: str = "integer"
    value: float = 0

    @property
    def is_real(self) -> bool:
        """Whether the register has the bits of a float64."""
        return self.kind.startswith("float")


class StatementNumbers:
    """The rows that compute numbers, and the registers that have them.

    Args:
        arguments: the kernel's parameters.
        sizes: the numbers of the table `n`.
    """

    def __init__(self, arguments: Sequence[Argument], sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._arguments = {one.name: (place, one) for place, one in enumerate(arguments)}
        # What a call says of its arguments (`walks.Walk.taken`), and the registers for that.
        self._taken: list[tuple[int, str, int]] = []
        self._entries: dict[tuple[str, str, int], Number] = {}
        self._constants: dict[tuple[str, float], int] = {}
        # Rows before the first statement, and those of statements.
        self._ahead: list[list[int]] = []
        self._rows: list[list[int]] = []
        # Results that are the same during a call, and others, by operation and operands.
        self._steady: dict[tuple[object, ...], Number] = {}
        self._found: dict[tuple[object, ...], Number] = {}
        # Named numbers in memory: their dtype and the address of the first.
        self._begins: dict[str, tuple[str, Number]] = {}
        # Registers whose number is 1 or 0.
        self._truths: set[int] = set()
        self._registers = 0
        self._names = {
            "w": Number(self._register(), STEADY),
            "ACROSS": Number(self._register(), STEADY),
        }
        assert self._names["ACROSS"].register == ACROSS  # noqa: S101 - the kernel puts it there

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
        """The result of an operation, which is not computed again."""
        level = max(max(one.level for one in operands), STEADY)
        key = (name, kind, *(one.register for one in operands))
        for held in (self._steady, self._found):
            if key in held:
                return held[key]
        made = Number(self._register(), level, kind)
        self._emit(level, name, made.register, *(one.register for one in operands))
        (self._found if level == CHANGING else self._steady)[key] = made
        return made

    # Expressions.

    def _number(self, tree: ast.expr) -> Number:
        """The value of an expression."""
        read = _READERS.get(type(tree))
        if read is None:
            raise UnsupportedError(f"no row: {ast.unparse(tree)}")
        return read(self, tree)

    def _literal(self, tree: ast.Constant) -> Number:
        if isinstance(tree.value, float):
            return self._real_constant(tree.value, "float64")
        return self._constant(int(tree.value))  # type: ignore[arg-type] # or a truth value

    def _attribute(self, tree: ast.Attribute) -> Number:
        known = {"np.nan": np.nan, "np.inf": np.inf}.get(ast.unparse(tree))
        if known is None:
            raise UnsupportedError(f"no row: {ast.unparse(tree)}")
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
            raise UnsupportedError(f"two kinds: {ast.unparse(tree)}")
        return self._computed("CHOOSE", given, given[1].kind)

    def _named(self, name: str) -> Number:
        found = self._names.get(name)
        return self._entry(name, "value") if found is None else found

    def _entry(self, name: str, what: str, axis: int = 0) -> Number:
        """What a call says of an argument."""
        key = name, what, axis
        if key not in self._entries:
            place, one = self._arguments.get(name, (-1, Argument(name)))
            if place < 0 or (one.dtype is None) != (what == "value") or axis >= max(one.rank, 1):
                raise UnsupportedError(f"no {what}: {name}")
            self._entries[key] = Number(self._register(), STEADY)
            self._taken.append((place, what, axis))
        return self._entries[key]

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

    def _binary(self, op: type, a: Number, b: Number) -> Number:
        if a.is_real or b.is_real or op is ast.Div:
            what = _REAL.get(op)
            if what is None:
                raise UnsupportedError(f"{op.__name__} of fractions")
            # An integer beside a fraction is a float64, as in NumPy.
            kinds = {one.kind for one in (a, b)}
            kind = "float32" if kinds == {"float32"} else "float64"
            found = self._computed(what, (self._as_real(a), self._as_real(b)), "float64")
            return self._rounded(found) if kind == "float32" else found
        what = _BINARY.get(op)
        if what is None:
            raise UnsupportedError(f"no operation: {op.__name__}")
        is_unsigned = "unsigned" in {a.kind, b.kind}
        if is_unsigned and what in {"FLOOR_DIVIDE", "MODULO", "SHIFT_RIGHT"}:
            raise UnsupportedError(f"{what} of unsigned numbers")
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
            raise UnsupportedError("a sign")
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
            elif "unsigned" in {a.kind, b.kind}:
                raise UnsupportedError("unsigned numbers are compared")
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
        """1 or 0."""
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
        if a.kind == "unsigned":
            raise UnsupportedError("an unsigned number as a fraction")
        if a.level == CONSTANT:
            return self._real_constant(float(a.value), "float64")
        return self._computed("TO_REAL", (a,), "float64")

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
        what = _EXTREMES.get(name)
        if what is None or any(one.kind != "integer" for one in given):
            raise UnsupportedError(f"no row: {ast.unparse(tree)}")
        return self._computed(what, given)

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
        return self._converted(name, a)

    def _rounded_as(self, like: Number, a: Number) -> Number:
        return self._rounded(a) if like.kind == "float32" else a

    def _converted(self, name: str, a: Number) -> Number:
        """A conversion to an integer."""
        if a.is_real:
            if name == "np.uint64":
                raise UnsupportedError("a fraction as an unsigned number")
            a = self._computed("TO_INTEGER", (a,))
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
        raise UnsupportedError(f"no row: {name}")

    def _element(self, tree: ast.Subscript) -> Number:
        """An element of an array: of a table, of a list of numbers, or at an address."""
        view = view_of(tree)
        if view is not None:
            return self._loaded(_LOADS[view.dtype], self._number(view.address))
        base = tree.value
        if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            return self._entry(base.value.id, base.attr, int(self._number(tree.slice).value))
        if not isinstance(base, ast.Name):
            raise UnsupportedError(f"no row: {ast.unparse(tree)}")
        if base.id == "n":
            return self._constant(self._sizes[int(self._number(tree.slice).value)])
        kind, address = self._place(base.id, tree.slice)
        if base.id == "lengths":  # nothing changes them
            key = ("length", address.register)
            if key not in self._steady:
                self._steady[key] = made = Number(self._register(), STEADY)
                self._emit(STEADY, "LOAD_INT64", made.register, address.register)
            return self._steady[key]
        return self._loaded(kind, address)

    def _place(self, name: str, index: ast.expr) -> tuple[str, Number]:
        """The kind and address of an array's element."""
        if name in self._begins:
            dtype, begin = self._begins[name]
        else:
            found = self._arguments.get(name)
            if found is None or found[1].dtype not in _LOADS or found[1].rank != 1:
                raise UnsupportedError(f"no numbers: {name}")
            dtype, begin = found[1].dtype, self._entry(name, "at")
        if isinstance(index, ast.UnaryOp):  # the last
            at = self._folded("ADD", self._entry(name, "shape"), self._number(index))
        else:
            at = self._number(index)
        size = self._constant(np.dtype(dtype).itemsize)
        return _LOADS[dtype], self._folded("ADD", begin, self._folded("MULTIPLY", at, size))

    def _loaded(self, kind: str, address: Number) -> Number:
        register = self._register()
        self._emit(CHANGING, f"LOAD_{kind}", register, address.register)
        name = {"FLOAT32": "float32", "FLOAT64": "float64"}.get(kind, "integer")
        return Number(register, CHANGING, name)


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
