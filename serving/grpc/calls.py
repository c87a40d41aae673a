"""From a gRPC call to the exchange and back: what every inference method shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import grpc

from pinnace.framework.errors import INTERNAL
from pinnace.serving.errors import LOG, canonical_code
from pinnace.serving.exchange import Request
from pinnace.serving.grpc.messages import refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pinnace.serving.exchange import Charge, Exchange
    from pinnace.serving.repository import Which
    from pinnace.serving.wires import Wire

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Method: TypeAlias = "Callable[[bytes, Context], Awaitable[bytes]]"

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_MAX_DETAILS = 1024
_MAX_TIMEOUT_MS = 10**11


async def answer(
    exchange: Exchange, wire: Wire, which: Which, data: bytes, context: Context
) -> bytes:
    """The bytes of the response to an inference request.

    Args:
        exchange: that answers.
        wire: made for this one request.
        which: the version that it asks for.
        data: of the request.
        context: of the call; it is ended with the status of an error.
    """
    headers = {key.encode(): _bytes(value) for key, value in context.invocation_metadata() or ()}
    remaining = context.time_remaining()
    if remaining is not None:
        left = min(max(int(remaining * 1000), 1), _MAX_TIMEOUT_MS)
        headers[b"x-request-timeout-ms"] = str(left).encode()
    request = Request(wire, which, headers, context.peer(), len(data))

    async def read(_: Charge) -> bytes:
        return data

    reply = await exchange.answer(request, read)
    if reply.status:
        details = reply.body[:_MAX_DETAILS].decode("utf-8", "ignore")
        await context.abort(_CODES.get(reply.status, grpc.StatusCode.UNKNOWN), details)
    return reply.body


def method(handler: Method) -> grpc.RpcMethodHandler[bytes, bytes]:
    """A handler of bytes as a method; what it raises becomes the status.

    Args:
        handler: of one unary method.
    """

    async def handle(data: bytes, context: Context) -> bytes:
        try:
            return await handler(data, context)
        except (grpc.aio.AbortError, grpc.aio.BaseError):
            raise
        except Exception as error:
            if canonical_code(error) == INTERNAL:
                LOG.exception("a gRPC request failed")
            reply = refusal(error)
            details = reply.body[:_MAX_DETAILS].decode("utf-8", "ignore")
            await context.abort(_CODES[reply.status], details)
            raise  # abort has raised

    return grpc.unary_unary_rpc_method_handler(handle)


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()
