"""Expensive connections: headers, slow senders, large numbers, HTTP/2 frames."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from attack import http2
from attack.sending import Sender

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from attack.world import World

GOOD = (
    b"POST /v1/models/good:predict HTTP/1.1\r\nhost: a\r\ncontent-length: 20\r\n\r\n"
    b'{"instances": [2.0]}'
)
CALL = "/tensorflow.serving.PredictionService/Predict"
_MOST = 256 * 2**20


@contextlib.asynccontextmanager
async def many(
    port: int, count: int
) -> AsyncIterator[list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]:
    """This number of concurrent connections."""
    found = []
    try:
        for _ in range(count):
            with contextlib.suppress(OSError):
                found.append(await asyncio.open_connection("127.0.0.1", port))
        yield found
    finally:
        for _, writer in found:
            writer.close()


async def _poured(port: int, begin: bytes, unit: bytes) -> str:
    """Send the same bytes endlessly; the status with which the server ended it."""
    _reader, writer = await asyncio.open_connection("127.0.0.1", port)
    sent = 0
    try:
        writer.write(begin)
        while sent < _MOST:
            writer.write(unit)
            await writer.drain()
            sent += len(unit)
    except ConnectionError:
        return "closed"
    else:
        return "!taken"
    finally:
        writer.close()


async def headers(world: World, seconds: float) -> Counter[str]:
    """One endless header, many headers, an endless path; four at once."""
    begin = b"GET /healthz HTTP/1.1\r\nhost: a\r\n"
    kinds = [
        (begin + b"x: ", b"y" * 2**16),
        (begin, b"x: y\r\n" * 2**13),
        (b"GET /", b"y" * 2**16),
        (
            GOOD.partition(b"content")[0] + b"transfer-encoding: chunked\r\n\r\n0\r\n",
            b"x: y\r\n" * 2**13,
        ),
    ]
    statuses: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while not statuses or time.monotonic() < end:
        statuses.update(await asyncio.gather(*(_poured(world.http, *kind) for kind in kinds)))
    return statuses


async def slow_headers(world: World, seconds: float) -> Counter[str]:
    """Connections that send their headers byte by byte, with pauses."""
    async with many(world.http, 300) as found:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _, writer in found:
                writer.write(b"G")
            await asyncio.sleep(0.1)
        return Counter({"open": len(found)})


async def idle(world: World, _: float) -> Counter[str]:
    """More connections than most processes may have open files."""
    async with many(world.http, 900) as found:
        async with Sender(world) as sender:
            code = await sender.post("/v1/models/good:predict", b'{"instances":[1]}', is_hot=True)
        return Counter({"open": len(found), str(code): 1})


async def idle_grpc(world: World, _: float) -> Counter[str]:
    """As many connections to the gRPC port that never call, and one that does."""
    found = [await http2.opened(world.grpc) for _ in range(900)]
    try:
        async with Sender(world) as sender:
            status = await sender.call(CALL, b"")
        return Counter({"open": len(found), status: 1})
    finally:
        for _, writer in found:
            writer.close()


async def watches(world: World, seconds: float) -> Counter[str]:
    """`Watch` calls of the health service, as many as a few connections accept."""
    path = http2.call("/grpc.health.v1.Health/Watch")
    found = [await http2.opened(world.grpc) for _ in range(4)]
    for _, writer in found:
        for stream in range(1, 2000, 2):
            writer.write(
                http2.frame(http2.HEADERS, http2.END_HEADERS, stream, path)
                + http2.frame(http2.DATA, http2.END_STREAM, stream, http2.message(0))
            )
    await asyncio.sleep(max(seconds, 0.5))
    for _, writer in found:
        writer.close()
    return Counter({"sent": 4000})


async def pipelined(world: World, seconds: float) -> Counter[str]:
    """Thousands of requests in one write."""
    statuses: Counter[str] = Counter()
    end = time.monotonic() + seconds
    health = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n" * 5000
    while not statuses or time.monotonic() < end:
        for text in (health, GOOD * 2000):
            reader, writer = await asyncio.open_connection("127.0.0.1", world.http)
            writer.write(text)
            with contextlib.suppress(ConnectionError, TimeoutError):
                await asyncio.wait_for(reader.read(2**16), 5)
            writer.close()
            statuses["sent"] += 1
    return statuses


async def unread(world: World, seconds: float) -> Counter[str]:
    """Clients that ask for large answers and do not read them."""
    body = b'{"instances": [' + b"0.1," * (2**17) + b"1]}"
    text = b"POST /v1/models/victim:predict HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%b"
    async with many(world.http, 16) as found:
        for _, writer in found:
            writer.write(text % (len(body), body))
        await asyncio.sleep(max(seconds, 0.5))
        return Counter({"open": len(found)})


async def slow_bodies(world: World, seconds: float) -> Counter[str]:
    """Bodies that are sent byte by byte, with pauses."""
    text = b"POST /v1/models/victim:predict HTTP/1.1\r\nhost: a\r\ncontent-length: 60000000\r\n\r\n"
    async with many(world.http, 200) as found:
        for _, writer in found:
            writer.write(text)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _, writer in found:
                writer.write(b" ")
            await asyncio.sleep(0.1)
        return Counter({"open": len(found)})


async def _frames(world: World, seconds: float, make: Any) -> Counter[str]:
    statuses: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while not statuses or time.monotonic() < end:
        reader, writer = await http2.opened(world.grpc)
        drain = asyncio.ensure_future(_drained(reader))
        try:
            stream = 1
            while time.monotonic() < end and stream < 2**20:
                writer.write(b"".join(make(stream + 2 * i) for i in range(64)))
                await asyncio.wait_for(writer.drain(), 5)
                stream += 128
            statuses["sent"] += stream // 2
        except (ConnectionError, TimeoutError):
            statuses["closed"] += 1
        finally:
            drain.cancel()
            writer.close()
    return statuses


async def _drained(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        while await reader.read(2**16):
            pass


async def resets(world: World, seconds: float) -> Counter[str]:
    """Calls that are reset right after their start."""
    block = http2.call(CALL)

    def make(stream: int) -> bytes:
        return http2.frame(http2.HEADERS, http2.END_HEADERS, stream, block) + http2.frame(
            http2.RESET, 0, stream, b"\0\0\0\x08"
        )

    return await _frames(world, seconds, make)


async def pings(world: World, seconds: float) -> Counter[str]:
    """As many pings as possible."""
    return await _frames(world, seconds, lambda _: http2.frame(http2.PING, 0, 0, b"12345678"))


async def settings(world: World, seconds: float) -> Counter[str]:
    """SETTINGS frames, each of which must be acknowledged."""
    return await _frames(world, seconds, lambda _: http2.frame(http2.SETTINGS, 0, 0))


async def continuations(world: World, seconds: float) -> Counter[str]:
    """An endless header block."""
    block = http2.header(b"x", b"y" * 4096)
    begun: set[int] = set()

    def make(stream: int) -> bytes:
        if not begun:
            begun.add(stream)
            return http2.frame(http2.HEADERS, 0, 1, http2.call(CALL))
        return http2.frame(http2.CONTINUATION, 0, 1, block)

    return await _frames(world, seconds, make)


async def metadata(world: World, seconds: float) -> Counter[str]:
    """Calls with one megabyte of metadata each."""
    block = http2.call(CALL, *[(b"x-%d" % i, b"y" * 1000) for i in range(14)])

    def make(stream: int) -> bytes:
        return http2.frame(http2.HEADERS, http2.END_HEADERS, stream, block)

    return await _frames(world, seconds, make)


async def slow_messages(world: World, seconds: float) -> Counter[str]:
    """Messages that begin and do not end."""
    block = http2.call(CALL)

    def make(stream: int) -> bytes:
        return http2.frame(http2.HEADERS, http2.END_HEADERS, stream, block) + http2.frame(
            http2.DATA, 0, stream, http2.message(2**24) + b"x"
        )

    found = await _frames(world, min(seconds, 0.3), make)
    await asyncio.sleep(seconds)
    return found


ATTACKS = {
    "headers without an end": headers,
    "slow headers": slow_headers,
    "idle connections": idle,
    "idle connections of gRPC": idle_grpc,
    "calls that watch": watches,
    "requests in one piece": pipelined,
    "answers that nobody reads": unread,
    "slow bodies": slow_bodies,
    "HTTP/2 resets": resets,
    "HTTP/2 pings": pings,
    "HTTP/2 settings": settings,
    "HTTP/2 continuations": continuations,
    "HTTP/2 metadata": metadata,
    "HTTP/2 slow messages": slow_messages,
}


async def files(world: World, _: float) -> Counter[str]:
    """All file descriptors are in use before the first request for the page, then released."""
    statuses: Counter[str] = Counter()
    async with Sender(world) as sender:
        data = b'{"instances":[2]}'
        await sender.post("/v1/models/good:predict", data, is_hot=True)
        async with many(world.grpc, 600):
            for _ in range(20):
                code = await sender.post("/v1/models/good:predict", data, is_hot=True)
                statuses[str(code) if code == 200 else f"!predict {code}"] += 1
                code = await sender.post("/docs", method="GET")
                statuses[str(code) if code in (200, 503) else f"!docs {code}"] += 1
        await asyncio.sleep(2.5)
        for path in ("/docs", "/", "/healthz", "/monitoring/prometheus/metrics", "/readyz"):
            code = await sender.post(path, method="GET")
            statuses[str(code) if code == 200 else f"!afterwards {path} {code}"] += 1
    return statuses


async def handshakes(world: World, seconds: float) -> Counter[str]:
    """Connections that never send a ClientHello, that send plain text, and that use an old TLS."""
    import ssl

    statuses: Counter[str] = Counter()
    for _ in range(50):
        reader, writer = await asyncio.open_connection("127.0.0.1", world.http)
        writer.write(GOOD)
        data = b""
        with contextlib.suppress(ConnectionError):
            data = await reader.read(100)
        statuses["refused" if not data.startswith(b"HTTP") else "!plain text was answered"] += 1
        writer.close()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    try:
        await asyncio.open_connection("127.0.0.1", world.http, ssl=context)
        statuses["!TLS 1.1 was taken"] += 1
    except (ssl.SSLError, ConnectionError):
        statuses["refused"] += 1
    async with many(world.http, 300) as found:
        await asyncio.sleep(seconds)
        statuses["open"] += len(found)
    return statuses


def _certified(folder: Path) -> dict[str, Any]:
    certificate, key = folder / "server.pem", folder / "server.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost", "-out", str(certificate)),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key)),
        ],
        check=True,
        capture_output=True,
    )
    flags = [f"--tls_cert={certificate}", f"--tls_key={key}"]
    return {"flags": flags, "scheme": "https", "authority": str(certificate)}


OTHERS: dict[str, Any] = {
    "no file descriptor is left": (
        *(files, lambda _: {"files": 128}),
        ["--max_connections=1000"],  # the default limit leaves some file descriptors
    ),
    "TLS: plain, old and silent clients": (handshakes, _certified, []),
}
