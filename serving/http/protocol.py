"""The hot front: plain inference requests are answered on the connection, past ASGI.

A connection of uvicorn's httptools protocol that looks at each request's header block first. A
block that it knows by its bytes, or understands completely, is a request of a hot route; every
other one goes to httptools and the application, which answers the same routes the same way.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from pinnace.serving.errors import SlowRequestError
from pinnace.serving.exchange import Request
from pinnace.serving.http.infer import INFER
from pinnace.serving.http.json_predict import PREDICT
from pinnace.serving.policies import accepts
from pinnace.serving.repository import Which

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.serving.calls import Headers, Reply
    from pinnace.serving.exchange import Exchange, Exchanging
    from pinnace.serving.wires import Wire

_MAX_BLOCKS = 4096
_MAX_BLOCK_BYTES = 8192
_MAX_HELD_BYTES = 65536
_HOT_PATHS: tuple[tuple[re.Pattern[bytes], Wire], ...] = (
    (
        re.compile(
            rb"/v1/models/(?P<name>[A-Za-z0-9_.\-]+)"
            rb"(?:/versions/(?P<version>[0-9]{1,18})|/labels/(?P<label>[A-Za-z0-9_]+))?:predict"
        ),
        PREDICT,
    ),
    (
        re.compile(
            rb"/v2/models/(?P<name>[A-Za-z0-9_.\-]+)(?:/versions/(?P<version>[0-9]{1,18}))?/infer"
        ),
        INFER,
    ),
)
_HEADER_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\t]*?)[ \t]*")
# What changes how a request is read or answered: httptools and the application know how.
_COLD_HEADERS = frozenset(
    {
        b"connection",
        b"content-encoding",
        b"expect",
        b"keep-alive",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)


@dataclass(frozen=True, slots=True)
class _Block:
    """A header block that was understood.

    Attributes:
        wire: of its route.
        which: the version that its path names.
        headers: names in lower case.
        length: of the body that follows.
    """

    wire: Wire
    which: Which
    headers: Mapping[bytes, bytes]
    length: int


def read_block(block: bytes) -> _Block | None:
    """A header block as a hot request.

    Args:
        block: bytes up to and with the empty line.

    Returns:
        None unless it is a `POST` of a hot route with one plain length and nothing unusual.
    """
    lines = block[:-4].split(b"\r\n")
    first = lines[0].split(b" ")
    if len(first) != 3 or first[0] != b"POST" or first[2] != b"HTTP/1.1":
        return None
    route = next(
        ((m, wire) for pattern, wire in _HOT_PATHS if (m := pattern.fullmatch(first[1]))), None
    )
    headers = _read_headers(lines[1:])
    if route is None or headers is None:
        return None
    match, wire = route
    found = match.groupdict()
    version, label = found["version"], found.get("label")
    which = Which(
        found["name"].decode(),
        None if version is None else int(version),
        None if label is None else label.decode(),
    )
    return _Block(wire, which, headers, int(headers[b"content-length"]))


def _read_headers(lines: list[bytes]) -> dict[bytes, bytes] | None:
    """Headers by name in lower case; None where only httptools knows what to make of them."""
    headers: dict[bytes, bytes] = {}
    for line in lines:
        parts = _HEADER_LINE.fullmatch(line)
        if parts is None:
            return None
        name = parts[1].lower()
        if name in _COLD_HEADERS and not (
            name == b"connection" and parts[2].lower() == b"keep-alive"
        ):
            return None
        if name in headers:
            return None
        headers[name] = parts[2]
    length = headers.get(b"content-length", b"")
    if not length.isdigit() or len(length) > 15 or b"host" not in headers:
        return None
    return headers


class InferenceProtocol(HttpToolsProtocol):
    """A connection. Use `bound`: uvicorn makes the objects, and has no place for an exchange.

    Args:
        arguments: uvicorn's.
    """

    exchange: ClassVar[Exchange]
    _blocks: ClassVar[dict[bytes, _Block | None]]
    _heads: ClassVar[dict[tuple[int, Headers], tuple[bytes, bytes]]]
    _heads_for: ClassVar[object]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._peer = ""
        self._parses = False  # httptools is within a message
        self._in_flight = False  # a hot request has no reply yet
        self._exchanging: Exchanging | None = None
        self._parts: list[bytes] = []
        self._missing = 0  # bytes of a hot request's body that did not come yet
        self._late: asyncio.TimerHandle | None = None
        self._held: list[bytes] = []  # what came after a request that has no reply yet
        self._held_bytes = 0
        self._ends = False
        self._active_at = 0.0
        self._watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there."""
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        self._watch_idleness()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone: its request need not run."""
        exchanging, self._exchanging = self._exchanging, None
        self._in_flight = False
        if exchanging is not None:
            exchanging.cancel()
        for timer in (self._late, self._watch):
            if timer is not None:
                timer.cancel()
        self._held.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request, or of several."""
        if self._missing:
            self._take_body(data)
        elif self._in_flight or self.flow.write_paused:
            self._hold(data)
        elif self._parses or (self.cycle is not None and not self.cycle.response_complete):
            self._pass_on(data)
        else:
            self._begin(data)

    def on_message_begin(self) -> None:
        """Httptools met a request."""
        self._parses = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Httptools has the whole request."""
        self._parses = False
        super().on_message_complete()

    def shutdown(self) -> None:
        """Close when the request on its way is answered."""
        if self._in_flight:
            self._ends = True
        else:
            super().shutdown()

    def resume_writing(self) -> None:
        """The client read what was written: go on with what it sent meanwhile."""
        super().resume_writing()
        self._release()

    def _pass_on(self, data: bytes) -> None:
        self._parses = True
        super().data_received(data)

    def _begin(self, data: bytes) -> None:
        end = data.find(b"\r\n\r\n") + 4
        block = data[:end] if 4 <= end <= _MAX_BLOCK_BYTES else b""
        found = self._blocks.get(block)
        if found is None:
            found = self._remember(block) if block and block not in self._blocks else None
            if found is None:
                self._pass_on(data)
                return
        if found.length > self.exchange.body_limit(found.which.name):
            self._pass_on(data)  # refused there, before the body is read
            return
        self._unset_keepalive_if_required()
        self._active_at = self.loop.time()
        self._in_flight = True
        request = Request(found.wire, found.which, found.headers, self._peer, found.length)
        exchanging = self.exchange.open(request, self._finish)
        body = data[end : end + found.length]
        if len(body) == found.length:
            if len(data) > end + found.length:
                self._hold(data[end + found.length :])
            self._start(exchanging, body)
            return
        self._exchanging = exchanging
        self._parts = [body]
        self._missing = found.length - len(body)
        self._late = self.loop.call_later(self.exchange.settings.body_timeout_s, self._give_up)

    def _remember(self, block: bytes) -> _Block | None:
        found = read_block(block)
        if found is not None and self.exchange.settings.gzip and accepts(found.headers):
            found = None  # the application packs replies
        if len(self._blocks) >= _MAX_BLOCKS:
            self._blocks.clear()  # clients that never send the same block twice
        self._blocks[block] = found
        return found

    def _take_body(self, data: bytes) -> None:
        part = data[: self._missing]
        exchanging = self._exchanging
        if exchanging is not None and not exchanging.is_over:
            self._parts.append(part)
        self._missing -= len(part)
        if self._missing:
            return
        if self._late is not None:
            self._late.cancel()
            self._late = None
        rest = data[len(part) :]
        if exchanging is None or exchanging.is_over:  # refused; the rest of it is dropped
            self._parts = []
            if rest:
                self._hold(rest)
                self._release()
            return
        if rest:
            self._hold(rest)
        body = b"".join(self._parts)
        self._parts = []
        self._start(exchanging, body)

    def _start(self, exchanging: Exchanging, body: bytes) -> None:
        if exchanging.is_over:
            return
        self._exchanging = exchanging
        exchanging.start(body)

    def _give_up(self) -> None:
        exchanging = self._exchanging
        if exchanging is not None and not exchanging.is_over:
            timeout = self.exchange.settings.body_timeout_s
            exchanging.fail(SlowRequestError(f"The body did not arrive within {timeout:g} s"))
        elif not self.transport.is_closing():
            self.transport.close()

    def _finish(self, reply: Reply) -> None:
        self._in_flight = False
        self._exchanging = None
        transport = self.transport
        if transport.is_closing():
            return
        before, after = self._head(reply.status, reply.headers)
        ends = self._ends or (b"connection", b"close") in reply.headers
        if self._ends and (b"connection", b"close") not in reply.headers:
            after = b"\r\nconnection: close" + after
        transport.write(b"%b%d%b%b" % (before, len(reply.body), after, reply.body))
        self.server_state.total_requests += 1
        if ends:
            transport.close()
        elif self._held:
            self.loop.call_soon(self._release)

    def _head(self, status: int, headers: Headers) -> tuple[bytes, bytes]:
        """The reply's bytes before and after its length."""
        kind = type(self)
        defaults = self.server_state.default_headers
        if kind._heads_for is not defaults:  # uvicorn makes new ones each second, for the date
            kind._heads_for = defaults
            kind._heads = {}
        head = kind._heads.get((status, headers))
        if head is None:
            if len(kind._heads) > 64:
                kind._heads.clear()
            start = [b"%b: %b\r\n" % header for header in defaults]
            more = [b"\r\n%b: %b" % header for header in headers]
            head = (
                STATUS_LINE[status] + b"".join(start) + b"content-length: ",
                b"".join(more) + b"\r\n\r\n",
            )
            kind._heads[status, headers] = head
        return head

    def _hold(self, data: bytes) -> None:
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > _MAX_HELD_BYTES:
            self.flow.pause_reading()

    def _release(self) -> None:
        if (
            self._held
            and not self._in_flight
            and not self._missing
            and not self.transport.is_closing()
        ):
            data = b"".join(self._held)
            self._held.clear()
            self._held_bytes = 0
            self.flow.resume_reading()
            self.data_received(data)

    def _watch_idleness(self) -> None:
        """Close a connection on which hot requests came and nothing comes any longer."""
        idle = self.loop.time() - self._active_at
        limit = self.timeout_keep_alive
        is_idle = not (self._in_flight or self._parses or self._missing)
        is_answered = self.cycle is None or self.cycle.response_complete
        if self._active_at and is_idle and is_answered and idle >= limit:
            self.transport.close()
            return
        self._watch = self.loop.call_later(limit, self._watch_idleness)


def bound(exchange: Exchange) -> type[InferenceProtocol]:
    """The protocol class whose connections answer through this exchange."""
    members = {"exchange": exchange, "_blocks": {}, "_heads": {}, "_heads_for": None}
    return type("BoundInferenceProtocol", (InferenceProtocol,), members)
