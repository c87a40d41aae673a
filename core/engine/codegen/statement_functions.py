"""Functions that a kernel's statements call: loops inside a plan's kernel.

Their statements stand where they are called, with names of their own and memory behind that of the
caller.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.framework.parsing import parsed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pinnace.engine.codegen.walks import Argument

# Indices of elementwise loops, which are recognised by these names.
_INDICES = frozenset({"r", "c"})


class Function(NamedTuple):
    """A function.

    Attributes:
        arguments: its parameters; `n` is its table of sizes.
        lines: its statements; the last returns a number.
        numbers: its table of sizes.
    """

    arguments: Sequence[Argument]
    lines: Sequence[str]
    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class Called:
    """A function's statements with names of their own.

    Attributes:
        prefix: of the names.
        body: the statements.
        result: the number that is returned.
        scratch: the size of its memory, in float32 numbers.
    """

    prefix: str
    body: Sequence[ast.stmt]
    result: ast.expr
    scratch: int


def called(function: Function, prefix: str) -> Called:
    """A function's statements for one place that calls it.

    Args:
        function: what is called.
        prefix: of the names that are its own.

    Raises:
        UnsupportedError: it returns elsewhere than at the end.
    """
    body, scratch = [], 0
    for line in parsed("\n".join(function.lines)).body:
        match line:
            case ast.Assign(targets=[ast.Name(id="scratch")], value=ast.Call(args=[size, _])):
                scratch = _known(size, function.numbers)
            case ast.Assign(targets=[ast.Name(id="w" | "t")]):
                pass  # memory, which is part of the caller's
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id="scratch"))]):
                pass
            case _:
                body.append(line)
    *body, end = body
    if not isinstance(end, ast.Return) or end.value is None or _returns(body):
        raise UnsupportedError("a function that returns in several places")
    own = {one.name for one in function.arguments} | {"w", "n"}
    own |= {
        tree.id
        for line in body
        for tree in ast.walk(line)
        if isinstance(tree, ast.Name) and isinstance(tree.ctx, ast.Store)
    }
    rename = _Rename(own - _INDICES, prefix)
    return Called(prefix, [rename.visit(line) for line in body], rename.visit(end.value), scratch)


def _known(size: ast.expr, numbers: Sequence[int]) -> int:
    match size:
        case ast.Subscript(value=ast.Name(id="n"), slice=ast.Constant(value=int() as index)):
            return numbers[index]
    raise UnsupportedError(f"a size that is not known: {ast.unparse(size)}")


def _returns(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(tree, ast.Return) for line in body for tree in ast.walk(line))


class _Rename(ast.NodeTransformer):
    def __init__(self, names: Collection[str], prefix: str) -> None:
        self._names, self._prefix = names, prefix

    def visit_Name(self, tree: ast.Name) -> ast.Name:
        """The same name, or that with the prefix."""
        if tree.id not in self._names:
            return tree
        return ast.Name(self._prefix + tree.id, tree.ctx)
