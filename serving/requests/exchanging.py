"""One request, from its headers to its reply."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from pinnace.framework.errors import (
    INTERNAL,
    DeadlineExceededError,
    UnavailableError,
)
from pinnace.serving.errors import LOG, canonical_code
from pinnace.serving.memory import no_collections
from pinnace.serving.requests.expansion import (
    ALLOWANCE,
    NO_LIMIT,
    PER_BYTE,
    check_reply,
    held_bytes,
)
from pinnace.serving.requests.room import FEW_BYTES, reading_bytes, writing_bytes
from pinnace.serving.running.call import Call
from pinnace.serving.running.feeds import check_feeds
from pinnace.serving.running.packed_rows import PackedRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.serving.models.servable import Servable
    from pinnace.serving.requests.exchange import Exchange
    from pinnace.serving.requests.regions import Regions
    from pinnace.serving.requests.reply import Reply
    from pinnace.serving.requests.request import Request
    from pinnace.serving.requests.wires import Decoded, HotWire
    from pinnace.serving.running.runs import Run
    from pinnace.serving.running.signatures import Arrays

_LARGE_BYTES = 2**20  # encoding more would block the event loop for too long
_SLOW_BYTES = 2**16  # the same for decoding value by value
_MOST_TEXTS = 1024  # strings of an output whose sizes are summed on the event loop
_NEVER = float("inf")


class Exchanging(Call):
    """A request in flight; once it is decoded, also the call that waits in a lane.

    Args:
        exchange: the exchange, which counts it already.
        request: the request.
        finish: takes the reply.

    Attributes:
        begun: when its headers were complete, on `time.perf_counter`'s clock.
        read_at: when its body was complete.
        decoded_at: when its body was decoded.
        charged: bytes that are counted for it.
        servable: the version that answers.
        decoded: the decoded request.
        outputs: the model's outputs.
        is_over: whether it was answered or cancelled.
    """

    __slots__ = (
        "_exchange",
        "_reply",
        "begun",
        "charged",
        "decoded",
        "decoded_at",
        "outputs",
        "read_at",
        "request",
        "servable",
    )

    def __init__(
        self, exchange: Exchange, request: Request, finish: Callable[[Reply], None]
    ) -> None:
        # Does not call the base's, since one is created per request, and each attribute is set
        # once.
        self.begun = time.perf_counter()
        self.request = request
        self.charged = request.size
        self._exchange = exchange
        self._reply = finish
        self.read_at = self.decoded_at = self.arrived = 0.0
        self.allowed_s = _NEVER
        self.servable: Servable | None = None
        self.decoded: Decoded | None = None
        self.outputs: Arrays | None = None
        self.run: Run | None = None
        self.is_over = False

    @property
    def call(self) -> Call | None:
        """This object as a call; None before it is queued in a lane."""
        return self if self.arrived else None

    def judge(self) -> None:
        """Check the policies; a refusal becomes the reply."""
        try:
            for policy in self._exchange.policies:
                policy(self.request)
            self._exchange.check_load()
            if self.request.size > FEW_BYTES:
                self._exchange.room.check()
        except Exception as error:
            self.fail(error)

    def charge(self, size: int) -> None:
        """Count bytes that are held for the request and that its headers did not announce.

        Args:
            size: the bytes of the body so far.

        Raises:
            UnavailableError: the server holds too many.
        """
        more = size - self.charged
        if more > 0 and not self.is_over:
            self.charged = size
            self._exchange.bytes_in_flight += more
            self._exchange.check_load()

    def start(
        self, body: bytes, now: float = 0.0, within_s: float | None = None, begin: int = 0
    ) -> None:
        """Decode and queue the request; errors become its reply.

        Args:
            body: the decompressed body.
            now: the time on `time.perf_counter`'s clock, if the caller has just read it.
            within_s: the client's time limit, if its headers have none.
            begin: the offset of the body in the bytes, for a `HotWire`.
        """
        exchange, request = self._exchange, self.request
        now = self.read_at = now or time.perf_counter()
        size = len(body) - begin
        try:
            if size > exchange.smallest_body_limit:
                exchange.check_size(size, request.which.name)
            if size > self.charged:
                self.charge(size)
            limit = request.allowed_s
            if limit is None:
                limit = request.allowed_s = exchange.timeout_s(request.headers)
            if within_s is not None and within_s < limit:
                limit = within_s
            self.allowed_s = limit
            self.deadline = now + limit
            servable = self.servable = exchange.repository.route(request.which, request.headers)
            if (
                size > _SLOW_BYTES
                and not request.wire.is_quick(servable, body, request.headers, begin)
            ) or (exchange.regions is not None and _reads_memory(exchange.regions, body)):
                self._decode_in_thread(servable, body, begin)
            else:
                self.wait(servable, self._decode(servable, body, begin))
        except Exception as error:
            self.fail(error)

    def cancel(self) -> None:
        """Cancel the request of a client that left; a run that has begun continues."""
        if not self.is_over:
            self._end()
            self._exchange.metrics.count_cancelled(self.request)
            for observe in self._exchange.observers:
                observe(self, None, None)

    def _end(self) -> None:
        self.is_over = True
        self._exchange.in_flight -= 1
        self._exchange.bytes_in_flight -= self.charged

    def _decode_in_thread(self, servable: Servable, body: bytes, begin: int) -> None:
        request = self.request
        loop = asyncio.get_running_loop()
        late = loop.call_later(max(self.deadline - time.perf_counter(), 0.0), self._give_up)

        def work() -> None:
            decoded = error = None
            if not self.is_over:
                try:
                    needed = reading_bytes(len(body) - begin, request.wire.entrypoint)
                    with self._exchange.room.kept(needed), no_collections():
                        decoded = self._decode(servable, body, begin)
                except BaseException as problem:  # passed on to the caller
                    error = problem
            with suppress(RuntimeError):  # the loop is closed, so that no caller is left
                loop.call_soon_threadsafe(done, decoded, error)
            # An error and this frame refer to each other: a cycle that would keep the body alive.
            decoded = error = None

        def done(decoded: Decoded | None, error: BaseException | None) -> None:
            late.cancel()
            self._exchange.tidy_later(servable)
            if self.is_over:
                return
            if decoded is None:
                self.fail(error if error is not None else UnavailableError("The server ends"))
                return
            try:
                self.wait(servable, decoded)
            except Exception as problem:
                self.fail(problem)

        servable.coders.start(work)

    def _give_up(self) -> None:
        self.fail(DeadlineExceededError(f"The request was not read in {self.allowed_s:.3g} s"))

    def _decode(self, servable: Servable, body: bytes, begin: int) -> Decoded:
        request = self.request
        # `allowed_bytes`, inlined.
        most, honest = self._exchange.most_expanded, PER_BYTE * request.size
        ALLOWANCE.most = most if most > honest else honest
        ALLOWANCE.regions = self._exchange.regions
        if begin:
            hot: HotWire = request.wire  # type: ignore[assignment]
            return hot.decode(servable, body, request.headers, begin)
        return request.wire.decode(servable, body, request.headers)

    def wait(self, servable: Servable, decoded: Decoded) -> None:
        """Queue the request in a lane for a run.

        Args:
            servable: the version that answers.
            decoded: the decoded request.

        Raises:
            OpError: it does not match the signature, or the lane is full.
        """
        name, feeds = decoded.signature_name, decoded.feeds
        fits = True
        if type(feeds) is not PackedRows:
            fits = check_feeds(servable.signature(name), feeds)
            held = held_bytes(feeds)
            if held > self.charged:
                self.charge(held)
        # The kind of packed rows was created for one signature, which it matches.
        elif feeds.kind.signature is not servable.signatures.get(name):
            fits = check_feeds(servable.signature(name), feeds)
        self.decoded = decoded
        self.feeds = feeds
        self.group = decoded.joined
        now = self.decoded_at = time.perf_counter()
        if decoded.sequence is not None:
            servable.sequences.submit(
                self, name, servable.signature(name), decoded.sequence, fits=fits
            )
            return
        lanes = servable.lanes if fits else servable.lanes_of_other_shapes
        lanes[name].submit(self, now)

    def settle(self, outputs: Arrays | None, error: BaseException | None) -> None:
        """Reply with the outcome of the run."""
        if self.is_over:
            return
        if outputs is None or self.decoded is None:
            self.fail(error if error is not None else DeadlineExceededError("No answer came"))
            return
        self.outputs = outputs
        encode = self.decoded.encode
        if _is_large(outputs):
            self._encode_in_thread(encode, outputs)
            return
        try:
            reply = self._encode(encode, outputs)
        except Exception as problem:
            self.fail(problem)
        else:
            self._succeed(reply)

    def settle_run(self, run: Run, outputs: Arrays) -> None:
        """Answer all requests of a run at once, if no observer needs them one by one."""
        exchange, decoded = self._exchange, self.decoded
        replies: list[Reply] | None = None
        if (
            not exchange.observers
            and decoded is not None
            and not _is_large(outputs)
            and exchange.most_reply > 2 * _LARGE_BYTES
        ):
            joined = decoded.joined
            if joined is not None:
                with suppress(Exception):  # single replies give each request its own error
                    replies = joined.encode_rows(outputs, run.rows)
        if replies is None:
            run.settle_apart(outputs)
            return
        answered: list[Exchanging] = []
        try:
            # Only requests have groups.
            for call, reply in zip(cast("list[Exchanging]", run.calls), replies, strict=True):
                if not call.is_over:
                    call.is_over = True
                    answered.append(call)
                    call._reply(reply)
        finally:
            exchange.in_flight -= len(answered)
            exchange.bytes_in_flight -= sum([call.charged for call in answered])
        exchange.metrics.count_run(run, answered)

    def _encode(self, encode: Callable[[Arrays], Reply], outputs: Arrays) -> Reply:
        ALLOWANCE.most_reply = self._exchange.most_reply
        ALLOWANCE.regions = self._exchange.regions
        try:
            reply = encode(outputs)
            check_reply(len(reply.body))
        finally:
            ALLOWANCE.most_reply = NO_LIMIT
        return reply

    def _encode_in_thread(self, encode: Callable[[Arrays], Reply], outputs: Arrays) -> None:
        loop = asyncio.get_running_loop()

        def work() -> None:
            reply = error = None
            if not self.is_over:
                try:
                    with self._exchange.room.kept(writing_bytes(outputs)):
                        reply = self._encode(encode, outputs)
                except BaseException as problem:  # passed on to the caller
                    error = problem
            with suppress(RuntimeError):  # the loop is closed, so that no caller is left
                loop.call_soon_threadsafe(done, reply, error)
            reply = error = None  # as above

        def done(reply: Reply | None, error: BaseException | None) -> None:
            if reply is not None:
                self._succeed(reply)
            elif error is not None:
                self.fail(error)

        if self.servable is not None:
            self.servable.coders.start(work)

    def _succeed(self, reply: Reply) -> None:
        if self.is_over:
            return
        self._end()
        exchange = self._exchange
        # Counted after the reply is sent: a lone client waits for everything before that.
        now = time.perf_counter()
        asyncio.get_running_loop().call_soon(exchange.metrics.count, self, None, self.call, now)
        self._reply(reply)
        if not exchange.in_flight and exchange.observe_idle is not None:
            exchange.observe_idle(self.begun, now)
        if exchange.observers:
            for observe in exchange.observers:
                observe(self, reply, None)

    def fail(self, error: BaseException) -> None:
        """Reply with an error."""
        if self.is_over:
            return
        self._end()
        request = self.request
        if canonical_code(error) == INTERNAL:
            LOG.error(
                "%s of model '%s' failed", request.wire.api, request.which.name, exc_info=error
            )
        reply = request.wire.refuse(error)
        self._reply(reply)
        self._exchange.metrics.count(self, error, self.call)
        for observe in self._exchange.observers:
            observe(self, reply, error)


def _reads_memory(regions: Regions, body: bytes) -> bool:
    """Whether decoding may read more shared memory than the event loop has time for."""
    return b"shared_memory_region" in body and regions.largest > _SLOW_BYTES


def _is_large(outputs: Arrays) -> bool:
    """Whether encoding the outputs would block the event loop for too long."""
    size = 0
    for array in outputs.values():
        size += array.size * 16
        if array.dtype == object and size <= _LARGE_BYTES:
            if array.size > _MOST_TEXTS:
                return True
            size += sum([len(text) for text in array.flat if isinstance(text, bytes | str)])
    return size > _LARGE_BYTES
