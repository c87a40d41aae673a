"""A connection parsed by httptools, with a limit on headers, which httptools lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pinnace.serving.http.connections import MAX_HEADERS, MAX_PIPELINED, Bounded

if TYPE_CHECKING:
    from typing import Any

# Headers that would change the connection's protocol, or its lifetime.
_OF_THE_CONNECTION = frozenset({b"connection", b"upgrade", b"http2-settings", b"keep-alive"})


class _StopError(Exception):
    """Ends the reading of the connection.

    Args:
        status: the status of the reply that says why; 0 for no reply.
        message: the reply's message.
    """

    def __init__(self, status: int = 0, message: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class BoundedHttpTools(Bounded, HttpToolsProtocol):  # type: ignore[misc]  # as of h11
    """A connection.

    Args:
        arguments: uvicorn's.
    """

    # The base class has more attributes than fit in a fast look-up.
    __slots__ = (
        "_count",
        "_heads",
        "_in_head",
        "_is_last",
        "_is_refused",
        "_late_head",
        "_made_at",
        "_refusal",
        "_size",
        "_stop",
        "_unread",
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._count = 0  # headers of this request so far
        self._size = 0  # bytes of incomplete headers
        self._heads = 0  # number of complete headers
        self._in_head = True
        self._is_last = False  # the connection ends with the current request
        self._is_refused = False
        self._stop: _StopError | None = None  # raised by a callback
        self._refusal: tuple[int, str] | None = None  # waits for earlier replies

    def data_received(self, data: bytes) -> None:
        """Handle bytes of one or several requests."""
        if self._is_refused:
            return
        heads, was_in_head = self._heads, self._in_head
        if was_in_head:
            self._await_head()
        self._feed(data)
        if not self._in_head or self._is_refused:
            return
        # Headers that begin in this piece, after a body, are at most as long as the piece.
        self._size = self._size + len(data) if was_in_head and self._heads == heads else 0
        if self._size > self.bounds.header_bytes:
            self.refuse(431, f"The headers are larger than {self.bounds.header_bytes} bytes")

    def _feed(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            # It stops after the header block, and would take the body for a new request. Other
            # protocols are not supported here, so the request is parsed again without the header.
            head = self._plain_head()
            self.parser = HttpRequestParser(self)  # the other one may accept no more data
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
            self._feed(head + data[upgrade.args[0] :])
        except HttpParserError:
            self._refuse_unread()

    def on_message_begin(self) -> None:
        """Note the start of a request."""
        if self._is_last:
            self._raise(_StopError())
        self._count = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a complete header or trailer."""
        self._count += 1
        if self._count > MAX_HEADERS:
            self._raise(_StopError(431, f"A request has at most {MAX_HEADERS} headers"))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Check the complete headers of a request."""
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                self._raise(_StopError(405, "CONNECT is not supported: this server is no proxy"))
            return
        self._in_head = False
        self._heads += 1
        self._end_head()
        super().on_headers_complete()
        self._is_last = not self.cycle.keep_alive
        if len(self.pipeline) > MAX_PIPELINED:
            message = f"At most {MAX_PIPELINED} requests may wait on one connection"
            self._raise(_StopError(429, message))

    def on_message_complete(self) -> None:
        """Note a complete request."""
        if self.parser.should_upgrade():
            return
        self._in_head = True
        self._size = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start the next request after a reply, or refuse the data that followed."""
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and self._refusal is not None:
            super().refuse(*self._refusal)

    def refuse(self, status: int, message: str) -> None:
        """Refuse the current request once those before it are answered; then close."""
        self._is_refused = True
        self._end_head()
        cycle = self.cycle
        waits = cycle is not None and not cycle.response_complete
        if not self._in_head:  # its headers were valid, and it has begun or waits already
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                self.transport.close()
                return
            waits = bool(self.pipeline)
            if waits:
                self.pipeline.popleft()
        if waits:
            self._refusal = status, message
        else:
            super().refuse(status, message)

    def _raise(self, stop: _StopError) -> None:
        self._stop = stop  # httptools raises its own error instead
        raise stop

    def _refuse_unread(self) -> None:
        """Refuse data that httptools cannot parse, or at which a callback stopped it."""
        stop, self._stop = self._stop, None
        if stop is None:
            self.refuse(400, "Invalid HTTP request received.")
        elif stop.status:
            self.refuse(stop.status, stop.message)
        else:
            self._is_refused = True  # data after the last request is ignored

    def _plain_head(self) -> bytes:
        """The parsed header block, in the form of a connection's last request."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        kept = [pair for pair in self.headers if pair[0] not in _OF_THE_CONNECTION]
        lines = [b"%b: %b\r\n" % pair for pair in [*kept, (b"connection", b"close")]]
        return b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, b"".join(lines))
