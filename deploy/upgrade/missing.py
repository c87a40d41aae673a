"""Names that an upgraded program uses and that the replacement package lacks."""

from __future__ import annotations

import importlib
from types import ModuleType

import libcst as cst
from libcst.metadata import (
    MetadataWrapper,
    PositionProvider,
    QualifiedNameProvider,
    QualifiedNameSource,
)

from pinnace.deploy.upgrade.findings import Finding, Level, advice
from pinnace.deploy.upgrade.imports import full_name, within
from pinnace.deploy.upgrade.naming import dotted


def names_that_are_missing(text: str, module: str) -> tuple[Finding, ...]:
    """Find the names that a program uses and a package lacks.

    Args:
        text: the program, which imports the package.
        module: the package's name.

    Returns:
        A warning for the first use of each such name.
    """
    if module not in text:
        return ()
    look = _Look(module)
    MetadataWrapper(cst.parse_module(text)).visit(look)
    return tuple(look.found.values())


class _Look(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (QualifiedNameProvider, PositionProvider)

    def __init__(self, module: str) -> None:
        super().__init__()
        self._module = module
        self.found: dict[str, Finding] = {}

    def visit_Attribute(self, node: cst.Attribute) -> bool:  # noqa: N802 (the library's names)
        if dotted(node) is None:
            return True
        for one in self.get_metadata(QualifiedNameProvider, node, set()):
            if one.source is QualifiedNameSource.IMPORT and within(one.name, self._module):
                self._look_for(one.name, node)
        return False

    def visit_Import(self, node: cst.Import) -> bool:  # noqa: N802
        for alias in node.names:
            name = full_name(alias.name)
            if within(name, self._module):
                self._look_for(name, node)
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:  # noqa: N802
        module = "" if node.module is None or node.relative else full_name(node.module)
        if within(module, self._module) and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                self._look_for(f"{module}.{full_name(alias.name)}", node)
        return False

    def _look_for(self, name: str, node: cst.CSTNode) -> None:
        if name in self.found:
            return
        why = _missed(name, self._module)
        if why is None:
            return
        start = self.get_metadata(PositionProvider, node).start
        told = " ".join(line.strip() for line in why.splitlines())
        self.found[name] = Finding(
            start.line,
            start.column,
            Level.WARNING,
            f"{name} does not exist.",
            f"{told}.",
            advice()["not_in_module"]["do"],
        )


def _missed(name: str, module: str) -> str | None:
    """Why a name was not found; None if it exists."""
    value: object = importlib.import_module(module)
    for part in name.removeprefix(module).split(".")[1:]:
        try:
            value = getattr(value, part)
        except (AttributeError, NotImplementedError) as error:
            return str(error)
        if not isinstance(value, ModuleType):
            return None  # members of classes and of results are not checked
    return None
