"""The keys under which a bundle stores an object's values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# The key of the object graph: the stored objects and the keys of their values.
OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VARIABLE_VALUE = "VARIABLE_VALUE"
# The configuration that Keras 2 stored of each layer; neither this library nor TensorFlow reads it.
OBJECT_CONFIG = "OBJECT_CONFIG_JSON"
_ATTRIBUTES = ".ATTRIBUTES"


class _Marker(str):
    """A part of a path that is not a child's name, and is used in the key unchanged."""

    __slots__ = ()


# Between the path to a variable and the path to what an optimizer keeps for it.
OPTIMIZER_SLOT = _Marker(".OPTIMIZER_SLOT")


def checkpoint_key(path: Iterable[str], attribute: str = VARIABLE_VALUE) -> str:
    """The key of one value of an object.

    Args:
        path: the names that lead from the root to the object.
        attribute: the name of the value.
    """
    return f"{'/'.join(map(escape, path))}/{_ATTRIBUTES}/{escape(attribute)}"


def value_name(key: str) -> str:
    """The name of a value in messages: its key, without the suffix for variables."""
    return key.removesuffix(f"/{_ATTRIBUTES}/{VARIABLE_VALUE}")


def slot_path(variable: Iterable[str], optimizer: Iterable[str], slot: str) -> tuple[str, ...]:
    """The path whose key is that of an optimizer's slot for a variable.

    Args:
        variable: the names that lead from the root to the variable.
        optimizer: the names that lead to the optimizer.
        slot: the optimizer's name for it.
    """
    return (*variable, OPTIMIZER_SLOT, *optimizer, slot)


def escape(name: str) -> str:
    """A child's name as part of a key: `.` is doubled, `/` becomes `.S`."""
    if type(name) is _Marker:
        return name
    return name.replace(".", "..").replace("/", ".S")
