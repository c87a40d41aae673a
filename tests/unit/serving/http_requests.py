"""Requests as bytes, and a server on a port with three ways to answer them."""

from __future__ import annotations

import asyncio
import enum
import json
import re
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import uvicorn

from pinnace.serving import acceleration
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.http.application import create_app
from pinnace.serving.models.repository import Repository
from support.waiting import until_in_loop
from unit.serving.numpy_models import every_kind, write_version
from unit.serving.plain_server import without_fast_lanes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

Array = npt.NDArray[Any]

PREDICT = b"/v1/models/m:predict"
INFER = b"/v2/models/m/infer"


class Way(enum.Enum):
    """The way to answer: on the connection, by the application, or without `fast`."""

    HOT = enum.auto()
    APPLICATION = enum.auto()
    PLAIN = enum.auto()


def request(body: bytes, path: bytes = PREDICT, *headers: bytes, method: bytes = b"POST") -> bytes:
    lines = [method + b" " + path + b" HTTP/1.1", b"Host: test", b"Content-Length: %d" % len(body)]
    return b"\r\n".join([*lines, *headers]) + b"\r\n\r\n" + body


def rows(*values: object, **more: object) -> bytes:
    return json.dumps({"instances": list(values), **more}).encode()


def tensor(name: str, array: Array, is_binary: bool = True) -> tuple[dict[str, Any], bytes]:
    kinds = {"float32": "FP32", "float64": "FP64", "int32": "INT32", "bool": "BOOL"}
    described: dict[str, Any] = {
        "name": name,
        "shape": list(array.shape),
        "datatype": kinds[array.dtype.name],
    }
    if not is_binary:
        return described | {"data": array.ravel().tolist()}, b""
    return described | {"parameters": {"binary_data_size": array.nbytes}}, array.tobytes()


def infer(
    *tensors: tuple[dict[str, Any], bytes], extra: bytes = b"", lies: int = 0, **more: Any
) -> bytes:
    header = json.dumps({"inputs": [described for described, _ in tensors], **more}).encode()
    raw = b"".join(data for _, data in tensors) + extra
    length = b"Inference-Header-Content-Length: %d" % (len(header) + lies)
    has_raw = bool(raw) or lies
    return request(header + raw, INFER, *([length] if has_raw else []))


@contextmanager
def application(tmp_path: Path, **more: Any) -> Iterator[tuple[Settings, Repository]]:
    write_version(tmp_path / "m", 7)
    models = (ModelConfig("m", str(tmp_path / "m")),)
    settings = Settings(
        models=models,
        file_system_poll_s=0,
        max_body_bytes=2**20 + 2**19,
        body_timeout_s=0.3,
        batching=None,
    )
    settings = replace(settings, **more)
    repository = Repository(settings, lambda _: every_kind())
    repository.start()
    try:
        yield settings, repository
    finally:
        repository.close()


def serve(
    settings: Settings,
    repository: Repository,
    way: Way,
    ask: Callable[[int], Awaitable[None]],
) -> None:
    """Run a client against a server on its own port, in this thread."""

    async def run() -> None:
        with without_fast_lanes() if way is Way.PLAIN else nullcontext():
            app = create_app(settings, repository)
        http = acceleration.http_front(app.state.exchange) if way is Way.HOT else None
        config = uvicorn.Config(
            app, http=http or "httptools", lifespan="off", log_level="error", port=0
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server._serve())
        await until_in_loop(lambda: server.started)
        try:
            await ask(server.servers[0].sockets[0].getsockname()[1])
        finally:
            server.should_exit = True
            await task

    asyncio.run(run())


async def read_reply(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    assert length is not None
    body = await reader.readexactly(int(length[1]))
    return re.sub(rb"date: [^\r]*", b"date: ", head) + body


def replies(
    tmp_path: Path,
    way: Way,
    requests: list[bytes],
    chunk: int = 0,
    gap_s: float = 0.0,
    **more: Any,
) -> list[bytes]:
    """Return the replies to each request, on its own connection.

    Each is sent twice, the second time with a known header, unless the first reply is the last.
    """
    found: list[bytes] = []

    async def ask(port: int) -> None:
        for text in requests:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            step = chunk or len(text)
            for begin in range(0, len(text), step):
                writer.write(text[begin : begin + step])
                if chunk:
                    await writer.drain()
                    await asyncio.sleep(gap_s)
            reply = await asyncio.wait_for(read_reply(reader), 10)
            if b"connection: close" not in reply and not chunk:
                writer.write(text)
                reply += await asyncio.wait_for(read_reply(reader), 10)
            found.append(reply)
            writer.close()

    with application(tmp_path, **more) as (settings, repository):
        serve(settings, repository, way, ask)
    return found
