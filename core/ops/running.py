"""The context of the run to which a kernel call belongs."""

from __future__ import annotations

import threading
from copy import copy
from typing import TYPE_CHECKING, Any

from pinnace import late
from pinnace.framework.context import state
from pinnace.framework.errors import CancelledError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import OpDef


class RunContext:
    """One run, or all eager calls: nested functions, random streams, cancellation."""

    __slots__ = ("cancelled", "lock", "reason", "streams")

    def __init__(self) -> None:
        # Random streams: each random op of a graph has its own, even if another op has the same
        # seeds; eager calls with the same seeds share one, which continues from call to call.
        self.streams: dict[object, Any] = {}
        self.lock = threading.Lock()
        self.cancelled = False
        self.reason: Exception | None = None

    def call(self, function: Any, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs of `function`, a FunctionRef, for these arrays."""
        return late.call_function(function, arrays, self)

    def bind(
        self, function: Any, values: Sequence[Array] | None = None
    ) -> Callable[[Sequence[Array]], tuple[Array, ...]]:
        """`function`, a FunctionRef, as a fast Python function of arrays.

        What it runs is part of this run: NumPy's warnings are silenced by whoever silenced them
        for the run.

        Args:
            function: a FunctionRef.
            values: for a loop's body, the initial loop variables: what runs it may have been made
                for their shapes.
        """
        return late.bind_function(function, self, values)

    def finish(self, cond: Any, body: Any, values: Sequence[Array]) -> tuple[Sequence[Array], bool]:
        """The loop variables after the iterations that machine code could run: all, some or none.

        NumPy's warnings are silenced, where it is used.

        Args:
            cond: a FunctionRef.
            body: a FunctionRef.
            values: the loop variables.

        Returns:
            The loop variables, and whether the condition is known to be false for them.
        """
        return late.finish_loop(cond, body, values, self)

    def alone(self, op: OpDef, arrays: Sequence[Array], attrs: dict[str, Any]) -> Array | None:
        """The result of an eager op on large arrays by a step that threads share.

        Args:
            op: the op.
            arrays: its inputs.
            attrs: attributes of its kernel.

        Returns:
            None if there is no such step for these arrays.
        """
        return late.run_alone(op, arrays, attrs)

    def check(self) -> None:
        """Raise if the run was cancelled, with the reason if any; called by loops each time."""
        if self.cancelled:
            if self.reason is not None:
                raise copy(self.reason)
            raise CancelledError("the run was cancelled")

    def stream(self, key: object, make: Callable[[], Any]) -> Any:
        """The random stream under `key`, created on first use."""
        with self.lock:
            if self.streams.get(_GENERATION) != _generation:
                self.streams.clear()
                self.streams[_GENERATION] = _generation
            found = self.streams.get(key)
            if found is None:
                found = self.streams[key] = make()
            return found

    def of(self, node: object) -> NodeContext:
        """The context of a random op in a graph: the run, with separate streams for the node."""
        return NodeContext(self, node)


class Stop:
    """A way to end the runs of a thread from another one: `context.state.stop` in theirs.

    Runs raise copies of the reason: an error that the run's own context holds would keep all that
    the run made, such as its hold of a mutex, until garbage is collected.
    """

    __slots__ = ("_contexts", "reason")

    def __init__(self) -> None:
        self._contexts: list[RunContext] = []
        self.reason: Exception | None = None

    def watch(self, context: RunContext) -> None:
        """A run begins."""
        self._contexts.append(context)
        if self.reason is not None:
            context.reason, context.cancelled = self.reason, True

    def end(self, reason: Exception) -> None:
        """Have current and later runs raise this as soon as they check."""
        self.reason = reason
        for context in list(self._contexts):
            context.reason, context.cancelled = reason, True


_LOOK_AFTER_S = 0.02


def wait_for(changed: threading.Condition | threading.Event) -> None:
    """Wait for a change, or briefly if the runs of this thread may be cancelled by another one.

    The caller must check afterwards whether the awaited change has happened.

    Raises:
        OpError: the runs were cancelled: the error that `Stop.end` was given.
    """
    stop = state.stop
    if stop is None:
        changed.wait()
        return
    changed.wait(_LOOK_AFTER_S)
    if stop.reason is not None:
        raise copy(stop.reason)


class NodeContext:
    """The run from the point of view of one of its random ops."""

    __slots__ = ("node", "run")

    def __init__(self, run: RunContext, node: object) -> None:
        self.run = run
        self.node = node

    def stream(self, key: object, make: Callable[[], Any]) -> Any:
        """The node's random stream under `key`, created on first use."""
        return self.run.stream((self.node, key), make)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)


_GENERATION = "generation"
_generation = 0


def start_streams_anew() -> None:
    """Restart all random streams, of eager calls and graphs, at their next use."""
    global _generation
    _generation += 1
