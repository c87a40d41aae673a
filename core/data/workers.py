"""Threads of pipelines: they compute in advance, and stop when their reader is gone.

A thread refers to its source and a queue, never to the reader. When the reader is deleted or
closed, a finalizer closes the queue; the thread notices at its next element and releases its
source, whose threads end the same way. Threads are daemons: a program's end does not wait for them.
"""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from pinnace.data.failures import Failure
from pinnace.framework import denormals
from pinnace.ops.running import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.data.elements import Element

_names = itertools.count()
# Below these an element is made inline (seconds): handing it over between threads costs more, and
# most of a short call holds the interpreter's lock.
WORTH_A_THREAD = 200e-6
WORTH_A_POOL = 1e-3
# How long the reader must work between elements, as a fraction of the time to produce one.
_WORTH_BESIDE = 0.1
# How many elements are produced inline before that is decided.
_MEASURED = 4


class _Queue:
    """A bounded queue between one writer and one reader that can be closed from either side."""

    def __init__(self, capacity: int) -> None:
        self._items: deque[Any] = deque()
        self._capacity = capacity
        self._changed = threading.Condition(threading.Lock())
        self._closed = False
        self._ended = False

    def put(self, item: Any) -> bool:
        """Wait for room and add the item; False if the reader has closed the queue."""
        with self._changed:
            while len(self._items) >= self._capacity and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            self._items.append(item)
            self._changed.notify()
            return True

    def end(self) -> None:
        """Mark the end: no items follow."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def get(self) -> Any:
        """The next item; StopIteration after the last."""
        with self._changed:
            while not self._items:
                if self._ended or self._closed:
                    raise StopIteration
                wait_for(self._changed)
            item = self._items.popleft()
            self._changed.notify()
            return item

    def close(self) -> None:
        """The reader is gone."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()


def _fill(source: Iterator[Element], queue: _Queue) -> None:
    """The body of a prefetching thread."""
    try:
        while True:
            item: Any
            try:
                item = next(source)
            except StopIteration:
                return
            except BaseException as error:
                item = Failure(error)
            if not queue.put(item):
                return
            del item
    finally:
        queue.end()


class Ahead:
    """An iterator whose elements a thread produces ahead of time.

    Args:
        source: the source of elements; used by that thread alone from now on.
        capacity: how many elements may wait.
    """

    def __init__(self, source: Iterator[Element], capacity: int) -> None:
        self._queue = _Queue(capacity)
        thread = threading.Thread(
            target=_fill,
            args=(source, self._queue),
            name=f"pinnace-data-{next(_names)}",
            daemon=True,
        )
        self._finalizer = weakref.finalize(self, self._queue.close)
        with denormals.theirs():
            thread.start()

    def __iter__(self) -> Ahead:
        return self

    def __next__(self) -> Element:
        item = self._queue.get()
        if type(item) is Failure:
            raise item.error
        element: Element = item
        return element


class AheadIfSlow:
    """Like Ahead, but with a thread only if it pays off.

    It does if elements take long enough to produce, and the reader works in between: if the reader
    only waits, passing elements between threads costs time and gains nothing.
    """

    def __init__(self, source: Iterator[Element], capacity: int) -> None:
        self._source = source
        self._capacity = capacity
        self._count = -1
        self._spent = 0.0
        self._between = 0.0
        self._last = 0.0
        self._ahead = False

    def __iter__(self) -> AheadIfSlow:
        return self

    def __next__(self) -> Element:
        if self._ahead:
            return next(self._source)
        began = time.perf_counter()
        element = next(self._source)
        ended = time.perf_counter()
        # The first element opens files and compiles plans: its time is not typical.
        if self._count >= 0:
            self._spent += ended - began
            self._between += began - self._last
        self._last = ended
        self._count += 1
        if self._count == _MEASURED:
            worth = self._spent > _MEASURED * WORTH_A_THREAD
            if worth and self._between > _WORTH_BESIDE * self._spent:
                self._source = Ahead(self._source, self._capacity)
                self._ahead = True
            self._count, self._spent, self._between = 0, 0.0, 0.0
        return element


class Pool:
    """Daemon threads that call functions.

    Args:
        count: the number.
    """

    def __init__(self, count: int) -> None:
        self._jobs = _Queue(1 << 30)
        self._finalizer = weakref.finalize(self, self._jobs.close)
        with denormals.theirs():
            for _ in range(count):
                threading.Thread(
                    target=_work,
                    args=(self._jobs,),
                    name=f"pinnace-data-{next(_names)}",
                    daemon=True,
                ).start()

    def submit(self, function: Callable[[Element], Element], element: Element) -> PendingCall:
        """Call the function in one of the threads."""
        job = PendingCall(function, element)
        self._jobs.put(job)
        return job


class PendingCall:
    """One call, with its result or exception."""

    __slots__ = ("_done", "_element", "_function", "_result")

    def __init__(self, function: Callable[[Element], Element], element: Element) -> None:
        self._function: Callable[[Element], Element] | None = function
        self._element: Element | None = element
        self._result: Any = None
        self._done = threading.Event()

    def run(self, when_done: Callable[[PendingCall], None] | None = None) -> None:
        """Run the call in this thread."""
        try:
            if self._function is not None and self._element is not None:
                self._result = self._function(self._element)
        except BaseException as error:
            self._result = Failure(error)
        self._function = self._element = None
        self._done.set()
        if when_done is not None:
            when_done(self)

    @property
    def done(self) -> bool:
        """Whether the call has ended."""
        return self._done.is_set()

    def result(self) -> Element:
        """The call's result, or its exception raised."""
        while not self._done.is_set():
            wait_for(self._done)
        if type(self._result) is Failure:
            raise self._result.error
        result: Element = self._result
        return result


def _work(jobs: _Queue) -> None:
    while True:
        try:
            job = jobs.get()
        except StopIteration:
            return
        job.run()
        del job


class InParallel:
    """function(element) for every element, several in parallel; results in the order of elements.

    Args:
        source: the elements.
        function: the function to call.
        count: how many threads.
        in_order: False yields elements as they become ready.
    """

    def __init__(
        self,
        source: Iterator[Element],
        function: Callable[[Element], Element],
        count: int,
        in_order: bool,
    ) -> None:
        self._source = source
        self._function = function
        self._pool = Pool(count)
        self._waiting: deque[PendingCall | Failure] = deque()
        self._ahead = 2 * count
        self._in_order = in_order
        self._ended = False

    def __iter__(self) -> InParallel:
        return self

    def _refill(self) -> None:
        while not self._ended and len(self._waiting) < self._ahead:
            try:
                element = next(self._source)
            except StopIteration:
                self._ended = True
            except Exception as error:
                self._waiting.append(Failure(error))
            else:
                self._waiting.append(self._pool.submit(self._function, element))

    def __next__(self) -> Element:
        self._refill()
        if not self._waiting:
            raise StopIteration
        if not self._in_order:
            for position, job in enumerate(self._waiting):
                if type(job) is Failure or job.done:  # type: ignore[union-attr]  # a PendingCall
                    del self._waiting[position]
                    return self._given(job)
        return self._given(self._waiting.popleft())

    @staticmethod
    def _given(job: PendingCall | Failure) -> Element:
        if isinstance(job, Failure):
            raise job.error
        return job.result()


class InParallelIfSlow:
    """Like `InParallel`, but threads are started only if calls prove slow enough."""

    def __init__(
        self,
        source: Iterator[Element],
        function: Callable[[Element], Element],
        count: int,
        in_order: bool,
    ) -> None:
        self._source = source
        self._function = function
        self._options = (count, in_order)
        self._count = 0
        self._spent = 0.0
        self._parallel: InParallel | None = None

    def __iter__(self) -> InParallelIfSlow:
        return self

    def __next__(self) -> Element:
        if self._parallel is not None:
            return next(self._parallel)
        element = next(self._source)
        if self._count > _MEASURED:
            return self._function(element)
        began = time.perf_counter()
        result = self._function(element)
        if self._count:
            self._spent += time.perf_counter() - began
        self._count += 1
        if self._count > _MEASURED and self._spent > _MEASURED * WORTH_A_POOL:
            self._parallel = InParallel(self._source, self._function, *self._options)
        return result
