"""Which arguments of a plan are variables, and whether they were assigned to meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.storage import Resource

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array


def version_of(array: Array) -> int | None:
    """How often the variable behind an argument has been assigned to; None if there is none."""
    if array.dtype != object or array.ndim:
        return None
    found = array.item()
    return found.version if isinstance(found, Resource) else None
