"""The gRPC methods on grpcio's core, as grpcio's own servers use it, without their layers.

grpc.aio takes three tasks, a dozen futures and a wake-up of the event loop for each of four events
of a call: four fifths of a call's cost. Here events are plain callbacks. They are polled on the
event loop as long as there are any; a thread blocks on the next one only while there are none, so
that a busy loop is never woken.

The core's Python interface, `cygrpc`, is not documented; it is the same in grpcio 1.66 to 1.85. If
it differs from what `is_known` expects, `aio_server` serves instead.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

from grpc._cython import cygrpc  # type: ignore[attr-defined]  # the stubs lack the core

from pinnace.framework.errors import DEADLINE_EXCEEDED, UNAVAILABLE, UnavailableError
from pinnace.serving.errors import LOG
from pinnace.serving.fast.grpc.core_call import CoreCall, Route
from pinnace.serving.grpc.methods import headers_of
from pinnace.serving.requests.reply import Reply
from pinnace.serving.requests.room import FEW_MESSAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import grpc

    from pinnace.serving.grpc.methods import Metadata, Methods
    from pinnace.serving.requests.room import Room

_ASKED = 32  # calls that the core may deliver before it is asked for more
_MOST_EVENTS = 256  # per turn of the event loop, which has other work, too
_MAX_HEADERS = 256  # sets of metadata that are cached
_MOMENT_S = 1.0  # in which a message normally arrives
_LAST_S = 5.0  # for cancelled calls to end
_CALL = "call"
_END = "end"
_NEEDED = {
    "CompletionQueue": ("poll", "shutdown"),
    "Server": (
        *("add_http2_port", "register_completion_queue", "request_call", "start"),
        *("shutdown", "cancel_all_calls", "destroy"),
    ),
    "Call": ("start_server_batch", "peer"),
    "RequestCallEvent": ("call", "call_details", "invocation_metadata", "success", "tag"),
    "BatchOperationEvent": ("batch_operations", "success", "tag"),
    "CompletionType": ("queue_timeout", "queue_shutdown"),
    "ReceiveMessageOperation": ("message",),
    "ReceiveCloseOnServerOperation": ("cancelled",),
    "SendInitialMetadataOperation": (),
    "SendMessageOperation": (),
    "SendStatusFromServerOperation": (),
}


def is_known() -> bool:
    """Whether grpcio's core has the interface that this server uses."""
    return all(
        hasattr(cygrpc, name) and all(hasattr(getattr(cygrpc, name), part) for part in parts)
        for name, parts in _NEEDED.items()
    )


class CoreServer:
    """A gRPC server on grpcio's core, bound to the running event loop.

    Args:
        methods: the methods that it answers.
        options: options of the channel, under gRPC's names.
        guard: raises an error to refuse a call with this path and these headers.
        room: the limit of bytes of messages; when it is full, few are received at once.
        message_s: longest time for the message of a call to arrive.
        slow_messages: limit of messages that take longer than a moment to arrive.

    Attributes:
        receiving: calls whose message has not arrived, and since when.
        loop: its event loop.
        routes: its methods by path, as the core has it.
        guard: the argument.
        tasks: tasks of calls that are being answered, kept alive.
        streams: those tasks that continue until they are ended.
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
        self.loop = asyncio.get_running_loop()
        self.receiving: dict[CoreCall, float] = {}
        self._message_s = message_s
        self._slow_messages = slow_messages
        self._sweep: asyncio.TimerHandle | None = None
        self.guard = guard
        self._room = room
        self.routes = {
            path.encode(): Route(path, methods) for path in (*methods.unary, *methods.streams)
        }
        self.tasks: set[asyncio.Task[None]] = set()
        self.streams: set[asyncio.Task[None]] = set()
        self._queue = cygrpc.CompletionQueue()
        self._server = cygrpc.Server(tuple(options), False)
        self._server.register_completion_queue(self._queue)
        self._headers: dict[Metadata, Mapping[bytes, bytes]] = {}
        self._turns = threading.Lock()  # free for a moment when the thread is to look for events
        self._turns.acquire()
        self._thread: threading.Thread | None = None
        self._is_ending = False
        self._ended = self.loop.create_future()  # no call is left
        self._emptied = self.loop.create_future()  # no event is left

    def add_port(self, address: str, credentials: grpc.ServerCredentials | None) -> int:
        """Listen on an address, `host:port`; return the port.

        Raises:
            UnavailableError: the address cannot be used.
        """
        # The core's credentials are a private attribute of the public ones.
        given = () if credentials is None else (credentials._credentials,)  # type: ignore[attr-defined]
        try:
            port = int(self._server.add_http2_port(address.encode(), *given))
        except RuntimeError as error:
            raise UnavailableError(f"gRPC address {address} cannot be used: {error}") from None
        if not port:
            raise UnavailableError(f"gRPC address {address} cannot be used")
        return port

    async def start(self) -> None:
        """Start answering."""
        self._server.start()
        for _ in range(_ASKED):
            self._server.request_call(self._queue, self._queue, _CALL)
        self._thread = threading.Thread(target=self._wait, name="pinnace-grpc", daemon=True)
        self._thread.start()
        self._sweep = self.loop.call_later(_MOMENT_S, self._end_slow)

    def _end_slow(self) -> None:
        """End calls whose messages take too long, or are too many.

        grpcio buffers a partial message, which is not counted before it is complete.
        """
        self._sweep = self.loop.call_later(_MOMENT_S, self._end_slow)
        if not self.receiving:
            return
        now = time.monotonic()
        slow = [call for call, since in self.receiving.items() if now - since > _MOMENT_S]
        late = [call for call in slow if now - self.receiving[call] > self._message_s]
        for call in late:
            text = f"The message did not arrive within {self._message_s:g} s"
            call.answer(Reply(text.encode(), DEADLINE_EXCEEDED))
        # Those that began first have had the most time.
        for call in slow[len(late) : len(slow) - self._slow_messages]:
            call.answer(Reply(b"Too many messages arrive slowly; try again later", UNAVAILABLE))

    def check_room(self) -> None:
        """Check whether another message may be received; its size is unknown beforehand.

        Raises:
            UnavailableError: many messages are being received, and their limit is reached.
        """
        if len(self.receiving) >= FEW_MESSAGES:
            self._room.check()

    async def stop(self, grace_s: float, hurry: asyncio.Event) -> None:
        """Accept no more calls, and end the remaining ones after a grace period."""
        if self._thread is None or self._is_ending:
            return
        self._is_ending = True
        if self._sweep is not None:
            self._sweep.cancel()
        self._server.shutdown(self._queue, _END)
        for stream in list(self.streams):
            stream.cancel()
        urgent = asyncio.ensure_future(hurry.wait())
        await asyncio.wait(
            (self._ended, urgent), timeout=grace_s, return_when=asyncio.FIRST_COMPLETED
        )
        urgent.cancel()
        if not self._ended.done():
            self._server.cancel_all_calls()
            done, _ = await asyncio.wait((self._ended,), timeout=_LAST_S)
            if not done:
                LOG.error("gRPC calls do not end; the server goes without them")
                return
        for task in list(self.tasks):
            task.cancel()
        self._server.destroy()
        self._queue.shutdown()
        await self._emptied
        await asyncio.to_thread(self._thread.join)

    def headers(self, metadata: Metadata) -> Mapping[bytes, bytes]:
        """The metadata as headers for the exchange; cached, since most calls repeat them."""
        found = self._headers.get(metadata)
        if found is None:
            found = headers_of(metadata)
            if len(self._headers) >= _MAX_HEADERS:
                self._headers.clear()
            self._headers[metadata] = found
        return found

    def _wait(self) -> None:
        """In a thread: wait for an event, and until the loop has processed it and later ones."""
        while not self._emptied.done():
            try:
                event = self._queue.poll()
            except MemoryError:  # an event that is lost: its call ends at its timeout
                LOG.error("there was no memory for a gRPC message")
                continue
            is_last = event.completion_type == cygrpc.CompletionType.queue_shutdown
            try:
                self.loop.call_soon_threadsafe(self._turn, event)
            except RuntimeError:  # the loop is closed
                return
            del event  # the references that it holds may be waited for
            if is_last:
                return
            self._turns.acquire()

    def _turn(self, event: Any = None) -> None:
        """On the loop: process the available events; if there are none, let the thread wait."""
        if event is not None:
            self._see(event)
        poll, none = self._queue.poll, cygrpc.CompletionType.queue_timeout
        seen = 0
        while seen < _MOST_EVENTS and not self._emptied.done():
            try:
                event = poll(0)
            except MemoryError:
                LOG.error("there was no memory for a gRPC message")
                seen += 1
                continue
            if event.completion_type == none:
                break
            seen += 1
            self._see(event)
        if seen and not self._emptied.done():
            self.loop.call_soon(self._turn)
        else:
            self._turns.release()

    def _see(self, event: Any) -> None:
        tag = event.tag
        try:
            if tag is _CALL:
                if event.success and not self._is_ending:
                    self._server.request_call(self._queue, self._queue, _CALL)
                if event.success:
                    CoreCall(self, event).begin()
            elif tag is _END:
                self._ended.set_result(None)
            elif event.completion_type == cygrpc.CompletionType.queue_shutdown:
                self._emptied.set_result(None)
            else:
                tag(event)
        except Exception:
            LOG.exception("an event of gRPC's core could not be understood")
