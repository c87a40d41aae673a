"""Whether there is memory for decoding and answering requests.

A limit on the bytes of bodies is not enough: numbers as text become objects of several times their
size before they are an array. Large allocations are reserved here in advance. If memory ran out
inside a library that cannot handle it, the whole process would end.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pinnace.engine.allocation import Limits
from pinnace.framework.errors import UnavailableError
from pinnace.serving.config.memory_limits import data_limit, memory_limit
from pinnace.serving.memory import give_back
from pinnace.serving.requests.expansion import text_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.serving.running.signatures import Arrays

# Shares of the memory. Runs get less, since requests, which come first, need the rest.
_READING = 0.95
_READING_OF_DATA = 0.85
_AT_THE_DOOR = 0.05  # of it must be free before the body of a large request is read
_LOOK_S = 0.05
# Bytes of memory per byte of a body: a JSON number of 4 characters is an object of 24 bytes, with
# its places in a list and in an array; a message is parsed once, and copied to an array.
_OF_TEXT = 12
_OF_MESSAGE = 3
_OF_NUMBER = 24  # per number that is written as text
_OF_LONG_TEXT = 2  # per byte of a long string: its piece, and its place in the body
FEW_BYTES = 2**20  # smaller requests reserve nothing
FEW_MESSAGES = 4  # of unknown size, that are accepted at once if there is no room


class Room:
    """The free memory, and how much of it is reserved. Any thread may use this."""

    def __init__(self) -> None:
        memory, data = memory_limit(), data_limit()
        self._limits = Limits(
            int(memory * _READING), int(data * _READING_OF_DATA), counts_free=False
        )
        self._at_the_door = int(min(memory, data or memory) * _AT_THE_DOOR)
        self._lock = threading.Lock()
        self._promised = 0
        self._looked_at = 0.0
        self._is_full = False

    def is_full(self) -> bool:
        """Whether no more large requests should be accepted; the system is queried every 50 ms."""
        now = time.perf_counter()
        if now - self._looked_at > _LOOK_S:
            self._looked_at = now
            self._is_full = not self._limits.have_room(self._at_the_door + self._promised)
        return self._is_full

    def check(self) -> None:
        """Check that another large request may be accepted.

        Raises:
            UnavailableError: it may not; clients may retry.
        """
        if self.is_full():
            raise UnavailableError("the server has no memory left for requests; try again later")

    @contextmanager
    def kept(self, size: int) -> Iterator[None]:
        """Reserve memory within a context.

        Args:
            size: the bytes.

        Raises:
            UnavailableError: that much memory is not free.
        """
        if size <= FEW_BYTES:
            yield
            return
        with self._lock:
            is_there = self._limits.have_room(self._promised + size)
            if not is_there and give_back():
                is_there = self._limits.have_room(self._promised + size)
            if not is_there:
                raise UnavailableError(
                    f"a request needs {size} bytes of memory, but the server has not that much "
                    "left; try again later"
                )
            self._promised += size
        try:
            yield
        finally:
            with self._lock:
                self._promised -= size


def reading_bytes(size: int, entrypoint: str) -> int:
    """Return the bytes that decoding a body takes besides the body itself.

    Args:
        size: the body's size.
        entrypoint: the entry point, by the wire's name for it.
    """
    return size * (_OF_MESSAGE if entrypoint == "GRPC" else _OF_TEXT)


def writing_bytes(outputs: Arrays) -> int:
    """The bytes that encoding an answer takes besides its arrays."""
    size = 0
    for array in outputs.values():
        size += array.size * _OF_NUMBER
        if array.dtype == object:
            size += _OF_LONG_TEXT * text_bytes(array)
    return size
