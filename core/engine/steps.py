"""The steps of a plan, and the regions that may replace several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pinnace.graph.walk import ordered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.waiting import Requested
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph, Node, Value
    from pinnace.ops.running import RunContext


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
    return [
        Step(node) for node in ordered(graph) if node not in arguments and node.op.name != "Const"
    ]


def run_node(
    node: Node, arrays: Sequence[Any], context: RunContext | None = None
) -> tuple[Array, ...]:
    """The outputs of a step's kernel.

    Args:
        node: the step.
        arrays: its inputs.
        context: of the run; None is allowed for ops that need none.

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
        made: Any = op.kernel(*op.pack_inputs(arrays, node.attrs), **options)
    if not node.outputs:
        return ()
    single = len(op.outputs) == 1 and not op.outputs[0].is_list
    return tuple(np.asarray(one) for one in ((made,) if single else made))


def may_run_again(node: Node) -> bool:
    """Whether nobody can tell if a step ran once more: it is pure, reads, or only checks."""
    op = node.op
    if op.wants_ctx:
        return False
    return op.effect in {None, "read"} or (op.traceless and not op.reaches)


class Part(Protocol):
    """Steps of a plan that form a region."""

    @property
    def members(self) -> Sequence[int]:
        """Indices of the steps, ascending."""

    @property
    def inputs(self) -> Sequence[Value]:
        """Values that the steps need from outside."""

    @property
    def outputs(self) -> Sequence[Value]:
        """Values of the steps that are needed outside."""


class Region(Protocol):
    """Steps of a plan as machine code, which may still be compiling.

    Attributes:
        misses: calls with other shapes, which ran the steps one by one.
        needs_blas: whether it may call BLAS, which must be set to one thread then.
    """

    misses: int
    needs_blas: bool

    @property
    def cluster(self) -> Part:
        """The steps."""

    @property
    def kernel(self) -> Requested:
        """The machine code."""

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> Sequence[Array]:
        """Compute the cluster's outputs.

        Args:
            inputs: the cluster's.
            outs: arrays to write them into; None for a new array.
        """
