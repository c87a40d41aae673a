"""What may replace a plan is timed against it first, on the caller's own calls.

Compiled code that has proved right (`trials`) and the plan in its memory take turns, each call by
one of them. Short calls come in runs of several by the same one, of which the later ones count: a
call finds its weights in the cache, and helpers awake, because the one before was its like, and so
it will be when all calls are. Machine code that is slower, as it may be where arrays are small or
BLAS is good, is given back: the plan stays, for these shapes. What was measured is kept with them
(`Decision`).
"""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext

# Calls of each that do not count (weights are packed when they are seen for the third time; long
# calls have been through that in trials), and that do; of these the time that a quarter of them are
# below. No calls: no contest.
WARM, WARM_LONG, TIMED = 3, 1, 8
# Where calls are short: those of a run that count, and how long calls before them do not (a helper
# that is woken may wait for the interpreter's lock till its holder is told to let go, after 5 ms).
_SHORT_S, _COUNTED, _SETTLING_S = 2e-3, 2, 8e-3
# Contests of longer calls come to an end sooner: where of so many each, all by one took this much
# longer than any by the other; more for those that take longer than `_LONG_S`.
_LONG_S = 2e-2
_CLEAR, _CLEAR_LONG = ((3, 1.3),), ((1, 2.0), (2, 1.3), (3, 1.1))
# What is this much slower is slower. A loss counts if it is seen twice: other processes take turns,
# too.
_SLACK, _LOSSES = 1.02, 2


class Decision(NamedTuple):
    """What came of a contest, for profilers.

    Attributes:
        kind: of what was compiled: "small plan", "regions", "turns", "loop", "recurrence".
        plan_s: seconds of a call, or of an iteration, by the plan.
        compiled_s: the same by machine code.
        is_kept: whether machine code runs from then on.
    """

    kind: str
    plan_s: float
    compiled_s: float
    is_kept: bool


class Pace:
    """The least time of a loop's iteration by the plan and by machine code, as trials saw them."""

    __slots__ = ("compiled_s", "plan_s")

    def __init__(self) -> None:
        self.plan_s = self.compiled_s = float("inf")

    def note(self, *, compiled: bool, seconds: float, iterations: int) -> None:
        """So many iterations took so long."""
        if not iterations:
            return
        if compiled:
            self.compiled_s = min(self.compiled_s, seconds / iterations)
        else:
            self.plan_s = min(self.plan_s, seconds / iterations)

    @property
    def is_slower(self) -> bool:
        """Whether machine code was seen to take longer."""
        return self.plan_s * _SLACK < self.compiled_s < float("inf")

    def decision(self, kind: str) -> Decision:
        """For profilers; see `Decision`."""
        return Decision(kind, self.plan_s, self.compiled_s, not self.is_slower)


class Contest:
    """The plan (0) and compiled code (1) in turn; threads that run at once take one turn each.

    Args:
        kind: see `Decision`.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        # Whose run it is, how long its calls took that do not count, and how many count.
        self._which = 0
        self._spent_s = 0.0
        self._counted = 0
        self._warm_calls = [0, 0]
        self._least_s = float("inf")
        self._times: tuple[list[float], list[float]] = ([], [])
        self._losses = 0
        self.decision: Decision | None = None

    def begin(self) -> int | None:
        """Which of the two this call is run by; None if it is decided. `end` follows."""
        with self._lock:
            return None if self.decision is not None or not TIMED else self._which

    def end(self, which: int, seconds: float | None) -> None:
        """A call is over; None if it failed."""
        with self._lock:
            if seconds is None or self.decision is not None or which != self._which:
                return
            if self._warm_calls[which] < (WARM_LONG if self._is_long else WARM):
                self._warm_calls[which] += 1
                self._least_s = min(self._least_s, seconds)
                self._which = 1 - which
                return
            is_short = self._least_s < _SHORT_S
            if is_short and self._spent_s < _SETTLING_S:
                self._spent_s += seconds
                return
            self._times[which].append(seconds)
            self._counted += 1
            if self._counted < (_COUNTED if is_short else 1):
                return
            self._which, self._spent_s, self._counted = 1 - which, 0.0, 0
            if min(len(one) for one in self._times) >= TIMED or self._is_clear():
                self._decide()

    @property
    def _is_long(self) -> bool:
        return all(self._warm_calls) and self._least_s >= _LONG_S

    def _is_clear(self) -> bool:
        """Whether calls that are not short have shown which is quicker."""
        plan, compiled = self._times
        if self._least_s < _SHORT_S or len(plan) != len(compiled):
            return False
        slack = dict(_CLEAR_LONG if self._is_long else _CLEAR).get(len(plan))
        if slack is None:
            return False
        return max(compiled) * slack < min(plan) or max(plan) * slack < min(compiled)

    def _decide(self) -> None:
        plan_s, compiled_s = (sorted(one)[len(one) // 4] for one in self._times)
        found = Decision(self._kind, plan_s, compiled_s, compiled_s <= plan_s * _SLACK)
        self._losses += not found.is_kept
        if found.is_kept or self._losses == _LOSSES:
            self.decision = found
        for one in self._times:
            one.clear()


class Timed:
    """The lease of a call in a contest.

    Args:
        contest: which is told how long it took.
        which: see `Contest`.
        leased: what runs it.
    """

    __slots__ = ("_contest", "_which", "leased")

    def __init__(self, contest: Contest, which: int, leased: Any) -> None:
        self._contest = contest
        self._which = which
        self.leased = leased

    def drop(self) -> None:
        """This call does not count."""
        self._contest.end(self._which, None)

    def run(
        self, arrays: Sequence[Array], context: RunContext | None, *, looks: bool = False
    ) -> tuple[Array, ...]:
        """The plan's outputs; see `Workspace.run`."""
        seconds = None
        began = perf_counter()
        try:
            results = self.leased.run(arrays, context, looks=looks)
            seconds = perf_counter() - began
        finally:
            self._contest.end(self._which, seconds)
        return results  # type: ignore[no-any-return]
