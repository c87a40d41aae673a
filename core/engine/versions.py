"""The variables among a plan's arguments, and whether they have been assigned to."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.storage import Resource, last_change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

_item = np.ndarray.item


class Versions:
    """The variables that arguments refer to, and the number of assignments to each.

    Args:
        handles: the variables' handles.

    Attributes:
        key: equal for the same variables if none was assigned to in between.
    """

    __slots__ = ("_seen", "key")

    def __init__(self, handles: Sequence[Array]) -> None:
        # Before the versions are read: a concurrent assignment is then noticed later.
        change = last_change()
        resources: list[Any] = list(map(_item, handles))
        # Weak references: the id of a deleted variable may be reused.
        self.key = tuple([(weakref.ref(one), one.version) for one in resources])
        self._seen = (change, list(map(id, resources)))

    def are_those_of(self, handles: Sequence[Array]) -> bool:
        """Whether these are the same variables, and none was assigned to since."""
        change = last_change()
        resources: list[Any] = list(map(_item, handles))
        # Ids of resources are compared while none was created: they cannot have been reused.
        numbers = list(map(id, resources))
        if self._seen == (change, numbers):
            return True
        for one, (reference, version) in zip(resources, self.key, strict=True):
            if one.version != version or reference() is not one:
                return False
        self._seen = (change, numbers)
        return True


def version_of(array: Array) -> int | None:
    """The number of assignments to an argument's variable; None if it is not a variable."""
    if array.dtype != object or array.ndim:
        return None
    found = array.item()
    return found.version if isinstance(found, Resource) else None
