"""The gRPC methods on grpc.aio, grpcio's public interface, which is slower.

It is used without grpcio's core, or if the core's interface is unknown to `fast`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import grpc

from pinnace.framework.errors import (
    DeadlineExceededError,
    UnavailableError,
    UnimplementedError,
)
from pinnace.serving.grpc.methods import details_of, headers_of, refused
from pinnace.serving.requests.reply import Reply
from pinnace.serving.requests.room import FEW_MESSAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.serving.grpc.methods import Metadata, Methods, Stream, Unary
    from pinnace.serving.requests.room import Room

_MOMENT_S = 1.0  # in which a message normally arrives
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class AioServer:
    """A gRPC server on grpc.aio.

    Args:
        methods: the methods that it answers.
        options: options of the channel, under gRPC's names.
        guard: raises an error to refuse a call with this path and these headers.
        room: the limit of bytes of messages; when it is full, few are received at once.
        message_s: longest time for the message of a call to arrive.
        slow_messages: limit of messages that take longer than a moment to arrive.
    """

    def __init__(
        self,
        methods: Methods,
        options: Sequence[tuple[str, int | str]],
        guard: Callable[[str, Mapping[bytes, bytes]], None] | None,
        room: Room,
        *,
        message_s: float = 30.0,
        slow_messages: int = 1024,
    ) -> None:
        self._message_s = message_s
        self._slow_messages = slow_messages
        self._slow: dict[asyncio.Future[bytes | None], asyncio.Future[None]] = {}
        self._server = grpc.aio.server(options=list(options))
        self._guard = guard
        self._room = room
        self._receiving = 0
        self._stopping = asyncio.Event()
        self._server.add_generic_rpc_handlers([_Handlers(self, methods)])

    def add_port(self, address: str, credentials: grpc.ServerCredentials | None) -> int:
        """Listen on an address, `host:port`; return the port.

        Raises:
            UnavailableError: the address cannot be used.
        """
        try:
            if credentials is None:
                return self._server.add_insecure_port(address)
            return self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise UnavailableError(f"gRPC address {address} cannot be used: {error}") from None

    async def start(self) -> None:
        """Start answering."""
        await self._server.start()

    async def stop(self, grace_s: float, hurry: asyncio.Event) -> None:
        """Accept no more calls, and end the remaining ones after a grace period."""
        self._stopping.set()
        urgent = asyncio.ensure_future(hurry.wait())
        stopping = asyncio.ensure_future(self._server.stop(grace_s))
        await asyncio.wait((stopping, urgent), return_when=asyncio.FIRST_COMPLETED)
        urgent.cancel()
        if not stopping.done():
            await self._server.stop(0)
        await stopping

    def unary(self, path: str, method: Unary) -> Any:
        """Return a method of one message each way, in grpc.aio's form.

        For grpc.aio it is a method of streams, whose next message may never come.
        """

        async def handle(_: object, context: Any) -> bytes:
            try:
                self._check(path, context.invocation_metadata())
                ours = _Context(context)
                data = await self._message(ours)
                return await method(data, ours)
            except grpc.aio.BaseError:  # the call is over
                raise
            except Exception as error:
                await _abort(context, refused(error))
                raise  # abort has raised

        return grpc.stream_unary_rpc_method_handler(cast("Any", handle))

    async def _message(self, context: _Context) -> bytes:
        """Return the only message of a call.

        grpcio buffers a partial message, which is not counted before it is complete.

        Raises:
            UnimplementedError: there is no message.
            DeadlineExceededError: the message takes too long.
            UnavailableError: many others take long, too, or their limit is reached.
        """
        if self._receiving >= FEW_MESSAGES:  # their sizes are unknown beforehand
            self._room.check()
        read = asyncio.ensure_future(context.read())
        self._receiving += 1
        try:
            await asyncio.wait((read,), timeout=_MOMENT_S)
            if not read.done():
                await self._wait_for_slow(read)
            data = await read
        finally:
            self._receiving -= 1
            read.cancel()
        if data is None:
            raise UnimplementedError("The method takes one message, got none")
        return data

    async def _wait_for_slow(self, read: asyncio.Future[bytes | None]) -> None:
        refusal = asyncio.get_running_loop().create_future()
        self._slow[read] = refusal
        if len(self._slow) > self._slow_messages:
            # Those that began first have had the most time.
            next(one for one in self._slow.values() if not one.done()).set_result(None)
        try:
            await asyncio.wait(
                (read, refusal),
                timeout=self._message_s - _MOMENT_S,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            del self._slow[read]
        if refusal.done():
            raise UnavailableError("Too many messages arrive slowly; try again later")
        if not read.done():
            raise DeadlineExceededError(f"The message did not arrive within {self._message_s:g} s")

    def stream(self, path: str, method: Stream) -> Any:
        """Return a method of streams, in grpc.aio's form; the server's shutdown ends it."""

        async def handle(_: object, context: Any) -> None:
            try:
                self._check(path, context.invocation_metadata())
                await self._unless_stopped(method, _Context(context))
            except grpc.aio.BaseError:
                raise
            except Exception as error:
                await _abort(context, refused(error))

        return grpc.stream_stream_rpc_method_handler(cast("Any", handle))

    async def _unless_stopped(self, method: Stream, context: _Context) -> None:
        work = asyncio.ensure_future(method(context))
        end = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((work, end), return_when=asyncio.FIRST_COMPLETED)
        finally:
            end.cancel()
            is_left = not work.done()
            work.cancel()
            await asyncio.wait((work,))  # it may send a last message
        if is_left:
            raise UnavailableError("The server ends")
        work.result()

    def _check(self, path: str, metadata: Metadata | None) -> None:
        if self._guard is not None:
            self._guard(path, headers_of(metadata))


class _Handlers(grpc.GenericRpcHandler):
    """The methods, by path."""

    def __init__(self, server: AioServer, methods: Methods) -> None:
        self._handlers = {path: server.unary(path, unary) for path, unary in methods.unary.items()}
        self._handlers |= {path: server.stream(path, one) for path, one in methods.streams.items()}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Return the method of a call; None if it does not exist."""
        return self._handlers.get(handler_call_details.method)


class _Context:
    """A call of grpc.aio in the form for methods."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.invocation_metadata = context.invocation_metadata
        self.time_remaining = context.time_remaining
        self.peer = context.peer
        self.write = context.write

    async def read(self) -> bytes | None:
        message = await self._context.read()
        return None if message is grpc.aio.EOF else message


async def _abort(context: Any, reply: Reply) -> None:
    code = _CODES.get(reply.status, grpc.StatusCode.UNKNOWN)
    await context.abort(code, details_of(reply).decode())
