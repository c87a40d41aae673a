"""The passes from a graph to a plan, in order."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pinnace.engine import single_steps
from pinnace.engine import threads as threads  # reacts to `config.threading`
from pinnace.engine.passes.fold import fold
from pinnace.engine.passes.inline import inline
from pinnace.engine.passes.invariants import with_invariants
from pinnace.engine.passes.neutral import without_neutral
from pinnace.engine.passes.powers import multiplied
from pinnace.engine.passes.shortcuts import shortened
from pinnace.engine.passes.unread import without_unread
from pinnace.engine.passes.windows import windowed
from pinnace.engine.passes.write_backs import without_write_backs
from pinnace.engine.plan import Plan
from pinnace.framework.process_effects import collector_paused
from pinnace.graph.caches import PerGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph
    from pinnace.ops.opdef import OpDef
    from pinnace.ops.running import RunContext

_lock = threading.RLock()
_plans: PerGraph[Plan] = PerGraph()


def build(graph: Graph) -> Plan:
    """A plan of `graph`."""
    calls = any(node.op.runs == "call" for node in graph.nodes)
    flat = inline(graph, keep=True) if calls else graph
    folded = multiplied(without_neutral(without_write_backs(fold(flat))))
    return Plan(windowed(with_invariants(without_unread(shortened(folded)))))


def plan_of(graph: Graph) -> Plan:
    """The one plan of a graph, built on first use and shared by threads."""
    plan = _plans.get(graph)
    if plan is None:
        with _lock:
            plan = _plans.get(graph)
            if plan is None:
                with collector_paused():
                    plan = _plans.keep(graph, build(graph))
    return plan


def drop_plan(graph: Graph) -> None:
    """Drop the plan of a graph with its packed weights and state; the next call builds another."""
    _plans.drop(graph)


def call_function(function: Any, arrays: Sequence[Array], context: RunContext) -> tuple[Array, ...]:
    """`RunContext.call`: a nested function uses the random streams of its run."""
    return plan_of(function.graph)(arrays, context)


def bind_function(
    function: Any, context: RunContext, values: Sequence[Array] | None = None
) -> Callable[[Sequence[Array]], tuple[Array, ...]]:
    """See `RunContext.bind`."""
    return plan_of(function.graph).nested(context, values)


def run_alone(op: OpDef, arrays: Sequence[Array], attrs: dict[str, Any]) -> Array | None:
    """See `RunContext.alone`."""
    return single_steps.run(op, arrays, attrs)


def finish_loop(
    cond: Any, body: Any, values: Sequence[Array], context: RunContext
) -> tuple[Sequence[Array], bool]:
    """`RunContext.finish`: the kernel of a loop is stored with the plan of its body."""
    loops = plan_of(body.graph).tiers.loops()
    if loops is None:
        return values, False
    return loops.finish(plan_of(cond.graph), values, context.check)
