"""From a request to its reply, the same for every protocol and front."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import (
    CancelledError,
    InvalidArgumentError,
    UnavailableError,
)
from pinnace.serving.errors import RequestTooLargeError
from pinnace.serving.memory import give_back
from pinnace.serving.requests.control import ModelControl
from pinnace.serving.requests.exchanging import Exchanging
from pinnace.serving.requests.expansion import NO_LIMIT
from pinnace.serving.requests.regions import Regions
from pinnace.serving.requests.room import FEW_BYTES, Room

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pinnace.serving.config.settings import Settings
    from pinnace.serving.models.repository import Repository
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.observing.metrics import Metrics
    from pinnace.serving.requests.reply import Reply
    from pinnace.serving.requests.request import Request, RequestHeaders

Policy: TypeAlias = "Callable[[Request], None]"
Observer: TypeAlias = "Callable[[Exchanging, Reply | None, BaseException | None], None]"
Charge: TypeAlias = "Callable[[int], None]"

_MAX_TIMEOUT_DIGITS = 12
_TIDY_S = 0.5  # without a large request
_LONGEST_UNTIDY_S = 10.0


class Exchange:
    """Answers inference requests by callback; errors become replies.

    Args:
        settings: limits and times.
        repository: the models.
        metrics: counts and times every request.

    Attributes:
        control: checks requests to change the served models.
        observe_idle: called after a reply that leaves no request in flight, with the times of that
            request and reply.
        hurry: set when the server ends without waiting for requests in flight.
        room: the memory for requests.
        regions: regions of shared memory; None if clients may not register any.
    """

    def __init__(self, settings: Settings, repository: Repository, metrics: Metrics) -> None:
        self.settings = settings
        self.repository = repository
        self.metrics = metrics
        self.control = ModelControl(settings)
        self.policies: list[Policy] = []
        self.observers: list[Observer] = []
        self.observe_idle: Callable[[float, float], None] | None = None
        self.hurry = asyncio.Event()
        self.room = Room()
        self.regions = Regions() if settings.shared_memory else None
        self._tidying: asyncio.TimerHandle | None = None
        self._untidy_since = 0.0
        self.in_flight = 0
        self.bytes_in_flight = 0
        self.most_requests = settings.max_concurrent_requests or 2**62
        self.most_bytes = settings.max_inflight_bytes or 2**62
        self._body_limits = dict(settings.max_body_bytes_of)
        self.most_expanded = settings.max_expansion_bytes
        self.most_reply = settings.max_reply_bytes or NO_LIMIT
        # No model refuses a body of this size.
        self.smallest_body_limit = min([settings.max_body_bytes, *self._body_limits.values()])

    def open(self, request: Request, finish: Callable[[Reply], None]) -> Exchanging:
        """Check a request before its body is read. Called on the event loop.

        Args:
            request: the request.
            finish: takes the reply, on the event loop, now or later; not if it was cancelled.

        Returns:
            The exchange, to be started with the body; if it is over, the request was refused.
        """
        exchanging = Exchanging(self, request, finish)
        self.in_flight += 1
        self.bytes_in_flight += request.size
        if (
            self.policies
            or self.in_flight > self.most_requests
            or self.bytes_in_flight > self.most_bytes
            or (request.size > FEW_BYTES and self.room.is_full())
        ):
            exchanging.judge()
        return exchanging

    async def answer(
        self,
        request: Request,
        read: Callable[[Charge], Awaitable[bytes]],
        leaving: Callable[[], Awaitable[object]] | None = None,
        within_s: float | None = None,
    ) -> Reply:
        """Return the reply to a request, for fronts that wait for it.

        Args:
            request: the request.
            read: returns the body; called only if the request is not refused before. Reports
                unannounced bytes to the function that it is given.
            leaving: ends when the client has left; awaited once the body is complete.
            within_s: the client's time limit, if its headers have none.

        Raises:
            CancelledError: the client has disconnected.
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
                    exchanging.start(body, within_s=within_s)
            if leaving is None or future.done():
                return await future
            return await _unless_left(future, leaving())
        finally:
            exchanging.cancel()

    def tidy_later(self, servable: Servable) -> None:
        """Return the memory of large requests to the system, once no more of them come.

        Between two of them it would only be allocated again, page by page, while others wait.

        Args:
            servable: the version whose threads do it.
        """
        now = time.perf_counter()
        if self._tidying is None:
            self._untidy_since = now
        else:
            self._tidying.cancel()

        def tidy() -> None:
            self._tidying = None
            with suppress(RuntimeError):  # the interpreter is shutting down
                servable.coders.start(give_back)

        left = self._untidy_since + _LONGEST_UNTIDY_S - now
        loop = asyncio.get_running_loop()
        self._tidying = loop.call_later(min(_TIDY_S, max(left, 0.0)), tidy)

    def body_limit(self, model: str) -> int:
        """The largest body of a request for a model, in bytes."""
        if self._body_limits:
            return self._body_limits.get(model, self.settings.max_body_bytes)
        return self.settings.max_body_bytes

    def check_size(self, size: int, model: str) -> None:
        """Check that a body of this size is within the limit.

        Raises:
            RequestTooLargeError: it is larger.
        """
        limit = self.body_limit(model)
        if size > limit:
            raise RequestTooLargeError(f"The body is larger than {limit} bytes, the server's limit")

    def check_load(self) -> None:
        """Check that the server has room for another request.

        Raises:
            UnavailableError: there is no room; clients may retry.
        """
        if self.in_flight > self.most_requests:
            raise UnavailableError(
                f"{self.most_requests} requests are being answered already; try again later"
            )
        if self.bytes_in_flight > self.most_bytes and self.in_flight > 1:
            raise UnavailableError(
                f"requests of {self.most_bytes} bytes are being answered already; try again later"
            )

    def timeout_s(self, headers: RequestHeaders) -> float:
        """Return the time limit of a request: the server's, or the client's if that is less.

        Raises:
            InvalidArgumentError: the header is not a number of milliseconds.
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


async def _unless_left(future: asyncio.Future[Reply], leaving: Awaitable[object]) -> Reply:
    """Return the reply, unless the client leaves before."""
    left = asyncio.ensure_future(leaving)
    try:
        await asyncio.wait((future, left), return_when=asyncio.FIRST_COMPLETED)
        if not future.done():
            raise CancelledError("The client went away before it was answered")
        return future.result()
    finally:
        left.cancel()
