"""Request bodies: received, decompressed and bounded; and replies."""

from __future__ import annotations

import asyncio
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import orjson
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from pinnace.framework.errors import CancelledError, InvalidArgumentError
from pinnace.serving.errors import EncodingError, RequestTooLargeError, SlowRequestError
from pinnace.serving.http.replies import refusal
from pinnace.serving.requests.expansion import MOST_BYTES, allowed_bytes
from pinnace.serving.requests.request import Request as Judged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from pinnace.serving.models.tables import Which
    from pinnace.serving.requests.exchange import Charge, Exchange
    from pinnace.serving.requests.wires import Wire

VERSION_HEADER = "X-Model-Version"
EXCHANGED = "pinnace.exchanged"  # in the scope: a list that is filled if the exchange answers

_MOST_ENCODINGS = 4  # of one body
_PIECE_BYTES = 2**18  # decompressed at once
_UNPACKERS = ThreadPoolExecutor(2, "pinnace-unpack")  # so few, since each takes much memory
_ZLIB_FORMATS = {
    "gzip": 16 + zlib.MAX_WBITS,
    "x-gzip": 16 + zlib.MAX_WBITS,
    "deflate": zlib.MAX_WBITS,
}


async def read_body(
    request: Request,
    max_bytes: int,
    timeout_s: float,
    charge: Charge = lambda _: None,
    most_expanded: int = MOST_BYTES,
) -> bytes:
    """Return the body of a request, decompressed.

    Args:
        request: the request, whose body is not read yet.
        max_bytes: largest size, as sent and decompressed.
        timeout_s: longest time for it to arrive.
        charge: called with the number of bytes received so far; may refuse more.
        most_expanded: bytes that any request may take while it is read.

    Raises:
        RequestTooLargeError: the body is larger; the rest is not read.
        SlowRequestError: the body takes longer.
        EncodingError: the body's encoding is not supported.
        InvalidArgumentError: the body does not have the encoding in its header.
        CancelledError: the client has left.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared[:20]) > max_bytes:
        raise _too_large(max_bytes)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            async for part in request.stream():
                size += len(part)
                if size > max_bytes:
                    raise _too_large(max_bytes)
                charge(size)
                parts.append(part)
    except ClientDisconnect:
        raise CancelledError("The client went away before its body was complete") from None
    except TimeoutError:
        raise SlowRequestError(f"The body did not arrive within {timeout_s:g} s") from None
    body = parts[0] if len(parts) == 1 else b"".join(parts)
    encodings = request.headers.get("content-encoding")
    if encodings is None:
        return body
    # While the pieces are joined, the decompressed body exists twice.
    most = min(max_bytes, allowed_bytes(len(body), most_expanded) // 2)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_UNPACKERS, unpack, body, encodings, most)


def unpack(body: bytes, encodings: str, max_bytes: int) -> bytes:
    """Return a body without the encodings in its `Content-Encoding`.

    Raises:
        RequestTooLargeError: it exceeds the limit.
        EncodingError: an encoding is not supported.
        InvalidArgumentError: the body does not have that encoding.
    """
    words = encodings.split(",")
    if len(words) > _MOST_ENCODINGS:
        raise EncodingError(f"A body has at most {_MOST_ENCODINGS} encodings, got {len(words)}")
    for encoding in reversed([word.strip().lower() for word in words]):
        if encoding in ("", "identity"):
            continue
        wbits = _ZLIB_FORMATS.get(encoding)
        if wbits is None:
            raise EncodingError(
                f"Content-Encoding '{encoding[:40]}' is not supported; use gzip, deflate or none"
            )
        body = _inflate(body, encoding, wbits, max_bytes)
    return body


def _inflate(body: bytes, encoding: str, wbits: int, max_bytes: int) -> bytes:
    """Remove one encoding; in pieces, so that a body that is too large is never complete."""
    stream = zlib.decompressobj(wbits)
    parts: list[bytes] = []
    size = 0
    for begin in range(0, len(body), _PIECE_BYTES):
        left = body[begin : begin + _PIECE_BYTES]
        is_pending = True
        while is_pending and not stream.eof:
            try:
                part = stream.decompress(left, _PIECE_BYTES)
            except zlib.error as error:
                raise InvalidArgumentError(f"The body is not {encoding}: {error}") from None
            size += len(part)
            if size > max_bytes:
                raise _too_large(max_bytes)
            parts.append(part)
            left = stream.unconsumed_tail
            # zlib may have consumed all input, and still hold output.
            is_pending = bool(left) or len(part) == _PIECE_BYTES
    if not stream.eof:
        raise InvalidArgumentError(f"The body is not {encoding}: it ends too early")
    return b"".join(parts)


async def exchange_response(request: Request, wire: Wire, which: Which) -> Response:
    """Return the reply to an inference request, through the exchange.

    Args:
        request: the request, whose body is not read yet.
        wire: the request's protocol.
        which: the requested version.
    """
    exchange: Exchange = request.app.state.exchange
    settings = exchange.settings
    declared = request.headers.get("content-length", "")
    size = int(declared[:20]) if declared.isdigit() else 0
    peer = "" if request.client is None else request.client.host
    judged = Judged(wire, which, dict(request.headers.raw), peer, size)

    limit = exchange.body_limit(which.name)

    async def read(charge: Charge) -> bytes:
        return await read_body(
            request, limit, settings.body_timeout_s, charge, settings.max_expansion_bytes
        )

    async def leaving() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    request.scope.get(EXCHANGED, []).append(True)
    reply = await exchange.answer(judged, read, leaving)
    response = Response(reply.body, reply.status)
    response.raw_headers.extend(reply.headers)
    return response


def json_response(
    body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a reply with a body that is already JSON."""
    return Response(body, status, headers=headers, media_type="application/json")


def error_response(error: BaseException) -> Response:
    """Return the reply for an exception, as a response of FastAPI."""
    reply = refusal(error)
    response = Response(reply.body, reply.status)
    response.raw_headers.extend(reply.headers)
    return response


def error_reply(message: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """Return `{"error": message}`, with any characters escaped."""
    text = message.encode("utf-8", "replace").decode()
    return json_response(orjson.dumps({"error": text}), status, headers)


def _too_large(max_bytes: int) -> RequestTooLargeError:
    return RequestTooLargeError(f"The body is larger than {max_bytes} bytes, the server's limit")
