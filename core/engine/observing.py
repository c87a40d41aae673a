"""Recording of what runs do, step by step, for profilers.

While a recorder is active, three functions of the engine and two of `ops.execute` are replaced by
recording ones, and fast entries of ops lead there (`observe`); runs without one have no additional
check, branch or call. A plan's steps then run as a function of a third form (`Source.body`, `told`)
with the same kernels, regions and memory, so results are the same. The time of recording is
excluded from all times.
"""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.engine.loop_tiers import LoopTiers
from pinnace.engine.networks.region import Network
from pinnace.engine.standing import Standing, standing_of
from pinnace.engine.tiers import Tiers, Workspace
from pinnace.framework.context import state
from pinnace.framework.errors import AlreadyExistsError
from pinnace.ops import entries, execute
from pinnace.ops.kernels.blas import one_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.layout import Layout
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array

# Most spans of a timeline; the lines of the table still count all.
MOST_SPANS = 200_000


class Unit(NamedTuple):
    """The plan and form that steps belong to.

    Attributes:
        plan: the plan.
        layout: the layout it ran in, None without one.
        standing: its current tier.
    """

    plan: Plan
    layout: Layout | None
    standing: Standing


class Eager(NamedTuple):
    """An op called eagerly.

    Attributes:
        op: its OpDef.
        took: shapes and dtypes of its inputs.
        attrs: its attributes at the first call.
    """

    op: Any
    took: tuple[tuple[tuple[int, ...], str], ...]
    attrs: dict[str, Any]


class Line:
    """All runs of one step, op or call, at one place in the call tree.

    Attributes:
        kind: "call", "step", "region", "whole" (a call that is one kernel), "op" (eager) or "loop".
        unit: the plan's unit; None for eager ops.
        what: the index of the step, or an `Eager`.
        depth: number of enclosing calls.
        count: number of runs.
        seconds: total time, including nested runs.
        took: shapes and dtypes of the inputs, at the first run.
        gave: shapes and dtypes of the outputs, at the first run.
        rows: seconds of each row of a network, measured once in a separate run.
    """

    __slots__ = ("count", "depth", "gave", "kind", "rows", "seconds", "took", "unit", "what")

    def __init__(self, kind: str, unit: Unit | None, what: Any, depth: int) -> None:
        self.kind = kind
        self.unit = unit
        self.what = what
        self.depth = depth
        self.count = 0
        self.seconds = 0.0
        self.took: list[tuple[tuple[int, ...], str]] = []
        self.gave: list[tuple[tuple[int, ...], str]] = []
        self.rows: list[float] = []


class Span(NamedTuple):
    """One run of a line.

    Attributes:
        line: its line; for a user's span, its name.
        thread: the thread's number.
        begin: seconds since the recorder started.
        seconds: its duration.
        facts: details of a user's span.
    """

    line: Line | str
    thread: int
    begin: float
    seconds: float
    facts: dict[str, Any] | None = None


class _Lane(threading.local):
    """The state of one thread.

    Attributes:
        paused: seconds spent on recording.
        marks: for each active call, the start of its current step.
    """

    def __init__(self) -> None:
        self.paused = 0.0
        self.marks: list[float] = []


class Recorder:
    """Collects lines and spans while it is active.

    Args:
        thread: record only this thread (`threading.get_ident`); None for all.
        rows: whether networks are run a second time, row by row.

    Attributes:
        lines: the lines in order of first occurrence.
        spans: the spans in order of their ends; at most `MOST_SPANS`.
        threads: names of threads by number.
    """

    def __init__(self, thread: int | None = None, *, rows: bool = True) -> None:
        self.lines: dict[tuple[Any, ...], Line] = {}
        self.spans: list[Span] = []
        self.threads: dict[int, str] = {}
        self.began = perf_counter()
        self._thread = thread
        self._with_rows = rows
        self._lane = _Lane()
        self._lock = threading.Lock()
        self._functions: dict[tuple[Any, ...], tuple[Unit, Callable[..., Any]]] = {}

    @property
    def sees(self) -> bool:
        """Whether this thread is recorded."""
        return self._thread is None or self._thread == threading.get_ident()

    def now(self) -> float:
        """Seconds on this thread's clock, which is stopped while recording."""
        return perf_counter() - self._lane.paused

    # Calls.

    def run(self, unit: Unit, call: Callable[[], Any]) -> Any:
        """Run a call; its line is the parent of what it runs."""
        return self._around("call", unit, None, call)

    def whole(self, unit: Unit, call: Callable[[], Any]) -> Any:
        """Run a call that is one kernel."""
        return self._around("whole", unit, None, call)

    def op(
        self, op: Any, inputs: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]
    ) -> Any:
        """Run an eager op."""
        result = None

        def traced() -> Any:
            nonlocal result
            result = call()
            return result

        entered = perf_counter()
        what = Eager(op, tuple(_specs(inputs)), attrs)
        self._lane.paused += perf_counter() - entered
        self._around("op", None, what, traced, lambda: (inputs, result))
        return result

    def loop(self, unit: Unit, call: Callable[[], Any]) -> Any:
        """Record the iterations of a loop that machine code ran."""
        return self._around("loop", unit, None, call)

    def mark(self, name: str, begin: float, facts: dict[str, Any]) -> None:
        """Record the end of a user's span.

        Args:
            name: the span's name.
            begin: its start, on this thread's clock.
            facts: details that are shown with it.
        """
        thread, end = threading.get_ident(), self.now()
        with self._lock:
            self.threads.setdefault(thread, threading.current_thread().name)
            if len(self.spans) < MOST_SPANS:
                self.spans.append(Span(name, thread, begin - self.began, end - begin, facts))

    def _around(
        self,
        kind: str,
        unit: Unit | None,
        what: Any,
        call: Callable[[], Any],
        values: Callable[[], tuple[Any, Any]] | None = None,
    ) -> Any:
        lane = self._lane
        depth = len(lane.marks)
        entered = perf_counter()
        line = self._line(kind, unit, what, depth)
        lane.paused += perf_counter() - entered
        begin = self.now()
        lane.marks.append(begin)
        try:
            return call()
        finally:
            end = self.now()
            left = perf_counter()
            lane.marks.pop()
            took, gave = ((), ()) if values is None else values()
            self._note(line, begin, end, took, gave)
            lane.paused += perf_counter() - left

    def _line(self, kind: str, unit: Unit | None, what: Any, depth: int) -> Line:
        owner = None if unit is None else (id(unit.plan), id(unit.layout), unit.standing.tier)
        key = (
            threading.get_ident(),
            kind,
            owner,
            what if unit is not None else (what.op.name, what.took),
            depth,
        )
        with self._lock:
            line = self.lines.get(key)
            if line is None:
                line = self.lines[key] = Line(kind, unit, what, depth)
        return line

    def _note(self, line: Line, begin: float, end: float, took: Any, gave: Any) -> None:
        thread = threading.get_ident()
        with self._lock:
            if not line.count:
                line.took, line.gave = _specs(took), _specs(gave)
            line.count += 1
            line.seconds += end - begin
            if thread not in self.threads:
                self.threads[thread] = threading.current_thread().name
            if len(self.spans) < MOST_SPANS:
                self.spans.append(Span(line, thread, begin - self.began, end - begin))

    # Steps.

    def function(self, unit: Unit, *, looks: bool) -> tuple[Unit, Callable[..., Any]]:
        """The recording function of a plan's steps, and the unit that it was made for."""
        key = (id(unit.plan), id(unit.layout), unit.standing.tier, looks)
        found = self._functions.get(key)
        if found is None:
            form = unit.plan.source if unit.layout is None else unit.layout
            made = form.observed(self._teller(unit), looks=looks)
            found = self._functions[key] = (unit, made)
        return found

    def _teller(self, unit: Unit) -> Callable[[int, Sequence[Any], Sequence[Any]], None]:
        regions = {} if unit.layout is None else unit.layout.regions

        def told(place: int, took: Sequence[Any], gave: Sequence[Any]) -> None:
            lane = self._lane
            end, entered = self.now(), perf_counter()
            region = regions.get(place)
            kind = "step" if region is None else "region"
            line = self._line(kind, unit, place, len(lane.marks))
            self._note(line, lane.marks[-1], end, took, gave)
            if isinstance(region, Network) and self._with_rows and not line.rows:
                line.rows = region.row_seconds(took)
            lane.marks[-1] = end
            lane.paused += perf_counter() - entered

        return told


def _specs(values: Any) -> list[tuple[tuple[int, ...], str]]:
    """Shapes and dtypes of arrays or tensors, with nested lists flattened."""
    if not isinstance(values, list | tuple):
        values = (values,)
    found: list[tuple[tuple[int, ...], str]] = []
    for one in values:
        if isinstance(one, list | tuple):
            found += _specs(one)
        elif hasattr(one, "shape") and hasattr(one, "dtype"):
            shape, dtype = one.shape, one.dtype
            name = "string" if getattr(dtype, "kind", "") == "O" else dtype.name
            found.append((tuple(int(size) for size in shape), name))
    return found


class Observed:
    """The lease of a call that is observed.

    Args:
        recorder: collects the times.
        tiers: the tiers that the lease is from.
        plan: the plan.
        arrays: the call's arguments.
        leased: the lease that would run it otherwise.
    """

    def __init__(
        self, recorder: Recorder, tiers: Tiers, plan: Plan, arrays: Sequence[Array], leased: Any
    ) -> None:
        self._recorder = recorder
        self._tiers = tiers
        self._plan = plan
        self.leased = leased
        self._standing = standing_of(plan, arrays, leased)

    def run(self, arrays: Sequence[Array], context: Any, *, looks: bool = False) -> Any:
        """The plan's outputs; see `Workspace.run`."""
        leased, recorder = self.leased, self._recorder
        try:
            if leased is not None and not isinstance(leased, Workspace):
                unit = Unit(self._plan, None, self._standing)
                run = leased.run
                return recorder.whole(unit, lambda: run(arrays, context, looks=looks))
            return self._by_steps(leased, arrays, context, looks)
        finally:
            if self.leased is not None:
                self._tiers.give_back(self.leased)

    def _by_steps(
        self, leased: Workspace | None, arrays: Sequence[Array], context: Any, looks: bool
    ) -> Any:
        recorder = self._recorder
        layout = None if leased is None else leased.layout
        unit = Unit(self._plan, layout, self._standing)
        entered = perf_counter()
        unit, function = recorder.function(unit, looks=looks)
        recorder._lane.paused += perf_counter() - entered
        given = (arrays, context) if leased is None else (arrays, context, leased.buffers)
        with one_thread:
            return recorder.run(unit, lambda: function(*given))


class _General:
    """The thread state for `ops.entries` while recording: with it, entries call `execute`."""

    tracer = "observed"

    def __getattr__(self, name: str) -> Any:
        return getattr(state, name)


_active: Recorder | None = None
_plain = (Tiers.lease, Tiers.iteration, LoopTiers.finish, execute._run_again, execute.run_eagerly)
_lock = threading.Lock()


def observe(recorder: Recorder | None) -> None:
    """Activate this recorder; None ends the recording.

    Raises:
        AlreadyExistsError: another recorder is active.
    """
    global _active
    with _lock:
        if recorder is not None and _active is not None:
            raise AlreadyExistsError("profiler: another profile is being taken; stop that first")
        _active = recorder
        functions: tuple[Any, ...] = _plain
        if recorder is not None:
            functions = (_lease, _iteration, _finish, _run_again, _run_eagerly)
        # These replace the normal functions, so that those need no check.
        Tiers.lease = functions[0]  # type: ignore[method-assign]
        Tiers.iteration = functions[1]  # type: ignore[method-assign]
        LoopTiers.finish = functions[2]  # type: ignore[method-assign]
        execute._run_again = functions[3]
        execute.run_eagerly = functions[4]
        entries.state = state if recorder is None else _General()  # type: ignore[assignment,attr-defined]


def here() -> Recorder | None:
    """The recorder that is active for this thread, if any."""
    recorder = _active
    return recorder if recorder is not None and recorder.sees else None


def _lease(tiers: Tiers, arrays: Sequence[Array]) -> Any:
    recorder = here()
    if recorder is None:
        return _plain[0](tiers, arrays)
    entered = perf_counter()
    leased = _plain[0](tiers, arrays)
    found = Observed(recorder, tiers, tiers.plan, arrays, leased)
    recorder._lane.paused += perf_counter() - entered
    return found


def _iteration(tiers: Tiers, values: Sequence[Array] | None = None) -> Callable[..., Any]:
    recorder, run = here(), _plain[1](tiers, values)
    plan = tiers.plan
    if recorder is None:
        return run
    if run is not plan.run:  # an iteration with regions in it
        unit = Unit(plan, None, Standing("compiled", ""))
        return lambda arrays, context: recorder.whole(unit, lambda: run(arrays, context))
    reason = "its loop or branch is compiled as a whole, or not at all"
    unit, function = recorder.function(Unit(plan, None, Standing("plan", reason)), looks=False)
    return lambda arrays, context: recorder.run(unit, lambda: function(arrays, context))


def _finish(
    loops: LoopTiers,
    test: Plan,
    values: Sequence[Array],
    check: Callable[[], None],
) -> tuple[Sequence[Array], bool]:
    recorder = here()
    if recorder is None:
        return _plain[2](loops, test, values, check)
    unit = Unit(loops.body, None, Standing("loop", loops.standing))
    found: tuple[Sequence[Array], bool] = recorder.loop(
        unit, lambda: _plain[2](loops, test, values, check)
    )
    return found


def _run_again(op: Any, repeat: Any, arguments: tuple[Any, ...]) -> Any:
    recorder = here()
    if recorder is None:
        return _plain[3](op, repeat, arguments)
    return recorder.op(op, arguments, repeat.attrs, lambda: _plain[3](op, repeat, arguments))


def _run_eagerly(op: Any, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    recorder = here()
    if recorder is None:
        return _plain[4](op, inputs, attrs)
    return recorder.op(op, inputs, attrs, lambda: _plain[4](op, inputs, attrs))
