"""What a kernel may ask of the run it is part of."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import CancelledError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array

# Runs a function of a graph on arrays; the engine fills it.
_call: Callable[[Any, Sequence[Array], RunContext], tuple[Array, ...]] | None = None
# Gives a function of a graph as one of Python, for kernels that call it again and again.
_bind: Callable[[Any, RunContext], Callable[[Sequence[Array]], tuple[Array, ...]]] | None = None


def install_call(
    call: Callable[[Any, Sequence[Array], RunContext], tuple[Array, ...]],
    bind: Callable[[Any, RunContext], Callable[[Sequence[Array]], tuple[Array, ...]]],
) -> None:
    """Fill the slots behind `RunContext.call` and `bind`; done once, by the engine."""
    global _bind, _call
    _call = call
    _bind = bind


class RunContext:
    """One run, or all eager calls: nested functions, random streams, cancellation."""

    __slots__ = ("cancelled", "lock", "streams")

    def __init__(self) -> None:
        # Random streams by (seed, seed2): each stateful random op of one run draws from its own.
        self.streams: dict[object, Any] = {}
        self.lock = threading.Lock()
        self.cancelled = False

    def call(self, function: Any, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs of `function`, a FunctionRef, for these arrays."""
        if _call is None:
            message = "no engine is installed: import pinnace, not pinnace.ops alone"
            raise RuntimeError(message)
        return _call(function, arrays, self)

    def bind(self, function: Any) -> Callable[[Sequence[Array]], tuple[Array, ...]]:
        """`function`, a FunctionRef, as a Python function of arrays: the quick way into it.

        What it runs is part of this run: NumPy's warnings are silenced by whoever silenced them
        for the run.
        """
        if _bind is None:
            message = "no engine is installed: import pinnace, not pinnace.ops alone"
            raise RuntimeError(message)
        return _bind(function, self)

    def check(self) -> None:
        """Raise CancelledError if the run was cancelled; loops call this at each turn."""
        if self.cancelled:
            message = "the run was cancelled"
            raise CancelledError(message)

    def stream(self, key: object, make: Callable[[], Any]) -> Any:
        """The random stream under `key`, made at its first use."""
        with self.lock:
            found = self.streams.get(key)
            if found is None:
                found = self.streams[key] = make()
            return found
