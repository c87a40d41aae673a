"""NodeView: what a converter sees of the node it converts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pinnace.deploy.lite.ir.builder import carried
from pinnace.deploy.refusals import UnconvertibleError
from pinnace.graph.known import known_shape, known_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.lite.flow.lowering import Lowering
    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Array
    from pinnace.graph import graph


class NodeView:
    """One node of the program: attributes, specs, and the inputs that are known.

    Args:
        node: the node; calls inlined, constants folded.
        lowering: converts functions into subgraphs.
        values: what became of the values of the program.
        takers: the nodes that take each value; a result of the program is taken by None.
    """

    def __init__(
        self,
        node: graph.Node,
        lowering: Lowering,
        values: Mapping[graph.Value, Any],
        takers: Mapping[graph.Value, Sequence[graph.Node | None]],
    ) -> None:
        self.node = node
        self.lowering = lowering
        self.values = values
        self.takers = takers
        self._packed = node.op.pack_inputs(node.inputs, node.attrs)

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name

    def attr(self, name: str) -> Any:
        """An attribute, its default if it is not written."""
        attrs = self.node.attrs
        return attrs[name] if name in attrs else self.node.op.default(name)

    def dtype(self, index: int = 0) -> DType:
        """The element type of an output, as it is computed."""
        return carried(self.node.outputs[index].dtype)

    def shape(self, index: int = 0) -> Shape:
        """The shape of an output."""
        return self.node.outputs[index].shape

    def input_spec(self, index: int) -> TensorSpec:
        """The spec of an argument that is not a list."""
        spec: TensorSpec = self._packed[index].spec
        return spec

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

    def constant(self, index: int) -> Array | None:
        """The value of an argument if the graph tells it, else None."""
        value = self._packed[index]
        if value.node.op.name == "Const":
            return np.asarray(value.node.attrs["value"])
        return known_value(value)

    def needed(self, index: int, what: str) -> Array:
        """The value of an argument that LiteRT wants to know when the file is written."""
        found = self.constant(index)
        if found is None:
            self.fail(f"{what} must be a constant: in LiteRT it is an option")
        return found

    def needed_int(self, index: int, what: str) -> int:
        """A number that LiteRT wants to know when the file is written."""
        return int(self.needed(index, what).reshape(-1)[0])

    def sizes(self, index: int) -> Shape | None:
        """An argument that holds sizes as a shape, as far as the graph tells."""
        return known_shape(self._packed[index])

    def fail(self, reason: str) -> NoReturn:
        """This use has no counterpart."""
        raise UnconvertibleError(reason)
