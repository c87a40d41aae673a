"""The one way from a request to its reply, below every protocol and front."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import INTERNAL, DeadlineExceededError, InvalidArgumentError
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

    async def answer(self, request: Request, read: Callable[[], Awaitable[bytes]]) -> Reply:
        """The reply to a request, for fronts that wait for it.

        Args:
            request: what came.
            read: gives the body; asked only if the request is not refused without it.
        """
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

        def finish(reply: Reply) -> None:
            if not future.done():
                future.set_result(reply)

        exchanging = self.open(request, finish)
        try:
            if not exchanging.is_over:
                try:
                    body = await read()
                except Exception as error:
                    exchanging.fail(error)
                else:
                    exchanging.start(body)
            return await future
        finally:
            exchanging.cancel()

    def check_size(self, body: bytes) -> None:
        """Nothing, if a body is within the limit.

        Raises:
            RequestTooLargeError: it is not.
        """
        limit = self.settings.max_body_bytes
        if len(body) > limit:
            raise RequestTooLargeError(f"The body is larger than {limit} bytes, the server's limit")

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
        "_call",
        "_decoded",
        "_exchange",
        "_finish",
        "_servable",
        "begun",
        "decoded_at",
        "is_over",
        "read_at",
        "request",
    )

    def __init__(
        self, exchange: Exchange, request: Request, finish: Callable[[Reply], None]
    ) -> None:
        self.request = request
        self.begun = time.perf_counter()
        self.read_at = 0.0
        self.decoded_at = 0.0
        self._exchange = exchange
        self._finish = finish
        self._servable: Servable | None = None
        self._decoded: Decoded | None = None
        self._call: Call | None = None
        self.is_over = False

    def judge(self) -> None:
        """Ask the policies; a refusal becomes the reply."""
        try:
            for policy in self._exchange.policies:
                policy(self.request)
        except Exception as error:
            self.fail(error)

    def start(self, body: bytes) -> None:
        """Decode and queue the request; errors become its reply.

        Args:
            body: unpacked.
        """
        exchange, request = self._exchange, self.request
        self.read_at = time.perf_counter()
        try:
            exchange.check_size(body)
            deadline = self.read_at + exchange.timeout_s(request.headers)
            servable = self._servable = exchange.repository.get(request.which)
            if len(body) > _LARGE_BYTES:
                self._decode_in_thread(servable, body, deadline)
            else:
                self._queue(servable, self._decode(servable, body), deadline)
        except Exception as error:
            self.fail(error)

    def cancel(self) -> None:
        """The client went away: what has not begun to run never will."""
        if not self.is_over:
            self.is_over = True
            if self._call is not None:
                self._call.cancel()
            self._exchange.metrics.count_cancelled(self.request)

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
        self._decoded = decoded
        self.decoded_at = time.perf_counter()
        self._call = Call(decoded.feeds, self._ran, deadline)
        servable.lanes[decoded.signature_name].submit(self._call)

    def _ran(self, outputs: Arrays | None, error: BaseException | None) -> None:
        if outputs is None or self._decoded is None:
            self.fail(error if error is not None else DeadlineExceededError("No answer came"))
            return
        encode = self._decoded.encode
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
        self.is_over = True
        self._finish(reply)
        self._exchange.metrics.count(self, None, self._call)

    def fail(self, error: BaseException) -> None:
        """Let an error be the reply."""
        if self.is_over:
            return
        self.is_over = True
        request = self.request
        if canonical_code(error) == INTERNAL:
            LOG.error(
                "%s of model '%s' failed", request.wire.api, request.which.name, exc_info=error
            )
        self._finish(request.wire.refuse(error))
        self._exchange.metrics.count(self, error, self._call)
