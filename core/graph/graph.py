"""Graph, Node, Value: the program as data, in TensorFlow's vocabulary.

A `GraphBuilder` adds nodes and finishes into a `Graph`, which never changes; passes make new ones.
Node order has no meaning: data edges and control edges alone order execution.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.graph.function_ref import FunctionRef as FunctionRef
from pinnace.graph.function_ref import functions_of as functions_of
from pinnace.graph.known import known_shape, known_value
from pinnace.graph.operation import Operation
from pinnace.graph.reading import Readable
from pinnace.ops.execute import infer_shapes
from pinnace.ops.opdef import InferCall, OpDef

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, SymbolicTensor


class Value:
    """One output of a node.

    Attributes:
        node: the node that computes it.
        index: index of the output.
        spec: dtype, and shape as far as it is known.
        handle: for a resource, the spec of the variable behind it.
        tensor: its symbolic tensor while its graph is traced.
    """

    __slots__ = ("handle", "index", "node", "spec", "tensor")

    def __init__(self, node: Node, index: int, spec: TensorSpec) -> None:
        self.node = node
        self.index = index
        self.spec = spec
        self.handle: TensorSpec | None = None
        self.tensor: SymbolicTensor | None = None

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.spec.dtype

    @property
    def shape(self) -> Shape:
        """The shape as far as it is known."""
        return self.spec.shape

    def operation(self, owner: Graph | GraphBuilder) -> Operation:
        """TensorFlow's view of the node that computes it."""
        return Operation(self.node, owner)

    def consumers(self, owner: Graph | GraphBuilder) -> list[Operation]:
        """TensorFlow's views of the nodes that use it."""
        return [Operation(node, owner) for node in owner.nodes if self in node.inputs]

    def refine(self, shape: Shape) -> None:
        """Merge additional knowledge about the shape."""
        self.spec = TensorSpec.of(shape, self.spec.dtype, self.spec.name)

    def __repr__(self) -> str:
        return f"<{self.node.name}:{self.index} {self.spec.text}>"


class Node:
    """One application of an op.

    Attributes:
        op: the op.
        name: unique in its graph.
        inputs: the values it takes, flat.
        controls: the nodes that must have run before, beside those it takes values from.
        attrs: every attribute, type attributes too, defaults written out.
        outputs: its values.
        source: the place in the user's program that called it, for error messages.
    """

    __slots__ = ("attrs", "controls", "inputs", "name", "op", "outputs", "source")

    def __init__(
        self,
        op: OpDef,
        name: str,
        inputs: tuple[Value, ...],
        controls: tuple[Node, ...],
        attrs: dict[str, Any],
    ) -> None:
        self.op = op
        self.name = name
        self.inputs = inputs
        self.controls = controls
        self.attrs = attrs
        self.outputs: tuple[Value, ...] = ()
        self.source: str = ""

    def __repr__(self) -> str:
        return f"<{self.op.name} {self.name!r}>"


_BAD = re.compile(r"[^A-Za-z0-9_.\\/>-]")


@functools.lru_cache(1 << 12)  # each pass copies the nodes of a graph, with their names
def _clean(name: str) -> str:
    """The name as TensorFlow's files may have it."""
    clean = _BAD.sub("_", name) or "node"
    return clean if clean[0].isalnum() or clean[0] == "." else f".{clean}"


@dataclasses.dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False)
class Graph(Readable):
    """Nodes, with named inputs and outputs.

    Attributes:
        name: name of the function this graph is; unique in a SavedModel.
        nodes: all nodes.
        inputs: values of Placeholder nodes, in the order of the arguments (captures last).
        input_names: one per input.
        outputs: the results, in order.
        output_names: one per output.
        effects: the nodes that must run although no output needs them.
        cached: data that higher layers derived from this graph, by their `graph.caches.PerGraph`.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Value, ...]
    input_names: tuple[str, ...]
    outputs: tuple[Value, ...]
    output_names: tuple[str, ...]
    effects: tuple[Node, ...]
    cached: dict[object, Any] = dataclasses.field(default_factory=dict, init=False)

    def functions(self) -> Iterator[FunctionRef]:
        """The functions that nodes of this graph refer to, each once, without nested ones."""
        seen = set()
        for node in self.nodes:
            for ref in functions_of(node):
                if ref.name not in seen:
                    seen.add(ref.name)
                    yield ref

    def __repr__(self) -> str:
        return (
            f"<Graph {self.name!r}: {len(self.inputs)} inputs, {len(self.nodes)} nodes, "
            f"{len(self.outputs)} outputs>"
        )


class GraphBuilder(Readable):
    """A graph under construction.

    Args:
        name: name of the graph.
        start: a graph whose nodes, inputs, outputs and effects this one begins with.

    Attributes:
        finished: the graph, once `finish` made it.

    The others are those of `Graph`, as lists.
    """

    def __init__(self, name: str = "graph", start: Graph | None = None) -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.inputs: list[Value] = []
        self.input_names: list[str] = []
        self.outputs: list[Value] = []
        self.output_names: list[str] = []
        self.effects: list[Node] = []
        self.finished: Graph | None = None
        self._taken: dict[str, int] = {}
        if start is not None:
            self.nodes += start.nodes
            self.inputs += start.inputs
            self.input_names += start.input_names
            self.set_outputs(start.outputs, start.output_names)
            self.effects += start.effects
            self._taken.update(dict.fromkeys((node.name for node in start.nodes), 0))

    @property
    def finalized(self) -> bool:
        """Whether nothing can be added to the graph any more."""
        return self.finished is not None

    def finish(self) -> Graph:
        """The finished graph; nothing can be added after it."""
        self.finished = Graph(
            self.name,
            tuple(self.nodes),
            tuple(self.inputs),
            tuple(self.input_names),
            tuple(self.outputs),
            tuple(self.output_names),
            tuple(self.effects),
        )
        return self.finished

    def set_outputs(self, values: Iterable[Value], names: Iterable[str] | None = None) -> None:
        """Give the graph these results.

        Args:
            values: the results, in order.
            names: one per result; `output_0`, `output_1`, ... if None.
        """
        self.outputs = list(values)
        self.output_names = (
            [f"output_{index}" for index in range(len(self.outputs))]
            if names is None
            else list(names)
        )

    def set_inputs(self, values: Iterable[Value]) -> None:
        """Set the inputs to these, in this order."""
        names = dict(zip(self.inputs, self.input_names, strict=True))
        self.inputs = list(values)
        self.input_names = [names[value] for value in self.inputs]

    def unique_name(self, wanted: str, mark_as_used: bool = True) -> str:
        """`wanted`, or `wanted_1`, `wanted_2`, ... if a node has that name.

        Args:
            wanted: the name to begin with.
            mark_as_used: whether it is taken from now on.
        """
        if not mark_as_used:
            taken = dict(self._taken)
            try:
                return self.unique_name(wanted)
            finally:
                self._taken = taken
        wanted = _clean(wanted)
        count = self._taken.get(wanted)
        if count is None:
            self._taken[wanted] = 0
            return wanted
        while True:
            count += 1
            name = f"{wanted}_{count}"
            if name not in self._taken:
                self._taken[wanted] = count
                self._taken[name] = 0
                return name

    def add(
        self,
        op: OpDef,
        inputs: Sequence[Value],
        attrs: dict[str, Any],
        name: str | None = None,
        controls: Iterable[Node] = (),
    ) -> Node:
        """A new node; the shapes of its outputs are inferred.

        Raises:
            InvalidArgumentError: the op cannot take inputs of these specs.
        """
        full = op.full_attrs(attrs)
        node = Node(op, self.unique_name(name or op.name), tuple(inputs), tuple(controls), full)
        infer_outputs(node, op.output_dtypes(full))
        if op.alias or op.runs == "loop":
            for output, value in zip(node.outputs, node.inputs, strict=False):
                output.handle = value.handle
        self.nodes.append(node)
        return node

    def add_raw(
        self,
        op: OpDef,
        inputs: Sequence[Value],
        attrs: dict[str, Any],
        name: str,
        specs: Sequence[TensorSpec],
        controls: Iterable[Node] = (),
    ) -> Node:
        """Add a node with known output specs, without inference or checks."""
        node = Node(op, self.unique_name(name), tuple(inputs), tuple(controls), attrs)
        node.outputs = tuple([Value(node, index, spec) for index, spec in enumerate(specs)])
        self.nodes.append(node)
        return node

    def add_input(
        self, placeholder: OpDef, spec: TensorSpec, name: str, handle: TensorSpec | None = None
    ) -> Value:
        """A new argument of the function."""
        attrs = {"dtype": spec.dtype, "shape": spec.shape}
        node = self.add_raw(placeholder, (), attrs, name, [TensorSpec.of(spec.shape, spec.dtype)])
        value = node.outputs[0]
        value.handle = handle
        self.inputs.append(value)
        self.input_names.append(node.name)
        return value


def infer_outputs(node: Node, kinds: Sequence[DType]) -> None:
    """Give a new node its outputs, of these dtypes and of inferred shapes.

    Raises:
        InvalidArgumentError: the op cannot take inputs of these specs.
    """
    op = node.op
    call = GraphInferCall(op, op.pack_inputs(node.inputs, node.attrs), node.attrs)
    shapes = infer_shapes(op, call, len(kinds))
    if len(shapes) != len(kinds):
        raise InvalidArgumentError(
            f"{op.name}: inference gave {len(shapes)} shapes for {len(kinds)} outputs"
        )
    node.outputs = tuple(
        [
            Value(node, index, TensorSpec.of(shape, kind))
            for index, (shape, kind) in enumerate(zip(shapes, kinds, strict=True))
        ]
    )


class GraphInferCall(InferCall):
    """Inference within a graph: a constant is known if the nodes that compute it are."""

    __slots__ = ("values",)

    def __init__(self, op: OpDef, packed: tuple[Any, ...], attrs: dict[str, Any]) -> None:
        specs = tuple(
            tuple(v.spec for v in value) if isinstance(value, tuple) else value.spec
            for value in packed
        )
        super().__init__(op, specs, attrs)
        self.values = packed

    def constant(self, index: int) -> Array | None:
        """The value of input `index` if the graph determines it."""
        value = self.values[index]
        return None if isinstance(value, tuple) else known_value(value)

    def shape_constant(self, index: int) -> Shape:
        """The value of input `index` as a shape; None for sizes that are not known."""
        shape = known_shape(self.values[index])
        return super().shape_constant(index) if shape is None else shape

    def handle(self, index: int) -> TensorSpec | None:
        """The spec of the variable behind the resource input `index`."""
        return self.values[index].handle  # type: ignore[no-any-return]


def constant_of(value: Value) -> Array | None:
    """The array of a Const node, else None."""
    return np.asarray(value.node.attrs["value"]) if value.node.op.name == "Const" else None
