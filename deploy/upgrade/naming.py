"""TensorFlow's names in a program, by its imports, and how to write new ones there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import GlobalScope, QualifiedNameSource

from pinnace.deploy.upgrade.options import TENSORFLOW

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from libcst.metadata import Scope

    from pinnace.deploy.upgrade.options import Options

VERSION_1 = "tensorflow.compat.v1"
_USUAL = "tf"


def _above(full: str, parts: list[str]) -> str:
    """The full name of a dotted name, given that of its first part."""
    return full.removesuffix("".join(f".{part}" for part in parts[1:]))


class NoRootError(Exception):
    """No name in this scope refers to TensorFlow."""


def dotted(node: cst.CSTNode) -> list[str] | None:
    """The parts of `a.b.c`; None for other expressions."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    return [node.value, *reversed(parts)]


def dotted_node(name: str) -> cst.Name | cst.Attribute:
    """The dotted name `a.b.c` as an expression."""
    first, *rest = name.split(".")
    node: cst.Name | cst.Attribute = cst.Name(first)
    for part in rest:
        node = cst.Attribute(node, cst.Name(part))
    return node


class Names:
    """The names of a program.

    Args:
        scopes: the scope of each node.
        options: whether to upgrade names of `tensorflow.compat.v1 as tf`.
        roots: the names of TensorFlow itself at the top of the program, in order.
        kept: full names that are imported from version 1 and used unchanged.
    """

    def __init__(
        self,
        scopes: Mapping[cst.CSTNode, Scope | None],
        options: Options,
        roots: Iterable[str],
        kept: Iterable[str] = (),
    ) -> None:
        self._scopes = scopes
        self._upgrade_version_1 = options.upgrade_version_1_imports and not options.safety
        self._roots = list(roots)
        self._kept = set(kept)
        self.needs_import = False

    def of(self, node: cst.CSTNode) -> str | None:
        """TensorFlow's name of an expression, such as `tf.log`; None for other expressions."""
        found = self._place(node)
        return None if found is None else f"{_USUAL}{found[1].removeprefix(TENSORFLOW)}"

    def written(self, name: str, node: cst.CSTNode) -> cst.Name | cst.Attribute:
        """A TensorFlow name as the program can write it.

        Args:
            name: the name, such as `tf.math.log`.
            node: the node that it replaces, which determines the scope.

        Raises:
            NoRootError: no name there refers to TensorFlow.
        """
        wanted = f"{TENSORFLOW}{name.removeprefix(_USUAL)}"
        found = self._place(node)
        if found is not None:
            parts, full = found
            above = _above(full, parts)
            if wanted.startswith(f"{above}."):
                return dotted_node(f"{parts[0]}{wanted.removeprefix(above)}")
        return dotted_node(f"{self._root(node)}{wanted.removeprefix(TENSORFLOW)}")

    def _place(self, node: cst.CSTNode) -> tuple[list[str], str] | None:
        """The written parts of a name, and its full name."""
        parts = dotted(node)
        if parts is None:
            return None
        scope = self._scopes.get(node)
        names = scope.get_qualified_names_for(node) if scope is not None else set()
        imported = {one.name for one in names if one.source is QualifiedNameSource.IMPORT}
        if not names and parts[0] == _USUAL and scope is not None and _USUAL not in scope:
            imported = {".".join([TENSORFLOW, *parts[1:]])}  # the import is not in this source
        full = {self._version_2(name, parts) for name in imported}
        if len(full) != 1:
            return None
        (name,) = full
        return None if name is None or _above(name, parts) in self._kept else (parts, name)

    def _version_2(self, name: str, parts: list[str]) -> str | None:
        """The full name without `compat.v1` if `tf` is only that; None for other names."""
        if _above(name, parts) == VERSION_1 and len(parts) > 1:
            upgraded = self._upgrade_version_1 and parts[0] == _USUAL
            return f"{TENSORFLOW}{name.removeprefix(VERSION_1)}" if upgraded else None
        return name if name == TENSORFLOW or name.startswith(f"{TENSORFLOW}.") else None

    def _root(self, node: cst.CSTNode) -> str:
        scope = self._scopes.get(node)
        if scope is None:
            raise NoRootError
        for root in self._roots:
            names = {one.name for one in scope.get_qualified_names_for(root)}
            if names <= {TENSORFLOW, VERSION_1}:
                return root
        whole = scope
        while not isinstance(whole, GlobalScope) and whole.parent is not whole:
            whole = whole.parent
        if _USUAL in scope or _USUAL in whole:
            raise NoRootError
        self.needs_import = True
        return _USUAL
