"""NodeView: the node that a converter converts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.ir.builder import carried
from pinnace.deploy.program.node_facts import NodeFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.lite.flow.lowering import Lowering
    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.graph import graph


class NodeView(NodeFacts[Any]):
    """A node of the program to be converted to LiteRT operators.

    Args:
        node: the node, with calls inlined and constants folded.
        lowering: converts functions to subgraphs.
        values: value of the program -> its tensor.
        takers: the nodes that use each value; None stands for the program's results.
    """

    constants_are = "in LiteRT it is an option"

    def __init__(
        self,
        node: graph.Node,
        lowering: Lowering,
        values: Mapping[graph.Value, Any],
        takers: Mapping[graph.Value, Sequence[graph.Node | None]],
    ) -> None:
        super().__init__(node, values, takers)
        self.lowering = lowering

    def dtype(self, index: int = 0) -> DType:
        """The element type in which an output is computed."""
        return carried(self.node.outputs[index].dtype)

    def shape(self, index: int = 0) -> Shape:
        """The shape of an output."""
        return self.node.outputs[index].shape

    def source(self, index: int) -> graph.Value:
        """The program's value for an argument that is not a list."""
        value: graph.Value = self._packed[index]
        return value

    def rank(self, index: int) -> int:
        """The rank of an argument; it must be known."""
        rank = self.input_spec(index).shape.rank
        if rank is None:
            self.fail("the rank of its input must be known")
        return rank
