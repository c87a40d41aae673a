"""The one way from a request to its reply, below every protocol and front."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import (
    INTERNAL,
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    UnavailableError,
)
from pinnace.serving.calls import Call
from pinnace.serving.errors import LOG, RequestTooLargeError, canonical_code
from pinnace.serving.handlers import check_feeds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pinnace.serving.calls import Reply
    from pinnace.serving.metrics import Metrics
    from pinnace.serving.repository import Repository, Which
    from pinnace.serving.servable import Arrays, Servable
    from pinnace.serving.settings import Settings
    from pinnace.serving.wires import Decoded, Wire

Headers: TypeAlias = "Mapping[bytes, bytes]"
Policy: TypeAlias = "Callable[[Request], None]"
Observer: TypeAlias = "Callable[[Exchanging, Reply | None, BaseException | None], None]"
Charge: TypeAlias = "Callable[[int], None]"

_LARGE_BYTES = 2**20  # decoding and encoding beyond it would keep the event loop from its work
_MAX_TIMEOUT_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Request:
    """What policies judge: everything about a request but its body.

    Attributes:
        wire: its protocol.
        which: the version that it asks for.
        headers: names in lower case.
        peer: address that it came from; empty if nobody knows.
        size: bytes of the body as it came.
    """

    wire: Wire
    which: Which
    headers: Headers
    peer: str
    size: int


class Exchange:
    """Answers inference requests by calling back; nothing is raised to the caller.

    Args:
        settings: limits and times.
        repository: of the models.
        metrics: counts and times every request.
    """

    def __init__(self, settings: Settings, repository: Repository, metrics: Metrics) -> None:
        self.settings = settings
        self.repository = repository
        self.metrics = metrics
        self.policies: list[Policy] = []
        self.observers: list[Observer] = []
        self.in_flight = 0
        self.bytes_in_flight = 0
        self.enough = settings.max_concurrent_requests or 2**62
        self.plenty = settings.max_inflight_bytes or 2**62
        self._body_limits = dict(settings.max_body_bytes_of)

    def open(self, request: Request, finish: Callable[[Reply], None]) -> Exchanging:
        """Judge a request before its body is read. On the event loop.

        Args:
            request: what came.
            finish: gets the reply, on the event loop, now or later; not if it was cancelled.

        Returns:
            To be started with the body, unless it is over: then it was refused.
        """
        exchanging = Exchanging(self, request, finish)
        exchanging.judge()
        return exchanging

    async def answer(
        self,
        request: Request,
        read: Callable[[Charge], Awaitable[bytes]],
        leaving: Callable[[], Awaitable[object]] | None = None,
    ) -> Reply:
        """The reply to a request, for fronts that wait for it.

        Args:
            request: what came.
            read: gives the body; asked only if the request is not refused without it. Tells the
                function that it is given of bytes that nobody had announced.
            leaving: ends when the client has gone away; asked once the body is there.

        Raises:
            CancelledError: the client went away: nobody reads a reply.
        """
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

        def finish(reply: Reply) -> None:
            if not future.done():
                future.set_result(reply)

        exchanging = self.open(request, finish)
        try:
            if not exchanging.is_over:
                try:
                    body = await read(exchanging.charge)
                except Exception as error:
                    exchanging.fail(error)
                else:
                    exchanging.start(body)
            if leaving is None or future.done():
                return await future
            return await _unless_left(future, leaving())
        finally:
            exchanging.cancel()

    def body_limit(self, model: str) -> int:
        """The largest body of a request for a model, in bytes."""
        if self._body_limits:
            return self._body_limits.get(model, self.settings.max_body_bytes)
        return self.settings.max_body_bytes

    def check_size(self, body: bytes, model: str) -> None:
        """Nothing, if a body is within the limit.

        Raises:
            RequestTooLargeError: it is not.
        """
        limit = self.body_limit(model)
        if len(body) > limit:
            raise RequestTooLargeError(f"The body is larger than {limit} bytes, the server's limit")

    def check_load(self) -> None:
        """Nothing, if the server has room for the requests that it has.

        Raises:
            UnavailableError: it has not: clients are to come back.
        """
        if self.in_flight > self.enough:
            raise UnavailableError(
                f"{self.enough} requests are being answered already; try again later"
            )
        if self.bytes_in_flight > self.plenty and self.in_flight > 1:
            raise UnavailableError(
                f"requests of {self.plenty} bytes are being answered already; try again later"
            )

    def timeout_s(self, headers: Headers) -> float:
        """How long a request may take: the server's limit, or less if the client says so.

        Raises:
            InvalidArgumentError: the header is no number of milliseconds.
        """
        text = headers.get(b"x-request-timeout-ms")
        limit = self.settings.request_timeout_s
        if text is None:
            return limit
        if not text.isdigit() or len(text) > _MAX_TIMEOUT_DIGITS or not int(text):
            raise InvalidArgumentError(
                "X-Request-Timeout-Ms must be a positive number of milliseconds, "
                f"got '{text[:40].decode('latin-1')}'"
            )
        return min(int(text) / 1e3, limit)


class Exchanging:
    """A request on its way.

    Args:
        exchange: that answers it.
        request: what came.
        finish: gets the reply.
    """

    __slots__ = (
        "_exchange",
        "_finish",
        "allowed_s",
        "begun",
        "call",
        "charged",
        "decoded",
        "decoded_at",
        "is_over",
        "outputs",
        "read_at",
        "request",
        "servable",
    )

    def __init__(
        self, exchange: Exchange, request: Request, finish: Callable[[Reply], None]
    ) -> None:
        self.request = request
        self.begun = time.perf_counter()
        self.read_at = 0.0
        self.allowed_s = float("inf")
        self.decoded_at = 0.0
        self._exchange = exchange
        self._finish = finish
        self.servable: Servable | None = None
        self.decoded: Decoded | None = None
        self.call: Call | None = None
        self.outputs: Arrays | None = None
        self.is_over = False
        self.charged = request.size
        exchange.in_flight += 1
        exchange.bytes_in_flight += request.size

    def judge(self) -> None:
        """Ask the policies; a refusal becomes the reply."""
        try:
            exchange = self._exchange
            for policy in exchange.policies:
                policy(self.request)
            if exchange.in_flight > exchange.enough or exchange.bytes_in_flight > exchange.plenty:
                exchange.check_load()
        except Exception as error:
            self.fail(error)

    def charge(self, size: int) -> None:
        """Count bytes that are held for the request and that its headers did not announce.

        Args:
            size: of the body so far.

        Raises:
            UnavailableError: the server holds too many.
        """
        more = size - self.charged
        if more > 0 and not self.is_over:
            self.charged = size
            self._exchange.bytes_in_flight += more
            self._exchange.check_load()

    def start(self, body: bytes) -> None:
        """Decode and queue the request; errors become its reply.

        Args:
            body: unpacked.
        """
        exchange, request = self._exchange, self.request
        self.read_at = time.perf_counter()
        try:
            exchange.check_size(body, request.which.name)
            if len(body) > self.charged:
                self.charge(len(body))
            self.allowed_s = exchange.timeout_s(request.headers)
            deadline = self.read_at + self.allowed_s
            servable = self.servable = exchange.repository.route(request.which, request.headers)
            if len(body) > _LARGE_BYTES:
                self._decode_in_thread(servable, body, deadline)
            else:
                self._queue(servable, self._decode(servable, body), deadline)
        except Exception as error:
            self.fail(error)

    def cancel(self) -> None:
        """The client went away: what has not begun to run never will."""
        if not self.is_over:
            self._end()
            if self.call is not None:
                self.call.cancel()
            self._exchange.metrics.count_cancelled(self.request)
            for observe in self._exchange.observers:
                observe(self, None, None)

    def _end(self) -> None:
        self.is_over = True
        self._exchange.in_flight -= 1
        self._exchange.bytes_in_flight -= self.charged

    def _decode(self, servable: Servable, body: bytes) -> Decoded:
        decoded = self.request.wire.decode(servable, body, self.request.headers)
        check_feeds(servable.signature(decoded.signature_name), decoded.feeds)
        return decoded

    def _decode_in_thread(self, servable: Servable, body: bytes, deadline: float) -> None:
        loop = asyncio.get_running_loop()

        def done(future: asyncio.Future[Decoded]) -> None:
            if self.is_over:
                future.cancelled() or future.exception()
                return
            try:
                self._queue(servable, future.result(), deadline)
            except Exception as error:
                self.fail(error)

        loop.run_in_executor(None, self._decode, servable, body).add_done_callback(done)

    def _queue(self, servable: Servable, decoded: Decoded, deadline: float) -> None:
        self.decoded = decoded
        self.decoded_at = time.perf_counter()
        self.call = Call(decoded.feeds, self._ran, deadline, self.allowed_s)
        servable.lanes[decoded.signature_name].submit(self.call)

    def _ran(self, outputs: Arrays | None, error: BaseException | None) -> None:
        if outputs is None or self.decoded is None:
            self.fail(error if error is not None else DeadlineExceededError("No answer came"))
            return
        self.outputs = outputs
        encode = self.decoded.encode
        if sum(array.size for array in outputs.values()) * 16 > _LARGE_BYTES:
            self._encode_in_thread(encode, outputs)
            return
        try:
            reply = encode(outputs)
        except Exception as problem:
            self.fail(problem)
        else:
            self._succeed(reply)

    def _encode_in_thread(self, encode: Callable[[Arrays], Reply], outputs: Arrays) -> None:
        def done(future: asyncio.Future[Reply]) -> None:
            try:
                reply = future.result()
            except Exception as error:
                self.fail(error)
            else:
                self._succeed(reply)

        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, encode, outputs).add_done_callback(done)

    def _succeed(self, reply: Reply) -> None:
        if self.is_over:
            return
        self._end()
        self._finish(reply)
        exchange = self._exchange
        exchange.metrics.count(self, None, self.call)
        if exchange.observers:
            for observe in exchange.observers:
                observe(self, reply, None)

    def fail(self, error: BaseException) -> None:
        """Let an error be the reply."""
        if self.is_over:
            return
        self._end()
        request = self.request
        if canonical_code(error) == INTERNAL:
            LOG.error(
                "%s of model '%s' failed", request.wire.api, request.which.name, exc_info=error
            )
        reply = request.wire.refuse(error)
        self._finish(reply)
        self._exchange.metrics.count(self, error, self.call)
        for observe in self._exchange.observers:
            observe(self, reply, error)


async def _unless_left(future: asyncio.Future[Reply], leaving: Awaitable[object]) -> Reply:
    """The reply, unless the client goes away before it is there."""
    left = asyncio.ensure_future(leaving)
    try:
        await asyncio.wait((future, left), return_when=asyncio.FIRST_COMPLETED)
        if not future.done():
            raise CancelledError("The client went away before it was answered")
        return future.result()
    finally:
        left.cancel()
