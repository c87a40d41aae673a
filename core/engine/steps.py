"""The steps of a plan, and what may run in the place of several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pinnace.graph.walk import ordered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.waiting import Requested
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph, Node, Value


class Step:
    """One kernel call of a plan."""

    __slots__ = ("dies", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        # Values that nothing needs after this step.
        self.dies: list[Value] = []


def steps_of(graph: Graph) -> list[Step]:
    """The kernel calls of a graph, in the order they run."""
    arguments = {value.node for value in graph.inputs}
    return [
        Step(node) for node in ordered(graph) if node not in arguments and node.op.name != "Const"
    ]


class Part(Protocol):
    """Steps of a plan that belong together."""

    @property
    def members(self) -> Sequence[int]:
        """Places in the plan, ascending."""

    @property
    def inputs(self) -> Sequence[Value]:
        """What the steps need from outside."""

    @property
    def outputs(self) -> Sequence[Value]:
        """What is needed of the values they make."""


class Region(Protocol):
    """Steps of a plan as machine code, which may not be made yet.

    Attributes:
        misses: calls that had other shapes, and ran the steps one by one.
        needs_blas: whether it may multiply by BLAS, which wants to be on one thread then.
    """

    misses: int
    needs_blas: bool

    @property
    def cluster(self) -> Part:
        """The steps."""

    @property
    def kernel(self) -> Requested:
        """The code."""

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> Sequence[Array]:
        """The cluster's outputs.

        Args:
            inputs: the cluster's.
            outs: arrays to write them into; None for a new one.
        """
