"""The queue of one signature, and how its calls run: joined, on the event loop or in a thread.

All calls that are queued when a runner becomes free run as one batch; there is no delay unless
`batch_timeout_s` requests one. A thread that finishes a run takes the next calls from the queue
itself: waiting for a busy event loop would leave a core idle. Everything else in a lane belongs to
the event loop's thread.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from pinnace.framework.errors import DeadlineExceededError, UnavailableError
from pinnace.serving.errors import LOG, one_line
from pinnace.serving.running.batching import (
    agree,
    batch_key,
    can_split,
    count_elements,
    join,
    split,
)
from pinnace.serving.running.limits import ASKED
from pinnace.serving.running.packed_rows import PackedRows
from pinnace.serving.running.runs import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.serving.config.batching_config import BatchOptions
    from pinnace.serving.running.call import Call
    from pinnace.serving.running.run_times import RunTimes
    from pinnace.serving.running.runs import Outcome
    from pinnace.serving.running.signatures import Arrays
    from pinnace.serving.running.threads import RunThreads

_TRIALS = 8  # joined batches that are compared with their calls run alone
_TRUSTED_S = 2.0  # how long a measured time is used without measuring again
_STRETCH = 3.0  # limit of a joined run's time, in runs of its first call alone
# If no other call waits, a call may run this many times as long on the loop, since waking a thread
# costs it more than the wait costs others.
_LONE = 5
# While runs continue in threads, the loop must read and answer: it then runs only calls within this
# fraction of the usual limit.
_BESIDE = 0.25
_NEVER = float("inf")
_GRACE_S = 2.0  # after the last deadline of a run, in which it should end
_MOST_LOST = 8  # hung threads of a version that are replaced
_CALM = 16  # iterations with one call each, after which a call does not wait for others
_LOOP_SLICE_S = 0.005  # limit of the time that runs may occupy the loop at once


class Lane:
    """The calls of one signature of one version.

    Args:
        name: the model, version and signature, for messages.
        run: runs the signature, in any thread.
        times: its run times, which are read and recorded here.
        options: the options for joining calls.
        may_join: whether calls may be joined at all.
        is_checked: whether the first joined batches are compared with their calls run alone.
        inline_s: expected time up to which a batch runs on the event loop.
        most_inline: limit of elements of runs on the event loop.
        runners: threads for longer runs.
        max_waiting: limit of waiting calls.
        is_in_order: whether each call waits for the previous one to end. A hung thread is then not
            replaced, since its call may still assign.
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
        most_inline: int = 2**62,
        runners: RunThreads,
        max_waiting: int,
        is_in_order: bool = False,
    ) -> None:
        self._name = name
        self._run = run
        self._times = times
        self._options = options
        self._joins = may_join
        self._trials = _TRIALS if is_checked else 0
        self._inline_s = inline_s
        self._most_inline = most_inline
        self._runners = runners
        self._is_in_order = is_in_order
        self._threads = 1 if is_in_order else runners.count
        self._max_waiting = max_waiting
        # The lock for taking calls, and for noting which threads do; appending needs no lock.
        self._lock = threading.Lock()
        self._waiting: deque[Call] = deque()
        self._in_threads: list[Run] = []
        self._stuck: list[Run] = []  # runs whose threads were replaced
        self._late: list[Call] = []  # taken after their deadline; settled on the event loop
        self._is_scheduled = False
        self._came = 0  # calls since the last iteration that ran any
        self._calm = 0  # successive iterations with one call
        self._measured_at = float("-inf")
        self._usual_size, self._usual_s = -1, 0.0  # the last call's size, and its expected time
        self._ample_s = _NEVER  # seconds in which all queued calls surely end
        self._sweep: asyncio.TimerHandle | None = None
        self._sweep_at = _NEVER

    @property
    def waiting(self) -> int:
        """The number of calls that have not begun to run."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """The number of calls that run in threads."""
        with self._lock:
            runs = list(self._in_threads)
        return sum(not call.is_over for run in runs for call in run.calls)

    @property
    def joins(self) -> bool:
        """Whether calls are joined: so far no row depended on others."""
        return self._joins

    def submit(self, call: Call, now: float = 0.0) -> None:
        """Queue a call; it is settled with the outcome.

        Args:
            call: a call whose feeds match the signature.
            now: the time on `time.perf_counter`'s clock, if the caller has just read it.

        Raises:
            UnavailableError: too many calls wait, or it would be answered after its deadline.
        """
        waiting, running = self._waiting, self._in_threads
        if len(waiting) >= self._max_waiting:
            free = self._threads - len(running)
            if len(waiting) >= self._max_waiting + max(free, 0):
                raise UnavailableError(
                    f"{self._name} has {self._max_waiting} requests waiting already; "
                    "try again later"
                )
        now = call.arrived = now or time.perf_counter()
        feeds = call.feeds
        if type(feeds) is PackedRows:
            kind = feeds.kind
            call.rows, call.key = feeds.rows, kind.key
            size = call.elements = feeds.rows * kind.row_elements
        else:
            size = call.elements = count_elements(feeds)
            found = batch_key(feeds) if self._joins else None
            call.rows, call.key = (0, None) if found is None else found
        if size != self._usual_size or not waiting:
            self._usual_size = size
            self._usual_s = self._times.expect(size)
            # No longer than if all waiting calls ran alone, one after the other.
            self._ample_s = self._usual_s * (self._max_waiting + 2 * self._threads)
        if call.deadline < now + self._ample_s:
            self._refuse_if_late(call, now, self._times.at_least(size))
        if call.deadline < self._sweep_at and self._sweep is not None:
            self._sweep.cancel()  # too late for this call
            self._sweep = None
        waiting.append(call)
        self._came += 1
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)
            # A single caller gains nothing from waiting for the end of the iteration.
            if self._calm >= _CALM and not running:
                self._run_waiting()

    def _refuse_if_late(self, call: Call, now: float, one: float) -> None:
        if one == _NEVER or call.deadline == _NEVER:
            return
        if now + one * (len(self._waiting) + len(self._in_threads) + 1) <= call.deadline:
            return
        if not self._waiting and not self._in_threads:
            # The queue is empty. An old measurement may be wrong, so the call is tried.
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
        if self._came:
            self._calm = self._calm + 1 if self._came == 1 else 0
            self._came = 0
        if self._waiting:
            self._run_waiting()

    def _run_waiting(self) -> None:
        begin = now = time.perf_counter()
        while self._waiting:
            run, is_short = self._next_run(now)
            if self._late:
                self._tell_late()
            if run is None:
                break
            if not is_short:
                self._start(run)
                continue
            self._execute(run)
            run.settle()
            now = time.perf_counter()
            if self._waiting and now - begin > _LOOP_SLICE_S:
                self._schedule()
                break
        if self._waiting or self._in_threads:
            self._arm_sweep()

    def _next_run(self, now: float) -> tuple[Run | None, bool]:
        """Return the run to begin now, or None, and whether it is short enough for the loop."""
        waiting, running, expect = self._waiting, self._in_threads, self._times.expect
        with self._lock:
            is_full = len(running) >= self._threads
            limit_s = self._inline_s * (_BESIDE if running else 1)
            if is_full and waiting and expect(waiting[0].elements) > limit_s:
                return None, False  # a thread takes it
            run = self._take(now)
            if run is None:
                return None, False
            if len(run.calls) == 1 and not waiting and not running:
                limit_s *= _LONE
            if expect(run.elements) <= limit_s and run.elements <= self._most_inline:
                return run, True
            if not is_full:
                running.append(run)
                return run, False
            waiting.extendleft(reversed(run.calls))
        return None, False

    def _schedule(self, delay_s: float = 0.0) -> None:
        if self._is_scheduled:
            return
        loop = asyncio.get_running_loop()
        self._is_scheduled = True
        if delay_s > 0:
            loop.call_later(delay_s, self._flush)
        else:
            loop.call_soon(self._flush)

    def _take(self, now: float) -> Run | None:
        """Take the calls to run next; None if none can run now."""
        waiting, options = self._waiting, self._options
        first = self._next(now)
        if first is None:
            return None
        if not self._joins or not first.rows:
            return Run([waiting.popleft()], [], 0, 0, first.elements)
        most, key, expect = options.max_batch_size, first.key, self._times.expect
        # If one call alone takes long, a batch may take a little longer: many rows often cost as
        # much as one, which can only be measured.
        alone_s = expect(first.elements)
        limit_s = options.max_run_s
        if alone_s != _NEVER:
            limit_s = max(limit_s, _STRETCH * alone_s)
        # Usually all queued calls are alike and fit into one run. A copy, as others may be
        # appended.
        calls = list(waiting)
        rows = [x.rows for x in calls if x.key is key and x.deadline > now and not x.is_over]
        total = sum(rows)
        elements = first.elements // first.rows * total
        if (
            len(rows) == len(calls)
            and 0 not in rows
            and total <= most
            and expect(elements) <= limit_s
        ):
            for _ in calls:
                waiting.popleft()
        else:
            calls, rows = self._take_some(now, most, limit_s)
            total = sum(rows)
            elements = first.elements // first.rows * total
        waits_s = options.batch_timeout_s
        if waits_s and not waiting and total < most and waits_s > now - first.arrived:
            waiting.extendleft(reversed(calls))
            self._schedule(waits_s - (now - first.arrived))
            return None
        return Run(calls, rows, total, options.padded(total), elements)

    def _take_some(self, now: float, most: int, limit_s: float) -> tuple[list[Call], list[int]]:
        """Take the first call and the later ones that fit into one run with it; and their rows.

        Args:
            now: the time on `time.perf_counter`'s clock.
            most: limit of the rows of a run of several calls.
            limit_s: limit of the expected time of such a run.
        """
        waiting, expect = self._waiting, self._times.expect
        first = waiting.popleft()
        calls, rows = [first], [first.rows]
        total, elements, key = first.rows, first.elements, first.key
        while waiting:
            call = waiting[0]
            if call.is_over or call.deadline <= now:
                self._next(now)
                continue
            count = call.rows
            if not count or total + count > most or (call.key is not key and call.key != key):
                break
            if expect(elements + call.elements) > limit_s:
                break
            calls.append(waiting.popleft())
            rows.append(count)
            total += count
            elements += call.elements
        return calls, rows

    def _next(self, now: float) -> Call | None:
        """Return the first call in the queue; cancelled ones before it are dropped."""
        waiting = self._waiting
        while waiting:
            call = waiting[0]
            if not call.is_over and call.deadline > now:
                return call
            waiting.popleft()
            self._late.append(call)
        return None

    def _tell_late(self) -> None:
        late, self._late = self._late, []
        for call in late:
            call.settle(None, self._too_late(call))

    def _start(self, run: Run) -> None:
        loop = asyncio.get_running_loop()

        def work() -> None:
            following: Run | None = run
            while following is not None:
                done = following
                self._execute(done)
                following = self._follow(done)
                with suppress(RuntimeError):  # the loop is closed, so that no caller is left
                    loop.call_soon_threadsafe(self._end, done)

        try:
            self._runners.start(work)
        except RuntimeError as error:  # the interpreter is shutting down
            with self._lock:
                self._in_threads.remove(run)
            run.outcomes = [(None, UnavailableError(one_line(error)))] * len(run.calls)
            run.settle()

    def _follow(self, done: Run) -> Run | None:
        """Return the next run for a thread; None if it returns to the pool."""
        with self._lock:
            following = None
            if done in self._stuck:  # it was replaced while it hung
                self._stuck.remove(done)
                self._runners.regain()
                return None
            # Batches that wait for more calls begin on the event loop, which has the timers.
            if not self._runners.is_asked and not self._options.batch_timeout_s:
                following = self._take(time.perf_counter())
            self._in_threads.remove(done)
            if following is not None:
                self._in_threads.append(following)
        return following

    def _end(self, run: Run) -> None:
        if self._late:
            self._tell_late()
        run.settle()
        if self._waiting and len(self._in_threads) < self._threads:
            self._schedule()

    def _execute(self, run: Run) -> None:
        """Compute the outcomes of a run. In any thread."""
        run.started = time.perf_counter()
        ASKED.calls = run.calls
        for call in run.calls:
            call.run = run
        if not run.is_joined or not self._run_joined(run):
            run.outcomes = [self._run_alone(call) for call in run.calls]
        ASKED.calls = ()
        run.ended = self._measured_at = time.perf_counter()

    def _run_alone(self, call: Call) -> Outcome:
        begin = time.perf_counter()
        if call.is_over or call.deadline <= begin:
            return None, self._too_late(call)
        try:
            outputs = self._run(call.feeds)
        except BaseException as error:  # passed on to the callers
            return None, error
        if not self._stuck or call.run not in self._stuck:  # a hung run is no measurement
            self._times.record(call.elements, time.perf_counter() - begin)
        return outputs, None

    def _run_joined(self, run: Run) -> bool:
        """Compute the outcomes of a run as one batch; False if its calls must run alone."""
        feeds = join([call.feeds for call in run.calls], run.padded_rows)
        begin = time.perf_counter()
        try:
            outputs = self._run(feeds)
        except Exception:  # one invalid call must not fail the others
            return False
        self._times.record(run.elements, time.perf_counter() - begin)
        if not can_split(outputs, run.padded_rows):
            self._stop_joining("an output does not have one row for each row that goes in")
            return False
        if self._trials <= 0:  # two threads may both have counted the last one
            run.outputs = outputs
            return True
        run.outcomes = [self._run_alone(call) for call in run.calls]
        if len(run.calls) > 1 or run.padded_rows > run.total:
            self._trials -= 1
        pairs = zip(split(outputs, run.rows), run.outcomes, strict=True)
        if any(found is not None and not agree(part, found) for part, (found, _) in pairs):
            self._stop_joining("rows of one batch change each other's results")
        return True

    def _stop_joining(self, reason: str) -> None:
        self._joins = False
        LOG.warning("%s: requests are run one by one, for %s", self._name, reason)

    def _too_late(self, call: Call) -> DeadlineExceededError:
        allowed = call.allowed_s
        text = f"{allowed:.2g}" if allowed < 10 else f"{allowed:.0f}"
        return DeadlineExceededError(f"{self._name} did not answer in {text} s")

    def _arm_sweep(self) -> None:
        """Settle calls whose deadline has passed, even while all threads are busy."""
        if self._sweep is not None:
            return
        nearest = min((call.deadline for call in self._unanswered()), default=_NEVER)
        with self._lock:
            for run in self._in_threads:
                nearest = min(nearest, self._gone_at(run))
        if nearest != _NEVER:
            loop = asyncio.get_running_loop()
            self._sweep_at = nearest
            delay = max(nearest - time.perf_counter(), 0.0)
            self._sweep = loop.call_later(delay + 0.001, self._sweep_late)

    def _sweep_late(self) -> None:
        self._sweep = None
        now = time.perf_counter()
        for call in self._unanswered():
            if call.deadline <= now:
                call.settle(None, self._too_late(call))
        with self._lock:
            self._waiting = deque([call for call in self._waiting if not call.is_over])
            gone = [run for run in self._in_threads if self._gone_at(run) <= now]
            for run in gone:
                # Its thread may hang forever; only a limited number is replaced.
                if self._is_in_order or not self._runners.lose(_MOST_LOST):
                    break
                self._in_threads.remove(run)
                self._stuck.append(run)
                LOG.error(
                    "%s does not end a run without waiting clients: it is still running", self._name
                )
        self._arm_sweep()
        if gone and self._waiting:
            self._schedule()

    def _gone_at(self, run: Run) -> float:
        """The time after which an overdue run counts as hung."""
        if not run.started or run.ended:
            return _NEVER
        last = max((call.deadline for call in run.calls), default=_NEVER)
        is_replaced = not self._is_in_order and self._runners.lost < _MOST_LOST
        return last + _GRACE_S if is_replaced else _NEVER

    def _unanswered(self) -> list[Call]:
        with self._lock:
            calls = [*self._waiting, *[call for run in self._in_threads for call in run.calls]]
        return [call for call in calls if not call.is_over]
