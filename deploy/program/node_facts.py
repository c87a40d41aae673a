"""NodeFacts: a node of the program as the converters of all formats see it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

import numpy as np

from pinnace.deploy.refusals import UnconvertibleError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.graph import graph
from pinnace.graph.known import known_shape, known_value

# The format's representation of a value of the program.
Made = TypeVar("Made")


class NodeFacts(Generic[Made]):
    """A node of the program: its attributes, specs, and constant inputs.

    Each format has a subclass with what only its converters need.

    Args:
        node: the node, with calls inlined and constants folded.
        values: value of the program -> its representation in the format.
        takers: the nodes that use each value; None stands for the program's results.

    Attributes:
        constants_are: the use of constant inputs in the format, for errors.
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
        """An attribute, or its default."""
        attrs = self.node.attrs
        return attrs[name] if name in attrs else self.node.op.default(name)

    def input_spec(self, index: int) -> TensorSpec:
        """The spec of an argument that is not a list."""
        spec: TensorSpec = self._packed[index].spec
        return spec

    def constant(self, index: int) -> Array | None:
        """The value of an argument if it is a constant or follows from known sizes, else None."""
        value = self._packed[index]
        if value.node.op.name == "Const":
            return np.asarray(value.node.attrs["value"])
        return known_value(value)

    def needed(self, index: int, what: str) -> Array:
        """The value of an argument that must be constant."""
        found = self.constant(index)
        if found is None:
            self.fail(f"{what} must be a constant: {self.constants_are}")
        return found

    def needed_int(self, index: int, what: str) -> int:
        """The integer value of an argument that must be constant."""
        return int(self.needed(index, what).reshape(-1)[0])

    def sizes(self, index: int) -> Shape | None:
        """The shape in an argument of sizes, as far as it is known."""
        return known_shape(self._packed[index])

    def fail(self, reason: str) -> NoReturn:
        """Refuse this use of the op.

        Raises:
            UnconvertibleError: always.
        """
        raise UnconvertibleError(reason)
