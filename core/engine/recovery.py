"""The result of a call when compiled code raises where the plan does not.

The plan continues from the step at which the compiled form failed, one kernel per step, so that
effects happen once: values that the form had computed are used, and those that it would have
computed in another order are computed on demand. If a step raises as well, the caller gets that
error. If none does, the compiled form was wrong: the plan runs this call and all later ones, and
`rejections` logs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine import rejections
from pinnace.engine.source import locate
from pinnace.engine.steps import run_node
from pinnace.framework import config, errors
from pinnace.graph.graph import constant_of
from pinnace.graph.text import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from pinnace.engine.layout import Layout
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value
    from pinnace.ops.running import RunContext

# The run was cancelled or lacks memory: no other form would do better.
_ENDS = (
    errors.CancelledError,
    errors.DeadlineExceededError,
    errors.ResourceExhaustedError,
    MemoryError,
)


def answered(
    plan: Plan,
    leased: Any,
    error: Exception,
    arrays: Sequence[Array],
    context: RunContext | None,
) -> tuple[Array, ...] | None:
    """The outputs of a call whose lease raised; None if the plan cannot continue from there.

    Args:
        plan: the plan.
        leased: the lease that ran it.
        error: the error that it raised.
        arrays: the call's arguments.
        context: the run's context.

    Raises:
        Exception: the plan's error for these arguments.
    """
    if not may_be_ours(error):
        return None
    inner = _innermost(leased)
    is_one_kernel = hasattr(inner, "by_steps")  # its source lines are not steps
    found = None if is_one_kernel else plan.source.failed_at(error)
    try:
        if found is None:  # no step has run, or one kernel ran them all, without effects
            results = _by_plan(plan, arrays, context)
        else:
            place, frame = found
            results = _Rest(plan, _layout_of(inner), place, frame, context).run()
    except _StuckError:
        return None
    except Exception as own:  # the caller's error, raised by the plan
        raise own from own.__cause__
    where = "" if found is None else f" at {plan.steps[found[0]].node.name!r}"
    plan.tiers.fail()
    reject("call", plan, error, where)
    return results


def iteration(
    body: Plan, error: Exception, arrays: Sequence[Array], context: RunContext
) -> tuple[Array, ...] | None:
    """Like `answered`, for an iteration of a loop by regions, which have no effects."""
    if not may_be_ours(error) or any(one is None for one in arrays):
        return None  # an argument may have been written into: the iteration cannot be repeated
    try:
        results = _by_plan(body, arrays, context)
    except Exception as own:
        raise own from own.__cause__
    body.tiers.fail()
    reject("turns", body, error, "")
    return results


def _by_plan(plan: Plan, arrays: Sequence[Array], context: RunContext | None) -> tuple[Array, ...]:
    try:
        return plan.run(arrays, context)  # type: ignore[no-any-return]
    except Exception as error:
        plan.source.locate(error)
        raise


def reject(kind: str, plan: Plan, error: Exception, where: str) -> None:
    """Log code that raised."""
    text = f"raised {type(error).__name__}: {error}{where}"
    rejections.reject(kind, plan.graph.name, text, text_of(plan.graph))


def may_be_ours(error: Exception) -> bool:
    """Whether compiled code may have caused an error; a pinned tier, for tests, passes all on."""
    return not isinstance(error, _ENDS) and config.settings.pinned_tier != "compiled"


def _innermost(leased: Any) -> Any:
    """The innermost lease, inside a profile or poisoning."""
    while hasattr(leased, "leased"):
        leased = leased.leased
    return leased


def _layout_of(leased: Any) -> Layout | None:
    """The layout of the workspace that ran."""
    return leased.layout if hasattr(leased, "layout") else None


class _StuckError(Exception):
    """The run cannot be continued from this point."""


class _Rest:
    """The steps of a plan from the failed one on.

    Args:
        plan: the plan.
        layout: the layout of the failed function; None if it writes into no buffers.
        place: index of the failed step.
        frame: the failed function's frame.
        context: the run's context.
    """

    def __init__(
        self,
        plan: Plan,
        layout: Layout | None,
        place: int,
        frame: FrameType,
        context: RunContext | None,
    ) -> None:
        self._plan = plan
        self._place = place
        self._context = context
        self._places = {
            value: at for at, step in enumerate(plan.steps) for value in step.node.outputs
        }
        self._fused = {} if layout is None else layout.regions
        self._values = _alive(plan, layout, place, frame)

    def run(self) -> tuple[Array, ...]:
        """The plan's outputs.

        Raises:
            Exception: a step's error.
            _StuckError: an effect would happen twice.
        """
        steps = self._plan.steps
        if self._place not in self._fused and _has_effects(steps[self._place].node):
            raise _StuckError("the failed step may have had its side effect")
        for place in range(self._place, len(steps)):
            outputs = steps[place].node.outputs
            if not outputs or any(value not in self._values for value in outputs):
                self._make(place)
        return tuple(np.asarray(self._of(value)) for value in self._plan.graph.outputs)

    def _of(self, value: Value) -> Any:
        constant = constant_of(value)
        return self._values[value] if constant is None else constant

    def _make(self, wanted: int) -> None:
        """Run a step, after the skipped steps whose results it needs."""
        pending = [wanted]
        while pending:
            node = self._plan.steps[pending[-1]].node
            missing = [
                self._places[value]
                for value in node.inputs
                if value not in self._values and constant_of(value) is None
            ]
            if missing:
                pending += missing
                continue
            place = pending.pop()
            if place < self._place and node.op.effect not in {None, "read"}:
                raise _StuckError("a side effect would happen twice")
            if place < self._place and node.op.effect == "read" and self._has_written(place):
                raise _StuckError("a variable has been changed in the meantime")
            arrays = [self._of(value) for value in node.inputs]
            try:
                made = run_node(node, arrays, self._context)
            except Exception as error:
                if not getattr(error, "located", False):
                    locate(error, node)
                raise
            self._values.update(zip(node.outputs, made, strict=True))

    def _has_written(self, place: int) -> bool:
        """Whether a step between this one and the failed one may have assigned a variable."""
        between = self._plan.steps[place + 1 : self._place]
        return any(_has_effects(step.node) for step in between)


def _has_effects(node: Any) -> bool:
    return node.op.effect not in {None, "read"} or node.op.wants_ctx


def _alive(plan: Plan, layout: Layout | None, place: int, frame: FrameType) -> dict[Value, Any]:
    """The values that a failed function had computed and whose memory was not reused."""
    source = plan.source
    gone: set[Value] = set()
    if layout is not None:
        # A value's name remains after its buffer has been reused for another value.
        deaths = source.deaths(layout.regions, settled=layout.settled)
        gone = {value for dead in deaths[:place] for value in dead}
    known = {**frame.f_globals, **frame.f_locals}
    found = {value: known[name] for value, name in source.names().items() if name in known}
    return {value: array for value, array in found.items() if value not in gone}
