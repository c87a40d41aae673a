"""A connection parsed by httptools, with a limit on headers, which httptools lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pinnace.serving.http.connections import MAX_HEADERS, MAX_PIPELINED, Bounded

if TYPE_CHECKING:
    from typing import Any

# Headers that would change the protocol of the connection, or how long it lives.
_OF_THE_CONNECTION = frozenset({b"connection", b"upgrade", b"http2-settings", b"keep-alive"})


class _StopError(Exception):
    """The connection is not read any further.

    Args:
        status: of the answer that says why; 0 for none.
        message: of it.
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

    # The base has more attributes than a quick look-up allows.
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
        self._size = 0  # bytes of headers that are not complete
        self._heads = 0  # that were complete
        self._in_head = True
        self._is_last = False  # the connection ends with the request that came
        self._is_refused = False
        self._stop: _StopError | None = None  # what a callback raised
        self._refusal: tuple[int, str] | None = None  # waits for the answers before it

    def data_received(self, data: bytes) -> None:
        """Bytes of a request, or of several."""
        if self._is_refused:
            return
        heads, was_in_head = self._heads, self._in_head
        if was_in_head:
            self._await_head()
        self._feed(data)
        if not self._in_head or self._is_refused:
            return
        # Headers that begin in this piece, behind a body, are at most as long as it is.
        self._size = self._size + len(data) if was_in_head and self._heads == heads else 0
        if self._size > self.bounds.header_bytes:
            self.refuse(431, f"The headers are larger than {self.bounds.header_bytes} bytes")

    def _feed(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            # It stops behind the header block, and would take what follows, the body, for a new
            # request. No other protocol is spoken here: the request is read again without that.
            head = self._plain_head()
            self.parser = HttpRequestParser(self)  # the other one may read no more by now
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
            self._feed(head + data[upgrade.args[0] :])
        except HttpParserError:
            self._refuse_unread()

    def on_message_begin(self) -> None:
        """httptools met a request."""
        if self._is_last:
            self._raise(_StopError())
        self._count = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header or trailer is complete."""
        self._count += 1
        if self._count > MAX_HEADERS:
            self._raise(_StopError(431, f"A request has at most {MAX_HEADERS} headers"))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The headers of a request are there."""
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
        """A request is there."""
        if self.parser.should_upgrade():
            return
        self._in_head = True
        self._size = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """A request has been answered: start the next one, or refuse what followed it."""
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and self._refusal is not None:
            super().refuse(*self._refusal)

    def refuse(self, status: int, message: str) -> None:
        """Refuse the request that is being read, when those before it are answered; then close."""
        self._is_refused = True
        self._end_head()
        cycle = self.cycle
        waits = cycle is not None and not cycle.response_complete
        if not self._in_head:  # its headers were right, and it has begun or waits already
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
        self._stop = stop  # httptools raises another error in its place
        raise stop

    def _refuse_unread(self) -> None:
        """httptools cannot read what came, or a callback stopped it."""
        stop, self._stop = self._stop, None
        if stop is None:
            self.refuse(400, "Invalid HTTP request received.")
        elif stop.status:
            self.refuse(stop.status, stop.message)
        else:
            self._is_refused = True  # what follows the last request is nobody's

    def _plain_head(self) -> bytes:
        """The header block that was read, as that of a connection's last request."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        kept = [pair for pair in self.headers if pair[0] not in _OF_THE_CONNECTION]
        lines = [b"%b: %b\r\n" % pair for pair in [*kept, (b"connection", b"close")]]
        return b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, b"".join(lines))
