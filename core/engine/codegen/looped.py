"""A loop and the steps around it as one region of a plan that is too large for one kernel.

Convolutions before a recurrent layer are a network; the loop after it, the steps that prepare its
lists and those that use its results are a plan by themselves, small enough for a kernel
(`small_plans`). So neither part prevents compiling the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.fused import Fused
from pinnace.engine.codegen.plan_statements import has_statement
from pinnace.engine.codegen.small_plans import SmallPlan, table_of
from pinnace.engine.codegen.watching import watched
from pinnace.engine.steps import PlainPart, may_run_again, uses_of
from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import GraphBuilder, constant_of
from pinnace.ops.array.constants import CONST, PLACEHOLDER
from pinnace.ops.running import RunContext
from pinnace.ops.state.variables import READ_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.plan import Plan
    from pinnace.engine.steps import Region
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph, Node, Value


class Looped:
    """A region with a loop; see `engine.steps.Region`.

    Args:
        part: its steps.
        plan: the steps as a plan.
        small: the plan as one table.
        shapes: the shapes of the inputs that the table is for.

    Attributes:
        misses: calls with other shapes, which ran the steps one by one.
    """

    def __init__(
        self, part: PlainPart, plan: Plan, small: SmallPlan, shapes: Sequence[tuple[int, ...]]
    ) -> None:
        self.cluster, self._plan, self._small, self._shapes = part, plan, small, shapes
        self.misses = 0

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> Sequence[Array]:
        """Compute the outputs of the steps.

        Args:
            inputs: the part's inputs; with other shapes than the table's, the steps run one by one.
            outs: arrays to write them into; None for a new one.
        """
        context = RunContext()
        if state.stop is not None:
            state.stop.watch(context)
        if tuple([array.shape for array in inputs]) == self._shapes:
            found = self._small.run(inputs, context)
        else:
            self.misses += 1
            found = self._plan.run(inputs, context)
        results = list(found)
        for index, out in enumerate(outs):
            if out is not None:
                out[...] = results[index]
                results[index] = out
        return results


def join(
    plan: Plan,
    arrays: Sequence[Array],
    found: Mapping[int, Region | None],
    settled: Mapping[Value, Array],
    plan_of_part: Callable[[Graph], Plan],
) -> Mapping[int, Region | None]:
    """The regions of a plan, and one more if there is a loop outside them that has a kernel.

    Args:
        plan: the steps, a loop among them.
        arrays: arguments of a call; the plan runs once more with them.
        found: the regions so far, by index in the plan.
        settled: values whose steps are omitted.
        plan_of_part: makes a plan of some of the steps.
    """
    steps = [step.node for step in plan.steps]
    if not all(map(_may_run_again, steps)):
        return found
    try:
        part = _Search(plan, found, settled).part()
        values, _ = watched(plan, arrays)
        given = [np.asarray(values[value]) for value in part.inputs]
        graph = _graph_of(plan, part, given, settled)
        own = plan_of_part(graph)
        small = table_of(own, given)
    except UnsupportedError:
        return found
    region = Looped(part, own, small, tuple(array.shape for array in given))
    inside = set(part.members)
    lost = {
        place
        for one in found.values()
        if one is not None and inside.intersection(one.cluster.members)
        for place in one.cluster.members
    }
    kept = {place: one for place, one in found.items() if place not in lost}
    return {**kept, **dict.fromkeys(part.members), part.members[-1]: region}


def _may_run_again(node: Node) -> bool:
    """Whether a step may run at any time, and repeatedly; `watched` checks loops."""
    return node.op.runs == "loop" or may_run_again(node)


class _Search:
    """The steps of a plan that form one region with its loops.

    Args:
        plan: the steps.
        found: the regions so far, by index in the plan; purely elementwise ones are replaced.
        settled: values whose steps are omitted.
    """

    def __init__(
        self, plan: Plan, found: Mapping[int, Region | None], settled: Mapping[Value, Array]
    ) -> None:
        self._nodes = [step.node for step in plan.steps]
        self._outputs, self._settled = set(plan.graph.outputs), settled
        regions = [one for one in found.values() if one is not None and not isinstance(one, Fused)]
        self._taken = {place for one in regions for place in one.cluster.members}
        self._users = uses_of(plan.steps)

    def part(self) -> PlainPart:
        """The steps, their inputs and outputs.

        Raises:
            UnsupportedError: there is no loop among them, or they cannot run at one place.
        """
        members = self._at_one_place(self._ahead(self._behind()))
        inside = {value for place in members for value in self._nodes[place].outputs}
        used = dict.fromkeys(v for place in sorted(members) for v in self._nodes[place].inputs)
        inputs = [
            value
            for value in used
            if value not in inside and value not in self._settled and constant_of(value) is None
        ]
        outputs = [
            value
            for place in sorted(members)
            for value in self._nodes[place].outputs
            if value in self._outputs or not members.issuperset(self._users.get(value, ()))
        ]
        if any(value.dtype is dtypes.variant for value in (*inputs, *outputs)):
            raise UnsupportedError("a tensor list is an input or output")
        if any(value.dtype is dtypes.resource for value in outputs):
            raise UnsupportedError("a resource handle is an output")
        return PlainPart(sorted(members), inputs, outputs)

    def _at_one_place(self, members: set[int]) -> set[int]:
        """The steps before the first outside step that needs one of them."""
        users = {
            user
            for place in members
            for value in self._nodes[place].outputs
            for user in self._users.get(value, ())
        }
        end = min(users - members, default=len(self._nodes))
        kept = {place for place in members if place < end}
        if any(self._nodes[place].op.runs == "loop" for place in members - kept):
            raise UnsupportedError("a value is needed before a loop has ended")
        return kept if kept == members else self._at_one_place(kept)

    def _is_open(self, place: int) -> bool:
        """Whether a step may be in the region."""
        node = self._nodes[place]
        if (
            place in self._taken
            or not node.outputs
            or all(v in self._settled for v in node.outputs)
        ):
            return False
        if node.op is READ_VARIABLE or has_statement(node, with_whole=True):
            return True
        return all(v in self._settled or constant_of(v) is not None for v in node.inputs)

    def _behind(self) -> set[int]:
        """The loops, and their consumers that a kernel supports."""
        members: set[int] = set()
        inside: set[Value] = set()
        outside: set[Value] = set()
        for place, node in enumerate(self._nodes):
            used = inside.intersection(node.inputs)
            is_late = bool(outside.intersection(node.inputs))
            if not is_late and self._is_open(place) and (used or node.op.runs == "loop"):
                members.add(place)
                inside.update(node.outputs)
            elif used or is_late:
                outside.update(node.outputs)
        if not any(self._nodes[place].op.runs == "loop" for place in members):
            raise UnsupportedError("there is no loop")
        return members

    def _ahead(self, members: set[int]) -> set[int]:
        """These steps, and those that only they need."""
        members = set(members)
        for place in reversed(range(len(self._nodes))):
            node = self._nodes[place]
            if place in members or not self._is_open(place):
                continue
            users = [user for value in node.outputs for user in self._users.get(value, ())]
            if users and members.issuperset(users) and self._outputs.isdisjoint(node.outputs):
                members.add(place)
        return members


def _graph_of(
    plan: Plan, part: PlainPart, given: Sequence[Array], settled: Mapping[Value, Array]
) -> Graph:
    """The steps as a graph, for inputs with these shapes."""
    copy = Copy(GraphBuilder(f"{plan.graph.name}_loop"))
    for number, (value, array) in enumerate(zip(part.inputs, given, strict=True)):
        spec = TensorSpec.of(Shape.of(array.shape), value.dtype)
        copy.values[value] = copy.target.add_input(PLACEHOLDER, spec, f"x{number}", value.handle)
    for place in part.members:
        node = plan.steps[place].node
        for value in node.inputs:
            if value not in copy.values:
                fixed: Any = settled[value] if value in settled else constant_of(value)
                attrs = {"value": fixed, "dtype": value.dtype}
                made = copy.target.add_raw(CONST, (), attrs, value.node.name, [value.spec])
                made.outputs[0].refine(Shape.of(np.shape(fixed)))
                copy.values[value] = made.outputs[0]
        copy.node(node)
    results = [copy.values[value] for value in part.outputs]
    copy.target.set_outputs(results, [f"y{number}" for number in range(len(results))])
    return copy.target.finish()
