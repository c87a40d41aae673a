"""Values that depend on a plan's weights alone: they change only if a weight is assigned to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.steps import run_node
from pinnace.framework import dtypes
from pinnace.graph.function_ref import functions_of
from pinnace.graph.graph import Graph, constant_of
from pinnace.ops.functional.calls import STATEFUL_PARTITIONED_CALL
from pinnace.ops.functional.conditions import CASE, IF
from pinnace.ops.functional.loops import WHILE
from pinnace.ops.state.variables import READ_VARIABLE, resource_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinnace.engine.steps import Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Effects under which a variable keeps its value after a read in the same run.
_HARMLESS = frozenset({None, "read", "random"})
# Ops that assign to a variable only if the functions they run do.
_RUNNING = frozenset({CASE, IF, STATEFUL_PARTITIONED_CALL, WHILE})


def find_assigned(steps: Sequence[Step]) -> set[Value] | None:
    """The handles of variables that a plan's steps may assign to, also in functions.

    Args:
        steps: the plan's steps.

    Returns:
        The handles; None if any variable may be assigned to.
    """
    assigned: set[Value] = set()
    for step in steps:
        node = step.node
        if _all_of(node, _is_harmless):
            continue
        handles = {value for value in node.inputs if value.dtype is dtypes.resource}
        # Functions that it runs may assign to these handles, too, and to no others.
        if not handles or not _all_of(node, lambda one: _is_harmless(one) or _takes_handles(one)):
            return None
        assigned |= handles
    return assigned


def _takes_handles(node: Node) -> bool:
    reached = node.op.reach(node.attrs)
    return reached != "Python" and any(one.dtype is dtypes.resource for one in node.inputs)


def _is_harmless(node: Node) -> bool:
    """Whether a node by itself cannot assign to a variable."""
    op = node.op
    reached = op.reach(node.attrs)
    return reached != "Python" and (op.effect in _HARMLESS or op.traceless or op in _RUNNING)


def _all_of(node: Node, holds: Callable[[Node], bool]) -> bool:
    """Whether a predicate holds for a node, and for all nodes of the functions that it runs."""
    pending = [[node]]
    seen: set[Graph] = set()
    while pending:
        for one in pending.pop():
            if not holds(one):
                return False
            for inner in functions_of(one):
                # Each function once: functions may call one another billions of times.
                if inner.graph not in seen:
                    seen.add(inner.graph)
                    pending.append(list(inner.graph.nodes))
    return True


def find_steady(steps: Sequence[Step], variables: Collection[Value]) -> set[Value]:
    """The values of a plan that depend only on constants and on these variables.

    Args:
        steps: the plan's steps.
        variables: arguments that are variables, to which no step assigns.
    """
    steady: set[Value] = set()

    def follows(value: Value) -> bool:
        return value in steady or constant_of(value) is not None

    for step in steps:
        node = step.node
        if node.controls or node.op.wants_ctx or node.op.kernel is None:
            continue
        if any(value.dtype in {dtypes.resource, dtypes.variant} for value in node.outputs):
            continue
        if node.op is READ_VARIABLE:
            if node.inputs[0] in variables:
                steady.update(node.outputs)
        elif node.op.effect is None and node.inputs and all(map(follows, node.inputs)):
            steady.update(node.outputs)
    return steady


class Evaluation:
    """The arrays of steady values, computed on demand.

    Args:
        variables: the handle given for each variable argument.
    """

    def __init__(self, variables: Mapping[Value, Array]) -> None:
        self._variables = variables
        self._found: dict[Value, Array] = {}

    def of(self, value: Value) -> Array:
        """The array of a steady value; for a variable's handle the variable's value."""
        if value.dtype is dtypes.resource:
            return resource_of(self._variables[value]).read()  # type: ignore[no-any-return]
        pending = [value]
        while pending:
            node = pending[-1].node
            missing = [one for one in node.inputs if self._known(one) is None]
            if self._known(pending[-1]) is not None:
                pending.pop()
            elif missing:
                pending.extend(missing)
            else:
                arrays = [self._known(value) for value in node.inputs]
                self._found.update(zip(node.outputs, run_node(node, arrays), strict=True))
        array = self._known(value)
        if array is None:
            raise ValueError(f"{value} does not depend on weights alone")
        return array

    def _known(self, value: Value) -> Array | None:
        found = self._found.get(value)
        if found is None:
            found = self._variables.get(value)
        return constant_of(value) if found is None else found


def roots_of(values: Collection[Value], variables: Collection[Value]) -> list[Value]:
    """The variables that steady values depend on.

    Args:
        values: steady values.
        variables: see `find_steady`.
    """
    found: dict[Value, None] = {}
    seen: set[Value] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in variables:
            found[value] = None
        else:
            pending.extend(value.node.inputs)
    return list(found)
