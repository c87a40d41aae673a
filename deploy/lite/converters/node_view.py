"""NodeView: what a converter sees of the node it converts."""

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
    """One node of the program, to be written as operators of LiteRT.

    Args:
        node: the node; calls inlined, constants folded.
        lowering: converts functions into subgraphs.
        values: what became of the values of the program.
        takers: the nodes that take each value; a result of the program is taken by None.
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
        """The element type of an output, as it is computed."""
        return carried(self.node.outputs[index].dtype)

    def shape(self, index: int = 0) -> Shape:
        """The shape of an output."""
        return self.node.outputs[index].shape

    def source(self, index: int) -> graph.Value:
        """The value in the program of an argument that is not a list."""
        value: graph.Value = self._packed[index]
        return value

    def rank(self, index: int) -> int:
        """The number of axes of an argument."""
        rank = self.input_spec(index).shape.rank
        if rank is None:
            self.fail("how many axes its input has must be known")
        return rank
