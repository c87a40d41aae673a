"""Resources shared by name, within a run or by all functions of a loaded model.

TensorFlow keeps them in a process, by container and name. Here a run keeps its own, and those that
the functions of a model create by name are kept in the model's container, which is freed with the
model.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.ops.running import RunContext

PREFIX = "pinnace_model_"
_numbers = itertools.count()


class Container:
    """Resources shared by a model's functions, which live as long as they are referenced.

    Attributes:
        name: the `container` of the nodes.
    """

    def __init__(self) -> None:
        self.name = f"{PREFIX}{next(_numbers)}"
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str], Any] = {}
        _containers[self.name] = self

    def get(self, kind: str, name: str, make: Callable[[], Any]) -> Any:
        """The resource of a kind and name, created on first use."""
        with self._lock:
            found = self._found.get((kind, name))
            if found is None:
                found = self._found[kind, name] = make()
            return found


_containers: weakref.WeakValueDictionary[str, Container] = weakref.WeakValueDictionary()


def shared(
    ctx: RunContext, kind: str, container: str | bytes, name: str | bytes, make: Callable[[], Any]
) -> Any:
    """The resource that a node refers to.

    Args:
        ctx: the run that the node is in.
        kind: kind of the resource.
        container: container of the node.
        name: under which it is shared.
        make: makes it at its first use.
    """
    known = _containers.get(str(container))
    if known is not None:
        return known.get(kind, str(name), make)
    return ctx.stream((kind, container, name), make)
