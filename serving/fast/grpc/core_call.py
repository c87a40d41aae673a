"""One call on grpcio's core: from its events to a method, and from a reply to its operations."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from grpc._cython import cygrpc  # type: ignore[attr-defined]  # the stubs lack the core

from pinnace.framework.errors import CANCELLED, UNAVAILABLE, UNIMPLEMENTED, UNKNOWN, CancelledError
from pinnace.serving.grpc.methods import details_of, refused
from pinnace.serving.requests.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from pinnace.serving.fast.grpc.core_server import CoreServer
    from pinnace.serving.grpc.methods import Metadata, Methods, Stream, Unary
    from pinnace.serving.requests.exchanging import Exchanging

_FOREVER_S = 1e9  # a longer deadline counts as none
_LAST_CODE = 16


class Route:
    """A method, with every way to answer it.

    Args:
        path: `/package.Service/Method`.
        methods: the methods with that path.
    """

    __slots__ = ("path", "stream", "take", "unary")

    def __init__(self, path: str, methods: Methods) -> None:
        self.path = path
        self.unary = methods.unary.get(path)
        self.stream = methods.streams.get(path)
        self.take = methods.quick.get(path)


class CoreCall:
    """A call, used by the event loop's thread only.

    Args:
        server: the server that received it.
        event: the event that announced it.

    Attributes:
        exchanging: the exchange in progress, which is cancelled if the client leaves; None if none.
    """

    __slots__ = (
        "_core",
        "_deadline",
        "_has_begun",
        "_is_over",
        "_metadata",
        "_route",
        "_server",
        "_task",
        "exchanging",
    )

    def __init__(self, server: CoreServer, event: Any) -> None:
        details = event.call_details
        self.exchanging: Exchanging | None = None
        self._server = server
        self._core = event.call
        self._metadata: Metadata = event.invocation_metadata
        self._deadline: float = details.deadline
        self._route = server.routes.get(details.method)
        self._task: asyncio.Task[None] | None = None
        self._has_begun = False  # initial metadata were sent
        self._is_over = False

    def begin(self) -> None:
        """Start answering the call."""
        core, route, server = self._core, self._route, self._server
        core.start_server_batch((cygrpc.ReceiveCloseOnServerOperation(0),), self._closed)
        if route is None:
            self.answer(Reply(b"Method not found!", UNIMPLEMENTED))
            return
        if server.guard is not None:
            try:
                server.guard(route.path, self.headers())
            except Exception as error:
                self.answer(refused(error))
                return
        if route.stream is not None:
            self._run(self._live(route.stream), server.streams)
        else:
            try:
                server.check_room()
            except Exception as error:
                self.answer(refused(error))
                return
            server.receiving[self] = time.monotonic()
            core.start_server_batch((cygrpc.ReceiveMessageOperation(0),), self._received)

    def invocation_metadata(self) -> Metadata:
        """The metadata that the client sent with the request."""
        return self._metadata

    def headers(self) -> Mapping[bytes, bytes]:
        """The metadata as headers, in the form for the exchange."""
        return self._server.headers(self._metadata)

    def time_remaining(self) -> float | None:
        """Seconds until the client's deadline; None if it has none."""
        left = self._deadline - time.time()
        return None if left > _FOREVER_S else max(left, 0.0)

    def peer(self) -> str:
        """The client's address."""
        if self._core is None:
            return ""
        found: bytes = self._core.peer()
        return found.decode("utf-8", "replace")

    async def read(self) -> bytes | None:
        """Return the next message of a stream; None after the client's last."""
        event = await self._operate(cygrpc.ReceiveMessageOperation(0))
        message: bytes | None = event.batch_operations[0].message()
        return message

    async def write(self, data: bytes) -> None:
        """Send one of several messages.

        Raises:
            CancelledError: the client has left.
        """
        event = await self._operate(*self._first(), cygrpc.SendMessageOperation(data, 0))
        if not event.success:
            raise CancelledError("The client went away")

    def answer(self, reply: Reply) -> None:
        """Send the only message and the status, or the status alone, unless the call is over."""
        if self._is_over:
            return
        self._is_over = True
        self.exchanging = None
        core, self._core = self._core, None
        code = reply.status
        if code:
            code = code if 0 < code <= _LAST_CODE else UNKNOWN
            status = cygrpc.SendStatusFromServerOperation((), code, details_of(reply), 0)
            sent: tuple[Any, ...] = (status,)
        else:
            sent = (
                cygrpc.SendMessageOperation(reply.body, 0),
                cygrpc.SendStatusFromServerOperation((), 0, b"", 0),
            )
        core.start_server_batch((cygrpc.SendInitialMetadataOperation(None, 0), *sent), _ignore)

    def _first(self) -> tuple[Any, ...]:
        """The operations that precede the first message sent."""
        if self._has_begun:
            return ()
        self._has_begun = True
        return (cygrpc.SendInitialMetadataOperation(None, 0),)

    def _received(self, event: Any) -> None:
        """Handle the only message, or its absence."""
        self._server.receiving.pop(self, None)
        data = event.batch_operations[0].message()
        route = self._route
        if self._is_over or route is None or route.unary is None:
            return
        if data is None:  # also of a client that left, which reads no answer
            self.answer(Reply(b"The method takes one message, got none", UNIMPLEMENTED))
            return
        try:
            if route.take is not None and route.take(data, self):
                return
        except Exception as error:
            self.answer(refused(error))
            return
        self._run(self._ask(route.unary, data), self._server.tasks)

    def _closed(self, event: Any) -> None:
        """The call has ended: answered, cancelled by the client, or past its deadline."""
        if not event.batch_operations[0].cancelled():
            return
        self._is_over = True
        # Running work keeps this object alive, and the server's shutdown waits for its calls.
        self._core = None
        exchanging, self.exchanging = self.exchanging, None
        if exchanging is not None:
            exchanging.cancel()
        if self._task is not None:
            self._task.cancel()

    def _run(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> None:
        task = self._task = self._server.loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _ask(self, method: Unary, data: bytes) -> None:
        try:
            reply = Reply(await method(data, self), 0)
        except asyncio.CancelledError:
            reply = Reply(b"The call was cancelled", CANCELLED)
        except Exception as error:
            reply = refused(error)
        finally:
            self._task = None  # they would refer to each other
        self.answer(reply)

    async def _live(self, method: Stream) -> None:
        try:
            await method(self)
        except asyncio.CancelledError:
            reply = Reply(b"The server ends", UNAVAILABLE)
        except Exception as error:
            reply = refused(error)
        else:
            reply = Reply(b"", 0)
        finally:
            self._task = None
        if not self._is_over:
            self._is_over = True
            status = cygrpc.SendStatusFromServerOperation((), reply.status, details_of(reply), 0)
            self._core.start_server_batch((*self._first(), status), _ignore)
            self._core = None

    async def _operate(self, *operations: Any) -> Any:
        """Run operations, and return the event that ends them."""
        core = self._core
        if core is None:
            raise CancelledError("The client went away")
        future = self._server.loop.create_future()

        def done(event: Any) -> None:
            if not future.done():
                future.set_result(event)

        core.start_server_batch(operations, done)
        return await future


def _ignore(_: object) -> None:
    """Ignore the end of an operation."""
