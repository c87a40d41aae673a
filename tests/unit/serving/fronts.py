"""Each HTTP front on its own port: the hot one, httptools and h11, all bounded."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import uvicorn

from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.fast.http.front import bound
from pinnace.serving.http.application import create_app
from pinnace.serving.http.bounded_h11 import BoundedH11
from pinnace.serving.http.bounded_httptools import BoundedHttpTools
from pinnace.serving.http.connections import bounds_of
from pinnace.serving.models.repository import Repository
from support.waiting import until_in_loop
from unit.serving.numpy_models import every_kind, write_version

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

FRONTS = ("hot", "httptools", "h11")
_OTHERS = {"httptools": BoundedHttpTools, "h11": BoundedH11}


def serve(
    tmp_path: Path, front: str, ask: Callable[[int], Awaitable[None]], **options: Any
) -> None:
    """Run a client against a server on its own port, in this thread."""

    async def ask_port(server: uvicorn.Server) -> None:
        await ask(server.servers[0].sockets[0].getsockname()[1])

    serve_whole(tmp_path, front, ask_port, **options)


def serve_whole(
    tmp_path: Path, front: str, ask: Callable[[uvicorn.Server], Awaitable[None]], **options: Any
) -> None:
    """Like `serve`, for tests that also examine the server's connections."""
    write_version(tmp_path / "m", 7)
    models = (ModelConfig("m", str(tmp_path / "m")),)
    settings = Settings(models=models, file_system_poll_s=0, **options)
    repository = Repository(settings, lambda _: every_kind())
    repository.start()

    async def run() -> None:
        app = create_app(settings, repository)
        http = (
            bound(app.state.exchange)
            if front == "hot"
            else type("Bound", (_OTHERS[front],), {"bounds": bounds_of(settings)})
        )
        config = uvicorn.Config(
            app,
            http=http,
            ws="none",
            lifespan="off",
            log_level="critical",
            port=0,
            h11_max_incomplete_event_size=settings.max_header_bytes,
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server._serve())
        await until_in_loop(lambda: server.started)
        try:
            await ask(server)
        finally:
            server.should_exit = True
            await task

    try:
        asyncio.run(run())
    finally:
        repository.close()


async def next_reply(reader: asyncio.StreamReader) -> tuple[int, bytes, bytes]:
    """Status, head and body of the next reply other than "100 Continue"; 0 if there is none."""
    try:
        status = 100
        while status == 100:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
            status = int(head.split(b" ")[1])
        length = re.search(rb"content-length: (\d+)", head)
        body = b"" if length is None else await reader.readexactly(int(length[1]))
    except (asyncio.IncompleteReadError, ConnectionError):
        return 0, b"", b""
    return status, head, body


async def status_of(reader: asyncio.StreamReader) -> int:
    """The status of the next reply; 0 if the connection ends without one."""
    return (await next_reply(reader))[0]
