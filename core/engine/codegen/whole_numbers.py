"""Statements of a plan's steps on integers and booleans, and of conversions to floats.

Models with features spend a few microseconds of Python on each comparison, cast, one-hot code and
lookup before their products. Each step here is a separate loop, exactly as in the plan: its
expression is that of scalar loops (`scalar_text`). If the plan would raise an error, for example
for an index out of range, the kernel returns early and the plan raises it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError, is_elementwise, lies_as
from pinnace.engine.codegen.function_numbers import WHOLE, WHOLE_DTYPES
from pinnace.engine.codegen.scalar_text import literal, of_each
from pinnace.engine.codegen.statements import Statements
from pinnace.framework import dtypes
from pinnace.ops.array.gathering import GATHER_V2
from pinnace.ops.state.scatters import RESOURCE_GATHER
from pinnace.ops.state.variables import READ_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.codegen.places import Place
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Views of a dtype's numbers at an address, and their size in bytes.
_VIEWS = {
    dtypes.float32: ("floats", 4),
    dtypes.bool: ("truths", 1),
    dtypes.int32: ("ints", 4),
    dtypes.int64: ("longs", 8),
}
_FUNCTIONS = frozenset({"abs", "max", "min"})
_WHOLE = frozenset({dtypes.int32, dtypes.int64})
# Most numbers of an elementwise step without a function: each takes a dozen rows of the table, some
# 30 ns, and the step 5 us or more by NumPy.
_MOST = 128


class WholeNumbers(Statements):
    """The source of steps on integers and booleans, in addition to those on floats."""

    # Storage.

    def _numbers(self, value: Value) -> str:
        """The expression of all numbers of a value."""
        place = self._place(value)
        if not place.whole:
            raise UnsupportedError(f"{value}: its rows are not contiguous")
        return self._view(place.address, value.dtype, math.prod(self.size(value)))

    def _view(self, address: str, dtype: DType, count: int) -> str:
        view, _ = _VIEWS[dtype]
        return f"{view}({address}, {count})"

    def _result(self, value: Value) -> str:
        """The expression of a result's numbers, with storage allocated for it."""
        home = self._homes.get(value)
        shape = self.size(value)
        if home is None:
            bytes_each = _VIEWS[value.dtype][1]
            home = self.at(self._reserve(-(-math.prod(shape) * bytes_each // 4)), shape)
        if not home.whole:
            raise UnsupportedError(f"{value}: its rows are not contiguous")
        self.places[value] = home
        return self._view(home.address, value.dtype, math.prod(shape))

    def copy(self, value: Value, target: Place) -> str:
        """A statement that copies a value."""
        if value.dtype is not dtypes.int64:
            return super().copy(value, target)
        source = self._place(value)
        if not source.whole or not target.whole:
            raise UnsupportedError(f"{value}: its rows are not contiguous")
        count = 2 * math.prod(self.size(value))
        return f"copy_rows({source.address}, {count}, {target.address}, {count}, 1, {count})"

    def _name(self, letter: str) -> str:
        """A unique name."""
        self._names += 1
        return f"{letter}_{self._names}"

    def _give_up(self, condition: str, indent: str) -> list[str]:
        self.refuses = True
        return [f"{indent}if {condition}:", f"{indent}    return 1"]

    # Steps.

    def _each(self, node: Node) -> None:
        """Generate an elementwise step."""
        value = node.outputs[0]
        shape = self.size(value)
        if node.op.name == "Select" and any(self.size(one) != shape for one in node.inputs):
            raise UnsupportedError(f"{node}: it selects whole rows")
        if self._each_by_a_function(node):
            return
        if math.prod(shape) > _MOST:
            raise UnsupportedError(f"{node}: too many elements")
        across = shape[-1] if shape else 1
        rows = math.prod(shape[:-1])
        ahead: list[str] = []
        names: list[str] = []
        for given in node.inputs:
            array = self._constant(given)
            if given in self._scalars:
                names.append(self._scalars[given])
                continue
            if array is not None and array.size == 1:
                names.append(literal(np.reshape(array, ()), given.dtype.name) or "")
                continue
            kind = lies_as(self.size(given), shape)
            numbers = self._name("v")
            ahead.append(f"{numbers} = {self._numbers(given)}")
            place = {"full": "at_each", "row": "c", "column": "r", "scalar": "0"}[kind]
            truth = " != 0" if given.dtype is dtypes.bool else ""
            names.append(f"({numbers}[{place}]{truth})")
        text = of_each(node, names, _FUNCTIONS)
        if text is None:
            raise UnsupportedError(f"{node.op.name} has no statement")
        result = self._name("z")
        self.lines += [*ahead, f"{result} = {self._result(value)}"]
        self.lines += [f"for r in range({rows}):", f"    for c in range({across}):"]
        self.lines.append(f"        at_each = r * {across} + c")
        for condition in text.refusals:
            self.lines += self._give_up(condition, " " * 8)
        self.lines.append(f"        {result}[at_each] = {text.text}")

    def _each_by_a_function(self, node: Node) -> bool:
        """Generate an elementwise step by one function; returns whether there is one for it."""
        value = node.outputs[0]
        found = _function_of(node, self._constant(node.inputs[-1]))
        if found is None:
            return False
        name, is_turned = found
        given = [node.inputs[0], node.inputs[-1]]
        if is_turned:
            given.reverse()
        if any(one in self._scalars for one in given):
            return False
        shape = self.size(value)
        across = shape[-1] if shape else 1
        try:
            places = [self._place(one) for one in given]
        except UnsupportedError:
            return False  # a constant that has only a literal
        if not all(place.whole for place in places):
            return False
        operands = []
        for one, place in zip(given, places, strict=True):
            row, step = {
                "full": (across, 1), "row": (0, 1), "column": (1, 0), "scalar": (0, 0)
            }[lies_as(self.size(one), shape)]  # fmt: skip
            kind = WHOLE_DTYPES.index(one.dtype.name)
            operands += [place.address, str(kind), str(row), str(step)]
        self._result(value)
        which, rows = WHOLE.index(name), math.prod(shape[:-1])
        kind = WHOLE_DTYPES.index(value.dtype.name)
        self.lines.append(
            f"apply_whole({which}, {rows}, {across}, {', '.join(operands)}, "
            f"{self.places[value].address}, {kind})"
        )
        return True

    def _codes(self, node: Node) -> None:
        """One-hot codes along a new last axis."""
        indices, *others = node.inputs
        depth, on, off = (self._constant(one) for one in others)
        value = node.outputs[0]
        axis = node.attrs["axis"]
        if depth is None or on is None or off is None or axis not in {-1, len(self.size(indices))}:
            raise UnsupportedError(
                f"{node}: depth or values are not constants, or the axis is not the last"
            )
        on_text, off_text = (literal(np.reshape(one, ()), value.dtype.name) for one in (on, off))
        count, size = math.prod(self.size(indices)), int(np.reshape(depth, ()))
        given, result = self._name("v"), self._name("z")
        self.lines += [
            f"{given} = {self._numbers(indices)}",
            f"{result} = {self._result(value)}",
            *self._filled(value, result, off_text),
            f"for i in range({count}):",
            f"    if 0 <= {given}[i] < {size}:",
            f"        {result}[i * {size} + {given}[i]] = {on_text}",
        ]

    def _filled(self, value: Value, result: str, text: str | None) -> list[str]:
        """Lines that write one number everywhere."""
        count = math.prod(self.size(value))
        if value.dtype is dtypes.float32:
            return [f"fill({self.places[value].address}, {count}, {text})"]
        return [f"for i in range({count}):", f"    {result}[i] = {text}"]

    def _buckets(self, node: Node) -> None:
        """The bucket of each number; NaN is beyond all boundaries."""
        (source,), (value,) = node.inputs, node.outputs
        edges = np.asarray(node.attrs["boundaries"], np.float32)
        if not edges.size or not np.isfinite(edges).all() or (edges[1:] < edges[:-1]).any():
            raise UnsupportedError(f"{node}: boundaries are not finite and sorted")
        self.constants.append(edges)
        given, result = self._name("v"), self._name("z")
        self.lines += [
            f"{given} = {self._numbers(source)}",
            f"{result} = {self._result(value)}",
            f"for i in range({math.prod(self.size(source))}):",
            "    below = 0",
            f"    for j in range({len(edges)}):",
            f"        below += 0 if {given}[i] < k{len(self.constants) - 1}[j] else 1",
            f"    {result}[i] = below",
        ]

    def _rows(self, node: Node) -> None:
        """Rows of a table, or of a variable, by index."""
        source, indices = node.inputs[:2]
        if node.op is RESOURCE_GATHER:
            shape = self._shape_of(source)
            table = self.variable(source, shape)
        else:
            axis = self._constant(node.inputs[2])
            if axis is None or int(np.reshape(axis, ())):
                raise UnsupportedError(f"{node}: only rows of the first axis can be gathered")
            shape, table = self.size(source), self._place(source)
        if node.attrs.get("batch_dims") or not shape or not table.whole:
            raise UnsupportedError(f"{node}: it does not gather contiguous rows")
        value = node.outputs[0]
        home = self._whole_home(value)
        given, row = self._name("v"), self._name("row")
        width = math.prod(shape[1:])
        self.lines += [
            f"{given} = {self._numbers(indices)}",
            f"for i in range({math.prod(self.size(indices))}):",
            f"    {row} = int64({given}[i])",
            *self._give_up(f"{row} < 0 or {row} >= {shape[0]}", "    "),
        ]
        self.lines.append(
            f"    copy_rows({table.address} + 4 * {row} * {width}, {width}, "
            f"{home.address} + 4 * i * {width}, {width}, 1, {width})"
        )

    def _shape_of(self, handle: Value) -> tuple[int, ...]:
        """The shape of a variable's value at the recorded call."""
        kernel = READ_VARIABLE.kernel
        assert kernel is not None  # noqa: S101 - for mypy: it is defined with one
        return np.shape(kernel(self._watched_one(handle)))

    def _watched_one(self, value: Value) -> Array:
        raise UnsupportedError(f"{value}: it has no recorded value")


# Functions by the expressions of ops, and whether their operands are swapped.
_FUNCTION_OF = {
    "{x} + {y}": ("add", False), "{x} - {y}": ("subtract", False),
    "{x} * {y}": ("multiply", False), "min({x}, {y})": ("minimum", False),
    "max({x}, {y})": ("maximum", False), "{x} == {y}": ("equal", False),
    "{x} != {y}": ("not_equal", False), "{x} < {y}": ("less", False),
    "{x} <= {y}": ("less_equal", False), "{x} > {y}": ("less", True),
    "{x} >= {y}": ("less_equal", True), "{x} and {y}": ("and", False),
    "{x} or {y}": ("or", False), "not {x}": ("not", False),
}  # fmt: skip
_DIVISIONS = {("quotient", "floor"): "floor_divide", ("remainder", "floor"): "floor_modulo"}


def _function_of(node: Node, last: Array | None) -> tuple[str, bool] | None:
    """The function that computes a step, and whether its operands are swapped; None for none.

    Conversions of floats and some divisions may fail.
    """
    op, kinds = node.op, {value.dtype for value in node.inputs}
    if len(kinds) != 1:
        return None
    if kinds == {dtypes.float32} and (
        node.outputs[0].dtype is not dtypes.bool or op.name == "Cast"
    ):
        return None
    if op.divides is not None:
        name = _DIVISIONS.get(op.divides)
        is_safe = last is not None and last.size == 1 and int(np.reshape(last, ())) not in {0, -1}
        return (name, False) if name is not None and is_safe else None
    return ("move", False) if op.name == "Cast" else _FUNCTION_OF.get(op.fuse or "")


def writer_of(node: Node) -> Callable[[WholeNumbers, Node], None] | None:
    """The method for a step on integers or booleans; None if it is another step.

    Args:
        node: any step.
    """
    kinds = [value.dtype for value in node.inputs]
    if len(node.outputs) != 1 or node.controls or node.outputs[0].dtype not in _VIEWS:
        return None
    made = node.outputs[0].dtype
    name = node.op.name
    if name == "OneHot":
        return WholeNumbers._codes if kinds[0] in _WHOLE else None
    if name == "Bucketize":
        return WholeNumbers._buckets if kinds[0] is dtypes.float32 else None
    if node.op is GATHER_V2 or node.op is RESOURCE_GATHER:
        is_table = made is dtypes.float32 and kinds[1] in _WHOLE
        return WholeNumbers._rows if is_table else None
    return WholeNumbers._each if _is_of_each(node, kinds, made) else None


def _is_of_each(node: Node, kinds: Sequence[DType], made: DType) -> bool:
    """Whether a step is elementwise with an exact expression."""
    op = node.op
    if not node.inputs or is_elementwise(node) or any(kind not in _VIEWS for kind in kinds):
        return False
    if made is dtypes.float32:  # floats of floats are rounded, and handled elsewhere
        return op.name == "Cast" and kinds[0] is not dtypes.float32
    if "T(" in (op.fuse or "") and set(kinds) != {made}:
        return False  # a scalar of unknown dtype
    return of_each(node, ["x"] * len(kinds), _FUNCTIONS) is not None


def is_refusing(node: Node) -> bool:
    """Whether the statement of a step may leave numbers to the plan."""
    return (
        node.op in {GATHER_V2, RESOURCE_GATHER} or bool(node.op.divides) or node.op.name == "Cast"
    )
