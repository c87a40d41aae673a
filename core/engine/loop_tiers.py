"""How the loops with one body run: by plans, or by tables that have passed their trial.

A loop that starts for the second time, or has run for long, gets a table of statements, if its
iterations have them; otherwise an iteration has regions. In the first run the plan and the table
both run some iterations from the same loop variables, and the results are compared: the first
iterations, then ever fewer, since loops may be long. If one differs, the plan runs that loop from
its beginning, and all later ones.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pinnace.engine import agreement, rejections
from pinnace.engine.trials import Verdict
from pinnace.framework import float_warnings
from pinnace.framework.context import state
from pinnace.framework.errors import OpError
from pinnace.graph.text import text_of
from pinnace.ops.running import RunContext

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.codegen.loops import Advance, Loop
    from pinnace.engine.codegen.recurrences import Recurrence, _Variant
    from pinnace.engine.plan import Plan
    from pinnace.engine.turns import Turns
    from pinnace.framework.tensor import Array

# A loop that has started this often gets a table, however short it is.
OFTEN = 2
# Iterations in each comparison, iterations of the kernel between the first two comparisons, and its
# most iterations between polls of the stop flag.
_COMPARED, _BETWEEN, _MOST_BETWEEN = 8, 64, 1 << 20


class LoopTiers:
    """The tables of the loops with one body, for one tier.

    Args:
        body: the plan of an iteration.
        forced: use tables from the first start, and without a trial.
    """

    def __init__(self, body: Plan, *, forced: bool) -> None:
        self._body = body
        self._forced = forced
        self._lock = threading.Lock()
        self._begun = 0
        # The plan of the condition that the fields below belong to; None until code was requested.
        self._test: Plan | None = None
        self._loop: Loop | None = None
        self._verdict = Verdict()
        # The loop, once it has passed its trial.
        self._proved: Loop | None = None
        self._recurrence: Recurrence | None = None
        # What runs single iterations for shapes without a table of the whole loop.
        self.turns: Turns | None = None
        # Whether a table raised where the plan does not.
        self._has_failed = False

    def function(self, values: Sequence[Array] | None) -> Callable[..., Any]:
        """The function for iterations that no kernel of the whole loop runs.

        Args:
            values: the loop variables; None if the caller has none.
        """
        turns = self.turns
        if turns is None or values is None:
            return self._body.run
        from pinnace.engine.codegen.loop_lists import form_of

        key = form_of(values)
        if self._recurrence is not None and not self._recurrence.has_lost(key):
            return self._body.run
        return turns.function(values, key)

    def finish(
        self, test: Plan, values: Sequence[Array], check: Callable[[], None], *, hot: bool
    ) -> tuple[Sequence[Array], bool]:
        """The loop variables after the iterations that machine code could run: all, some or none.

        Args:
            test: the plan of the condition.
            values: the loop variables.
            check: called at intervals; raises if the run was cancelled.
            hot: whether many iterations have run.

        Returns:
            The loop variables, and whether the condition is known to be false for them.
        """
        if self._has_failed:
            return values, False
        try:
            return self._finished(test, values, check, hot=hot)
        except Exception as error:
            # Iterations have no effects here: the plan repeats them all, and raises the user's
            # errors.
            from pinnace.engine import recovery

            if not recovery.may_be_ours(error):
                raise
            if not isinstance(error, OpError):
                self._has_failed = True
                recovery.reject("loop", self._body, error, "")
            return values, False

    def _finished(
        self, test: Plan, values: Sequence[Array], check: Callable[[], None], *, hot: bool
    ) -> tuple[Sequence[Array], bool]:
        """As `finish`, while nothing has failed."""
        if self._test is None and not self._look(test, hot):
            return values, False
        if self._test is not test:
            return values, False
        if self._proved is not None:
            return self._proved.run(values, check)
        if self._loop is not None:
            return self._by_loop(self._loop, values, check)
        recurrence = self._recurrence
        if recurrence is None:
            return values, False
        silence = float_warnings.begin()
        try:
            values, is_ended = self._by_recurrence(recurrence, values, check)
        finally:
            float_warnings.end(silence)
        if not is_ended and (self.turns is None or recurrence.is_rejected):
            self._take_turns(recurrence, values)
        return values, is_ended

    def _take_turns(self, recurrence: Recurrence, values: Sequence[Array]) -> None:
        """Give single iterations regions if the whole loop has no table."""
        from pinnace.engine.codegen.loop_lists import form_of
        from pinnace.engine.turns import Turns

        is_rejected = recurrence.is_rejected
        if not is_rejected and not recurrence.has_lost(form_of(values)):
            return

        with self._lock:
            if self.turns is None:
                self.turns = Turns(self._body, forced=self._forced)
            if is_rejected and self._recurrence is recurrence:
                self._recurrence = None

    @property
    def body(self) -> Plan:
        """The plan of an iteration."""
        return self._body

    @property
    def standing(self) -> str:
        """Why no table runs whole loops; empty if one does."""
        if self._has_failed:
            return "the loop's table raised an error that the plan does not: see the log"
        if self._test is None:
            return "has neither begun often nor gone on for long"
        if self._loop is not None:
            if self._verdict.failed:
                return "the loop's table did not agree with the plan"
            if not self._verdict.passed:
                return "the loop's table has not been compared with the plan yet"
            return ""
        if self._recurrence is None:
            return "neither a loop over scalars nor a recurrence that has statements"
        return ""

    def _look(self, test: Plan, hot: bool) -> bool:
        """Look for code if it is time; whether it was looked for."""
        with self._lock:
            if self._test is not None:
                return True
            self._begun += 1
            is_early = self._forced or state.compiles
            if not (hot or is_early) and self._begun < OFTEN:
                return False
            from pinnace.engine.codegen.loops import loop_of
            from pinnace.engine.codegen.recurrences import recurrence_of

            self._loop = loop_of(test, self._body)
            if self._loop is None:
                self._recurrence = recurrence_of(test, self._body)
            self._test = test
            return True

    def _by_loop(
        self, loop: Loop, values: Sequence[Array], check: Callable[[], None]
    ) -> tuple[Sequence[Array], bool]:
        if self._forced:
            return loop.run(values, check)
        if self._verdict.passed:
            self._proved = loop
            return loop.run(values, check)
        if not self._verdict.begin():
            return values, False
        trial = _Trial(self._test, self._body, loop.advance, check, is_exact=True)
        silence = float_warnings.begin()
        try:
            return trial.run(values, self._verdict, "loop"), False
        finally:
            float_warnings.end(silence)

    def _by_recurrence(
        self, recurrence: Recurrence, values: Sequence[Array], check: Callable[[], None]
    ) -> tuple[Sequence[Array], bool]:
        variant: _Variant | None = recurrence.variant(values)
        if variant is None:
            return values, False
        if self._forced:
            return variant.run(values, check)
        if variant.verdict.passed:
            return variant.run(values, check)
        if not recurrence.goes_on(values) or not variant.verdict.begin():
            return values, False
        trial = _Trial(self._test, self._body, variant.advance, check, is_exact=False)
        return trial.run(values, variant.verdict, "recurrence"), False


class _Trial:
    """One run of a loop in which some iterations are compared.

    Args:
        test: the plan of the condition.
        body: the plan of an iteration; neither has effects.
        advance: runs up to a given number of iterations by the kernel.
        check: raises if the run was cancelled.
        is_exact: whether results must be the same bit for bit.
    """

    def __init__(
        self,
        test: Plan | None,
        body: Plan,
        advance: Callable[[Sequence[Array], int], Advance | None],
        check: Callable[[], None],
        *,
        is_exact: bool,
    ) -> None:
        assert test is not None  # noqa: S101 - it was looked for
        self._test_graph, self._body_graph = test.graph, body.graph
        self._test = test.run
        self._turn = body.run
        self._advance = advance
        self._check = check
        self._is_exact = is_exact
        # For branches and inner loops that the plan runs: they share the run's stop flag.
        self._context = RunContext()
        if state.stop is not None:
            state.stop.watch(self._context)
        # Whether something was compared.
        self._is_told = True

    def run(self, values: Sequence[Array], verdict: Verdict, kind: str) -> Sequence[Array]:
        """The loop variables from which the plan continues: mostly those after all iterations.

        Args:
            values: the loop variables.
            verdict: of the kernel; this run counts as begun.
            kind: its name in the log if it is rejected.
        """
        text: str | None = None
        agreed: bool | None = None
        try:
            reached, text = self._compared(values)
            agreed = text is None if self._is_told else None
        finally:
            if verdict.end(agreed):
                graphs = f"{text_of(self._test_graph)}\n{text_of(self._body_graph)}"
                rejections.reject(kind, self._body_graph.name, str(text), graphs)
        return values if text is not None else reached

    def _compared(self, values: Sequence[Array]) -> tuple[Sequence[Array], str | None]:
        """The loop variables after all iterations that could run, and the difference found."""
        between, growth = _BETWEEN, 8 if self._is_exact else 2
        while True:
            try:
                iterations, wanted = self._by_plan(values)
            except Exception:
                self._is_told = False
                return values, None  # the plan raises the error, with its node
            try:
                found = self._advance(values, _COMPARED)
            except Exception as error:
                return values, f"it raised {type(error).__name__}: {error}"
            if found is None:
                self._is_told = False
                return wanted, None
            taken, is_refused, reached = found
            if is_refused or (taken < iterations and not self._is_exact):
                self._is_told = False
                return wanted, None  # an iteration that kernels cannot run: the plan continues
            text = self._difference(values, iterations, wanted, taken, reached)
            if text is not None or iterations < _COMPARED:
                return wanted, text
            self._check()
            found = self._advance(wanted, between)
            if found is None:
                return wanted, None
            taken, is_refused, values = found
            if taken < between:
                is_wrong = self._is_exact and not is_refused
                return values, self._early_end(values) if is_wrong else None
            self._check()
            between = min(between * growth, _MOST_BETWEEN)

    def _by_plan(self, values: Sequence[Array]) -> tuple[int, Sequence[Array]]:
        for iterations in range(_COMPARED):
            if not bool(self._test(values, self._context)[0]):
                return iterations, values
            values = self._turn(values, self._context)
        return _COMPARED, values

    def _early_end(self, values: Sequence[Array]) -> str | None:
        if bool(self._test(values, self._context)[0]):
            return "it ended although its condition is true"
        return None

    def _difference(
        self,
        before: Sequence[Array],
        iterations: int,
        wanted: Sequence[Array],
        taken: int,
        found: Sequence[Array],
    ) -> str | None:
        if self._is_exact:
            text = agreement.bit_difference(wanted, found)
            return (
                text
                if taken == iterations or text
                else f"{taken} iterations instead of {iterations}"
            )
        text = agreement.difference(wanted, found)
        if text is None:
            return None
        try:
            _, moved = self._by_plan(agreement.disturbed(before))
        except Exception:
            return text
        return agreement.difference(wanted, found, moved) and text
