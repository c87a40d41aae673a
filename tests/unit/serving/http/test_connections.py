"""Limits of a connection on every HTTP front: httptools, h11 and the hot one."""

import asyncio
import resource
import socket
import time
from pathlib import Path

import pytest
import uvicorn

from pinnace.serving.config.settings import Settings
from pinnace.serving.http.connections import MAX_HEADERS, bounds_of
from support.waiting import until_in_loop
from unit.serving.fronts import FRONTS, serve, serve_whole, status_of

GOOD = (
    b"POST /v1/models/m:predict HTTP/1.1\r\nhost: a\r\ncontent-length: 20\r\n\r\n"
    b'{"instances": [1.0]}'
)
HEALTH = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"


@pytest.fixture(params=FRONTS)
def front(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def sent(port: int, parts: list[bytes]) -> tuple[int, int]:
    """The status and the bytes accepted, for a client that reads after sending everything."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    taken = 0
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
            taken += len(part)
    except ConnectionError:
        pass
    try:
        return await status_of(reader), taken
    finally:
        writer.close()


def test_headers_without_an_end_are_refused_when_they_are_too_large(
    tmp_path: Path, front: str
) -> None:
    async def ask(port: int) -> None:
        for begin in (
            b"GET /healthz HTTP/1.1\r\nhost: a\r\nx: ",  # one header
            b"GET /healthz?",  # a path
        ):
            status, taken = await sent(port, [begin, *[b"x" * 2**16] * 400])
            assert status in (0, 400, 431)
            assert taken < 2**24  # the size of the system's buffers
        status, taken = await sent(
            port, [b"GET /healthz HTTP/1.1\r\nhost: a\r\n", *[b"x: y\r\n" * 2**13] * 400]
        )
        assert status in (0, 400, 431)
        assert taken < 2**24
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GOOD)
        assert await status_of(reader) == 200
        writer.close()

    serve(tmp_path, front, ask)


def test_what_is_just_within_the_bounds_is_answered(tmp_path: Path, front: str) -> None:
    async def ask(port: int) -> None:
        many = b"".join(b"x-%d: y\r\n" % i for i in range(MAX_HEADERS - 2))
        large = b"x: " + b"y" * (2**16 - 200) + b"\r\n"
        for more in (many, large):
            text = HEALTH[:-2] + more + b"\r\n"
            for step in (len(text), 1000):
                parts = [text[i : i + step] for i in range(0, len(text), step)]
                assert (await sent(port, parts))[0] == 200

    serve(tmp_path, front, ask)


def test_headers_that_do_not_arrive_end_the_connection(tmp_path: Path, front: str) -> None:
    async def ask(port: int) -> None:
        for begin in (b"", b"GET /healthz HTTP/1.1\r\nho", GOOD + b"POST /v1"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            started = time.monotonic()
            writer.write(begin)
            if begin.startswith(GOOD):
                assert await status_of(reader) == 200
            for _ in range(3):  # single bytes do not reset the limit
                await asyncio.sleep(0.05)
                writer.write(b"x")
            assert await status_of(reader) in (0, 400, 408)
            assert time.monotonic() - started < 5
            writer.close()

    serve(tmp_path, front, ask, header_timeout_s=0.3)


def test_a_connection_that_is_kept_alive_outlives_the_time_for_headers(
    tmp_path: Path, front: str
) -> None:
    async def ask(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for text in (GOOD, HEALTH, GOOD):
            writer.write(text)
            assert await status_of(reader) == 200
            await asyncio.sleep(0.4)
        writer.close()

    serve(tmp_path, front, ask, header_timeout_s=0.2)


def test_beyond_the_limit_of_connections_an_idle_one_makes_room(tmp_path: Path, front: str) -> None:
    async def ask(port: int) -> None:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        await asyncio.sleep(1.1)  # from then on they count as idle
        for _ in range(3):
            assert (await sent(port, [GOOD]))[0] == 200
        busy = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        refused = await asyncio.open_connection("127.0.0.1", port)
        assert await status_of(refused[0]) in (0, 503)
        for reader, writer in busy:
            writer.write(GOOD)
            assert await status_of(reader) == 200
        for _, writer in (*idle, *busy, refused):
            writer.close()

    serve(tmp_path, front, ask, max_connections=3)


def test_many_requests_at_once_on_one_connection_are_bounded(tmp_path: Path, front: str) -> None:
    async def ask(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEALTH * 40)
        assert [await status_of(reader) for _ in range(40)] == [200] * 40
        writer.write(HEALTH * 5000)
        found = []
        while len(found) < 5000 and (not found or found[-1] == 200):
            found.append(await status_of(reader))
        assert found[-1] in (0, 200, 400, 429)
        writer.close()
        assert (await sent(port, [GOOD]))[0] == 200

    serve(tmp_path, front, ask)


def test_a_client_that_does_not_read_is_given_up(
    tmp_path: Path, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinnace.serving.http.connections._LOOK_S", 0.2)
    body = b'{"signature_name": "echo_float32", "instances": [' + b"1," * 2**20 + b"1]}"
    text = b"POST /v1/models/m:predict HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%b"

    async def ask(server: uvicorn.Server) -> None:
        listener = server.servers[0].sockets[0]
        port = listener.getsockname()[1]
        # Small buffers, since a kernel may let them grow until they hold the whole reply.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**16)
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**12)
        client.connect(("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(sock=client, limit=1000)
        try:
            writer.write(text % (len(body), body))
            await until_in_loop(lambda: len(server.server_state.connections) == 1)
            await until_in_loop(lambda: not server.server_state.connections)
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await asyncio.wait_for(reader.readexactly(4 * 2**20), 10)
        finally:
            writer.close()
        assert (await sent(port, [GOOD]))[0] == 200

    serve_whole(tmp_path, front, ask)


def test_there_are_as_many_connections_as_files_allow() -> None:
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert bounds_of(Settings()).connections <= 8192
    assert soft == resource.RLIM_INFINITY or bounds_of(Settings()).connections < soft
    assert bounds_of(Settings(max_connections=7)).connections == 7
    both = Settings(grpc_port=0)
    assert soft == resource.RLIM_INFINITY or 2 * bounds_of(both).connections < soft
