"""The execution of loops with one body: by tables of statements, or iteration by iteration.

A loop gets a table at its first start, if its iterations have statements; otherwise an iteration
has regions. Over scalars there is one table; over arrays each set of shapes of the loop variables
has a table or regions of its own, for which one iteration is executed and recorded: inference
seldom knows the shapes in a body. A table stops before an iteration that it cannot run, and the
plan continues from there: it raises the user's errors.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.loop_clusters import LoopClusters, loop_clusters_of
from pinnace.engine.codegen.loop_lists import form_of
from pinnace.engine.forms import Weights, searched
from pinnace.engine.shares import Shares
from pinnace.engine.steps import may_run_again, plan_behind
from pinnace.framework import config, float_warnings
from pinnace.framework.errors import OpError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from pinnace.engine.codegen.loops import Loop
    from pinnace.engine.codegen.recurrences import Variant
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# Sets of shapes for which a body has tables or regions.
_SHAPES = 8


class LoopTiers:
    """The forms of the loops with one body, for one tier.

    Args:
        body: the plan of an iteration.
    """

    def __init__(self, body: Plan) -> None:
        self._body_ref = weakref.ref(body)
        self._lock = threading.Lock()
        # The plan of the condition that the fields below belong to; None until the first start.
        self._test: Plan | None = None
        # The table of a loop over scalars.
        self._loop: Loop | None = None
        # Whether an iteration may be recorded: it has no effects.
        self._may_record = False
        # Whether a table is looked for: not if the first set of shapes had none.
        self._may_have_tables = True
        # Forms by shapes of loop variables; None if nothing can be gained.
        self._held: dict[Hashable, Variant | LoopClusters | None] = {}
        self._shares: Shares[Variant | LoopClusters] = Shares(self._held, _SHAPES)
        # Whether a table raised where the plan does not, or did not agree with it.
        self._has_failed = False

    @property
    def body(self) -> Plan:
        """The plan of an iteration."""
        return plan_behind(self._body_ref)

    @property
    def forms(self) -> list[Variant | LoopClusters]:
        """The tables and regions so far, one for each set of shapes."""
        return [one for one in list(self._held.values()) if one is not None]

    def function(self, values: Sequence[Array] | None) -> Callable[..., Any]:
        """The function for iterations that no table of the whole loop runs.

        Args:
            values: the loop variables; None if the caller has none.
        """
        if values is None or not self._held:
            return self.body.run
        regions = self._held.get(form_of(values))
        if not isinstance(regions, LoopClusters):
            return self.body.run
        regions.uses += 1
        return regions.function()

    def finish(
        self, test: Plan, values: Sequence[Array], check: Callable[[], None]
    ) -> tuple[Sequence[Array], bool]:
        """The loop variables after the iterations that a table could run: all, some or none.

        Args:
            test: the plan of the condition.
            values: the loop variables.
            check: called at intervals; raises if the run was cancelled.

        Returns:
            The loop variables, and whether the condition is known to be false for them.
        """
        if self._has_failed:
            return values, False
        try:
            return self._finished(test, values, check)
        except Exception as error:
            # Iterations have no effects here: the plan repeats them all, and raises the user's
            # errors.
            from pinnace.engine import recovery

            if not recovery.may_be_ours(error):
                raise
            if not isinstance(error, OpError):
                self._has_failed = True
                recovery.reject("loop", self.body, error, "")
            return values, False

    def _finished(
        self, test: Plan, values: Sequence[Array], check: Callable[[], None]
    ) -> tuple[Sequence[Array], bool]:
        """Like `finish`, while nothing has failed."""
        if self._test is None:
            self._look(test)
        if self._test is not test:
            return values, False
        if self._loop is not None:
            return self._by_table(self._loop, values, check, is_exact=True)
        if not self._may_record:
            return values, False
        silence = float_warnings.begin()
        try:
            form = self._form(test, values)
            if form is not None and not isinstance(form, LoopClusters):
                form.uses += 1
                return self._by_table(form, values, check, is_exact=False)
        finally:
            float_warnings.end(silence)
        return values, False

    def _look(self, test: Plan) -> None:
        """Look for a table over scalars."""
        with self._lock:
            if self._test is not None:
                return
            from pinnace.engine.codegen.loops import loop_of

            self._loop = loop_of(test, self.body)
            steps = (*test.steps, *self.body.steps)
            self._may_record = all(may_run_again(step.node) for step in steps)
            self._test = test

    def _form(self, test: Plan, values: Sequence[Array]) -> Variant | LoopClusters | None:
        """The form of loops with these variables; made now, if they get one."""
        key = form_of(values)
        form = self._held.get(key)
        if form is not None or key in self._held or not test.run(values, None)[0]:
            return form  # None if there is no iteration to make it from
        with self._lock:
            uses = 0 if key in self._held else self._shares.admit(key)
            if uses:
                form = self._held[key] = self._made(test, values)
                if form is not None:
                    form.uses = uses
        return self._held.get(key)

    def _made(self, test: Plan, values: Sequence[Array]) -> Variant | LoopClusters | None:
        from pinnace.engine.codegen.iteration import Iteration
        from pinnace.engine.codegen.recurrences import Variant

        with np.errstate(all="ignore"):
            try:
                watched = self.body.source.recording()(values)
            except Exception:
                return None  # an additional iteration is not possible: an index is out of range
        if self._may_have_tables:
            try:
                return Variant(Iteration(test, self.body, values, watched))
            except UnsupportedError:
                self._may_have_tables = self._has_tables
        return self._regions(values, watched)

    @property
    def _has_tables(self) -> bool:
        return not all(isinstance(one, LoopClusters) for one in self.forms)

    def _regions(
        self, values: Sequence[Array], watched: Mapping[Value, Any]
    ) -> LoopClusters | None:
        """The regions of an iteration; None if it has none.

        Args:
            values: the loop variables.
            watched: the values of one iteration, from these variables.
        """
        graph = self.body.graph
        pairs = zip(graph.inputs, graph.outputs, strict=True)
        assigned = {place for place, (value, result) in enumerate(pairs) if value is not result}
        steady = Weights(self.body, values, assigned).values
        return searched(graph, lambda: loop_clusters_of(self.body, watched, steady))

    @property
    def standing(self) -> str:
        """The reason why no table runs whole loops; empty if one does."""
        if self._has_failed:
            return "the loop's table failed: see the log"
        if self._test is None:
            return "it has not started"
        if self._loop is None and not self._has_tables:
            return "neither a loop over scalars nor a recurrence that has statements"
        return ""

    def _by_table(
        self,
        table: Loop | Variant,
        values: Sequence[Array],
        check: Callable[[], None],
        *,
        is_exact: bool,
    ) -> tuple[Sequence[Array], bool]:
        """Run a table; compared with the plan if `Settings.check` is on.

        Args:
            table: the loop's table.
            values: the loop variables.
            check: see `finish`.
            is_exact: whether its results are the plan's bit for bit.
        """
        if not config.settings.check:
            return table.run(values, check)
        from pinnace.engine.checking import CheckedLoop

        assert self._test is not None  # noqa: S101 - it was looked for
        checked = CheckedLoop(self._test, self.body, table.advance, check, is_exact=is_exact)
        values, self._has_failed = checked.run(values)
        return values, False
