"""NodeView: the node that a converter converts."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.deploy.program.node_facts import NodeFacts
from pinnace.engine.passes.fold import fold
from pinnace.engine.passes.inline import inline as inlined
from pinnace.framework.dtypes import DType
from pinnace.framework.specs import TensorSpec
from pinnace.graph import graph
from pinnace.graph.known import known_value

Inline: TypeAlias = Callable[
    [GraphBuilder, graph.FunctionRef | graph.Graph, Sequence[Value | None]], list[Value]
]


def program_of(function: graph.FunctionRef) -> graph.Graph:
    """The body of a function with calls inlined and constants folded."""
    return fold(inlined(function.graph))


class NodeView(NodeFacts[Value]):
    """A node of the program to be converted to ONNX.

    Args:
        node: the node, with calls inlined and constants folded.
        inline: converts a function in place: `inline(g, function, arguments) -> results`.
        values: value of the program -> value of the file.
        takers: the nodes that use each value; None stands for the program's results.
        may_draw: whether the file may draw random numbers of its own.
    """

    constants_are = "in ONNX it is an attribute"

    def __init__(
        self,
        node: graph.Node,
        inline: Inline,
        values: Mapping[graph.Value, Value],
        takers: Mapping[graph.Value, Sequence[graph.Node | None]] = {},
        may_draw: bool = False,
    ) -> None:
        super().__init__(node, values, takers)
        self.inline = inline
        self.may_draw = may_draw

    def dtype(self, name: str) -> DType:
        """A type attribute."""
        found: DType = self.attr(name)
        return found

    def output_spec(self, index: int = 0) -> TensorSpec:
        """The spec of an output."""
        return self.node.outputs[index].spec

    @property
    def output_count(self) -> int:
        """The number of outputs."""
        return len(self.node.outputs)

    def is_multiple_of_size(self, index: int, picture: int) -> bool:
        """Whether an argument is shape(picture)[1:3] times known integers."""
        product = self._packed[index].node
        if product.op.name != "Mul":
            return False
        for sizes, factors in (product.inputs, product.inputs[::-1]):
            part = sizes.node
            if known_value(factors) is None or part.op.name != "StridedSlice":
                continue
            whole = part.inputs[0].node
            bounds = [known_value(value) for value in part.inputs[1:4]]
            told = [None if bound is None else bound.tolist() for bound in bounds]
            masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
            if told == [[1], [3], [1]] and not any(part.attrs[mask] for mask in masks):
                return whole.op.name == "Shape" and whole.inputs[0] is self._packed[picture]
        return False

    def axes(self, index: int, rank: int) -> list[int] | None:
        """An argument of axes, sorted and non-negative; None if they are not constant."""
        found = self.constant(index)
        return None if found is None else sorted({int(axis) % rank for axis in found.reshape(-1)})
