"""A connection read by httptools, whose headers are counted: it reads any number of them itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pinnace.serving.http.connections import MAX_HEADERS, MAX_PIPELINED, Bounded

if TYPE_CHECKING:
    from typing import Any


class _TooMuchError(Exception):
    """A request has more headers than it may, or too many came at once."""


class BoundedHttpTools(Bounded, HttpToolsProtocol):  # type: ignore[misc]  # as of h11
    """A connection.

    Args:
        arguments: uvicorn's.
    """

    # The base has more attributes than a quick look-up allows.
    __slots__ = (
        "_count",
        "_heads",
        "_in_head",
        "_is_refused",
        "_late_head",
        "_made_at",
        "_size",
        "_unread",
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._count = 0  # headers of this request so far
        self._size = 0  # bytes of headers that are not complete
        self._heads = 0  # that were complete
        self._in_head = True
        self._is_refused = False

    def data_received(self, data: bytes) -> None:
        """Bytes of a request, or of several."""
        if self._is_refused:
            return
        heads, was_in_head = self._heads, self._in_head
        if was_in_head:
            self._await_head()
        super().data_received(data)
        if not self._in_head or self._is_refused:
            return
        # Headers that begin in this piece, behind a body, are at most as long as it is.
        self._size = self._size + len(data) if was_in_head and self._heads == heads else 0
        if self._size > self.bounds.header_bytes:
            self._is_refused = True
            self.refuse(431, f"The headers are larger than {self.bounds.header_bytes} bytes")

    def on_message_begin(self) -> None:
        """httptools met a request."""
        self._count = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header or trailer is complete."""
        self._count += 1
        if self._count > MAX_HEADERS:
            raise _TooMuchError
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The headers of a request are there."""
        self._in_head = False
        self._heads += 1
        self._end_head()
        super().on_headers_complete()
        if len(self.pipeline) > MAX_PIPELINED:
            raise _TooMuchError

    def on_message_complete(self) -> None:
        """A request is there."""
        self._in_head = True
        self._size = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """httptools cannot read what came, or it is too much."""
        self._is_refused = True
        if self._count > MAX_HEADERS:
            self.refuse(431, f"A request has at most {MAX_HEADERS} headers")
        elif len(self.pipeline) > MAX_PIPELINED:
            self.refuse(429, f"At most {MAX_PIPELINED} requests may wait on one connection")
        else:
            self.refuse(400, msg)
