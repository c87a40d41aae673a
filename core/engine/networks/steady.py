"""Values that follow from a plan's weights alone: they stay until one is assigned to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.steps import run_node
from pinnace.framework import dtypes
from pinnace.graph.graph import FunctionRef, Graph, constant_of
from pinnace.ops.functional.calls import STATEFUL_PARTITIONED_CALL
from pinnace.ops.functional.conditions import CASE, IF
from pinnace.ops.functional.loops import WHILE
from pinnace.ops.state.variables import READ_VARIABLE, resource_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.engine.steps import Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# Effects under which a variable that was read keeps its value until the run is over.
_HARMLESS = frozenset({None, "read", "random"})
# What assigns to a variable only if the functions that it runs do.
_RUNNING = frozenset({CASE, IF, STATEFUL_PARTITIONED_CALL, WHILE})


def keep_weights(steps: Sequence[Step]) -> bool:
    """Whether nothing in a plan, or in a function that it runs, can assign to a variable."""
    pending = [[step.node for step in steps]]
    seen: set[Graph] = set()
    while pending:
        for node in pending.pop():
            op = node.op
            reached = op.reaches(node.attrs) if callable(op.reaches) else op.reaches
            is_harmless = op.effect in _HARMLESS or op.traceless or op in _RUNNING
            if reached == "Python" or not is_harmless:
                return False
            for value in node.attrs.values():
                for one in value if isinstance(value, tuple) else (value,):
                    # Each once: functions may call one another billions of times.
                    if isinstance(one, FunctionRef) and one.graph not in seen:
                        seen.add(one.graph)
                        pending.append(list(one.graph.nodes))
    return True


def find_steady(steps: Sequence[Step], variables: Collection[Value]) -> set[Value]:
    """The values of a plan that follow from constants and from these variables.

    Args:
        steps: a plan's, none of which assigns.
        variables: arguments that stand for variables.
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
    """The arrays of steady values, computed when they are asked for.

    Args:
        variables: for arguments that stand for variables, what a plan is given for them.
    """

    def __init__(self, variables: Mapping[Value, Array]) -> None:
        self._variables = variables
        self._found: dict[Value, Array] = {}

    def of(self, value: Value) -> Array:
        """The array of a steady value; of a variable's handle what the variable holds."""
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
            raise ValueError(f"{value} follows from more than weights")
        return array

    def _known(self, value: Value) -> Array | None:
        found = self._found.get(value)
        if found is None:
            found = self._variables.get(value)
        return constant_of(value) if found is None else found


def roots_of(values: Collection[Value], variables: Collection[Value]) -> list[Value]:
    """The variables that steady values follow from.

    Args:
        values: steady.
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
