"""Copying nodes from one graph into another, under a substitution of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinnace.graph.graph import Graph, GraphBuilder, Node, Value


class Copy:
    """The copies of the values and nodes of one graph in another.

    Attributes:
        target: the variable copied into.
        values: value there for value here.
        nodes: the nodes there that stand for a node here (several for a call that was inlined).
    """

    def __init__(self, target: GraphBuilder) -> None:
        self.target = target
        self.values: dict[Value, Value] = {}
        self.nodes: dict[Node, tuple[Node, ...]] = {}

    def inputs(self, source: Graph) -> None:
        """Copy the arguments of `source` to the target."""
        for value, name in zip(source.inputs, source.input_names, strict=True):
            made = self.target.add_input(value.node.op, value.spec, name, value.handle)
            self.values[value] = made
            self.nodes[value.node] = (made.node,)

    def node(self, node: Node, prefix: str = "", extra: Iterable[Node] = ()) -> Node:
        """Copy one node; its inputs must have been copied before."""
        made = self.target.add_raw(
            node.op,
            [self.values[value] for value in node.inputs],
            node.attrs,
            f"{prefix}{node.name}",
            [_unnamed(value.spec) for value in node.outputs],
            self.controls(node.controls, extra) if node.controls or extra else (),
        )
        made.source = node.source
        for here, there in zip(node.outputs, made.outputs, strict=True):
            there.handle = here.handle
            self.values[here] = there
        self.nodes[node] = (made,)
        return made

    def controls(self, controls: Sequence[Node], extra: Iterable[Node] = ()) -> tuple[Node, ...]:
        """The copies of these nodes, and `extra`, each once."""
        found: dict[Node, None] = {}
        for control in controls:
            for node in self.nodes.get(control, ()):
                found[node] = None
        for node in extra:
            found[node] = None
        return tuple(found)

    def outputs(self, source: Graph) -> None:
        """Copy the results and effects of `source` to the target."""
        results = [self.values[value] for value in source.outputs]
        self.target.set_outputs(results, source.output_names)
        effects: dict[Node, None] = {}
        for node in source.effects:
            for there in self.nodes.get(node, ()):
                if there.op.stateful:
                    effects[there] = None
        self.target.effects = list(effects)


def _unnamed(spec: TensorSpec) -> TensorSpec:
    return spec if spec.name is None else TensorSpec.of(spec.shape, spec.dtype)
