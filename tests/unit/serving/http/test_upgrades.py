"""Upgrades to other protocols are ignored: such a message is read as a single request."""

import asyncio
import contextlib
import itertools
import re
import socket
import time
from pathlib import Path

import pytest

from unit.serving.fronts import FRONTS, serve

CANARY = b"GET /v1/models/m/metadata HTTP/1.1\r\nHost: a\r\n\r\n"
ROWS = b'{"instances": [1.0]}'
PATHS = (b"/v1/models/m:predict", b"/v1/models/m/versions/7:predict", b"/%76%31/models/m:predict")
# Headers that a proxy passes on from its client, or writes itself.
UPGRADES = [
    b"Upgrade: h2c\r\nConnection: upgrade\r\n",
    b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n",
    b"upgrade: foo\r\nconnection: keep-alive, UPGRADE\r\n",
    b"Connection: upgrade\r\nUpgrade: TLS/1.2, h2c, websocket\r\n",
    b"Connection: keep-alive\r\nUpgrade: foo\r\nConnection: upgrade\r\n",
    b"Connection: upgrade\r\nUpgrade:\r\n",
    b"Connection: upgrade\r\n",
    b"Upgrade: h2c\r\n",
    b"Upgrade: h2c\r\nConnection: keep-alive\r\n",
    b"Upgrade: h2c\r\nConnection: close, upgrade\r\n",
]


@pytest.fixture(params=FRONTS)
def front(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def posted(
    body: bytes, more: bytes, path: bytes = PATHS[0], version: bytes = b"1.1", *, chunks: int = 0
) -> bytes:
    """A request, with its length or in a number of chunks."""
    head = b"POST %b HTTP/%b\r\nHost: a\r\n%b" % (path, version, more)
    if not chunks:
        return head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    parts = [body[i : i + chunks] for i in range(0, len(body), chunks)]
    text = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [*parts, b""])
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + text


async def answers(port: int, parts: list[bytes]) -> list[tuple[int, bytes, bytes]]:
    """Return the replies until the connection ends, or no more bytes arrive for a moment."""
    return await asyncio.to_thread(_answers, port, parts)


def _answers(port: int, parts: list[bytes]) -> list[tuple[int, bytes, bytes]]:
    found: list[tuple[int, bytes, bytes]] = []
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(ConnectionError):  # it may be closed before everything is sent
            for part in parts:
                client.sendall(part)
                time.sleep(0.002)  # so that the server reads it separately
        text = b""
        with contextlib.suppress(ConnectionError, TimeoutError):
            while data := client.recv(2**16):
                text += data
                if has_answer(text):
                    client.settimeout(0.2)
    while text:
        head, _, rest = text.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
        found.append((int(head.split()[1]), head, rest[:length]))
        text = rest[length:]
    return found


def has_answer(text: bytes) -> bool:
    """Whether the bytes are one or several complete replies."""
    head, end, rest = text.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return bool(end) and length is not None and len(rest) >= int(length[1])


def check(found: list[tuple[int, bytes, bytes]], what: object) -> None:
    assert len(found) == 1, (what, found)
    status, head, body = found[0]
    assert (status, body) == (200, b'{"predictions":[2.5]}'), (what, head, body)


def test_a_body_behind_an_upgrade_is_a_body(tmp_path: Path, front: str) -> None:
    """The request is answered as without the upgrade."""

    async def one(port: int, upgrade: bytes, path: bytes, chunks: int) -> None:
        text = posted(ROWS + b" " * 10, upgrade, path, chunks=chunks)
        check(await answers(port, [text]), text)
        # A body that looks like a request is not taken for one.
        text = posted(CANARY, upgrade, path, chunks=chunks)
        ((status, _, body),) = await answers(port, [text])
        assert status == 400, text
        assert b"inputs" not in body
        if not chunks:
            text = posted(ROWS + b"  \n" + CANARY, upgrade, path, version=b"1.0")
            found = await answers(port, [text])
            assert len(found) == 1, text

    async def ask(port: int) -> None:
        kinds = itertools.product(UPGRADES, PATHS, (0, 7))
        await asyncio.gather(*(one(port, *kind) for kind in kinds))

    serve(tmp_path, front, ask)


def test_it_may_be_cut_anywhere(tmp_path: Path, front: str) -> None:
    async def ask(port: int) -> None:
        for text in (posted(CANARY, UPGRADES[0]), posted(CANARY, UPGRADES[1], chunks=20)):
            cuts = [[text[:i], text[i:]] for i in range(1, len(text))]
            cuts.append([text[i : i + 1] for i in range(len(text))])
            replies = await asyncio.gather(*(answers(port, parts) for parts in cuts))
            for parts, found in zip(cuts, replies, strict=True):
                assert [status for status, _, _ in found] == [400], parts

    serve(tmp_path, front, ask)


def test_nothing_is_read_behind_it(tmp_path: Path, front: str) -> None:
    if front == "h11":
        pytest.skip("h11 reads on by the framing that the request had, as RFC 9110 allows")

    async def one(port: int, upgrade: bytes) -> None:
        for chunks in (0, 5):
            text = posted(ROWS, upgrade, chunks=chunks)
            for parts in ([text + CANARY], [text, CANARY], [text[:-3], text[-3:] + CANARY * 3]):
                found = await answers(port, parts)
                check(found, parts)
                assert b"connection: close" in found[0][1]
        got = b"GET /v1/models/m HTTP/1.1\r\nHost: a\r\n" + upgrade + b"\r\n"
        with_body = got[:-2] + b"Content-Length: %d\r\n\r\n" % len(CANARY) + CANARY
        for parts in (
            [got + CANARY],
            [got, CANARY],
            [with_body],
            [with_body[:-5], with_body[-5:]],
        ):
            ((status, head, body),) = await answers(port, parts)
            assert status == 200
            assert b"connection: close" in head
            assert b"inputs" not in body

    async def ask(port: int) -> None:
        # The last ones name no protocol, or none for this connection.
        await asyncio.gather(*(one(port, upgrade) for upgrade in UPGRADES[:6]))

    serve(tmp_path, front, ask)


def test_requests_before_it_are_answered_first(tmp_path: Path, front: str) -> None:
    first = posted(b'{"instances": [0.0]}', b"")
    text = posted(ROWS, UPGRADES[0])

    async def ask(port: int) -> None:
        for step in (1, 50, 10**6):
            whole = first * 2 + text + (b"" if front == "h11" else CANARY)
            parts = [whole[i : i + step] for i in range(0, len(whole), step)]
            found = await answers(port, parts)
            assert [body for _, _, body in found] == [
                *[b'{"predictions":[2.0]}'] * 2,
                b'{"predictions":[2.5]}',
            ]

    serve(tmp_path, front, ask)


@pytest.mark.parametrize("target", [b"localhost:80", b"/v1/models/m:predict", b"m:8500", b"*"])
def test_connect_opens_no_tunnel(tmp_path: Path, front: str, target: bytes) -> None:
    head = b"CONNECT %b HTTP/1.1\r\nHost: a\r\n" % target

    async def ask(port: int) -> None:
        for more in (b"", b"Content-Length: %d\r\n" % len(CANARY), UPGRADES[0]):
            text = head + more + b"\r\n" + CANARY
            for parts in ([text], [text[: -len(CANARY)], CANARY], [text[:30], text[30:]]):
                found = await answers(port, parts)
                assert found[0][0] in (400, 404, 405), found
                if front == "h11":
                    continue  # refused requests may be processed, as RFC 9110 allows
                assert len(found) == 1, (parts, found)
                assert b"connection: close" in found[0][1]
                assert b"inputs" not in found[0][2]

    serve(tmp_path, front, ask)
