"""Which steps of a plan its kernel takes, and which the plan runs ahead of it and behind.

Steps without a statement, look-ups of strings for one, are no reason to do without the kernel where
that has a loop, or much to do: those that do not need its loops and products run ahead of it with
all that they need, the others behind it with all that needs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.plan_statements import has_statement
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value


# Steps that a kernel without a loop takes for each that it leaves to the plan, at least.
_FOR_EACH = 3


@dataclass(slots=True)
class Parts:
    """The steps of a plan, sorted.

    Attributes:
        reads: places of those that read variables.
        nodes: those of the kernel.
        known: values that shapes alone determine.
        ahead, behind: places of those that the plan runs.
    """

    reads: list[int] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    known: dict[Value, Array] = field(default_factory=dict)
    ahead: list[int] = field(default_factory=list)
    behind: list[int] = field(default_factory=list)


def parts_of(plan: Plan, watched: Mapping[Value, Any], *, with_whole: bool) -> Parts:
    """The steps of a plan, sorted.

    Args:
        plan: without effects but reads of variables and tables.
        watched: each value at one call.
        with_whole: whether steps on whole numbers have statements.

    Raises:
        UnsupportedError: there are steps without a statement, and neither a loop nor products that
            are worth a kernel.
    """
    found = Parts()
    rest: list[int] = []
    without: list[int] = []
    for position, step in enumerate(plan.steps):
        node = step.node
        if node.op.name == "ReadVariableOp":
            found.reads.append(position)
        elif _is_known(node, found.known):
            found.known.update((value, np.asarray(watched[value])) for value in node.outputs)
        elif has_statement(node, with_whole=with_whole):
            rest.append(position)
        elif node.outputs or node.op.effect is not None:
            without.append(position)  # others order effects, and there are none
    if without:
        _Split(plan, found, rest, without).part()
    else:
        found.nodes = [plan.steps[position].node for position in rest]
    return found


def _is_known(node: Node, known: Mapping[Value, Array]) -> bool:
    if node.op.shape_query:
        return True
    return bool(node.inputs) and all(
        value in known or constant_of(value) is not None for value in node.inputs
    )


class _Split:
    """A plan with steps that have no statement.

    Args:
        plan: the plan.
        found: its steps, sorted so far.
        rest: places of those with a statement.
        without: and of the others.
    """

    def __init__(self, plan: Plan, found: Parts, rest: list[int], without: list[int]) -> None:
        self._plan, self._found, self._rest, self._without = plan, found, rest, without
        self._made = {
            value: position
            for position, step in enumerate(plan.steps)
            for value in step.node.outputs
        }

    def part(self) -> None:
        """Put each step where it runs."""
        steps, found = self._plan.steps, self._found
        for position in self._without:
            op = steps[position].node.op
            if op.product is not None:
                raise UnsupportedError(f"{op.name} has no statement, and regions multiply")
        has_loops = any(steps[p].node.op.runs == "loop" for p in self._rest)
        centres = [p for p in self._rest if self._is_centre(p, has_loops)]
        if not centres:
            raise UnsupportedError(f"{steps[self._without[0]].node.op.name} has no statement")
        centred = self._after(centres)
        behind = self._after(p for p in self._without if p in centred)
        inputs = (value for position in behind for value in steps[position].node.inputs)
        # What shapes alone determine is asked for by its name there.
        named = {self._made[value] for value in inputs if value in found.known}
        ahead = self._before({*self._without, *named} - behind)
        if ahead & centred:
            raise UnsupportedError("a shape of what the kernel makes")
        found.ahead, found.behind = sorted(ahead), sorted(behind)
        found.nodes = [steps[p].node for p in self._rest if p not in ahead and p not in behind]
        left = {*centres} - behind
        if not left:
            raise UnsupportedError("nothing is left that is worth a kernel")
        if not has_loops and len(found.nodes) < _FOR_EACH * (len(ahead) + len(behind)):
            raise UnsupportedError("too many steps without a statement")

    def _is_centre(self, position: int, has_loops: bool) -> bool:
        """Whether a step is what a kernel is worth making for: a loop, or else a product."""
        op = self._plan.steps[position].node.op
        return op.runs == "loop" if has_loops else op.product is not None

    def _after(self, positions: Iterable[int]) -> set[int]:
        """Places of these steps and of all that need what they make."""
        reached = set(positions)
        made = {value for p in reached for value in self._plan.steps[p].node.outputs}
        for position, step in enumerate(self._plan.steps):
            if made.intersection(step.node.inputs) and step.node.outputs:
                reached.add(position)
                made.update(step.node.outputs)
        return reached

    def _before(self, positions: Iterable[int]) -> set[int]:
        """Places of these steps and of all that they need."""
        reached: set[int] = set()
        pending = list(positions)
        while pending:
            position = pending.pop()
            if position in reached:
                continue
            reached.add(position)
            inputs = self._plan.steps[position].node.inputs
            pending += [self._made[value] for value in inputs if value in self._made]
        return reached
