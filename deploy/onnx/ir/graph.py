"""The IR of an ONNX graph: values, nodes, graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from pinnace.framework.errors import UnimplementedError
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array


class Value:
    """A node's output, a graph input, or a constant.

    Attributes:
        name: its name in the file.
        dtype: the element type.
        shape: its shape, as far as known.
        array: the data of a constant, else None; in row-major order, possibly in another shape.
            Constants get unique names when the file is written.
        node: the node that computes it; None for an input or a constant.
        is_size: whether it holds axis sizes, which fit every integer type.
        origins: axis -> the origin of its size, as far as `size_origins` was asked.
        factor: the factor of a convolution's large weights, applied when they are written: float64
            per output channel, broadcastable to `array`; None for none.
    """

    __slots__ = ("array", "dtype", "factor", "is_size", "name", "node", "origins", "shape")

    def __init__(self, name: str, dtype: DType, shape: Shape, array: Array | None = None) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.array = array
        self.node: Node | None = None
        self.is_size = False
        self.origins: dict[int, tuple[Value, int] | int] = {}
        self.factor: Array | None = None

    @property
    def rank(self) -> int:
        """The number of axes.

        Raises:
            UnimplementedError: the rank is unknown.
        """
        self._refuse_unknown_rank()
        return self.shape.rank or 0

    def size(self, axis: int) -> int | None:
        """The size of an axis; None if it is unknown.

        Raises:
            UnimplementedError: the rank is unknown.
        """
        self._refuse_unknown_rank()
        return self.shape[axis]

    def _refuse_unknown_rank(self) -> None:
        if self.shape.rank is None:
            raise UnimplementedError(f"the rank of {self.name!r} is unknown")

    def refine(self, shape: Shape) -> None:
        """Refine the shape."""
        if self.shape.is_compatible_with(shape):
            self.shape = self.shape.merge_with(shape)

    def __repr__(self) -> str:
        return f"<{self.name} {self.dtype.name}{self.shape.text}>"


class Held(Value):
    """The resource behind a handle that is not a tensor: a table.

    Attributes:
        held: the object.
    """

    __slots__ = ("held",)

    def __init__(self, name: str, dtype: DType, held: object) -> None:
        super().__init__(name, dtype, Shape(None))
        self.held = held


# Operators of other domains than ONNX's -> domain and version.
DOMAINS = dict.fromkeys(("LabelEncoder", "TreeEnsembleRegressor"), ("ai.onnx.ml", 3))


class Node:
    """A node: an operator with inputs, outputs and attributes.

    Attributes:
        kind: the operator.
        name: unique.
        inputs: its inputs; None for an optional one that is left out.
        outputs: its outputs.
        attrs: Python values, by name.
        moved: whether its data and its first output are channels-last here and channels-first in
            the file.
        origin: the name of the program's node from which it was made.
    """

    __slots__ = ("attrs", "inputs", "kind", "moved", "name", "origin", "outputs")

    def __init__(
        self, kind: str, name: str, inputs: list[Value | None], attrs: dict[str, Any]
    ) -> None:
        self.kind = kind
        self.name = name
        self.inputs = inputs
        self.attrs = attrs
        self.outputs: list[Value] = []
        self.moved = False
        self.origin = ""

    @property
    def moved_input(self) -> int:
        """The index of a moved node's input with channels; a matrix may precede it."""
        first = self.inputs[0]
        return int(self.kind == "MatMul" and first is not None and first.shape.rank == 2)

    @property
    def bodies(self) -> list[OnnxGraph]:
        """The graphs among its attributes."""
        return [value for value in self.attrs.values() if isinstance(value, OnnxGraph)]

    @property
    def captured(self) -> list[Value]:
        """The values that its bodies capture by name."""
        found: dict[Value, None] = {}
        for body in self.bodies:
            found.update(dict.fromkeys(body.captured()))
        return list(found)

    @property
    def taken(self) -> Iterator[Value]:
        """The inputs that are present, and the values that the bodies capture."""
        yield from (value for value in self.inputs if value is not None)
        if self.bodies:
            yield from self.captured

    def __repr__(self) -> str:
        given = ", ".join(value.name if value is not None else "" for value in self.inputs)
        return f"<{self.kind} {self.name!r}({given})>"


Operand: TypeAlias = Value | None


class OnnxGraph:
    """Operators with inputs and outputs: a whole model, or the body of an operator.

    Attributes:
        nodes: the nodes in topological order.
        inputs: the graph's inputs.
        outputs: (name in the file, value), in order.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[Value] = []
        self.outputs: list[tuple[str, Value]] = []

    def captured(self) -> list[Value]:
        """The values captured from the enclosing graph, constants included."""
        inside = set(self.inputs) | {value for node in self.nodes for value in node.outputs}
        used: dict[Value, None] = {}
        for node in self.nodes:
            used.update(dict.fromkeys(node.taken))
        used.update(dict.fromkeys(value for _, value in self.outputs))
        return [value for value in used if value not in inside]

    def users(self) -> dict[Value, list[Node]]:
        """The nodes that take each value."""
        found: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in node.taken:
                found.setdefault(value, []).append(node)
        return found

    def all_nodes(self) -> Iterator[Node]:
        """Yield the nodes here and in bodies."""
        for node in self.nodes:
            yield node
            for body in node.bodies:
                yield from body.all_nodes()

    def constants(self) -> list[Value]:
        """The constants used by nodes or outputs, each once, in order of use."""
        found: dict[Value, None] = {}
        for node in self.nodes:
            for value in node.taken:
                if value.array is not None:
                    found[value] = None
        for _, value in self.outputs:
            if value.array is not None:
                found[value] = None
        return list(found)

    def prune(self) -> None:
        """Drop the nodes that no output depends on."""
        live = {value for _, value in self.outputs}
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if any(value in live for value in node.outputs):
                for body in node.bodies:
                    body.prune()
                live.update(node.taken)
                kept.append(node)
        kept.reverse()
        self.nodes = kept

    def replace(self, places: Mapping[Value, Value]) -> None:
        """Replace every use of a key by its value."""
        if not places:
            return

        def found(value: Value) -> Value:
            while value in places:
                value = places[value]
            return value

        for node in self.nodes:
            node.inputs = [None if value is None else found(value) for value in node.inputs]
            for body in node.bodies:
                body.replace(places)
        self.outputs = [(name, found(value)) for name, value in self.outputs]


def channels_first(shape: Shape) -> Shape:
    """[n, c, ...] for [n, ..., c]."""
    if shape.rank is None:
        return shape
    sizes = list(shape)
    return Shape.of((sizes[0], sizes[-1], *sizes[1:-1]))


def channels_last(shape: Shape) -> Shape:
    """[n, ..., c] for [n, c, ...]."""
    if shape.rank is None:
        return shape
    sizes = list(shape)
    return Shape.of((sizes[0], *sizes[2:], sizes[1]))


def sizes_of(shape: Iterable[int | None]) -> list[int]:
    """Sizes with -1 for unknown ones."""
    return [-1 if size is None else size for size in shape]


def rank_of(value: Value | None) -> int:
    """The number of axes; -1 if it is unknown."""
    return -1 if value is None or value.shape.rank is None else value.shape.rank


def constant_input(node: Node, index: int) -> Array | None:
    """The data of a constant input, else None."""
    value = node.inputs[index] if index < len(node.inputs) else None
    return None if value is None else value.array
