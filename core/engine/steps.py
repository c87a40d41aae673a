"""The steps of a plan, and the regions that may replace several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.graph.walk import ordered
from pinnace.ops.kernels.halves import kernel_of

if TYPE_CHECKING:
    import weakref
    from collections.abc import Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph, Node, Value
    from pinnace.ops.running import RunContext


class CallError(Exception):
    """A plan cannot run with the arguments of a call; the cause is the plan's error."""


def plan_behind(reference: weakref.ref[Plan]) -> Plan:
    """The plan that a form belongs to.

    A plan refers to its forms: if these also referred to the plan, weights that they packed would
    be kept until the next garbage collection.

    Args:
        reference: weak reference to the plan; the caller of a form holds the plan.
    """
    plan = reference()
    assert plan is not None  # noqa: S101 - for mypy
    return plan


class Step:
    """One kernel call of a plan."""

    __slots__ = ("dies", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        # Values whose live range ends with this step.
        self.dies: list[Value] = []


def steps_of(graph: Graph) -> list[Step]:
    """The kernel calls of a graph, in execution order."""
    arguments = {value.node for value in graph.inputs}
    nodes = [node for node in ordered(graph) if node not in arguments and node.op.name != "Const"]
    return [Step(node) for node in _with_early_stacks(nodes)]


def uses_of(steps: Sequence[Step]) -> dict[Value, list[int]]:
    """For each value, the indices of the steps that take it, once for each input."""
    found: dict[Value, list[int]] = {}
    for place, step in enumerate(steps):
        for value in step.node.inputs:
            found.setdefault(value, []).append(place)
    return found


def _with_early_stacks(nodes: Sequence[Node]) -> list[Node]:
    """The same nodes, with stacks of float32 tensors as soon as their parts are available.

    A decoder's loop stacks the new keys and values of all layers at its end: until then a network
    would have to keep them outside of the product that they are slices of. A stack takes no more
    memory than its parts.
    """
    # For each stack, the number of its parts' nodes that have not run.
    waiting: dict[Node, int] = {}
    takers: dict[Node, list[Node]] = {}
    here = set(nodes)
    for node in nodes:
        parts = {value.node for value in node.inputs if value.node in here}
        if parts and _is_stack(node):
            waiting[node] = len(parts)
            for part in parts:
                takers.setdefault(part, []).append(node)
    found: list[Node] = []
    for node in nodes:
        ready = [] if node in waiting else [node]
        while ready:
            run = ready.pop()
            found.append(run)
            for stack in takers.get(run, ()):
                waiting[stack] -= 1
                if not waiting[stack]:
                    ready.append(stack)
    return found


def _is_stack(node: Node) -> bool:
    out = node.outputs[0] if node.outputs else None
    return (
        node.op.moves == "stack"
        and not node.controls
        and out is not None
        and out.dtype is dtypes.float32
        and out.shape.rank not in {None, 0, 1}
    )


def run_node(
    node: Node, arrays: Sequence[Any], context: RunContext | None = None
) -> tuple[Array, ...]:
    """The outputs of a step's kernel.

    Args:
        node: the step.
        arrays: its inputs.
        context: the run's context; None is allowed for ops that need none.

    Raises:
        ValueError: the op has no kernel.
    """
    op = node.op
    if op.kernel is None:
        raise ValueError(f"{op.name} has no kernel")
    options = {name: node.attrs[name] for name in op.kernel_attrs}
    if op.wants_ctx and context is not None:
        options["ctx"] = context.of(node) if op.effect == "random" else context
    with np.errstate(all="ignore"):
        kernel = kernel_of(op, node.outputs[0].dtype) if node.outputs else op.kernel
        made: Any = kernel(*op.pack_inputs(arrays, node.attrs), **options)
    if not node.outputs:
        return ()
    single = len(op.outputs) == 1 and not op.outputs[0].is_list
    return tuple(np.asarray(one) for one in ((made,) if single else made))


def run_step(node: Node, values: dict[Value, Any]) -> None:
    """Add the outputs of a step's kernel to the given values, which need not have constants."""
    arrays = [values[value] if value in values else constant_of(value) for value in node.inputs]
    values.update(zip(node.outputs, run_node(node, arrays), strict=True))


def may_run_again(node: Node) -> bool:
    """Whether running a step once more is unobservable: it is pure, reads, or only checks."""
    return changes_nothing(node) and not node.op.wants_ctx


def changes_nothing(node: Node) -> bool:
    """Whether later steps cannot tell that a step ran: it is pure, reads, or only checks."""
    op = node.op
    return op.effect in {None, "read"} or (op.traceless and not op.reaches)


class Part(Protocol):
    """Steps of a plan that form a region; see `PlainPart`."""

    @property
    def members(self) -> Sequence[int]:
        """Indices of the steps, ascending."""

    @property
    def inputs(self) -> Sequence[Value]:
        """Values that the steps need from outside."""

    @property
    def outputs(self) -> Sequence[Value]:
        """Values of the steps that are needed outside."""


class PlainPart(NamedTuple):
    """A part with these fields alone."""

    members: Sequence[int]
    inputs: Sequence[Value]
    outputs: Sequence[Value]


class Region(Protocol):
    """Steps of a plan as machine code.

    Attributes:
        misses: calls with other shapes, which ran the steps one by one.
    """

    misses: int

    @property
    def cluster(self) -> Part:
        """The steps."""

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> Sequence[Array]:
        """Compute the cluster's outputs.

        Args:
            inputs: the cluster's inputs.
            outs: arrays to write them into; None for a new array.
        """
