"""A StableHLO module: functions of ops, which may have regions. Decoded from MLIR bytecode.

VHLO is the versioned form of StableHLO in files; every version of its ops and attributes is read.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NoReturn

from pinnace.framework.errors import UnimplementedError
from pinnace.saved_model.stablehlo.attributes import Constant
from pinnace.saved_model.stablehlo.cursor import Cursor, refuse
from pinnace.saved_model.stablehlo.op_fields import fields_of
from pinnace.saved_model.stablehlo.tables import PROGRAM, Tables
from pinnace.saved_model.stablehlo.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.saved_model.stablehlo.attributes import Attribute
    from pinnace.saved_model.stablehlo.types import Type

# The depth of nested regions.
_DEPTH = 64
_MOST_REGIONS = 4096
# Values and ops of a module in total.
_MOST_VALUES = 4_000_000


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A result of an op, or an argument of a region."""

    type: Type

    @property
    def tensor(self) -> TensorType:
        """The type, which must be a tensor's.

        Raises:
            UnimplementedError: it is not.
        """
        if not isinstance(self.type, TensorType):
            name = getattr(self.type, "name", "function")
            raise UnimplementedError(
                f"StableHLO module: a value of type {name!r} cannot be computed"
            )
        return self.type


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The contents of a region: arguments, then ops in order, the last of which returns."""

    arguments: tuple[Value, ...]
    operations: tuple[Operation, ...]

    @property
    def returned(self) -> tuple[Value, ...]:
        """The values that it returns."""
        if not self.operations or self.operations[-1].name != "return":
            refuse("a region does not return")
        return self.operations[-1].operands


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One op.

    Attributes:
        name: its name without dialect and version.
        operands: its operands.
        results: its results.
        attributes: StableHLO's attributes.
        extra: attributes that the module's producer added.
        regions: its regions.
    """

    name: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: dict[str, Attribute]
    extra: dict[str, Attribute]
    regions: tuple[Block, ...]

    def integers(self, name: str) -> tuple[int, ...]:
        """An attribute that is a list of integers."""
        value = self.attributes.get(name)
        if isinstance(value, Constant) and (value.type.is_integer or value.type.element == "i1"):
            return value.integers()
        if isinstance(value, tuple) and all(isinstance(one, int) for one in value):
            return value
        return self._wrong(name, "a list of whole numbers")

    def optional_integers(self, name: str) -> tuple[int, ...]:
        """An attribute that is a list of integers, empty if this version of the op lacks it."""
        return self.integers(name) if name in self.attributes else ()

    def pairs(self, name: str) -> tuple[tuple[int, int], ...]:
        """An attribute that is a list of pairs of integers."""
        flat = self.integers(name)
        if len(flat) % 2:
            self._wrong(name, "a list of pairs")
        return tuple(zip(flat[::2], flat[1::2], strict=True))

    def integer(self, name: str) -> int:
        """An attribute that is an integer."""
        value = self.attributes.get(name)
        return value if isinstance(value, int) else self._wrong(name, "a whole number")

    def number(self, name: str) -> float:
        """An attribute that is a number."""
        value = self.attributes.get(name)
        return float(value) if isinstance(value, (int, float)) else self._wrong(name, "a number")

    def flag(self, name: str) -> bool:
        """An attribute that is a bool."""
        value = self.attributes.get(name)
        return value if isinstance(value, bool) else self._wrong(name, "true or false")

    def text(self, name: str) -> str:
        """An attribute that is a string, or a value of an enumeration."""
        value = self.attributes.get(name)
        return value if isinstance(value, str) else self._wrong(name, "a text")

    def constant(self, name: str) -> Constant:
        """An attribute that is a constant."""
        value = self.attributes.get(name)
        return value if isinstance(value, Constant) else self._wrong(name, "a constant")

    def dictionary(self, name: str) -> dict[str, Any]:
        """An attribute that is a dictionary."""
        value = self.attributes.get(name)
        return value if isinstance(value, dict) else self._wrong(name, "a dictionary")

    def region(self, index: int = 0) -> Block:
        """One of its regions."""
        if index >= len(self.regions):
            refuse(f"op {self.name} has no region {index}")
        return self.regions[index]

    def _wrong(self, name: str, wanted: str) -> NoReturn:
        refuse(f"attribute {name} of op {self.name} is not {wanted}")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Module:
    """A program: functions by name, of which `main` is the entry point.

    Attributes:
        producer: the producer, as the file names it.
        functions: by name, each an op `func` with one region.
    """

    producer: str
    functions: dict[str, Block]

    def function(self, name: str) -> Block:
        """Return a function.

        Raises:
            InvalidArgumentError: no function has that name.
        """
        found = self.functions.get(name)
        if found is None:
            refuse(f"there is no function {name[:200]!r}")
        return found


def operations_of(block: Block) -> Iterator[Operation]:
    """Every op of a block and of its nested regions."""
    waiting = [block]
    while waiting:
        for operation in waiting.pop().operations:
            yield operation
            waiting.extend(operation.regions)


def decode_module(data: bytes) -> Module:
    """Decode a module from MLIR bytecode, in which each op is of the dialect VHLO.

    Raises:
        InvalidArgumentError: the bytes are not such a module.
        UnimplementedError: its version is too new, or it has ops of other dialects.
    """
    tables = Tables(data)
    reader = _Reader(tables)
    top = reader.block(tables.program, _Scope([]), 0)
    if tables.program.left or [one.name for one in top.operations] != ["module"]:
        refuse("it must be a single module")
    functions: dict[str, Block] = {}
    for operation in top.operations[0].region().operations:
        if operation.name != "func":
            refuse(f"op {operation.name} is outside the functions")
        name = operation.text("sym_name")
        if name in functions:
            refuse(f"two functions are named {name[:200]!r}")
        functions[name] = operation.region()
    return Module(tables.producer, functions)


class _Scope:
    """The values that the ops of a region may refer to by number, and how many are defined."""

    def __init__(self, values: list[Value | None]) -> None:
        self.values = values
        self.next = len(values)

    def extend(self, count: int) -> None:
        """Make room for the values of a region."""
        self.next = len(self.values)
        self.values.extend([None] * count)

    def define(self, value: Value) -> None:
        """Define the next value."""
        if self.next >= len(self.values):
            refuse("a region has more values than it announces")
        self.values[self.next] = value
        self.next += 1

    def use(self, index: int) -> Value:
        """Return a defined value."""
        value = self.values[index] if index < len(self.values) else None
        if value is None:
            refuse("a value is used before it is defined")
        return value


class _Reader:
    """Reads ops and regions."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._left = _MOST_VALUES

    def block(self, cursor: Cursor, scope: _Scope, depth: int) -> Block:
        """A block: the number of its ops, its arguments, its ops."""
        count, has_arguments = cursor.flagged()
        if count > cursor.left:
            refuse(f"{count} ops are announced, but {cursor.left} bytes are left")
        arguments = self._arguments(cursor, scope) if has_arguments else ()
        operations = tuple([self._operation(cursor, scope, depth) for _ in range(count)])
        return Block(arguments, operations)

    def _arguments(self, cursor: Cursor, scope: _Scope) -> tuple[Value, ...]:
        arguments = []
        for _ in range(cursor.count()):
            if self._tables.version >= 4:
                index, has_location = cursor.flagged()
                if has_location:
                    cursor.number()
            else:
                index = cursor.number()
                cursor.number()
            arguments.append(Value(self._tables.type(index)))
            scope.define(arguments[-1])
        if self._tables.version >= 3 and cursor.byte():
            _skip_uses(cursor, len(arguments))
        return tuple(arguments)

    def _region(self, cursor: Cursor, scope: _Scope, depth: int) -> Block:
        blocks = cursor.number()
        if blocks == 0:
            return Block((), ())
        if blocks > 1:
            refuse("a region has several blocks")
        count = cursor.number()
        if count > cursor.left:
            refuse(f"{count} values are announced, but {cursor.left} bytes are left")
        self._spend(count)
        outer, start = scope.next, len(scope.values)
        scope.extend(count)
        block = self.block(cursor, scope, depth)
        if scope.next != len(scope.values):
            refuse("a region has fewer values than it announces")
        del scope.values[start:]
        scope.next = outer
        return block

    def _operation(self, cursor: Cursor, scope: _Scope, depth: int) -> Operation:
        tables = self._tables
        index = cursor.number()
        if index >= len(tables.op_names):
            refuse(f"it has no op name {index}")
        mask = cursor.byte()
        cursor.number()  # the source location
        extra = tables.attribute(cursor.number()) if mask & 1 else {}
        if not isinstance(extra, dict):
            refuse("the attributes of an op must be a dictionary")
        properties = tables.properties(cursor.number()) if mask & 64 else None
        results: tuple[Value, ...] = ()
        if mask & 2:
            results = tuple(cursor.several(lambda: Value(tables.type(cursor.number()))))
        operands: tuple[Value, ...] = ()
        if mask & 4:
            operands = tuple(cursor.several(lambda: scope.use(cursor.number())))
        if mask & 8 and cursor.count():
            refuse("an op has successor blocks")
        if mask & 32 and tables.version >= 3:
            _skip_uses(cursor, len(results))
        regions, isolated = cursor.flagged() if mask & 16 else (0, False)
        self._spend(1 + len(results))
        name, attributes, rest = self._attributes(tables.op_names[index], extra, properties)
        for result in results:
            scope.define(result)
        inner: tuple[Block, ...] = ()
        if regions:
            inner = self._regions(cursor, scope, regions, isolated, depth + 1)
        return Operation(name, operands, results, attributes, rest, inner)

    def _regions(
        self, cursor: Cursor, scope: _Scope, count: int, isolated: bool, depth: int
    ) -> tuple[Block, ...]:
        if depth > _DEPTH or count > _MOST_REGIONS:
            refuse("regions are nested too deeply, or there are too many")
        if isolated and self._tables.version >= 2:
            kind, cursor = cursor.section()
            if kind != PROGRAM:
                refuse("the section of an isolated region has another kind")
        return tuple(
            [self._region(cursor, _Scope([]) if isolated else scope, depth) for _ in range(count)]
        )

    def _attributes(
        self, full: str, extra: dict[str, Attribute], properties: Cursor | None
    ) -> tuple[str, dict[str, Attribute], dict[str, Attribute]]:
        """An op's name, its own attributes and others."""
        if full == "builtin.module":
            return "module", {}, extra
        dialect, _, name = full.partition(".")
        found = fields_of(name) if dialect == "vhlo" else None
        if found is None:
            raise UnimplementedError(
                f"StableHLO module: op {full[:200]!r} is not a known op of "
                "StableHLO\n  Try: a module written for an older version of StableHLO"
            )
        name, fields = found
        if properties is None:
            own = {field: extra[field] for field in fields if field in extra}
            if len(own) != len(fields):
                refuse(f"op {name} lacks attributes")
            return name, own, {key: extra[key] for key in extra if key not in own}
        own = {field: self._tables.attribute(properties.number()) for field in fields}
        if properties.left:
            refuse(f"op {name} has unknown attributes")
        return name, own, extra

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            refuse(f"it has more than {_MOST_VALUES} values and ops")


def _skip_uses(cursor: Cursor, count: int) -> None:
    """Skip the orders of values' uses, which are not needed."""
    for _ in range(1 if count == 1 else cursor.count()):
        if count > 1:
            cursor.number()
        for _ in range(cursor.flagged()[0]):
            cursor.number()
