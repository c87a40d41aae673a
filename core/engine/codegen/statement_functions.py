"""A kernel's statements with what belongs to them, and their calls of other such functions.

A loop inside a plan's kernel is a function. Its statements stand where it is called, with names of
their own and memory behind that of the caller.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.framework.parsing import parsed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pinnace.engine.codegen.walks import Argument
    from pinnace.framework.tensor import Array


class Function(NamedTuple):
    """Statements with their parameters.

    Attributes:
        arguments: the parameters.
        lines: the statements; the last returns a number.
        scratch: float32 numbers of the memory at the address `w`.
        constants: the arrays `k0`, `k1`, …
    """

    arguments: Sequence[Argument]
    lines: Sequence[str]
    scratch: int = 0
    constants: Sequence[Array] = ()


def called(function: Function, prefix: str) -> tuple[Sequence[ast.stmt], ast.expr]:
    """A function's statements for one place that calls it, and the number that it returns.

    Args:
        function: what is called.
        prefix: of the names that are its own.

    Raises:
        UnsupportedError: it returns elsewhere than at the end.
    """
    *body, end = parsed("\n".join(function.lines)).body
    if not isinstance(end, ast.Return) or end.value is None or _returns(body):
        raise UnsupportedError("a function that returns in several places")
    own = {one.name for one in function.arguments} | {"w"}
    own |= {f"k{index}" for index in range(len(function.constants))}
    own |= {
        tree.id
        for line in body
        for tree in ast.walk(line)
        if isinstance(tree, ast.Name) and isinstance(tree.ctx, ast.Store)
    }
    rename = _Rename(own, prefix)
    return [rename.visit(line) for line in body], rename.visit(end.value)


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
