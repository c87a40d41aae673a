"""Which arguments of a plan are variables, and whether they were assigned to meanwhile."""

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
    """Variables as they are now: which ones, and how often each has been assigned to.

    Args:
        handles: of the variables.

    Attributes:
        key: equal if it is of the same variables, of which none was assigned to in between.
    """

    __slots__ = ("_seen", "key")

    def __init__(self, handles: Sequence[Array]) -> None:
        change = last_change()  # before the versions: what is assigned meanwhile is seen later
        resources: list[Any] = list(map(_item, handles))
        # By weak references: the number of one that is gone may be another's.
        self.key = tuple([(weakref.ref(one), one.version) for one in resources])
        self._seen = (change, list(map(id, resources)))

    def are_those_of(self, handles: Sequence[Array]) -> bool:
        """Whether these are the same variables, and none was assigned to since."""
        change = last_change()
        resources: list[Any] = list(map(_item, handles))
        # Numbers of resources are compared as long as none was made: no other one has the same.
        numbers = list(map(id, resources))
        if self._seen == (change, numbers):
            return True
        for one, (reference, version) in zip(resources, self.key, strict=True):
            if one.version != version or reference() is not one:
                return False
        self._seen = (change, numbers)
        return True


def version_of(array: Array) -> int | None:
    """How often the variable behind an argument has been assigned to; None if there is none."""
    if array.dtype != object or array.ndim:
        return None
    found = array.item()
    return found.version if isinstance(found, Resource) else None
