"""Mutexes: MutexV2, MutexLock, ConsumeMutexLock; the basis of `tf.CriticalSection`.

While tracing, what has an effect between a lock and its end waits for the lock, and the end waits
for it: `functions/tracer.py` sees to that.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define, scalar
from pinnace.ops.running import wait_for
from pinnace.ops.state.variables import resource_of

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext

__all__: list[str] = []


class Mutex:
    """A mutex, which one thread at a time can hold.

    Args:
        name: name in error messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._changed = threading.Condition()
        # Weak: a failed run drops its hold, which ends it.
        self._holder: weakref.ref[Hold] | None = None

    def lock(self, *, by_a_run: bool) -> Hold:
        """Wait until the mutex is free, and acquire it.

        Args:
            by_a_run: whether a graph holds it, which forgets it when it fails.

        Raises:
            ValueError: this thread has locked it already.
        """
        here = threading.get_ident()
        with self._changed:
            while (holder := self._present()) is not None:
                if holder.thread == here:
                    if not holder.by_a_run:
                        raise ValueError(
                            f"{self.name}: Attempting to lock a CriticalSection in which we are "
                            "already running. This is illegal and may cause deadlocks."
                        )
                    break  # a failed run of this thread
                del holder
                wait_for(self._changed)
            hold = Hold(self, here, by_a_run=by_a_run)
            self._holder = weakref.ref(hold, self._forget)
            return hold

    def release(self, hold: Hold) -> None:
        """Release the hold and let the next run continue; does nothing if it has ended."""
        with self._changed:
            if self._present() is hold:
                self._holder = None
                self._changed.notify_all()

    def _present(self) -> Hold | None:
        return None if self._holder is None else self._holder()

    def _forget(self, holder: weakref.ref[Hold]) -> None:
        with self._changed:
            if self._holder is holder:
                self._holder = None
                self._changed.notify_all()


class Hold:
    """One acquisition of a mutex, until it is released or deleted.

    Args:
        mutex: the held mutex.
        thread: the thread's number.
        by_a_run: whether a graph holds it.
    """

    __slots__ = ("__weakref__", "by_a_run", "mutex", "thread")

    def __init__(self, mutex: Mutex, thread: int, *, by_a_run: bool) -> None:
        self.mutex, self.thread, self.by_a_run = mutex, thread, by_a_run


def _mutex_kernel(*, container: str, shared_name: str, ctx: RunContext) -> Array:
    array = np.empty((), object)
    array[()] = ctx.stream(("mutex", container, shared_name), lambda: Mutex(str(shared_name)))
    return array


MUTEX = define(
    name="MutexV2",
    signature="-> resource: resource",
    attrs={"container": attr("string", default=""), "shared_name": attr("string", default="")},
    infer=scalar,
    kernel=_mutex_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
)


def _lock_kernel(mutex: Array) -> Array:
    found = resource_of(mutex)
    if not isinstance(found, Mutex):
        raise InvalidArgumentError(
            f"MutexLock: mutex must be the handle of a mutex, got that of {found!r}"
        )
    array = np.empty((), object)
    array[()] = found.lock(by_a_run=True)
    return array


MUTEX_LOCK = define(
    name="MutexLock",
    signature="mutex: resource -> mutex_lock: variant",
    infer=scalar,
    kernel=_lock_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="write",
    mutex="lock",
)


def _consume_kernel(mutex_lock: Array) -> None:
    hold = mutex_lock[()]
    if not isinstance(hold, Hold):
        raise InvalidArgumentError(f"ConsumeMutexLock: mutex_lock must be a lock, got {hold!r}")
    hold.mutex.release(hold)


def _nothing(call: InferCall) -> tuple[Shape, ...]:
    del call
    return ()


CONSUME_MUTEX_LOCK = define(
    name="ConsumeMutexLock",
    signature="mutex_lock: variant ->",
    infer=_nothing,
    kernel=_consume_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
    mutex="unlock",
)
