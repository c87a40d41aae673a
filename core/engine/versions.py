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

    __slots__ = ("_change", "_handles", "key")

    def __init__(self, handles: Sequence[Array]) -> None:
        # Before the versions are read: a concurrent assignment is then noticed later.
        self._change = last_change()
        self._handles = handles[:]
        # Weak references: the id of a deleted variable may be reused.
        self.key = tuple([(weakref.ref(one), one.version) for one in map(_item, handles)])

    def are_those_of(self, handles: Sequence[Array]) -> bool:
        """Whether these are the same variables, and none was assigned to since."""
        change = last_change()
        # A function passes the same arrays in each call: these are compared by identity, in a
        # thirtieth of the time that their items take. They may keep the last variables alive, but
        # no longer than the form, which has their packed values.
        if self._change == change and self._handles == handles:
            return True
        for array, (reference, version) in zip(handles, self.key, strict=True):
            one: Any = _item(array)
            if one.version != version or reference() is not one:
                return False
        self._change, self._handles = change, handles[:]
        return True


def version_of(array: Array) -> int | None:
    """The number of assignments to an argument's variable; None if it is not a variable."""
    if array.dtype != object or array.ndim:
        return None
    found = array.item()
    return found.version if isinstance(found, Resource) else None
