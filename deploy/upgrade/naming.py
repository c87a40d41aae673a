"""Which names of a program are TensorFlow's, by its imports, and how new ones are written there."""

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
    """The full name of what the first part stands for."""
    return full.removesuffix("".join(f".{part}" for part in parts[1:]))


class NoRootError(Exception):
    """Nothing in this scope can be called TensorFlow."""


def dotted(node: cst.CSTNode) -> list[str] | None:
    """The parts of `a.b.c`; None of any other expression."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    return [node.value, *reversed(parts)]


def dotted_node(name: str) -> cst.Name | cst.Attribute:
    """`a.b.c` as an expression."""
    first, *rest = name.split(".")
    node: cst.Name | cst.Attribute = cst.Name(first)
    for part in rest:
        node = cst.Attribute(node, cst.Name(part))
    return node


class Names:
    """The names of one program.

    Args:
        scopes: of each node.
        options: whether names of `tensorflow.compat.v1 as tf` are upgraded.
        roots: what the program calls TensorFlow itself at its top, in order.
        kept: full names that its imports take from version 1, and that are used as they are.
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
        """The name of TensorFlow's that an expression is, as `tf.log`; None if it is none."""
        found = self._place(node)
        return None if found is None else f"{_USUAL}{found[1].removeprefix(TENSORFLOW)}"

    def written(self, name: str, node: cst.CSTNode) -> cst.Name | cst.Attribute:
        """A name of TensorFlow's, in the words of the program.

        Args:
            name: as `tf.math.log`.
            node: what stands where it will stand: it may say where the name is to be found.

        Raises:
            NoRootError: nothing there can be called TensorFlow.
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
        """The parts that are written, and the full name that they are."""
        parts = dotted(node)
        if parts is None:
            return None
        scope = self._scopes.get(node)
        names = scope.get_qualified_names_for(node) if scope is not None else set()
        imported = {one.name for one in names if one.source is QualifiedNameSource.IMPORT}
        if not names and parts[0] == _USUAL and scope is not None and _USUAL not in scope:
            imported = {".".join([TENSORFLOW, *parts[1:]])}  # its import is not shown here
        full = {self._version_2(name, parts) for name in imported}
        if len(full) != 1:
            return None
        (name,) = full
        return None if name is None or _above(name, parts) in self._kept else (parts, name)

    def _version_2(self, name: str, parts: list[str]) -> str | None:
        """The full name without `compat.v1` if that is all that `tf` is; None: another's name."""
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
