"""The state of a queue: its elements, who waits for what, and whether it is closed.

Enqueue and dequeue calls are served in order of arrival, each side separately, as in TensorFlow
(core/kernels/queue_base.cc): a call that waits for ten elements takes them as they arrive, and no
later call gets one before it has its ten. Closing is queued with the enqueue calls.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.framework.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from pinnace.ops.kernels.philox import Stream, words
from pinnace.ops.running import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array

Element: TypeAlias = "tuple[Array, ...]"


class Queue:
    """A FIFO queue.

    Args:
        types: dtypes of the components of an element.
        shapes: their shapes; none if they are not said.
        capacity: how many elements it holds at most; below 0 any number.
        name: name in error messages.

    Raises:
        InvalidArgumentError: shapes for another number of components.
    """

    kind = "FIFOQueue"

    def __init__(
        self, types: Sequence[DType], shapes: Sequence[Shape], capacity: int, name: str
    ) -> None:
        if shapes and len(shapes) != len(types):
            raise InvalidArgumentError(
                f"{self.kind}: Different number of component types. "
                f"Types: {[t.name for t in types]}, Shapes: {[s.text for s in shapes]}"
            )
        self.types, self.shapes = tuple(types), tuple(shapes)
        self.name = name
        self._capacity = capacity if capacity >= 0 else None
        self._closed = False
        self._cancelled = False
        self._changed = threading.Condition()
        self._putting: deque[object] = deque()
        self._taking: deque[object] = deque()
        self._prepare()

    # Overridden by each kind of queue.

    def _prepare(self) -> None:
        self._elements: deque[Element] = deque()

    def _add(self, element: Element) -> None:
        self._elements.append(element)

    def _remove(self) -> Element:
        return self._elements.popleft()

    def _give_back(self, elements: list[Element]) -> None:
        self._elements.extendleft(reversed(elements))

    def _available(self) -> int:
        """The number of elements that can be dequeued now."""
        return len(self._elements)

    def _joined(self, arrays: list[Array], component: int) -> Array:
        del component
        return np.stack(arrays)

    # The interface for the ops.

    @property
    def is_closed(self) -> bool:
        """Whether no elements can be added any more."""
        with self._changed:
            return self._closed

    @property
    def size(self) -> int:
        """The number of elements."""
        with self._changed:
            return self._count()

    def put(self, elements: Sequence[Element]) -> None:
        """Add elements, waiting for room.

        Raises:
            CancelledError: the queue is closed, or was closed with cancel_pending_enqueues
                meanwhile.
        """
        left = deque(elements)
        with self._line(self._putting) as wait:
            came_late = self._closed
            while left:
                wait(lambda: self._closed or self._has_room())
                if self._cancelled and not came_late:
                    raise CancelledError("Enqueue operation was cancelled")
                if self._closed:
                    raise CancelledError(f"{self.kind} '{self.name}' is closed.")
                while left and self._has_room():
                    self._add(left.popleft())
                self._changed.notify_all()

    def take(self, count: int, *, fewer: bool = False) -> list[Element]:
        """Remove and return elements, waiting for them.

        Args:
            count: the number.
            fewer: whether what is left will do, once it is closed.

        Raises:
            OutOfRangeError: the queue is closed and has too few, which stay in it.
        """
        taken: list[Element] = []
        with self._line(self._taking) as wait:
            try:
                while len(taken) < count:
                    wait(lambda: self._closed or self._available() > 0)
                    missing = count - len(taken)
                    if self._closed and self._count() < missing:
                        self._give_back(taken)
                        taken = []
                        if not (fewer and self._count()):
                            raise OutOfRangeError(  # noqa: TRY301 (elements are given back first)
                                f"{self.kind} '{self.name}' is closed and has insufficient "
                                f"elements (requested {missing}, current size {self._count()})"
                            )
                        count = missing = self._count()
                    for _ in range(min(missing, self._available())):
                        taken.append(self._remove())
                    self._changed.notify_all()
            except BaseException:
                self._give_back(taken)
                raise
        return taken

    def close(self, *, cancel: bool) -> None:
        """Refuse further elements.

        Args:
            cancel: whether calls that wait to put something in are refused; else they come first.

        Raises:
            CancelledError: the queue was closed before.
        """
        if cancel:
            with self._changed:
                self._closed = self._cancelled = True
                self._changed.notify_all()
            return
        with self._line(self._putting) as wait:
            wait(lambda: True)
            if self._closed:
                raise CancelledError(f"Queue '{self.name}' is already closed.")
            self._closed = True

    def batch(self, elements: list[Element]) -> tuple[Array, ...]:
        """Elements combined to one, with an additional leading axis."""
        if not elements:
            # Unknown sizes count as 0.
            sizes = [tuple(size or 0 for size in shape) for shape in self.shapes]
            return tuple(
                np.zeros((0, *size), t.numpy) for size, t in zip(sizes, self.types, strict=True)
            )
        parts = zip(*elements, strict=True)
        return tuple(self._joined(list(arrays), at) for at, arrays in enumerate(parts))

    def __repr__(self) -> str:
        types = ", ".join(t.name for t in self.types)
        return f"<{self.kind} {self.name!r} of ({types})>"

    def _count(self) -> int:
        return len(self._elements)

    def _has_room(self) -> bool:
        return self._capacity is None or self._count() < self._capacity

    @contextmanager
    def _line(self, line: deque[object]) -> Iterator[Callable[[Callable[[], bool]], None]]:
        """The lock, and a function that waits for this call's turn and for a condition."""
        ticket = object()
        with self._changed:
            line.append(ticket)
            try:

                def wait(holds: Callable[[], bool]) -> None:
                    while not (self._cancelled and line is self._putting) and not (
                        line[0] is ticket and holds()
                    ):
                        wait_for(self._changed)

                yield wait
            finally:
                line.remove(ticket)
                self._changed.notify_all()


class PaddingQueue(Queue):
    """A FIFO queue that pads elements dequeued together to one shape."""

    kind = "PaddingFIFOQueue"

    def _joined(self, arrays: list[Array], component: int) -> Array:
        shapes = [array.shape for array in arrays]
        sizes = tuple(map(max, zip(*shapes, strict=True)))
        kind = self.types[component]
        empty: Any = b"" if kind.name == "string" else 0
        joined = np.full((len(arrays), *sizes), empty, kind.numpy)
        for row, array in zip(joined, arrays, strict=True):
            row[tuple(slice(size) for size in array.shape)] = array
        return joined


class PriorityQueue(Queue):
    """A queue ordered by the first component, an int64, lowest first; then by age."""

    kind = "PriorityQueue"

    def _prepare(self) -> None:
        self._heap: list[tuple[int, int, Element]] = []
        self._numbers = itertools.count()
        self._returned = itertools.count(-1, -1)

    def _add(self, element: Element) -> None:
        heapq.heappush(self._heap, (int(element[0]), next(self._numbers), element))

    def _remove(self) -> Element:
        return heapq.heappop(self._heap)[2]

    def _give_back(self, elements: list[Element]) -> None:
        for element in reversed(elements):
            heapq.heappush(self._heap, (int(element[0]), next(self._returned), element))

    def _available(self) -> int:
        return len(self._heap)

    def _count(self) -> int:
        return len(self._heap)


class ShuffleQueue(Queue):
    """A random element first, as long as enough of them are left.

    Args:
        types: dtypes of the components of an element.
        shapes: their shapes; none if they are not said.
        capacity: how many elements it holds at most; below 0 any number.
        name: name in error messages.
        least: how many elements stay in it until it is closed.
        seeds: the attributes `seed` and `seed2`; both 0: draws that cannot be foreseen.

    Raises:
        InvalidArgumentError: `least` is negative, or not below the capacity.
    """

    kind = "RandomShuffleQueue"

    def __init__(
        self,
        types: Sequence[DType],
        shapes: Sequence[Shape],
        capacity: int,
        name: str,
        *,
        least: int,
        seeds: tuple[int, int],
    ) -> None:
        if least < 0:
            raise InvalidArgumentError(f"{self.kind}: min_after_dequeue {least} must be >= 0")
        if 0 <= capacity <= least:
            raise InvalidArgumentError(
                f"{self.kind}: min_after_dequeue {least} must be < capacity {capacity}"
            )
        self._least = least
        self._drawn = _words_of(Stream(*seeds))
        super().__init__(types, shapes, capacity, name)

    def _prepare(self) -> None:
        self._list: list[Element] = []

    def _add(self, element: Element) -> None:
        self._list.append(element)

    def _remove(self) -> Element:
        # TensorFlow: the last element takes the place of the drawn one.
        at = next(self._drawn) % len(self._list)
        chosen, self._list[at] = self._list[at], self._list[-1]
        self._list.pop()
        return chosen

    def _give_back(self, elements: list[Element]) -> None:
        self._list.extend(elements)

    def _available(self) -> int:
        return len(self._list) - (0 if self._closed else self._least)

    def _count(self) -> int:
        return len(self._list)


def _words_of(stream: Stream) -> Iterator[int]:
    """The words of a Philox stream, one at a time."""
    while True:
        yield from words(stream.reserve(4, 1), 16).tolist()
