"""The hot front: plain inference requests are answered on the connection, without ASGI.

A connection of uvicorn's httptools protocol that checks each request's header block first. A block
that is known, or can be parsed completely, is a request to a hot route; any other one goes to
httptools and the application, whose routes give the same results.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from pinnace.serving.errors import SlowRequestError
from pinnace.serving.fast.http.infer import HotInfer
from pinnace.serving.fast.http.predict import HotPredict
from pinnace.serving.http.bounded_httptools import BoundedHttpTools
from pinnace.serving.http.connections import bounds_of
from pinnace.serving.http.infer import LENGTH_HEADER
from pinnace.serving.models.tables import Which
from pinnace.serving.requests.policies import accepts
from pinnace.serving.requests.request import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.serving.requests.exchange import Exchange
    from pinnace.serving.requests.exchanging import Exchanging
    from pinnace.serving.requests.reply import Reply, ReplyHeaders
    from pinnace.serving.requests.wires import HotWire

_MAX_BLOCKS = 1024
_MAX_KNOWN_BYTES = 2048  # of a block that is cached
_MAX_BLOCK_BYTES = 8192
_MAX_HELD_BYTES = 65536
_MAX_HEADS = 64
_MOST_COPIED = 65536  # of a body, to write it together with its head
_PREDICT_PATH = re.compile(
    rb"/v1/models/(?P<name>[A-Za-z0-9_.\-]+)"
    rb"(?:/versions/(?P<version>[0-9]{1,18})|/labels/(?P<label>[A-Za-z0-9_]+))?:predict"
)
_INFER_PATH = re.compile(
    rb"/v2/models/(?P<name>[A-Za-z0-9_.\-]+)(?:/versions/(?P<version>[0-9]{1,18}))?/infer"
)
_CLOSE = (b"connection", b"close")
_HEADER_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\t]*?)[ \t]*")
# Headers that change how a request is read or answered: such requests go to httptools.
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
    """A parsed header block.

    Attributes:
        text: its bytes.
        wire: the wire of its route, with the facts about the body in the headers.
        which: the version that its path names.
        headers: names in lower case.
        length: the length of the body.
    """

    text: bytes
    wire: HotWire
    which: Which
    headers: Mapping[bytes, bytes]
    length: int


def read_block(block: bytes) -> _Block | None:
    """Parse a header block of a hot request.

    Args:
        block: the bytes including the empty line.

    Returns:
        None unless it is a `POST` to a hot route with one plain length and no unusual header.
    """
    lines = block[:-4].split(b"\r\n")
    first = lines[0].split(b" ")
    if len(first) != 3 or first[0] != b"POST" or first[2] != b"HTTP/1.1":
        return None
    is_predict = True
    match = _PREDICT_PATH.fullmatch(first[1])
    if match is None:
        is_predict, match = False, _INFER_PATH.fullmatch(first[1])
    headers = _read_headers(lines[1:])
    if match is None or headers is None:
        return None
    wire: HotWire
    if is_predict and LENGTH_HEADER not in headers:
        wire = HotPredict(headers)
    else:
        wire = HotInfer(headers, HotPredict.api if is_predict else HotInfer.api)
    found = match.groupdict()
    version, label = found["version"], found.get("label")
    which = Which(
        found["name"].decode(),
        None if version is None else int(version),
        None if label is None else label.decode(),
    )
    return _Block(block, wire, which, headers, int(headers[b"content-length"]))


def _read_headers(lines: list[bytes]) -> dict[bytes, bytes] | None:
    """Headers by name in lower case; None if only httptools can parse them."""
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


class _Heads:
    """Cached response heads, one for all replies with the same headers."""

    __slots__ = ("_before", "_defaults", "_known", "_last", "_last_headers")

    def __init__(self) -> None:
        self._defaults: object = None
        self._before = b""
        self._known: dict[tuple[int, ReplyHeaders], _Head] = {}
        self._last = _Head(b"", b"", ends=False)
        self._last_headers: ReplyHeaders | None = None  # those of `_last`, if its status is 200

    def of(self, reply: Reply, defaults: list[tuple[bytes, bytes]]) -> _Head:
        """Return the head of a reply.

        Args:
            reply: the reply.
            defaults: uvicorn's headers; a new list each second, for the date.
        """
        headers, status = reply.headers, reply.status
        if self._defaults is not defaults:
            self._defaults = defaults
            self._before = b"".join([b"%b: %b\r\n" % header for header in defaults])
            self._known.clear()
        elif headers is self._last_headers and status == 200:
            return self._last
        head = self._known.get((status, headers))
        if head is None:
            if len(self._known) > _MAX_HEADS:
                self._known.clear()
            head = self._known[status, headers] = _Head(
                STATUS_LINE[status] + self._before + b"content-length: ",
                b"".join([b"\r\n%b: %b" % header for header in headers]),
                ends=_CLOSE in headers or _CLOSE in defaults,
            )
        self._last, self._last_headers = head, headers if status == 200 else None
        return head


class _Head:
    """The head shared by responses that differ in their length only.

    Args:
        before: the bytes before the length.
        after: the bytes after it, without the empty line.
        ends: whether the connection is closed afterwards.

    Attributes:
        known: complete heads, by the length of the body.
    """

    __slots__ = ("_after", "_before", "ends", "known")

    def __init__(self, before: bytes, after: bytes, *, ends: bool) -> None:
        self._before = before
        self._after = after
        self.known: dict[int, bytes] = {}
        self.ends = ends

    def whole(self, length: int) -> bytes:
        """Return the head for a body of this length, which is cached."""
        if len(self.known) > _MAX_HEADS:
            self.known.clear()
        found = self.known[length] = b"%b%d%b\r\n\r\n" % (self._before, length, self._after)
        return found

    def closing(self, length: int) -> bytes:
        """Return the same, if the connection is closed for another reason."""
        return b"%b%d%b\r\nconnection: close\r\n\r\n" % (self._before, length, self._after)


class InferenceProtocol(BoundedHttpTools):
    """A connection. Use `bound`: uvicorn creates the objects, without an exchange argument.

    Args:
        arguments: uvicorn's.
    """

    # The base class has more attributes than fit in a fast look-up.
    __slots__ = (
        "_active_at",
        "_block",
        "_ends",
        "_exchanging",
        "_held",
        "_held_bytes",
        "_in_flight",
        "_late",
        "_missing",
        "_parses",
        "_parts",
        "_peer",
        "_request",
        "_watch",
    )

    exchange: ClassVar[Exchange]
    _blocks: ClassVar[dict[bytes, _Block | None]]
    _replies: ClassVar[_Heads]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._peer = ""
        self._block = b""  # of the last hot request: clients mostly repeat it
        self._request: Request | None = None  # its request, from this peer
        self._parses = False  # httptools is within a message
        self._in_flight = False  # a hot request has no reply yet
        self._exchanging: Exchanging | None = None
        self._parts: list[bytes | memoryview] = []
        self._missing = 0  # bytes of a hot request's body that have not arrived
        self._late: asyncio.TimerHandle | None = None
        self._held: list[bytes] = []  # bytes received after a request without a reply yet
        self._held_bytes = 0
        self._ends = False
        self._active_at = 0.0
        self._watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the connection."""
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        self._watch_idleness()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the request of a client that has left."""
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
        """Handle bytes of one or several requests."""
        if self._missing:
            self._take_body(data)
        elif self._in_flight or self._held or self.flow.write_paused:
            self._hold(data)
        elif self._parses or (self.cycle is not None and not self.cycle.response_complete):
            self._pass_on(data)
        else:
            self._begin(data)

    def on_message_begin(self) -> None:
        """Note that httptools has found a request."""
        self._parses = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Note that httptools has parsed a whole request."""
        self._parses = False
        super().on_message_complete()

    def is_idle(self, now: float) -> bool:
        """Whether no request has been pending on the connection for some time."""
        return not (self._in_flight or self._missing) and super().is_idle(now)

    def shutdown(self) -> None:
        """Close when the pending request is answered."""
        if self._in_flight:
            self._ends = True
        else:
            super().shutdown()

    def resume_writing(self) -> None:
        """Continue with the data received meanwhile, once the client has read the written data."""
        super().resume_writing()
        self._release()

    def _pass_on(self, data: bytes) -> None:
        self._parses = True
        super().data_received(data)

    def _begin(self, data: bytes) -> None:
        request = self._request
        if request is not None and data.startswith(self._block):
            end = len(self._block)
        else:
            end = data.find(b"\r\n\r\n") + 4
            request = self._understand(data[:end]) if 4 <= end <= _MAX_BLOCK_BYTES else None
            if request is None:
                self._pass_on(data)
                return
        if self.timeout_keep_alive_task is not None:
            self._unset_keepalive_if_required()
        if self._late_head is not None:
            self._end_head()
        self._in_flight = True
        more = len(data) - end - request.size
        if more > 0:
            self._hold(data[-more:])  # before a refusal, which releases it
        exchanging = self.exchange.open(request, self._finish)
        self._active_at = exchanging.begun
        if more == 0:
            if not exchanging.is_over:
                self._exchanging = exchanging
                # Pass the data with offsets, since a slice would copy the body.
                exchanging.start(data, exchanging.begun, None, end)
        elif more > 0:
            self._start(exchanging, data[end:-more])
        else:
            self._exchanging = exchanging
            self._parts = [memoryview(data)[end:]]
            self._missing = -more
            self._late = self.loop.call_later(self.exchange.settings.body_timeout_s, self._give_up)

    def _understand(self, block: bytes) -> Request | None:
        """Return the hot request of a header block; None if it is not one."""
        found = self._blocks.get(block)
        if found is None:
            found = self._remember(block) if block not in self._blocks else None
        if found is None or found.length > self.exchange.body_limit(found.which.name):
            return None  # a body that is too large is refused before it is read
        request = Request(found.wire, found.which, found.headers, self._peer, found.length)
        self._block, self._request = found.text, request
        return request

    def _remember(self, block: bytes) -> _Block | None:
        found = read_block(block)
        if found is not None and self.exchange.settings.gzip and accepts(found.headers):
            found = None  # the application compresses replies
        if len(block) > _MAX_KNOWN_BYTES:
            return found
        if len(self._blocks) >= _MAX_BLOCKS:
            self._blocks.clear()  # for clients that never repeat a block
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
        if exchanging is None or exchanging.is_over:  # refused; the rest of the body is dropped
            self._parts = []
            if rest:
                self._hold(rest)
                self._release()
            return
        if rest:
            self._hold(rest)
        try:
            body = b"".join(self._parts)
        except MemoryError as error:
            self._parts = []
            exchanging.fail(error)
            return
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
        state = self.server_state
        state.total_requests += 1
        body = reply.body
        length = len(body)
        head = self._replies.of(reply, state.default_headers)
        if head.ends or self._ends:
            self._write(head.whole(length) if head.ends else head.closing(length), body)
            transport.close()
            return
        if length > _MOST_COPIED:
            self._write(head.whole(length), body)
        else:
            transport.write((head.known.get(length) or head.whole(length)) + body)
        if self._held:
            self.loop.call_soon(self._release)

    def _write(self, head: bytes, body: bytes) -> None:
        if len(body) > _MOST_COPIED:
            self.transport.write(head)
            self.transport.write(body)
        else:
            self.transport.write(head + body)

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
        """Close a connection that is idle after hot requests."""
        idle = time.perf_counter() - self._active_at
        limit = self.timeout_keep_alive
        is_idle = not (self._in_flight or self._parses or self._missing)
        is_answered = self.cycle is None or self.cycle.response_complete
        if self._active_at and is_idle and is_answered and idle >= limit:
            self.transport.close()
            return
        self._watch = self.loop.call_later(limit, self._watch_idleness)


def bound(exchange: Exchange) -> type[InferenceProtocol]:
    """Return the protocol class whose connections answer through this exchange."""
    members = {
        "exchange": exchange,
        "bounds": bounds_of(exchange.settings),
        "_blocks": {},
        "_replies": _Heads(),
    }
    return type("BoundInferenceProtocol", (InferenceProtocol,), members)
