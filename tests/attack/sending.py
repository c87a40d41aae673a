"""Sends requests unchanged, to every front end of a server."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Self

import grpc

if TYPE_CHECKING:
    from attack.bodies import Body
    from attack.world import World

WAIT_S = 60.0
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Sender:
    """A client with one connection of each kind.

    Args:
        world: the server and its ports.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._channel: Any = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        self._channel = grpc.aio.insecure_channel(
            f"127.0.0.1:{self._world.grpc}",
            options=[("grpc.max_receive_message_length", -1)],
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()
        self._leave()

    async def send(self, body: Body, front: str) -> str:
        """The status of the response, as a number or gRPC's name."""
        if body.is_grpc:
            return await self.call(body.path, body.data)
        return str(await self.post(body.path, body.data, body.headers, is_hot=front == "hot"))

    async def call(self, path: str, data: bytes, timeout: float = WAIT_S) -> str:
        """The status of a gRPC call."""
        try:
            await self._channel.unary_unary(path)(data, timeout=timeout)
        except grpc.aio.AioRpcError as error:
            return error.code().name
        return "OK"

    async def post(
        self,
        path: str,
        data: bytes = b"",
        headers: dict[str, str] | None = None,
        *,
        is_hot: bool = False,
        method: str = "POST",
    ) -> int:
        """The status of an HTTP request; to the slower front end unless it is hot."""
        lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"content-length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if not is_hot:
            lines.append("te: trailers")  # httptools and the application can parse it
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._world.http)
        reader, writer = self._streams
        writer.write("\r\n".join([*lines, "", ""]).encode() + data)
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_S)
            length = _LENGTH.search(head)
            left = 0 if length is None else int(length[1])
            while left:
                left -= len(await reader.read(min(left, 2**20)))
        except (asyncio.IncompleteReadError, ConnectionError):
            self._leave()
            return 0
        if b"connection: close" in head.lower():
            self._leave()
        return int(head.split(b" ", 2)[1])

    def _leave(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
