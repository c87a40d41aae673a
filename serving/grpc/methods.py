"""The common part of all gRPC methods, for both servers.

A method is a coroutine of a request's bytes and a context; its errors become the status. Two
servers run them: `aio_server`, on grpc.aio, and the faster one of `fast` on grpcio's core.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from google.protobuf.message import Message

from pinnace.framework.errors import INTERNAL
from pinnace.serving.errors import LOG, canonical_code
from pinnace.serving.messages.fields import parse, refusal
from pinnace.serving.requests.request import Request

if TYPE_CHECKING:
    from pinnace.serving.models.tables import Which
    from pinnace.serving.requests.exchange import Charge, Exchange
    from pinnace.serving.requests.exchanging import Exchanging
    from pinnace.serving.requests.reply import Reply
    from pinnace.serving.requests.wires import Wire

M = TypeVar("M", bound=Message)
Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]

_MAX_DETAILS = 1024
_LARGE_BYTES = 2**16  # parsing more would block the event loop for too long
_READERS = ThreadPoolExecutor(2, "pinnace-read")  # so few, since each takes much memory


class Context(Protocol):
    """A call in the form for methods; the names are those of grpc.aio."""

    def invocation_metadata(self) -> Metadata:
        """The metadata that the client sent with the request."""

    def time_remaining(self) -> float | None:
        """Seconds until the client's deadline; None if it has none."""

    def peer(self) -> str:
        """The client's address."""

    async def read(self) -> bytes | None:
        """Return the next message of a stream; None after the client's last."""

    async def write(self, data: bytes) -> None:
        """Send one of several messages."""


class Quick(Protocol):
    """A call that can be answered without a task."""

    exchanging: Exchanging | None

    def peer(self) -> str:
        """The client's address."""

    def headers(self) -> Mapping[bytes, bytes]:
        """Its metadata, in the form for the exchange."""

    def time_remaining(self) -> float | None:
        """Seconds until the client's deadline; None if it has none."""

    def answer(self, reply: Reply) -> None:
        """Send the only message and the status."""


Unary: TypeAlias = Callable[[bytes, Context], Awaitable[bytes]]
Stream: TypeAlias = Callable[[Context], Awaitable[None]]
Take: TypeAlias = Callable[[bytes, Quick], bool]


class Methods:
    """The methods that a server answers, by full path: `/package.Service/Method`.

    Attributes:
        unary: a message in, a message out.
        streams: any number of messages in and out.
        quick: starts to answer a request of the unary method with that path, or returns False.
    """

    def __init__(self) -> None:
        self.unary: dict[str, Unary] = {}
        self.streams: dict[str, Stream] = {}
        self.quick: dict[str, Take] = {}


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault
    """Ends a call with a status.

    Args:
        reply: a reply with the canonical code as status, and the message as body.
    """

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.body)
        self.reply = reply


async def answer(
    exchange: Exchange, wire: Wire, which: Which, data: bytes, context: Context
) -> bytes:
    """Return the bytes of the response to an inference request.

    Args:
        exchange: the exchange that answers.
        wire: the wire of this one request.
        which: the requested version.
        data: the request's bytes.
        context: the call's context.

    Raises:
        Refused: the request is refused, with a status.
    """
    headers = headers_of(context.invocation_metadata())
    request = Request(wire, which, headers, context.peer(), len(data))

    async def read(_: Charge) -> bytes:
        return data

    reply = await exchange.answer(request, read, within_s=context.time_remaining())
    if reply.status:
        raise Refused(reply)
    return reply.body


async def parsed(kind: type[M], data: bytes, name: str = "") -> M:
    """Parse the message of a request; a large one in a thread.

    Args:
        kind: the kind of message.
        data: the request's bytes.
        name: the message's name for clients, if it differs.

    Raises:
        InvalidArgumentError: the bytes are not such a message.
    """
    if len(data) > _LARGE_BYTES:
        return await asyncio.get_running_loop().run_in_executor(_READERS, parse, kind, data, name)
    return parse(kind, data, name)


def headers_of(metadata: Metadata | None) -> Mapping[bytes, bytes]:
    """Return metadata in the form for the exchange: names in lower case, bytes throughout."""
    return {
        key.encode(): value if isinstance(value, bytes) else value.encode()
        for key, value in metadata or ()
    }


def refused(error: BaseException) -> Reply:
    """Return the status of a call whose method raised; faults of the server are logged."""
    if isinstance(error, Refused):
        return error.reply
    if canonical_code(error) == INTERNAL:
        LOG.error("a gRPC request failed", exc_info=error)
    return refusal(error)


def details_of(reply: Reply) -> bytes:
    """Return a status' message in UTF-8, truncated to the limit of headers."""
    return reply.body[:_MAX_DETAILS].decode("utf-8", "ignore").encode()
