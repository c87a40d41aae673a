"""Compiled code is timed against the plan before it replaces it, on the caller's own calls.

Compiled code that has passed its trial (`trials`) and the plan in its workspace alternate, one of
them per call. Short calls alternate in groups, of which only the later ones are timed: then weights
are in the cache and helper threads awake, as they are when all calls run the same code. Machine
code that is slower, which happens for small arrays or where BLAS is good, is dropped: the plan
stays, for these shapes. The measured times are kept with them (`Decision`).
"""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext

# Calls of each that are not timed (weights are packed when they are seen for the third time; for
# long calls that happens in trials), and that are; their lower quartile is compared. Without calls
# there is no contest.
WARM, WARM_LONG, TIMED = 3, 1, 8
# For short calls: the timed calls of a group, and how long the calls before them run untimed (a
# woken helper may wait for the GIL until its holder's switch interval of 5 ms ends).
_SHORT_S, _COUNTED, _SETTLING_S = 2e-3, 2, 8e-3
# Contests of longer calls end earlier: after this many of each, if all of one took this much longer
# than any of the other; more for those longer than `_LONG_S`.
_LONG_S = 2e-2
_CLEAR, _CLEAR_LONG = ((3, 1.3),), ((1, 2.0), (2, 1.3), (3, 1.1))
# From this ratio on, code is slower. A loss must be seen twice: other processes interfere.
_SLACK, _LOSSES = 1.02, 2


class Decision(NamedTuple):
    """The result of a contest, for profilers.

    Attributes:
        kind: of compiled code: "small plan", "regions", "turns", "loop", "recurrence".
        plan_s: seconds per call, or per iteration, of the plan.
        compiled_s: the same by machine code.
        is_kept: whether machine code is used from then on.
    """

    kind: str
    plan_s: float
    compiled_s: float
    is_kept: bool


class Pace:
    """The shortest iteration of a loop by the plan and by machine code, as seen in trials."""

    __slots__ = ("compiled_s", "plan_s")

    def __init__(self) -> None:
        self.plan_s = self.compiled_s = float("inf")

    def note(self, *, compiled: bool, seconds: float, iterations: int) -> None:
        """Record that this many iterations took this long."""
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
    """The plan (0) and compiled code (1), alternating; concurrent threads each run one of them.

    Args:
        kind: see `Decision`.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        # Which one runs, how long its untimed calls took, and how many calls were timed.
        self._which = 0
        self._spent_s = 0.0
        self._counted = 0
        self._warm_calls = [0, 0]
        self._least_s = float("inf")
        self._times: tuple[list[float], list[float]] = ([], [])
        self._losses = 0
        self.decision: Decision | None = None

    def begin(self) -> int | None:
        """Which of the two runs this call; None if it is decided. `end` follows."""
        with self._lock:
            return None if self.decision is not None or not TIMED else self._which

    def end(self, which: int, seconds: float | None) -> None:
        """End a call; its time is None if it failed."""
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
        """Whether one of two is clearly faster, for calls that are not short."""
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
        contest: the contest that gets the call's time.
        which: 0 for the plan, 1 for compiled code; see `Contest`.
        leased: the lease that runs the call.
    """

    __slots__ = ("_contest", "_which", "leased")

    def __init__(self, contest: Contest, which: int, leased: Any) -> None:
        self._contest = contest
        self._which = which
        self.leased = leased

    def drop(self) -> None:
        """Do not count this call."""
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
