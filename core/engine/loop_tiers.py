"""How the loops with one body run: by tables of statements, or iteration by iteration.

A loop gets a table at its first start, if its iterations have statements; otherwise an iteration
has regions (`turns`). A table stops before an iteration that it cannot run, and the plan continues
from there: it raises the user's errors.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pinnace.framework import config, float_warnings
from pinnace.framework.errors import OpError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.codegen.loops import Loop
    from pinnace.engine.codegen.recurrences import Recurrence, Variant
    from pinnace.engine.plan import Plan
    from pinnace.engine.turns import Turns
    from pinnace.framework.tensor import Array


class LoopTiers:
    """The tables of the loops with one body, for one tier.

    Args:
        body: the plan of an iteration.
    """

    def __init__(self, body: Plan) -> None:
        self._body = body
        self._lock = threading.Lock()
        # The plan of the condition that the fields below belong to; None until the first start.
        self._test: Plan | None = None
        self._loop: Loop | None = None
        self._recurrence: Recurrence | None = None
        # What runs single iterations for shapes without a table of the whole loop.
        self.turns: Turns | None = None
        # Whether a table raised where the plan does not, or did not agree with it.
        self._has_failed = False

    def function(self, values: Sequence[Array] | None) -> Callable[..., Any]:
        """The function for iterations that no table of the whole loop runs.

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
                recovery.reject("loop", self._body, error, "")
            return values, False

    def _finished(
        self, test: Plan, values: Sequence[Array], check: Callable[[], None]
    ) -> tuple[Sequence[Array], bool]:
        """As `finish`, while nothing has failed."""
        if self._test is None:
            self._look(test)
        if self._test is not test:
            return values, False
        if self._loop is not None:
            return self._by_table(self._loop, values, check, is_exact=True)
        recurrence = self._recurrence
        if recurrence is None:
            return values, False
        silence = float_warnings.begin()
        try:
            variant: Variant | None = recurrence.variant(values)
            if variant is not None:
                return self._by_table(variant, values, check, is_exact=False)
        finally:
            float_warnings.end(silence)
        self._take_turns(recurrence, values)
        return values, False

    def _take_turns(self, recurrence: Recurrence, values: Sequence[Array]) -> None:
        """Give single iterations regions, if the whole loop has no table for these variables."""
        from pinnace.engine.codegen.loop_lists import form_of
        from pinnace.engine.turns import Turns

        if not recurrence.has_lost(form_of(values)):
            return
        with self._lock:
            if self.turns is None:
                self.turns = Turns(self._body)
            if recurrence.has_none and self._recurrence is recurrence:
                self._recurrence = None

    @property
    def body(self) -> Plan:
        """The plan of an iteration."""
        return self._body

    @property
    def standing(self) -> str:
        """Why no table runs whole loops; empty if one does."""
        if self._has_failed:
            return "the loop's table failed: see the log"
        if self._test is None:
            return "it has not begun"
        if self._loop is None and self._recurrence is None:
            return "neither a loop over scalars nor a recurrence that has statements"
        return ""

    def _look(self, test: Plan) -> None:
        """Look for a table."""
        with self._lock:
            if self._test is not None:
                return
            from pinnace.engine.codegen.loops import loop_of
            from pinnace.engine.codegen.recurrences import recurrence_of

            self._loop = loop_of(test, self._body)
            if self._loop is None:
                self._recurrence = recurrence_of(test, self._body)
            self._test = test

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
            table: of the loop.
            values: the loop variables.
            check: see `finish`.
            is_exact: whether its results are the plan's bit for bit.
        """
        if not config.settings.check:
            return table.run(values, check)
        from pinnace.engine.checking import CheckedLoop

        assert self._test is not None  # noqa: S101 - it was looked for
        checked = CheckedLoop(self._test, self._body, table.advance, check, is_exact=is_exact)
        values, self._has_failed = checked.run(values)
        return values, False
