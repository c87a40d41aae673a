"""The general kernels as machine code: those of the installation's library, or none.

Machine code is made with the installation and at no other time (ADR 64). Without a library for this
machine plans run by their steps, and NumPy's kernels answer.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_lock = threading.Lock()
# The kernels by name, all or none; None until the first request.
_functions: dict[str, Callable[..., Any]] | None = None


def are_there() -> bool:
    """Whether this process has the kernels."""
    return bool(_all())


def function(name: str) -> Callable[..., Any]:
    """A kernel, by its name in `general`; only if `are_there`."""
    return _all()[name]


def find_kernel(name: str) -> Callable[..., Any] | None:
    """A kernel, by its name in `general`; None without a library."""
    return _all().get(name)


def _all() -> dict[str, Callable[..., Any]]:
    global _functions
    known = _functions
    if known is None:
        with _lock:
            known = _functions
            if known is None:
                # Imported here: many processes run nothing that has machine code.
                from pinnace.engine.ahead import reading

                known = reading.functions()
                _functions = known
    return known
