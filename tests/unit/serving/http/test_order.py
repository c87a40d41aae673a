"""Replies come in the order of the requests, one for each, whatever their status.

Random sequences are sent on one connection, cut into random segments, and compared with a model
of HTTP/1.1: each request has one reply, none before an earlier one, and none after one that closes
the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import socket
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pinnace.framework.errors import UnavailableError
from unit.serving.fronts import FRONTS, serve_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    import uvicorn

    from pinnace.serving.requests.request import Request

KEY = b"0123456789abcdef"
MOST_BYTES = 4000


@dataclass(frozen=True)
class Kind:
    """A kind of request, and its reply by HTTP/1.1 and the server's documentation.

    Attributes:
        text: the request; `%d` is replaced by its number.
        status: the reply's status.
        ends: whether it is the connection's last request.
        may_end: whether it may be.
    """

    text: bytes
    status: int
    ends: bool = False
    may_end: bool = False


_ROWS = b'{"instances": [1%05d.0]}'
_TENSOR = b'{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1%05d.0]}]}'


def _posted(
    more: bytes = b"", path: bytes = b"/v1/models/m:predict", key: bytes = KEY, body: bytes = _ROWS
) -> bytes:
    head = b"POST %b HTTP/1.1\r\nhost: a\r\nx-api-key: %b\r\ncontent-length: %d\r\n" % (
        path,
        key,
        len(body % 0) if b"%" in body else len(body),
    )
    return head + more + b"\r\n" + body


def _asked(path: bytes, method: bytes = b"GET", more: bytes = b"") -> bytes:
    return b"%b %b HTTP/1.1\r\nhost: a\r\nx-api-key: %b\r\n%b\r\n" % (method, path, KEY, more)


_HEAD = b"POST /v1/models/m:predict HTTP/1.1\r\nhost: a\r\nx-api-key: %b\r\n" % KEY
KINDS = {
    "good": Kind(_posted(), 200),
    "good, known to the parser alone": Kind(_posted(b"Expect: nothing\r\n"), 200),
    "chunks": Kind(
        _HEAD + b"transfer-encoding: chunked\r\n\r\n"
        b"5\r\n" + _ROWS[:5] + b"\r\n%x\r\n" % (len(_ROWS % 0) - 5) + _ROWS[5:] + b"\r\n0\r\n\r\n",
        200,
    ),
    "expected": Kind(_posted(b"Expect: 100-continue\r\n"), 200),
    "infer": Kind(_posted(path=b"/v2/models/m/infer", body=_TENSOR), 200),
    "live": Kind(_asked(b"/healthz"), 200),
    "no key": Kind(_posted(key=b"f" * 16), 401),
    "no key, by the application": Kind(_posted(b"Expect: nothing\r\n", key=b"f" * 16), 401),
    "no room": Kind(_posted(b"x-full: 1\r\n"), 503),
    "no room, by the application": Kind(_posted(b"x-full: 1\r\nExpect: nothing\r\n"), 503),
    "no such model": Kind(_posted(path=b"/v1/models/n:predict"), 404),
    "no such route": Kind(_asked(b"/nowhere"), 404),
    "no such method": Kind(_asked(b"/v1/models/m:predict"), 400),
    "not allowed": Kind(_asked(b"/v2/models/m/infer"), 405),
    "no JSON": Kind(_posted().replace(b'{"instances"', b'{"instances!'), 400),
    "no number": Kind(_posted(b"x-request-timeout-ms: soon\r\n"), 400),
    "too large": Kind(_posted(body=b" " * (MOST_BYTES + 1)), 413, may_end=True),
    "closes": Kind(_posted(b"Connection: close\r\n"), 200, ends=True),
    "upgrades": Kind(
        _posted(b"Connection: upgrade\r\nUpgrade: h2c\r\n"), 200, ends=True, may_end=True
    ),
    "HTTP/1.0": Kind(_posted().replace(b"HTTP/1.1", b"HTTP/1.0"), 200, ends=True),
    "no HTTP": Kind(b"NO\x00THING %d\r\n\r\n", 400, ends=True),
    "two lengths": Kind(_posted(b"content-length: 7\r\n"), 400, ends=True),
    "chunks without a length": Kind(
        _HEAD + b"transfer-encoding: chunked\r\n\r\nnothing\r\n", 400, ends=True
    ),
}
LAST = KINDS["closes"]


def texts(kinds: list[Kind]) -> list[bytes]:
    """The requests, each with its number."""
    return [
        kind.text % i if re.search(rb"%\d*d", kind.text) else kind.text
        for i, kind in enumerate(kinds)
    ]


def expected(kinds: list[Kind]) -> list[tuple[int, bytes | None]]:
    """The expected replies: status and, if the kind has one, the number."""
    found: list[tuple[int, bytes | None]] = []
    for i, kind in enumerate(kinds):
        has_number = kind.status == 200 and b"%05d" in kind.text
        number = str((10**5 + i) / 2 + 2).encode() if has_number else None
        found.append((kind.status, number))
        if kind.ends:
            break
    return found


def received(text: bytes) -> list[tuple[int, bytes | None, bool]]:
    """Parse replies: status, number, and whether it announces the end of the connection."""
    found: list[tuple[int, bytes | None, bool]] = []
    while text:
        head, end, rest = text.partition(b"\r\n\r\n")
        assert end, text
        status = int(head.split(b" ")[1])
        if status == 100:
            text = rest
            continue
        length = re.search(rb"content-length: (\d+)", head.lower())
        assert length is not None, head
        body, text = rest[: int(length[1])], rest[int(length[1]) :]
        assert len(body) == int(length[1]), text
        number = re.search(rb"\[(\d+\.\d+)\]", body) if status == 200 else None
        ends = b"connection: close" in head.lower()
        found.append((status, number[1] if number else None, ends))
    return found


@pytest.fixture(scope="module", params=FRONTS)
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server in a thread that requires keys and refuses some requests for lack of room."""
    folder = tmp_path_factory.mktemp("order")
    (folder / "keys").write_text(KEY.decode())
    ready, end = threading.Event(), threading.Event()
    found: list[int] = []

    def full(request: Request) -> None:
        if b"x-full" in request.headers:
            raise UnavailableError("there is no room for this one")

    async def live(server: uvicorn.Server) -> None:
        found.append(server.servers[0].sockets[0].getsockname()[1])
        server.config.loaded_app.app.state.exchange.policies.append(full)
        ready.set()
        await asyncio.to_thread(end.wait)

    options = {"api_keys_file": str(folder / "keys"), "max_body_bytes": MOST_BYTES}
    thread = threading.Thread(
        target=serve_whole, args=(folder, request.param, live), kwargs=options, daemon=True
    )
    thread.start()
    assert ready.wait(30)
    yield found[0]
    end.set()
    thread.join(30)


def talk(port: int, data: bytes, cuts: list[int], pause_s: float, *, leaves: bool) -> bytes:
    """Return the bytes received until the server closes the connection.

    Args:
        port: the server's port.
        data: the bytes to send.
        cuts: the offsets between segments.
        pause_s: the pause after each segment.
        leaves: whether the client then closes its side.
    """
    places = [0, *sorted(cuts), len(data)]
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):  # the server may have closed it
            for begin, stop in itertools.pairwise(places):
                client.sendall(data[begin:stop])
                time.sleep(pause_s)
            if leaves:
                client.shutdown(socket.SHUT_WR)
        found = b""
        with contextlib.suppress(ConnectionError):
            while more := client.recv(2**16):
                found += more
        return found


@given(
    names=st.lists(st.sampled_from(sorted(KINDS)), max_size=8),
    places=st.lists(st.floats(0, 1), max_size=8),
    pause_s=st.sampled_from([0.0, 0.0, 0.003]),
    cut=st.none() | st.floats(0, 1),
)
@example(["no key", "good"], [], 0.0, None)
@example(["no room", "good", "good"], [0.5], 0.003, None)
@example(["no key", "no key", "good", "no room", "no such model", "good"], [], 0.0, None)
@example(["good", "no HTTP"], [], 0.0, None)
@example(["live", "no HTTP"], [], 0.0, None)
@example(["live", "chunks without a length"], [], 0.0, None)
@example(["chunks", "live", "two lengths", "good"], [], 0.0, None)
@example(["too large", "good"], [0.1], 0.003, None)
@settings(max_examples=60)
def test_order_and_count_are_those_of_the_requests(
    port: int, names: list[str], places: list[float], pause_s: float, cut: float | None
) -> None:
    kinds = [*(KINDS[name] for name in names), LAST]
    if port_is_h11(port):
        kinds = [replace(kind, ends=False) if kind is KINDS["upgrades"] else kind for kind in kinds]
    data = b"".join(texts(kinds))
    if cut is not None:
        data = data[: int(cut * len(data))]
    cuts = [int(place * len(data)) for place in places]
    found = received(talk(port, data, cuts, pause_s, leaves=cut is not None))
    wanted = expected(kinds)
    for (status, number, ends), (right, value), kind in zip(found, wanted, kinds, strict=False):
        assert (status, number) == (right, value), (names, found, wanted)
        if ends:
            assert kind.ends or kind.may_end, (names, found)
    if cut is None and not (found[-1][2] and kinds[len(found) - 1].may_end):
        assert len(found) == len(wanted), (names, found, wanted)
    assert len(found) <= len(wanted)


def port_is_h11(port: int) -> bool:
    """Whether the front continues after an upgrade that it ignored, as RFC 9110 allows."""
    text = b"".join(texts([KINDS["upgrades"], LAST]))
    return len(received(talk(port, text, [], 0.0, leaves=False))) == 2
