"""Where the calls of one signature wait, and how they run: joined, on the loop or in a thread.

What waits when a runner is free runs as one batch; nothing waits for a timer unless
`batch_timeout_s` asks for it. A lane belongs to the event loop's thread; only `_run_batch` is
called elsewhere.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import DeadlineExceededError, UnavailableError
from pinnace.serving.batching import agree, batch_key, join, split
from pinnace.serving.errors import LOG, one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from pinnace.serving.batching import BatchOptions
    from pinnace.serving.calls import Call
    from pinnace.serving.servable import Arrays, RunTimes

Outcome: TypeAlias = "tuple[Arrays | None, BaseException | None]"

_TRIALS = 8  # joined batches that are compared with the same calls alone
_TRUSTED_S = 2.0  # how long a measured time is believed without another try
_STRETCH = 3.0  # longest joined run, in runs of its first call alone
_LOOP_SLICE_S = 0.005  # longest time that runs on the loop keep it from reading and writing


class Lane:
    """The calls of one signature of one version.

    Args:
        name: of the model, version and signature, for messages.
        run: the signature, in any thread.
        times: how long it takes; read and written here.
        options: how calls may be joined.
        may_join: whether calls may be joined at all.
        is_checked: compare the first joined batches with the same calls alone.
        inline_s: expected time up to which a batch runs on the event loop.
        threads: batches that run in threads at once.
        executor: gives the threads; asked for each batch.
        max_waiting: calls that may wait.
    """

    def __init__(
        self,
        name: str,
        run: Callable[[Arrays], Arrays],
        times: RunTimes,
        options: BatchOptions,
        *,
        may_join: bool,
        is_checked: bool = True,
        inline_s: float,
        threads: int,
        executor: Callable[[], Executor],
        max_waiting: int,
    ) -> None:
        self._name = name
        self._run = run
        self._times = times
        self._options = options
        self._joins = may_join
        self._trials = _TRIALS if is_checked else 0
        self._inline_s = inline_s
        self._threads = threads
        self._executor = executor
        self._max_waiting = max_waiting
        self._waiting: deque[Call] = deque()
        self._in_threads: list[_Batch] = []
        self._is_scheduled = False
        self._measured_at = float("-inf")
        self._slowest_s = 0.0
        self._sweep: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Calls that have not begun to run."""
        return len(self._waiting)

    @property
    def joins(self) -> bool:
        """Whether calls are joined: their rows did not depend on each other so far."""
        return self._joins

    def submit(self, call: Call) -> None:
        """Let a call wait for its turn; `call.finish` gets the outcome.

        Raises:
            UnavailableError: too many wait already, or it would be answered after its deadline.
        """
        free = self._threads - len(self._in_threads)
        if len(self._waiting) >= self._max_waiting + max(free, 0):
            raise UnavailableError(
                f"{self._name} has {self._max_waiting} requests waiting already; try again later"
            )
        now = call.arrived = time.perf_counter()
        is_busy = self._waiting or self._in_threads
        if call.deadline != float("inf") and (is_busy or call.deadline < now + self._slowest_s):
            self._refuse_if_late(call, now)
        self._waiting.append(call)
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _refuse_if_late(self, call: Call, now: float) -> None:
        one = self._times.expect(count_elements(call.feeds))
        if one == float("inf"):
            return
        if not self._waiting and not self._in_threads:
            # Nobody is before it. What was measured long ago may be wrong: then one may try.
            if now + one <= call.deadline or now - self._measured_at > _TRUSTED_S:
                return
            raise UnavailableError(
                f"{self._name} could not answer in {call.deadline - now:.3g} s: "
                f"such a request takes about {one:.3g} s"
            )
        batches = -(-(len(self._waiting) + 1) // max(self._calls_at_once(one), 1))
        wait = one * (batches + len(self._in_threads)) / self._threads
        if now + wait > call.deadline:
            raise UnavailableError(
                f"{self._name} could not answer in {call.deadline - now:.3g} s: "
                f"{len(self._waiting)} requests wait, which takes about {wait:.3g} s; "
                "try again later"
            )

    def _calls_at_once(self, one_s: float) -> int:
        if not self._joins:
            return 1
        return max(1, int(self._options.max_run_s / max(one_s, 1e-9)))

    def _flush(self) -> None:
        self._is_scheduled = False
        begin = time.perf_counter()
        while self._waiting:
            batch = self._take(time.perf_counter())
            if batch is None:
                break
            if batch.expected_s <= self._inline_s:
                batch.settle(self._run_batch(batch))
                if self._waiting and time.perf_counter() - begin > _LOOP_SLICE_S:
                    self._schedule()
                    break
            elif len(self._in_threads) < self._threads:
                self._start(batch)
            else:
                self._waiting.extendleft(reversed(batch.calls))
                break
        self._arm_sweep()

    def _schedule(self, delay_s: float = 0.0) -> None:
        if self._is_scheduled:
            return
        loop = asyncio.get_running_loop()
        self._is_scheduled = True
        if delay_s > 0:
            loop.call_later(delay_s, self._flush)
        else:
            loop.call_soon(self._flush)

    def _take(self, now: float) -> _Batch | None:
        """The calls that run next; None if none does now."""
        waiting, options = self._waiting, self._options
        batch: _Batch | None = None
        while waiting:
            call = waiting[0]
            if call.is_over or call.deadline <= now:
                waiting.popleft()
                call.settle(None, self._too_late(call))
                continue
            key = batch_key(call.feeds) if self._joins else None
            if batch is None:
                batch = _Batch(options, self._times)
            elif not batch.has_room(call, key):
                break
            waiting.popleft()
            batch.add(call, key)
            if key is None:
                break
        if batch is None:
            return None
        waited = now - batch.calls[0].arrived
        if options.batch_timeout_s > waited and not waiting and batch.may_grow:
            waiting.extendleft(reversed(batch.calls))
            self._schedule(options.batch_timeout_s - waited)
            return None
        return batch

    def _start(self, batch: _Batch) -> None:
        loop = asyncio.get_running_loop()
        self._in_threads.append(batch)

        def work() -> None:
            outcomes = self._run_batch(batch)
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(self._end, batch, outcomes)

        try:
            self._executor().submit(work)
        except RuntimeError as error:  # the interpreter ends
            self._in_threads.remove(batch)
            batch.settle([(None, UnavailableError(one_line(error)))] * len(batch.calls))

    def _end(self, batch: _Batch, outcomes: list[Outcome]) -> None:
        self._in_threads.remove(batch)
        batch.settle(outcomes)
        if self._waiting:
            self._schedule()

    def _run_batch(self, batch: _Batch) -> list[Outcome]:
        """The outcome of each call, in order. Any thread."""
        now = time.perf_counter()
        for call in batch.calls:
            call.started = now
            call.batch_rows = batch.padded_rows
        begin = now
        outcomes = self._run_joined(batch) if batch.is_joined else None
        if outcomes is None:
            outcomes = [self._run_alone(call) for call in batch.calls]
        now = self._measured_at = time.perf_counter()
        if now - begin > self._slowest_s:
            self._slowest_s = now - begin
        for call in batch.calls:
            call.ended = now
        return outcomes

    def _run_alone(self, call: Call) -> Outcome:
        begin = time.perf_counter()
        try:
            outputs = self._run(call.feeds)
        except BaseException as error:  # whoever waits gets it
            return None, error
        self._times.record(count_elements(call.feeds), time.perf_counter() - begin)
        return outputs, None

    def _run_joined(self, batch: _Batch) -> list[Outcome] | None:
        """The outcomes of a batch run at once; None if its calls must run alone."""
        feeds = join([call.feeds for call in batch.calls], batch.padded_rows)
        begin = time.perf_counter()
        try:
            outputs = self._run(feeds)
        except Exception:  # one bad call must not fail its neighbours
            return None
        self._times.record(batch.elements, time.perf_counter() - begin)
        parts = split(outputs, batch.rows, batch.padded_rows)
        if parts is None:
            self._stop_joining("an output does not have one row for each row that goes in")
            return None
        if not self._trials:
            return [(part, None) for part in parts]
        alone = [self._run_alone(call) for call in batch.calls]
        pairs = zip(parts, alone, strict=True)
        if len(batch.calls) > 1 or batch.padded_rows > batch.total:
            self._trials -= 1
        if any(found is not None and not agree(part, found) for part, (found, _) in pairs):
            self._stop_joining("rows of one batch change each other's results")
        return alone

    def _stop_joining(self, reason: str) -> None:
        self._joins = False
        LOG.warning("%s: requests are run one by one, for %s", self._name, reason)

    def _too_late(self, call: Call) -> DeadlineExceededError:
        allowed = call.allowed_s
        text = f"{allowed:.2g}" if allowed < 10 else f"{allowed:.0f}"
        return DeadlineExceededError(f"{self._name} did not answer in {text} s")

    def _arm_sweep(self) -> None:
        """See to it that calls are told when their time is over, whoever is busy."""
        if self._sweep is not None:
            return
        nearest = min((call.deadline for call in self._unanswered()), default=float("inf"))
        if nearest != float("inf"):
            loop = asyncio.get_running_loop()
            delay = max(nearest - time.perf_counter(), 0.0)
            self._sweep = loop.call_later(delay + 0.001, self._sweep_late)

    def _sweep_late(self) -> None:
        self._sweep = None
        now = time.perf_counter()
        for call in self._unanswered():
            if call.deadline <= now:
                call.settle(None, self._too_late(call))
        self._waiting = deque(call for call in self._waiting if not call.is_over)
        self._arm_sweep()

    def _unanswered(self) -> list[Call]:
        batches = [call for batch in self._in_threads for call in batch.calls]
        return [call for call in (*self._waiting, *batches) if not call.is_over]


class _Batch:
    """Calls that run together.

    Args:
        options: how calls may be joined.
        times: how long runs take.
    """

    __slots__ = ("_key", "_limit_s", "_options", "_times", "calls", "elements", "rows", "total")

    def __init__(self, options: BatchOptions, times: RunTimes) -> None:
        self.calls: list[Call] = []
        self.rows: list[int] = []  # of each call; empty if it cannot be joined
        self.total = 0  # rows of all calls
        self.elements = 0  # of all inputs together
        self._options = options
        self._times = times
        self._limit_s = options.max_run_s
        self._key: object = None

    def has_room(self, call: Call, key: tuple[int, object] | None) -> bool:
        """Whether one more call may run with the others.

        Args:
            call: the one.
            key: its rows, and the shape of a row.
        """
        if key is None or key[1] != self._key:
            return False
        if self.total + key[0] > self._options.max_batch_size:
            return False
        return self._times.expect(self.elements + count_elements(call.feeds)) <= self._limit_s

    def add(self, call: Call, key: tuple[int, object] | None) -> None:
        """Let a call run with the others."""
        size = count_elements(call.feeds)
        if not self.calls:
            # Where one call alone takes long, joined ones may take a little longer: many rows
            # often cost what one costs, which only a try can tell.
            alone_s = self._times.expect(size)
            if alone_s != float("inf"):
                self._limit_s = max(self._limit_s, _STRETCH * alone_s)
        self.calls.append(call)
        self.elements += size
        if key is not None:
            self.rows.append(key[0])
            self.total += key[0]
            self._key = key[1]

    @property
    def may_grow(self) -> bool:
        """Whether more calls may join."""
        return bool(self.rows) and self.total < self._options.max_batch_size

    @property
    def padded_rows(self) -> int:
        """Rows of the run; 0 if it cannot be joined."""
        return self._options.padded(self.total) if self.rows else 0

    @property
    def expected_s(self) -> float:
        """Seconds that the run should take."""
        return self._times.expect(self.elements)

    @property
    def is_joined(self) -> bool:
        """Whether the calls make another run than they would make alone."""
        return len(self.calls) > 1 or self.padded_rows > self.total

    def settle(self, outcomes: list[Outcome]) -> None:
        """Tell everyone who waits."""
        for call, (outputs, error) in zip(self.calls, outcomes, strict=True):
            call.settle(outputs, error)


def count_elements(feeds: Arrays) -> int:
    """The elements of all inputs together."""
    return sum(array.size for array in feeds.values())
