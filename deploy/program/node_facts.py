"""NodeFacts: one node of a program as any format's converter sees it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

import numpy as np

from pinnace.deploy.refusals import UnconvertibleError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.graph import graph
from pinnace.graph.known import known_shape, known_value

# What became of a value of the program.
Made = TypeVar("Made")


class NodeFacts(Generic[Made]):
    """One node of the program: attributes, specs, and the inputs that are known.

    Each format has a class of its own for what its converters ask beside this.

    Args:
        node: the node; calls inlined, constants folded.
        values: what became of the values of the program.
        takers: the nodes that take each value; a result of the program is taken by None.

    Attributes:
        constants_are: what the format makes of an input that must be known, for errors.
    """

    constants_are: ClassVar[str]

    def __init__(
        self,
        node: graph.Node,
        values: Mapping[graph.Value, Made],
        takers: Mapping[graph.Value, Sequence[graph.Node | None]],
    ) -> None:
        self.node = node
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

    def input_spec(self, index: int) -> TensorSpec:
        """The spec of an argument that is not a list."""
        spec: TensorSpec = self._packed[index].spec
        return spec

    def constant(self, index: int) -> Array | None:
        """The value of an argument if the graph tells it, else None."""
        value = self._packed[index]
        if value.node.op.name == "Const":
            return np.asarray(value.node.attrs["value"])
        return known_value(value)

    def needed(self, index: int, what: str) -> Array:
        """The value of an argument that the format wants to know when the file is written."""
        found = self.constant(index)
        if found is None:
            self.fail(f"{what} must be a constant: {self.constants_are}")
        return found

    def needed_int(self, index: int, what: str) -> int:
        """A number that the format wants to know when the file is written."""
        return int(self.needed(index, what).reshape(-1)[0])

    def sizes(self, index: int) -> Shape | None:
        """An argument that holds sizes as a shape, as far as the graph tells."""
        return known_shape(self._packed[index])

    def fail(self, reason: str) -> NoReturn:
        """This use has no counterpart.

        Raises:
            UnconvertibleError: always.
        """
        raise UnconvertibleError(reason)
