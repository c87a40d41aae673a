"""The elementwise loops of a kernel's statements, as programs of `block_programs`.

    for r, c in elementwise((0, rows), (0, columns)):
        a1 = numbers("full", address, step)[r, c]
        a2 = flags("row", address)[r, c]
        t0 = T(a1 if a2 else T(2.5))
        numbers("full", address, step)[r, c] = t0

A `Nest` describes such a loop before addresses are known.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.cluster_numbers import Item, Numbers
from pinnace.engine.codegen.cluster_programs import ProgramWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.codegen.cluster_programs import Program

# Bytes of a block with all its operands, as for clusters; fewest and granularity of its columns.
_BLOCK_BYTES, _FEWEST, _LINE = 1 << 14, 256, 64
# The name of these loops; the names of the views that they read and write, by dtype.
LOOP, VIEWS = "elementwise", {"float32": "numbers", "bool": "flags"}


@dataclass(frozen=True, slots=True)
class View:
    """Numbers that a loop reads or writes.

    Attributes:
        kind: full, row, column or scalar, as in `array_steps.lies_as`, or "number" for one in a
            register.
        address: address of the first number; for a number in a register, the number.
        row: bytes from one row to the next; None if there is one row for all.
        dtype: their dtype.
    """

    kind: str
    address: ast.expr
    row: ast.expr | None = None
    dtype: str = "float32"

    @property
    def are_flags(self) -> bool:
        """Whether a program reads them as bytes; a single boolean is loaded before, as a number."""
        return self.dtype == "bool" and self.kind != "scalar"


@dataclass(frozen=True, slots=True)
class Nest:
    """An elementwise loop.

    Attributes:
        rows: the first row and the end.
        columns: the first column and the end.
        inputs: the views that it reads.
        outputs: the views that it writes.
        items: its instructions.
    """

    rows: Sequence[ast.expr]
    columns: Sequence[ast.expr]
    inputs: Sequence[View]
    outputs: Sequence[View]
    items: Numbers

    def program(self, width: int, *, is_flat: bool) -> Program:
        """The loop's program; its first operands are the inputs, followed by the outputs.

        Args:
            width: numbers per row.
            is_flat: whether there is only one row, of which any part may be a block.
        """
        kinds = ["scalar" if view.kind == "number" else view.kind for view in self.inputs]
        flags = [view.are_flags for view in self.inputs]
        some = max(width, 1)
        if is_flat:
            streams = 4 * (len(kinds) + len(self.outputs) + 1)
            fitting = _BLOCK_BYTES // streams // _LINE * _LINE
            some = min(some, max(fitting, _FEWEST))
        return ProgramWriter(self.items, kinds, flags, width, some).program()


def nest_of(loop: ast.For) -> Nest:
    """An elementwise loop.

    Raises:
        UnsupportedError: no instruction computes a part of it.
    """
    match loop.iter:
        case ast.Call(args=[ast.Tuple(elts=rows), ast.Tuple(elts=columns)]):
            reader = _Reader()
            for line in loop.body:
                reader.read(line)
            return Nest(rows, columns, reader.given, reader.written, reader)
    raise UnsupportedError(f"not a loop over rows and columns: {ast.unparse(loop.iter)}")


class _Reader(Numbers):
    """The instructions of a loop, and what it reads and writes."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[View] = []
        self.written: list[View] = []
        self._known: dict[str, Item] = {}

    def read(self, line: ast.stmt) -> None:
        """Add the instructions of one line of the loop."""
        match line:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=view)):
                self._known[name] = self._given(_view(view))
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="T"), args=[one])
            ):
                is_register = isinstance(one, ast.Name) and one.id not in self._known
                made = self._given(View("number", one)) if is_register else self._made_of(one)
                self._known[name] = made
            case ast.Assign(targets=[ast.Subscript(value=view)], value=value):
                self.written.append(_view(view))
                self.outputs.append(self._apart(self._made_of(value), whole=True))
            case _:
                raise UnsupportedError(f"there is no instruction for {ast.unparse(line)}")

    def _given(self, view: View) -> Item:
        """The item of a view that is read."""
        lies = {"scalar": "s", "number": "s", "column": "r"}.get(view.kind, "v")
        item = Item("input", [], lies, 0, len(self.inputs))
        self.inputs.append(item)
        self.given.append(view)
        return self._made("FLAGS", [item], lies) if view.are_flags else item

    def _made_of(self, tree: ast.expr) -> Item:
        """The result of an expression."""
        try:
            return self._walk(tree, self._known)
        except NotImplementedError as error:
            raise UnsupportedError(f"there is no instruction for {error}") from None


_DTYPES: Mapping[str, str] = {name: dtype for dtype, name in VIEWS.items()}


def _view(tree: ast.expr) -> View:
    match tree:
        case ast.Call(
            func=ast.Name(id=name), args=[ast.Constant(value=str(kind)), address, *row]
        ) if name in _DTYPES:
            return View(kind, address, row[0] if row else None, _DTYPES[name])
    raise UnsupportedError(f"not a view of numbers: {ast.unparse(tree)}")
