"""The steps of a plan in its kernel, and those that the plan runs before and after it.

A kernel with a loop, or with much work, is worthwhile even if some steps have no statement, such as
string lookups. Those that need none of its loops and products run before it, with everything they
need; the others run after it, with everything that needs them.
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


# Fewest steps of a kernel without a loop for each step left to the plan.
_FOR_EACH = 3


@dataclass(slots=True)
class Parts:
    """The steps of a plan, partitioned.

    Attributes:
        reads: indices of the steps that read variables.
        nodes: the steps of the kernel.
        known: values that depend on shapes alone.
        ahead, behind: indices of the steps that the plan runs before and after it.
    """

    reads: list[int] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    known: dict[Value, Array] = field(default_factory=dict)
    ahead: list[int] = field(default_factory=list)
    behind: list[int] = field(default_factory=list)


def parts_of(plan: Plan, watched: Mapping[Value, Any], *, with_whole: bool) -> Parts:
    """Partition the steps of a plan.

    Args:
        plan: the plan, without effects except reads of variables and tables.
        watched: the array of each value at one call.
        with_whole: whether integer steps have statements.

    Raises:
        UnsupportedError: there are steps without a statement, and neither a loop nor enough
            products for a kernel.
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
        found: its steps, partitioned so far.
        rest: indices of the steps with a statement.
        without: indices of the other steps.
    """

    def __init__(self, plan: Plan, found: Parts, rest: list[int], without: list[int]) -> None:
        self._plan, self._found, self._rest, self._without = plan, found, rest, without
        self._made = {
            value: position
            for position, step in enumerate(plan.steps)
            for value in step.node.outputs
        }

    def part(self) -> None:
        """Assign each step to a part."""
        steps, found = self._plan.steps, self._found
        for position in self._without:
            op = steps[position].node.op
            if op.product is not None:
                raise UnsupportedError(
                    f"{op.name} has no statement, and regions compute its product"
                )
        has_loops = any(steps[p].node.op.runs == "loop" for p in self._rest)
        centres = [p for p in self._rest if self._is_centre(p, has_loops)]
        if not centres:
            raise UnsupportedError(f"{steps[self._without[0]].node.op.name} has no statement")
        centred = self._after(centres)
        behind = self._after(p for p in self._without if p in centred)
        inputs = (value for position in behind for value in steps[position].node.inputs)
        # Values that depend on shapes alone are looked up by name.
        named = {self._made[value] for value in inputs if value in found.known}
        ahead = self._before({*self._without, *named} - behind)
        if ahead & centred:
            raise UnsupportedError("the shape of a result of the kernel is needed")
        found.ahead, found.behind = sorted(ahead), sorted(behind)
        found.nodes = [steps[p].node for p in self._rest if p not in ahead and p not in behind]
        left = {*centres} - behind
        if not left:
            raise UnsupportedError("no remaining step is worth a kernel")
        if not has_loops and len(found.nodes) < _FOR_EACH * (len(ahead) + len(behind)):
            raise UnsupportedError("too many steps without a statement")

    def _is_centre(self, position: int, has_loops: bool) -> bool:
        """Whether a step makes a kernel worthwhile: a loop, or else a product."""
        op = self._plan.steps[position].node.op
        return op.runs == "loop" if has_loops else op.product is not None

    def _after(self, positions: Iterable[int]) -> set[int]:
        """Indices of these steps and of all that depend on them."""
        reached = set(positions)
        made = {value for p in reached for value in self._plan.steps[p].node.outputs}
        for position, step in enumerate(self._plan.steps):
            if made.intersection(step.node.inputs) and step.node.outputs:
                reached.add(position)
                made.update(step.node.outputs)
        return reached

    def _before(self, positions: Iterable[int]) -> set[int]:
        """Indices of these steps and of all that they depend on."""
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
