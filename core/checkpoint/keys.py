"""The names under which a bundle keeps what belongs to an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# The bundle's own entry: which objects there are, and under which keys their values stand.
OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VARIABLE_VALUE = "VARIABLE_VALUE"
_ATTRIBUTES = ".ATTRIBUTES"


def checkpoint_key(path: Iterable[str], attribute: str = VARIABLE_VALUE) -> str:
    """The key of one value of an object.

    Args:
        path: the names that lead from the root to the object.
        attribute: which of its values.
    """
    return f"{'/'.join(map(escape, path))}/{_ATTRIBUTES}/{escape(attribute)}"


def escape(name: str) -> str:
    """A child's name as part of a key: `.` is doubled, `/` becomes `.S`."""
    return name.replace(".", "..").replace("/", ".S")
