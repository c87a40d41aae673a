"""Modules that put something into a table, imported when it is missed there."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class LateModules:
    """Modules in the order in which they are tried."""

    def __init__(self, *names: str) -> None:
        self._names = list(names)

    def add(self, *names: str) -> None:
        """Modules to try after those that are known already."""
        self._names.extend(names)

    def find(self, look: Callable[[], T | None]) -> T | None:
        """The result of `look`, after as few imports as possible; None if no module provides it."""
        found = look()
        for name in tuple(self._names):
            if found is not None:
                break
            self._import(name)
            found = look()
        return found

    def import_all(self) -> None:
        """Import all late modules."""
        for name in tuple(self._names):
            self._import(name)

    def _import(self, name: str) -> None:
        importlib.import_module(name)
        # Set only now: other threads must import meanwhile, and so wait.
        if name in self._names:
            self._names.remove(name)
