"""The imports of a program: which are TensorFlow's, and their form in version 2."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import ParentNodeProvider, PositionProvider

from pinnace.deploy.upgrade.facts import facts
from pinnace.deploy.upgrade.naming import VERSION_1, dotted, dotted_node
from pinnace.deploy.upgrade.options import TENSORFLOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.upgrade.findings import Findings
    from pinnace.deploy.upgrade.options import Options

_COMPAT = "tensorflow.compat"
_CONTRIB = "tensorflow.contrib"
# Private modules that programs could import and that had no names of version 1: unchanged.
_PRIVATE = ("tensorflow.python", "tensorflow.core", "tensorflow.examples", "tensorflow.tools")
_USED = re.compile(r"\btf\s*\.\s*[a-zA-Z]")
_SPACE = cst.SimpleWhitespace(" ")


@dataclass(frozen=True, slots=True)
class Imported:
    """The names that a program's imports bind.

    Attributes:
        roots: the names of TensorFlow itself at the top of the program.
        kept: full names that are imported from version 1 and used unchanged.
    """

    roots: tuple[str, ...]
    kept: frozenset[str]


def imported(module: cst.Module, options: Options) -> Imported:
    """Collect all imports of a program."""
    look = _Look(options)
    module.visit(look)
    # A fragment may lack the import; whether `tf` is bound to something else is checked later.
    shown = [*look.roots, "tf"] if _USED.search(module.code) else look.roots
    return Imported(tuple(shown), frozenset(look.kept))


class _Look(cst.CSTVisitor):
    def __init__(self, options: Options) -> None:
        super().__init__()
        self._options = options
        self._inside = 0
        self.roots: list[str] = []
        self.kept: set[str] = set()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:  # noqa: N802 (the library's name)
        del node
        self._inside += 1

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:  # noqa: N802
        del original_node
        self._inside -= 1

    def visit_ClassDef(self, node: cst.ClassDef) -> None:  # noqa: N802
        del node
        self._inside += 1

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:  # noqa: N802
        del original_node
        self._inside -= 1

    def visit_Import(self, node: cst.Import) -> None:  # noqa: N802
        for alias in node.names:
            name, shown = full_name(alias.name), alias.evaluated_alias
            if self._inside:
                continue
            if name == VERSION_1 and shown == "tf" and upgrades_version_1(self._options):
                self.roots.append(shown)
            elif name == TENSORFLOW or (name.startswith(f"{TENSORFLOW}.") and not shown):
                self.roots.append(shown or TENSORFLOW)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:  # noqa: N802
        module = module_of(node)
        if module is None or isinstance(node.names, cst.ImportStar):
            return
        for alias in node.names:
            name = f"{module}.{full_name(alias.name)}"
            upgraded = name == VERSION_1 and alias.evaluated_alias == "tf"
            if upgraded and not self._inside and upgrades_version_1(self._options):
                self.roots.append("tf")
            if not self._options.safety and of_version_1(name):
                self.kept.add(name)


def upgrades_version_1(options: Options) -> bool:
    """Whether `import tensorflow.compat.v1 as tf` becomes `import tensorflow as tf`."""
    return options.upgrade_version_1_imports and not options.safety


def of_version_1(name: str) -> bool:
    """Whether a name imported by itself, such as `tensorflow.log`, must come from version 1."""
    if within(name, _COMPAT) or within(name, _CONTRIB) or not name.startswith(f"{TENSORFLOW}."):
        return False
    return facts().changes(f"tf{name.removeprefix(TENSORFLOW)}")


def full_name(node: cst.CSTNode) -> str:
    """The dotted name `a.b.c` in an import."""
    return ".".join(dotted(node) or [])


def module_of(node: cst.ImportFrom) -> str | None:
    """The module of `from … import` if it is TensorFlow's, else None."""
    if node.module is None or node.relative:
        return None
    name = full_name(node.module)
    return name if within(name, TENSORFLOW) else None


def within(name: str, package: str) -> bool:
    """Whether a name is a package or inside it."""
    return name == package or name.startswith(f"{package}.")


class ImportRewriter(cst.CSTTransformer):
    """Rewrites imports: to version 1 for names that only exist there, and to another package.

    Args:
        options: the package to import instead, and whether to import version 1.
        findings: where findings are added.

    Attributes:
        needs_root: whether `import tensorflow as tf` must be added at the top.
    """

    METADATA_DEPENDENCIES = (PositionProvider, ParentNodeProvider)

    def __init__(self, options: Options, findings: Findings) -> None:
        super().__init__()
        self._options = options
        self._findings = findings
        self._split: list[cst.ImportFrom] = []

    @property
    def needs_root(self) -> bool:
        """Whether a rewritten name needs `import tensorflow as tf`."""
        return False

    def visit_Import(self, node: cst.Import) -> bool:  # noqa: N802 (the library's names)
        """Skip the children: they are no uses of names."""
        del node
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:  # noqa: N802
        """Skip the children: they are no uses of names."""
        del node
        return False

    def leave_Import(  # noqa: N802
        self, original_node: cst.Import, updated_node: cst.Import
    ) -> cst.Import:
        """The import with version 2's modules."""
        names = [self._alias(alias, original_node) for alias in original_node.names]
        return updated_node.with_changes(names=names)

    def _alias(self, alias: cst.ImportAlias, node: cst.Import) -> cst.ImportAlias:
        name = full_name(alias.name)
        if not within(name, TENSORFLOW):
            return alias
        if within(name, _CONTRIB):
            self._advise(node, "ERROR", f"`import {name}` is here.", "contrib_import")
            return alias
        if within_any(name, _PRIVATE):
            self._advise(node, "WARNING", f"`import {name}` is here.", "private")
            return alias
        new = self._new_module(name, alias.evaluated_alias)
        if new == name:
            return alias
        whole = self._options.module != TENSORFLOW and not alias.asname and "." in name
        new = self._options.module if whole else new  # the import binds `tensorflow` itself
        changed = alias.with_changes(name=dotted_node(new))
        if not alias.asname and (whole or "." not in name):
            changed = changed.with_changes(asname=_as(name.partition(".")[0]))
        self._done(node, f"`import {name}` is `import {new}` now.")
        return changed

    def _new_module(self, name: str, shown: str | None) -> str:
        if self._options.safety and not within(name, _COMPAT):
            name = f"{VERSION_1}{name.removeprefix(TENSORFLOW)}"
        elif name == VERSION_1 and shown == "tf" and upgrades_version_1(self._options):
            name = TENSORFLOW
        return f"{self._options.module}{name.removeprefix(TENSORFLOW)}"

    def leave_ImportFrom(  # noqa: N802
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom | cst.Import:
        """The import from the modules of version 2."""
        module = module_of(original_node)
        if module is None:
            return updated_node
        if isinstance(original_node.names, cst.ImportStar):
            self._advise(
                original_node, "WARNING", f"`from {module} import *` is here.", "star_import"
            )
            return self._moved(updated_node, original_node, self._new_module(module, None))
        if within(module, _CONTRIB):
            self._advise(
                original_node, "ERROR", f"`from {module} import` is here.", "contrib_import"
            )
            return updated_node
        if within_any(module, _PRIVATE):
            self._advise(original_node, "WARNING", f"`from {module} import` is here.", "private")
            return updated_node
        return self._parted(module, original_node, updated_node)

    def _parted(
        self, module: str, original: cst.ImportFrom, updated: cst.ImportFrom
    ) -> cst.ImportFrom | cst.Import:
        assert not isinstance(original.names, cst.ImportStar)  # noqa: S101 (checked by the caller)
        groups: dict[str, list[cst.ImportAlias]] = {}
        for alias in original.names:
            name = f"{module}.{full_name(alias.name)}"
            if within(name, _CONTRIB) or within_any(name, _PRIVATE):
                reason = "contrib_import" if within(name, _CONTRIB) else "private"
                self._advise(original, "ERROR", f"`from {module} import` is here.", reason)
                groups.setdefault(module, []).append(alias)
            elif name == VERSION_1 and alias.evaluated_alias == "tf":
                if upgrades_version_1(self._options) and len(original.names) == 1:
                    self._done(original, f"`import {name}` is `import {self._options.module}` now.")
                    new_alias = cst.ImportAlias(dotted_node(self._options.module), _as("tf"))
                    return cst.Import([new_alias])
                groups.setdefault(self._new_module(module, None), []).append(alias)
            elif not self._options.safety and of_version_1(name):
                new = self._new_module(f"{VERSION_1}{module.removeprefix(TENSORFLOW)}", None)
                groups.setdefault(new, []).append(alias)
            else:
                excluded = self._options.safety and within(name, _COMPAT)
                new = f"{self._options.module}{module.removeprefix(TENSORFLOW)}"
                new = new if excluded else self._new_module(module, None)
                groups.setdefault(new, []).append(alias)
        if len(groups) == 1:
            return self._moved(updated, original, next(iter(groups)))
        parts = [
            self._moved(updated.with_changes(names=_ended(aliases)), original, new)
            for new, aliases in groups.items()
        ]
        self._split = parts[1:]
        return parts[0]

    def _moved(self, node: cst.ImportFrom, original: cst.ImportFrom, new: str) -> cst.ImportFrom:
        old = module_of(original)
        if new == old:
            return node
        self._done(original, f"`from {old} import` is `from {new} import` now.")
        return node.with_changes(module=dotted_node(new))

    def leave_SimpleStatementLine(  # noqa: N802
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        """The line, and one for each further module that its names come from."""
        del original_node
        if not self._split:
            return updated_node
        rest, self._split = self._split, []
        lines = [cst.SimpleStatementLine([one.with_changes(semicolon=_NONE)]) for one in rest]
        return cst.FlattenSentinel([updated_node, *lines])

    def leave_Module(  # noqa: N802
        self, original_node: cst.Module, updated_node: cst.Module
    ) -> cst.Module:
        """The program, with an import of TensorFlow if a new name needs it."""
        if not self.needs_root:
            return updated_node
        at = _place_for_root(original_node)
        # Split imports before it have added lines.
        at += len(updated_node.body) - len(original_node.body)
        alias = cst.ImportAlias(dotted_node(self._options.module), _as("tf"))
        line = cst.SimpleStatementLine([cst.Import([alias])])
        self._findings.done((1, 0), f"`import {self._options.module} as tf` added.")
        body = [*updated_node.body[:at], line, *updated_node.body[at:]]
        return updated_node.with_changes(body=body)

    def _done(self, node: cst.CSTNode, what: str) -> None:
        self._findings.done(self._place(node), what)

    def _advise(self, node: cst.CSTNode, level: str, what: str, reason: str) -> None:
        self._findings.advise(self._place(node), level, what, reason)

    def _place(self, node: cst.CSTNode) -> tuple[int, int]:
        start = self.get_metadata(PositionProvider, node).start
        return start.line, start.column


_NONE = cst.MaybeSentinel.DEFAULT


def within_any(name: str, packages: Sequence[str]) -> bool:
    """Whether a name is one of the packages or inside one."""
    return any(within(name, package) for package in packages)


def _as(name: str) -> cst.AsName:
    return cst.AsName(cst.Name(name), _SPACE, _SPACE)


def _ended(aliases: list[cst.ImportAlias]) -> list[cst.ImportAlias]:
    return [*aliases[:-1], aliases[-1].with_changes(comma=_NONE)]


def _place_for_root(module: cst.Module) -> int:
    """The index behind the last import at the beginning of the program."""
    at = 0
    for number, statement in enumerate(module.body):
        small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        if isinstance(small, cst.Import | cst.ImportFrom):
            at = number + 1
        elif not (isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString)):
            break
        elif number == 0:
            at = 1  # behind the docstring
    return at
