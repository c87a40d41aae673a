"""The elementwise loops of a kernel's statements, as programs of `block_programs`.

Such a loop has a loop over rows, which names the rows of its operands, and in it one over columns
that computes numbers from numbers. Here is what is said of it before addresses are known.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.cluster_numbers import Item, Numbers
from pinnace.engine.codegen.cluster_programs import ProgramWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.engine.codegen.cluster_programs import Program

# Bytes of a block with all its operands, as for clusters; fewest and granularity of its columns.
_BLOCK_BYTES, _FEWEST, _LINE = 1 << 14, 256, 64


@dataclass(frozen=True, slots=True)
class View:
    """Numbers that a loop reads or writes.

    Attributes:
        kind: how they lie: full, row, column or scalar, as in `array_steps.lies_as`.
        address: of the first.
        row: bytes from one row to the next; None if there is one row for all.
        dtype: of them.
    """

    kind: str
    address: ast.expr
    row: ast.expr | None
    dtype: str

    @property
    def are_flags(self) -> bool:
        """Whether a program reads bytes; a single one is read before, as a number."""
        return self.dtype == "bool" and self.kind != "scalar"


@dataclass(frozen=True, slots=True)
class Nest:
    """An elementwise loop.

    Attributes:
        rows: the first row and the end.
        columns: likewise.
        inputs: what it reads, by the names of the numbers.
        numbers: names of scalars in registers that it reads.
        outputs: what it writes.
        items: its instructions.
    """

    rows: tuple[ast.expr, ast.expr]
    columns: tuple[ast.expr, ast.expr]
    inputs: Mapping[str, View]
    numbers: tuple[str, ...]
    outputs: tuple[View, ...]
    items: Numbers

    def program(self, width: int, *, is_flat: bool) -> Program:
        """Its program; first of its operands are inputs, then scalars, then outputs.

        Args:
            width: numbers of a row.
            is_flat: whether there is one row, of which any part may be a block.
        """
        kinds = [view.kind for view in self.inputs.values()] + ["scalar"] * len(self.numbers)
        flags = [view.are_flags for view in self.inputs.values()] + [False] * len(self.numbers)
        some = max(width, 1)
        if is_flat:
            streams = 4 * (len(kinds) + len(self.outputs) + 1)
            fitting = _BLOCK_BYTES // streams // _LINE * _LINE
            some = min(some, max(fitting, _FEWEST))
        return ProgramWriter(self.items, kinds, flags, width, some).program()


_VIEWS = {"floats": "float32", "truths": "bool", "ints": "int32", "longs": "int64"}


def view_of(tree: ast.expr) -> View | None:
    """The numbers that `floats(address, count)` and the like name, or the first one of them."""
    kind = "row"
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant):
        tree, kind = tree.value, "scalar"
    match tree:
        case ast.Call(func=ast.Name(id=name), args=[address, _]) if name in _VIEWS:
            dtype = _VIEWS[name]
        case _:
            return None
    match address:
        case ast.BinOp(
            left=begin,
            op=ast.Add(),
            right=ast.BinOp(
                left=ast.BinOp(left=each, op=ast.Mult(), right=ast.Name(id="r")),
                op=ast.Mult(),
                right=step,
            ),
        ):
            row = ast.BinOp(each, ast.Mult(), step)
            kind = "full" if kind == "row" else "column"
            return View(kind, begin, row, dtype)
    return View(kind, address, None, dtype)


class _Numbers(Numbers):
    """The instructions of a loop over columns."""

    def given(self, view: View) -> Item:
        """A number that is read."""
        if view.dtype not in {"float32", "bool"}:
            raise UnsupportedError(f"{view.dtype} in a program")
        lies = {"scalar": "s", "column": "r"}.get(view.kind, "v")
        item = Item("input", [], lies, 0, len(self.inputs))
        self.inputs.append(item)
        return self._made("FLAGS", [item], lies) if view.are_flags else item

    def made(self, tree: ast.expr, known: Mapping[str, Item]) -> Item:
        """The result of an expression."""
        try:
            return self._walk(tree, known)
        except NotImplementedError as error:
            raise UnsupportedError(f"no instruction: {error}") from None

    def put(self, item: Item) -> None:
        """A number that is written."""
        self.outputs.append(self._apart(item, whole=True))


def nest_of(loop: ast.For, ahead: Mapping[str, View]) -> Nest | None:
    """An elementwise loop; None if it is none that has a program.

    Args:
        loop: over rows.
        ahead: views that were named before it.
    """
    try:
        return _nest(loop, ahead)
    except UnsupportedError:
        return None


def _nest(loop: ast.For, ahead: Mapping[str, View]) -> Nest:
    *outer, inner = loop.body
    if not isinstance(inner, ast.For):
        raise UnsupportedError("a loop that is not over rows and columns")
    views = dict(ahead)
    for one in outer:
        name, tree = assigned(one)
        view = view_of(tree)
        if view is None:
            raise UnsupportedError(f"no view: {ast.unparse(one)}")
        views[name] = view
    given: dict[str, View] = {}
    written: list[tuple[View, ast.expr]] = []
    made: list[tuple[str, ast.expr]] = []
    for one in inner.body:
        match one:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Subscript(value=ast.Name(id=of), slice=ast.Name(id="c")),
            ) if of in views:
                given[name] = views[of]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                made.append((name, value))
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=of), slice=ast.Name(id="c"))], value=value
            ) if of in views:
                written.append((views[of], value))
            case _:
                raise UnsupportedError(f"no instruction: {ast.unparse(one)}")
    inside = {name for name, _ in made}
    used = {
        tree.id
        for _, value in (*made, *written)
        for tree in ast.walk(value)
        if isinstance(tree, ast.Name) and isinstance(tree.ctx, ast.Load)
    }
    for name in sorted(used & set(views) - set(given)):
        given[name] = views[name]
    called = {
        tree.func.id
        for _, value in (*made, *written)
        for tree in ast.walk(value)
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name)
    }
    numbers = tuple(sorted(used - set(given) - inside - called))
    return _written(loop, inner, given, numbers, made, written)


def _written(
    loop: ast.For,
    inner: ast.For,
    given: Mapping[str, View],
    numbers: tuple[str, ...],
    made: list[tuple[str, ast.expr]],
    written: list[tuple[View, ast.expr]],
) -> Nest:
    items = _Numbers()
    known = {name: items.given(view) for name, view in given.items()}
    for name in numbers:
        known[name] = items.given(View("scalar", ast.Constant(0), None, "float32"))
    for name, value in made:
        match value:
            case ast.Call(func=ast.Name(id="T"), args=[one]):
                known[name] = items.made(one, known)
            case _:
                raise UnsupportedError(f"not rounded: {ast.unparse(value)}")
    outputs: dict[str, View] = {}
    for view, value in written:
        place = f"{ast.dump(view.address)} {view.row and ast.dump(view.row)}"
        if place not in outputs:  # written once
            outputs[place] = view
            items.put(items.made(value, known))
    return Nest(range_of(loop), range_of(inner), given, numbers, tuple(outputs.values()), items)


def range_of(loop: ast.For) -> tuple[ast.expr, ast.expr]:
    """The first number of a loop, and its end.

    Raises:
        UnsupportedError: it is not over a range of such numbers.
    """
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[end]):
            return ast.Constant(0), end
        case ast.Call(func=ast.Name(id="range"), args=[first, end]):
            return first, end
    raise UnsupportedError(f"no range: {ast.unparse(loop.iter)}")


def assigned(line: ast.stmt) -> tuple[str, ast.expr]:
    """The name and the expression of a plain assignment; an empty name if it is none."""
    match line:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
    return "", ast.Constant(0)
