"""CriticalSection: functions of which only one runs at a time, across all threads."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes, structure
from pinnace.framework.context import init_scope, state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.no_effect import ignored
from pinnace.framework.trackable import is_variable
from pinnace.framework.variable import handle_of
from pinnace.functions.autograph.conversion import callback
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.state import mutexes

if TYPE_CHECKING:
    from collections.abc import Callable

# Graph -> uses of sections in it: the section, its resources, and whether they are exclusive.
_used: weakref.WeakKeyDictionary[Any, list[tuple[Any, set[Any], bool]]] = (
    weakref.WeakKeyDictionary()
)


class CriticalSection:
    """A lock around functions: one at a time runs, of all that any thread executes here.

    Args:
        name: name of the section.
        shared_name: name in error messages; `name` if None.
        critical_section_def: for graphs of version 1; must be None.
        import_scope: for graphs of version 1.
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def is not None:
            raise ValueError("critical_section_def is not supported.")
        ignored("CriticalSection", "there are no graphs to import into", import_scope=import_scope)
        self._name = shared_name or name or "critical_section"
        self._mutex = mutexes.Mutex(self._name)
        with init_scope():
            self._handle = handle_of(self._mutex)

    @property
    def name(self) -> str:
        """The section's name."""
        return self._name

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """Call a function while no other call runs in this section.

        Args:
            fn: a function without arguments. Inside `tf.function` it is traced, and what it reads,
                writes and prints happens while the lock is held.
            exclusive_resource_access: whether no other section of the same `tf.function` may use
                the variables and tables that it uses.
            name: name of the node of the lock while tracing.

        Raises:
            ValueError: this thread is inside the section, or another section uses the same
                resource.
            TypeError: `fn` is no function.
        """
        if not callable(fn):
            raise TypeError(f"CriticalSection.execute: fn must be callable, got {fn!r}")
        tracer: Any = state.tracer
        if tracer is None:
            hold = self._mutex.lock(by_a_run=False)
            try:
                return structure.map_structure(_value, fn())
            finally:
                self._mutex.release(hold)
        return self._traced(tracer, fn, exclusive_resource_access, name)

    def _traced(self, tracer: Any, fn: Any, exclusive: bool, name: str | None) -> Any:
        graph = tracer.graph
        if any(section is self and found is None for section, found, _ in _entered(graph)):
            raise ValueError(
                f"{self._name}: Attempting to lock a CriticalSection in which we are already "
                "running. This is illegal and may cause deadlocks."
            )
        entry: Any = (self, None, exclusive)
        _entered(graph).append(entry)
        try:
            lock = execute_one(mutexes.MUTEX_LOCK, self._handle, name=name)
            first = len(graph.nodes)
            found = structure.map_structure(_value, callback(fn)())
            resources = {
                value
                for node in graph.nodes[first:]
                for value in node.inputs
                if value.dtype is dtypes.resource
            }
        finally:
            _entered(graph).remove(entry)
        self._refuse_shared(graph, resources, exclusive)
        execute(mutexes.CONSUME_MUTEX_LOCK, lock)
        _entered(graph).append((self, resources, exclusive))
        return found

    def _refuse_shared(self, graph: Any, resources: set[Any], exclusive: bool) -> None:
        for section, others, alone in _entered(graph):
            if section is self or others is None or not (alone or exclusive):
                continue
            if others & resources:
                raise ValueError(
                    f"This execution requested exclusive resource access, but section "
                    f"{section.name!r} of the same function uses the same variables or tables as "
                    f"{self._name!r}\n  Try: exclusive_resource_access=False for both"
                )

    def __repr__(self) -> str:
        return f"<CriticalSection {self._name!r}>"


def _value(x: Any) -> Any:
    """The current value of a variable, which nothing else can change meanwhile."""
    return convert_to_tensor(x) if is_variable(x) else x


def _entered(graph: Any) -> list[tuple[Any, Any, bool]]:
    return _used.setdefault(graph, [])
