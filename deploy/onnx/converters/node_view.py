"""NodeView: a converter's view of the node to convert."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.deploy.refusals import UnconvertibleError
from pinnace.engine.passes.fold import fold
from pinnace.engine.passes.inline import inline as inlined
from pinnace.framework.dtypes import DType
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.graph import graph
from pinnace.graph.known import known_shape, known_value

Inline: TypeAlias = Callable[
    [GraphBuilder, graph.FunctionRef | graph.Graph, Sequence[Value | None]], list[Value]
]


def program_of(function: graph.FunctionRef) -> graph.Graph:
    """The graph of a function, without calls, with constants folded."""
    return fold(inlined(function.graph))


class NodeView:
    """One node of the program: attributes, specs, and known inputs.

    Args:
        node: the node; calls inlined, constants folded.
        inline: converts a function into a graph: `inline(g, function, arguments) -> results`.
        values: what became of the values of the program.
        takers: the nodes that take each value; a result of the program is taken by None.
        may_draw: whether the file may draw numbers of its own.
    """

    def __init__(
        self,
        node: graph.Node,
        inline: Inline,
        values: Mapping[graph.Value, Value],
        takers: Mapping[graph.Value, Sequence[graph.Node | None]] = {},
        may_draw: bool = False,
    ) -> None:
        self.node = node
        self.inline = inline
        self.values = values
        self.takers = takers
        self.may_draw = may_draw
        self._packed = node.op.pack_inputs(node.inputs, node.attrs)

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name

    def attr(self, name: str) -> Any:
        """An attribute, its default if it is not written."""
        attrs = self.node.attrs
        return attrs[name] if name in attrs else self.node.op.default(name)

    def dtype(self, name: str) -> DType:
        """A type attribute."""
        found: DType = self.attr(name)
        return found

    def input_spec(self, index: int) -> TensorSpec:
        """The spec of an argument that is not a list."""
        spec: TensorSpec = self._packed[index].spec
        return spec

    def output_spec(self, index: int = 0) -> TensorSpec:
        """The spec of an output."""
        return self.node.outputs[index].spec

    @property
    def output_count(self) -> int:
        """The number of outputs."""
        return len(self.node.outputs)

    def constant(self, index: int) -> Array | None:
        """The value of an argument if the graph tells it, else None."""
        value = self._packed[index]
        if value.node.op.name == "Const":
            return np.asarray(value.node.attrs["value"])
        return known_value(value)

    def needed(self, index: int, what: str) -> Array:
        """The value of an argument that ONNX wants to know when the file is written."""
        found = self.constant(index)
        if found is None:
            self.fail(f"{what} must be a constant: in ONNX it is an attribute")
        return found

    def needed_int(self, index: int, what: str) -> int:
        """A number that ONNX wants to know when the file is written."""
        return int(self.needed(index, what).reshape(-1)[0])

    def sizes(self, index: int) -> Shape | None:
        """An argument that holds sizes as a shape, as far as the graph tells."""
        return known_shape(self._packed[index])

    def is_multiple_of_size(self, index: int, picture: int) -> bool:
        """Whether an argument is shape(picture)[1:3] times numbers that are known."""
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
        """An argument that holds axes, sorted, none negative; None if the graph does not tell."""
        found = self.constant(index)
        return None if found is None else sorted({int(axis) % rank for axis in found.reshape(-1)})

    def fail(self, reason: str) -> NoReturn:
        """This use has no counterpart."""
        raise UnconvertibleError(reason)
