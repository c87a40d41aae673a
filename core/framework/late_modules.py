"""Modules that register entries of a table, imported when an entry is missing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class LateModules:
    """The modules, in the order in which they are imported."""

    def __init__(self, *names: str) -> None:
        self._names = list(names)

    def add(self, *names: str) -> None:
        """Append modules."""
        self._names.extend(names)

    def find(self, look: Callable[[], T | None]) -> T | None:
        """The result of `look`, after as few imports as possible; None after all of them."""
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
        # Removed only after the import: until then other threads must import it too, and so wait.
        if name in self._names:
            self._names.remove(name)
