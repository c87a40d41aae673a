"""Invalid requests on a real port: they are refused, and other clients are not affected."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from unit.serving.http_requests import (
    INFER,
    PREDICT,
    Way,
    application,
    read_reply,
    request,
    rows,
    serve,
)

Ask = Callable[[int], Awaitable[None]]


def served(tmp_path: Path, way: Way, ask: Ask, **more: Any) -> None:
    """Send requests while another client's requests must not be affected."""

    async def both(port: int) -> None:
        stop = asyncio.Event()

        async def neighbour() -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            is_last = False
            while not is_last:
                is_last = stop.is_set()  # one more at the end
                writer.write(request(rows(1)))
                reply = await asyncio.wait_for(read_reply(reader), 20)
                assert reply.endswith(b'{"predictions":[2.5]}'), reply
                await asyncio.sleep(0.005)
            writer.close()

        task = asyncio.create_task(neighbour())
        await asyncio.sleep(0.02)
        try:
            await ask(port)
        finally:
            stop.set()
            await task

    with application(tmp_path, **more) as (settings, repository):
        serve(settings, repository, way, both)


async def answer(port: int, *parts: bytes, gap_s: float = 0.0) -> bytes:
    """The reply to a request sent in parts; the server may stop reading before the last one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send() -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(gap_s)

    sending = asyncio.create_task(send())
    try:
        return await asyncio.wait_for(read_reply(reader), 20)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.transport.abort()


HEAD = b"POST " + PREDICT + b" HTTP/1.1\r\nHost: a\r\n"
BOMB = gzip.compress(b"[" * (50 * 2**20))
DEFLATED = zlib.compress(b" " * (50 * 2**20))
DEEP = b'{"instances":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
CASES: dict[str, tuple[list[bytes], int, str]] = {
    "100 MB announced": (
        [
            b"POST " + PREDICT + b" HTTP/1.1\r\nHost: a\r\nContent-Length: 104857600\r\n\r\n",
            b"[" * 999,
        ],
        413,
        "The body is larger than 1572864 bytes, the server's limit",
    ),
    "100 MB in chunks": (
        [
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
            *[b"100000\r\n" + b"[" * 2**20 + b"\r\n"] * 100,
        ],
        413,
        "The body is larger than 1572864 bytes, the server's limit",
    ),
    "a gzip bomb": (
        [request(BOMB, PREDICT, b"Content-Encoding: gzip")],
        413,
        "The body is larger than 1572864 bytes, the server's limit",
    ),
    "a deflate bomb": (
        [request(DEFLATED, INFER, b"Content-Encoding: deflate")],
        413,
        "The body is larger than 1572864 bytes, the server's limit",
    ),
    "half a gzip": (
        [request(BOMB[:100], PREDICT, b"Content-Encoding: gzip")],
        400,
        "The body is not gzip: it ends too early",
    ),
    "an encoding that is none": (
        [request(b"x", PREDICT, b"Content-Encoding: zip")],
        415,
        "Content-Encoding 'zip' is not supported; use gzip, deflate or none",
    ),
    "deep nesting": ([request(DEEP)], 400, ""),
    "deep nesting for v2": ([request(DEEP, INFER)], 400, ""),
    "an unknown model": (
        [request(rows(1), b"/v1/models/none:predict")],
        404,
        "Servable not found for request: Latest(none)",
    ),
    "a name like a path": (
        [request(rows(1), b"/v1/models/..%2f..%2fetc%2fpasswd:predict")],
        404,
        "Servable not found for request: Latest(../../etc/passwd)",
    ),
    "a model that raises": (
        [request(rows(1, signature_name="value_error"))],
        500,
        "ValueError: a fault in the model",
    ),
    "a model out of memory": (
        [request(rows(1, signature_name="memory_error"))],
        429,
        "MemoryError",
    ),
}


@pytest.mark.parametrize("way", [Way.HOT, Way.PLAIN])
@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused(tmp_path: Path, case: str, way: Way) -> None:
    parts, status, message = CASES[case]

    async def ask(port: int) -> None:
        reply = await answer(port, *parts)
        head, _, body = reply.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status), reply[:500]
        error = json.loads(body)["error"]
        assert error == message if message else len(error) > 10
        assert len(body) < 1000

    served(tmp_path, way, ask)


@pytest.mark.parametrize("way", [Way.HOT, Way.PLAIN])
def test_a_body_that_drips_is_given_up(tmp_path: Path, way: Way) -> None:
    whole = request(rows(*range(100)))

    async def ask(port: int) -> None:
        drops = [whole[:200], *[whole[i : i + 1] for i in range(200, 300)]]
        reply = await answer(port, *drops, gap_s=0.05)
        assert reply.startswith(b"HTTP/1.1 408 "), reply
        assert json.loads(reply.split(b"\r\n\r\n")[1]) == {
            "error": "The body did not arrive within 0.3 s"
        }

    served(tmp_path, way, ask)


@pytest.mark.parametrize("way", [Way.HOT, Way.PLAIN])
def test_bodies_at_once_take_bounded_memory(tmp_path: Path, way: Way) -> None:
    """Clients that announce or send much at once are asked to retry."""
    body = b" " * 10**6
    head = HEAD + b"Content-Length: 1000000\r\n\r\n"
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

    async def ask(port: int) -> None:
        waiting = []
        for _ in range(3):  # they hold their bytes for a while
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head + body[:1000])
            waiting.append(writer)
        await asyncio.sleep(0.05)
        announced = await answer(port, head, body)
        sent = await answer(port, chunked, b"f4240\r\n" + body + b"\r\n")
        for reply in (announced, sent):
            assert reply.startswith(b"HTTP/1.1 503 "), reply
            assert b"retry-after: 1" in reply
        for writer in waiting:
            writer.transport.abort()
        await asyncio.sleep(0.05)
        reply = await answer(port, head, body)
        assert reply.startswith(b"HTTP/1.1 400 "), reply  # accepted again: it is just invalid JSON

    served(tmp_path, way, ask, max_inflight_bytes=3_500_000, body_timeout_s=5.0)


@pytest.mark.parametrize("way", [Way.HOT, Way.PLAIN])
def test_what_cannot_be_done_in_time_is_refused_at_once(tmp_path: Path, way: Way) -> None:
    late = request(rows(1, signature_name="slow"), PREDICT, b"X-Request-Timeout-Ms: 100")

    async def ask(port: int) -> None:
        first = await answer(port, request(rows(1, signature_name="slow")))
        assert b"200 OK" in first
        reply = await answer(port, late)
        assert reply.startswith(b"HTTP/1.1 503 "), reply
        assert b"retry-after: 1" in reply
        assert b"such a request takes about " in reply

    served(tmp_path, way, ask)
