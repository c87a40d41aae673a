"""Translates the steps of a cluster to scalar instructions.

The instructions follow from the ops' scalar expressions.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from pinnace.engine.codegen import block_programs as fields
from pinnace.engine.codegen import forms
from pinnace.framework import dtypes
from pinnace.framework.parsing import parsed
from pinnace.ops.nn.softmaxes import LOG_SOFTMAX
from pinnace.ops.opdef import SLOW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.codegen.clusters import Cluster
    from pinnace.engine.steps import Step
    from pinnace.graph.graph import Node, Value

    Sizes = Mapping[Value, tuple[int, ...]]

T = TypeVar("T")

_BINARY: dict[type, str] = {
    ast.Add: "ADD",
    ast.Sub: "SUBTRACT",
    ast.Mult: "MULTIPLY",
    ast.Div: "DIVIDE",
}
_CALLS = {
    "maximum": "LARGER",
    "minimum": "SMALLER",
    "abs": "ABSOLUTE",
    "sqrt": "ROOT",
    **{name: name.upper() for name in SLOW},
}
_REDUCTIONS = {"sum": "ROW_SUM", "max": "ROW_LARGEST"}


@dataclass(eq=False, slots=True)
class Item:
    """A value of the program.

    Attributes:
        what: the instruction that computes it; "input" or "number" if none does.
        uses: its operands.
        lies: v, a number per column; r, one per row; s, one for all.
        section: the first that can compute it; a reduction's result is available in the next one.
        index: the index of an input.
        number: the value of a constant.
        shared: for an input with repeated rows: repetitions of a block, and its rows.
        runs: the section that computes it.
    """

    what: str
    uses: list[Item]
    lies: str
    section: int
    index: int = -1
    number: float = 0.0
    shared: tuple[int, int] = (1, 1)
    runs: int = -1

    @property
    def by_row(self) -> bool:
        """Whether its instruction operates on one number per row."""
        return self.lies != "v" and not self.reduces

    @property
    def reduces(self) -> bool:
        """Whether it is a reduction of a row."""
        return self.what in fields.REDUCTIONS

    @property
    def is_there(self) -> int:
        """The first section that can read it: for a reduction the one after its own."""
        return self.section + self.reduces

    @property
    def is_given(self) -> bool:
        """Whether no instruction computes it."""
        return self.what in {"input", "number"}


@functools.cache
def _parsed(text: str) -> ast.expr:
    body: ast.expr = parsed(text, "eval").body
    return body


class Translator(Generic[T]):
    """Translates scalar expressions to instructions whose results are of one type."""

    def __init__(self) -> None:
        # Results so far, by the operation and the operands that compute them.
        self._found: dict[tuple[str, tuple[T, ...]], T] = {}

    def _number(self, number: float) -> T:
        """A constant."""
        raise NotImplementedError

    def _new(self, what: str, uses: list[T]) -> T:
        """Add an instruction; returns its result."""
        raise NotImplementedError

    def _add(self, what: str, uses: list[T]) -> T:
        """Add an instruction unless there is one already; returns its result."""
        key = what, tuple(uses)
        if key not in self._found:
            self._found[key] = self._new(what, uses)
        return self._found[key]

    def _computed(self, node: Node, operands: Sequence[T]) -> T:
        """The result of an elementwise step.

        Raises:
            NotImplementedError: no instruction computes a part of it.
        """
        known = {f"x{number}": one for number, one in enumerate(operands)}
        return self._walk(_parsed(forms.written(node, list(known))), known)

    def _walk(self, tree: ast.expr, known: Mapping[str, T]) -> T:
        """The result of an expression."""
        match tree:
            case ast.Name(id=name) | ast.Call(func=ast.Name(id="T"), args=[ast.Name(id=name)]):
                return known[name]
            case ast.Call(func=ast.Name(id="T"), args=[one]):
                return self._number(float(ast.literal_eval(one)))
            case ast.BoolOp(op=ast.And(), values=[one, other]):
                what, parts = "MULTIPLY", [one, other]
            case ast.BoolOp(op=ast.And() as both, values=[*ahead, last]):
                what, parts = "MULTIPLY", [ast.BoolOp(both, ahead), last]
            case ast.Call(func=ast.Name(id=name), args=parts):
                what = _CALLS[name]
            case ast.BinOp(left=left, op=op, right=right):
                what, parts = _BINARY[type(op)], [left, right]
            case ast.UnaryOp(op=ast.USub(), operand=one):
                what, parts = "NEGATIVE", [one]
            case ast.IfExp(test=test, body=yes, orelse=no):
                what, parts = "SELECT", [test, yes, no]
            case ast.Compare(left=left, ops=[ast.Gt() | ast.Lt() as op], comparators=[right]):
                what, parts = "GREATER", [left, right] if isinstance(op, ast.Gt) else [right, left]
            case _:
                raise NotImplementedError(ast.unparse(tree))  # no op has it
        return self._add(what, [self._walk(one, known) for one in parts])


class Numbers(Translator[Item]):
    """Values of float32, as the instructions that compute them.

    Attributes:
        items: the items that instructions compute, in order.
        inputs: the items of the inputs.
        outputs: the items of the outputs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.items: list[Item] = []
        self.inputs: list[Item] = []
        self.outputs: list[Item] = []
        # Constants by their bits: 0 and -0 compare equal, and NaN does not equal itself.
        self._numbers: dict[bytes, Item] = {}

    def _made(self, what: str, uses: list[Item], lies: str) -> Item:
        section = max((use.is_there for use in uses), default=0)
        item = Item(what, uses, lies, section)
        self.items.append(item)
        return item

    def _new(self, what: str, uses: list[Item]) -> Item:
        if what in fields.REDUCTIONS:
            return self._made(what, [self._along(uses[0])], "r")
        return self._made(what, uses, "v" if any(use.lies == "v" for use in uses) else "r")

    def _along(self, item: Item) -> Item:
        """Broadcast a value to all columns."""
        return item if item.lies == "v" else self._made("SAME", [item], "v")

    def _apart(self, item: Item, whole: bool) -> Item:
        """A copy of an item for an output."""
        if whole and item.lies != "v":
            return self._made("SAME", [item], "v")
        if item.is_given:
            return self._made("SAME", [item], "v" if whole else "r")
        return item

    def _number(self, number: float) -> Item:
        bits = np.float32(number).tobytes()
        found = self._numbers.get(bits)
        if found is None:
            found = Item("number", [], "s", 0, number=float(np.float32(number)))
            self._numbers[bits] = found
        return found


class Reader(Numbers):
    """The values of a cluster; the output of a total is the instruction that adds it up."""

    def __init__(self, cluster: Cluster, steps: Sequence[Step], sizes: Sizes, joined: int) -> None:
        super().__init__()
        self._joined = joined
        of: dict[Value, Item] = {}
        for index, value in enumerate(cluster.inputs):
            of[value] = self._input(cluster, index, value, sizes)
        for place in cluster.members:
            node = steps[place].node
            if node.outputs[0] in cluster.totals:
                continue
            operands = [of[value] for value in forms.operands(node)]
            repeats = forms.repeats(node) and sizes[node.outputs[0]] == cluster.shape
            if node.op in forms.SOFTMAXES:
                made = self._softmax(operands[0], node.op is LOG_SOFTMAX)
            elif node.op.fuse_row is not None:
                kind, written = node.op.fuse_row
                total = self._add(_REDUCTIONS[kind], operands)
                known = {"total": total, "width": self._number(float(cluster.width))}
                made = self._walk(_parsed(written.format(total="total")), known)
            elif forms.repeats(node):
                made = self._made("SAME", operands, "v") if repeats else operands[0]
            else:
                made = self._computed(node, operands)
            of[node.outputs[0]] = made
        self.outputs = [
            self._made("TOTAL", [self._along(of[cluster.totals[value]])], "v")
            if value in cluster.totals
            else self._apart(of[value], sizes[value] == cluster.shape)
            for value in cluster.outputs
        ]

    def _input(self, cluster: Cluster, index: int, value: Value, sizes: Sizes) -> Item:
        kind = cluster.kind(value, sizes)
        lies = {"scalar": "s", "column": "r"}.get(kind, "v")
        given = Item("input", [], lies, 0, index)
        self.inputs.append(given)
        flags = value.dtype is dtypes.bool
        if kind != "shared" and not flags:
            return given
        what = "FLAGS" if kind != "shared" else "REPEATED_FLAGS" if flags else "REPEATED"
        item = self._made(what, [given], lies)
        if kind == "shared":
            item.shared = cluster.repetition(value, sizes, self._joined)
        return item

    def _softmax(self, x: Item, is_logarithm: bool) -> Item:
        top = self._add("ROW_LARGEST", [x])
        less = self._add("SUBTRACT", [x, top])
        power = self._add("EXP", [less])
        if is_logarithm:
            return self._add("SUBTRACT", [less, self._add("LOG", [self._add("ROW_SUM", [power])])])
        part = self._add("DIVIDE", [self._number(1.0), self._add("ROW_SUM", [power])])
        return self._add("MULTIPLY", [power, part])
