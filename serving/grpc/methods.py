"""The common part of all gRPC methods, for both servers.

A method is a coroutine of a request's bytes and a context; it raises what becomes the status. Two
servers run them: `aio_server`, on grpc.aio, and, sooner, that of `fast` on grpcio's core.
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
_LARGE_BYTES = 2**16  # reading more would keep the event loop from its work
_READERS = ThreadPoolExecutor(2, "pinnace-read")  # so few, for each takes much memory


class Context(Protocol):
    """A call as methods see it; the names are those of grpc.aio."""

    def invocation_metadata(self) -> Metadata:
        """The metadata that the client sent with the request."""

    def time_remaining(self) -> float | None:
        """Seconds until the client's deadline; None if it has none."""

    def peer(self) -> str:
        """The client's address."""

    async def read(self) -> bytes | None:
        """The next message of a stream; None when the client has sent its last."""

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
    """The methods a server answers, by full path: `/package.Service/Method`.

    Attributes:
        unary: a message in, a message out.
        streams: any number of messages in and out.
        quick: begins to answer a request of the unary method of this path, or says False.
    """

    def __init__(self) -> None:
        self.unary: dict[str, Unary] = {}
        self.streams: dict[str, Stream] = {}
        self.quick: dict[str, Take] = {}


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault
    """Ends a call with a status.

    Args:
        reply: whose status is the canonical code, and whose body is the message.
    """

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.body)
        self.reply = reply


async def answer(
    exchange: Exchange, wire: Wire, which: Which, data: bytes, context: Context
) -> bytes:
    """The bytes of the response to an inference request.

    Args:
        exchange: that answers.
        wire: made for this one request.
        which: the version that it asks for.
        data: of the request.
        context: of the call.

    Raises:
        Refused: it is refused; with the status.
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
    """The message in the bytes of a request; a large one is read in a thread.

    Args:
        kind: of message.
        data: of the request.
        name: of the message as clients know it, where it is another.

    Raises:
        InvalidArgumentError: there is none.
    """
    if len(data) > _LARGE_BYTES:
        return await asyncio.get_running_loop().run_in_executor(_READERS, parse, kind, data, name)
    return parse(kind, data, name)


def headers_of(metadata: Metadata | None) -> Mapping[bytes, bytes]:
    """Metadata as the exchange reads them: names in lower case, bytes throughout."""
    return {
        key.encode(): value if isinstance(value, bytes) else value.encode()
        for key, value in metadata or ()
    }


def refused(error: BaseException) -> Reply:
    """The status that ends a call whose method raised; faults of the server are logged."""
    if isinstance(error, Refused):
        return error.reply
    if canonical_code(error) == INTERNAL:
        LOG.error("a gRPC request failed", exc_info=error)
    return refusal(error)


def details_of(reply: Reply) -> bytes:
    """The message of a status, in UTF-8, truncated to the limit of headers."""
    return reply.body[:_MAX_DETAILS].decode("utf-8", "ignore").encode()
