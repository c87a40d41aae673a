"""Executes a plan once and records every value, and the iterations of its loops.

The results have been computed before: recording may not take longer than a kernel is worth,
whatever the loops do.
"""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING

import numpy as np

from pinnace import late
from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.steps import CallError, may_run_again, run_node
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Most iterations of a loop in a kernel without polling the stop flag; most seconds of this thread
# that they may take by plans: other processes do not determine what a call runs.
ITERATIONS, _SECONDS = 1 << 11, 0.25


def watched(plan: Plan, arrays: Sequence[Array]) -> tuple[dict[Value, Array], dict[Node, int]]:
    """Every value of a call, and the iterations of each loop.

    Args:
        plan: the plan, without effects except reads of variables.
        arrays: its arguments.

    Raises:
        UnsupportedError: a loop has effects, or takes long.
        CallError: a step refused its inputs, such as an index out of range.
    """
    try:
        return _watched(plan, arrays)
    except UnsupportedError:
        raise
    except Exception as error:
        raise CallError(str(error)) from error


def _watched(plan: Plan, arrays: Sequence[Array]) -> tuple[dict[Value, Array], dict[Node, int]]:
    values: dict[Value, Array] = dict(zip(plan.graph.inputs, arrays, strict=True))
    counts: dict[Node, int] = {}
    for node in (step.node for step in plan.steps):
        given = []
        for value in node.inputs:
            constant = constant_of(value) if value not in values else None
            if constant is not None:
                values[value] = constant
            given.append(values[value])
        if node.op.runs == "loop":
            made, counts[node] = _looped(node, given)
            values.update(zip(node.outputs, made, strict=True))
        elif node.outputs:
            values.update(zip(node.outputs, run_node(node, given), strict=True))
    return values, counts


def plans_of_loop(node: Node) -> tuple[Plan, Plan]:
    """The plans of a loop's condition and body.

    Args:
        node: the loop.
    """
    return late.plan_of(node.attrs["cond"].graph), late.plan_of(node.attrs["body"].graph)


def _looped(node: Node, values: Sequence[Array]) -> tuple[Sequence[Array], int]:
    """The loop variables at the end, and the number of iterations."""
    test, body = plans_of_loop(node)
    steps = [*test.steps, *body.steps]
    if not all(may_run_again(step.node) for step in steps):
        raise UnsupportedError("a loop with side effects, or with a nested loop")
    count, begun = 0, thread_time()
    with np.errstate(all="ignore"):
        while bool(test.run(values, None)[0]):
            values = body.run(values, None)
            count += 1
            if count >= ITERATIONS or thread_time() - begun > _SECONDS:
                raise UnsupportedError("the loop takes too long")
    return values, count
