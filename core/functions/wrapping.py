"""`import_graph_def` and `wrap_function`: graphs from files, and functions pruned from graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.context import init_scope, state
from pinnace.framework.no_effect import ignored
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import SymbolicTensor
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.graphs import get_default_graph, tracer_here
from pinnace.functions.tracing import trace
from pinnace.graph.codec.body import Body
from pinnace.graph.codec.functions import FunctionLibrary
from pinnace.graph.copying import Copy
from pinnace.graph.graph import GraphBuilder, Node
from pinnace.graph.operation import Operation
from pinnace.graph.walk import needed
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.proto.graph_pb2 import GraphDef
from pinnace.proto.node_def_pb2 import NodeDef

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.graph.graph import Value

_WHERE = "import_graph_def"


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: object = None,
    producer_op_list: object = None,
) -> list[Any] | None:
    """Add the nodes of a GraphDef to the graph that is being built.

    Args:
        graph_def: a GraphDef message, of this library or of TensorFlow.
        input_map: tensor of the message, `node` or `node:1` -> tensor of the graph to take instead.
        return_elements: names of the operations and tensors to return.
        name: prefix of the names of the nodes, `import` if None; "" is none.
        op_dict: without effect, as in TensorFlow.
        producer_op_list: without effect: attributes with unknown names are left out anyway.

    Returns:
        The operations and tensors of `return_elements`, None without it.

    Raises:
        TypeError: `graph_def` is no GraphDef.
        ValueError: a name that `graph_def` does not have.
        InvalidArgumentError: the GraphDef is damaged, or a node of it cannot be built.
    """
    ignored(
        _WHERE, "the nodes are complete without", op_dict=op_dict, producer_op_list=producer_op_list
    )
    if getattr(getattr(graph_def, "DESCRIPTOR", None), "name", None) != "GraphDef":
        raise TypeError(
            f"Argument `graph_def` must be a GraphDef proto.\n  Got {type(graph_def).__name__}"
        )
    if state.tracer is None:
        with get_default_graph().as_default():
            return import_graph_def(graph_def, input_map, return_elements, name)
    message = GraphDef.FromString(graph_def.SerializeToString())
    return _Import(message, input_map or {}, name).run(return_elements)


class _Import:
    """One call of `import_graph_def`."""

    def __init__(self, message: GraphDef, given: Mapping[str, Any], name: str | None) -> None:
        self._tracer = tracer = tracer_here()
        names = {node.name for node in message.node}
        lost = [text for text in given if text.lstrip("^").partition(":")[0] not in names]
        if lost:
            raise ValueError(
                f"Attempted to map inputs that were not found in graph_def: [{', '.join(lost)}]"
            )
        graph = tracer.graph
        self._prefix = self._free_prefix("import" if name is None else name.rstrip("/"), graph)
        self._names = names
        self._given = {
            _place(self._prefix + text): tracer.value_of(tensor) for text, tensor in given.items()
        }
        nodes = {}
        for node in message.node:
            made = NodeDef()
            made.CopyFrom(node)
            made.name = self._prefix + node.name
            made.input[:] = [self._renamed(text) for text in node.input]
            nodes[made.name] = made
        library = FunctionLibrary(message.library.function, _WHERE)
        self._body = Body(
            graph, nodes, library, _WHERE, given=lambda name, k: self._given.get((name, k))
        )
        self._body.decode(nodes)

    @staticmethod
    def _free_prefix(wanted: str, graph: GraphBuilder) -> str:
        if not wanted:
            return ""
        wanted = f"{state.scope}{wanted}"
        taken = {node.name.split(wanted, 1)[-1].partition("/")[0] for node in graph.nodes
                 if node.name.startswith(wanted)}  # fmt: skip
        number, found = 0, ""
        while found in taken:
            number += 1
            found = f"_{number}"
        return f"{wanted}{found}/"

    def _renamed(self, text: str) -> str:
        return f"^{self._prefix}{text[1:]}" if text[:1] == "^" else f"{self._prefix}{text}"

    def run(self, wanted: Sequence[str] | None) -> list[Any] | None:
        """The requested tensors and operations."""
        if wanted is None:
            return None
        found: list[Any] = []
        for text in wanted:
            name, colon, index = text.partition(":")
            if name not in self._names:
                raise ValueError(f"Requested return node {name!r} not found in graph def")
            node = self._body.node(self._prefix + name)
            if not colon:
                found.append(Operation(node, self._tracer.graph))
                continue
            if not index.isdigit() or int(index) >= len(node.outputs):
                raise ValueError(
                    f"Requested return tensor {text!r} not found in graph def: node {name!r} has "
                    f"{len(node.outputs)} outputs"
                )
            found.append(self._tracer.tensor_of(node.outputs[int(index)]))
        return found


def _place(text: str) -> tuple[str, int]:
    name, _, index = text.partition(":")
    return name, int(index or 0)


def wrap_function(
    fn: Callable[..., Any], signature: Sequence[Any] | None, name: str | None = None
) -> WrappedFunction:
    """A function traced once, as in version 1: `prune` extracts others from its graph.

    Args:
        fn: called once, with a symbolic tensor per entry of `signature`.
        signature: TensorSpecs of its arguments.
        name: name of the graph.

    Returns:
        A concrete function.
    """
    with init_scope():
        specs = tuple(signature or ())
        traced, _ = trace(fn, specs, {}, name or "wrapped_function")
    return WrappedFunction(
        traced.graph,
        traced.captured,
        traced.structured_input_signature,
        traced.structured_outputs,
        traced.variables,
    )


class WrappedFunction(ConcreteFunction):
    """A concrete function from whose graph subgraphs can be pruned; made by `wrap_function`."""

    def prune(
        self,
        feeds: Any,
        fetches: Any,
        name: str | None = None,
        input_signature: Sequence[TensorSpec] | None = None,
    ) -> WrappedFunction:
        """The function from some tensors of the graph to others.

        Args:
            feeds: the tensors that become arguments, or their names: one, or a structure.
            fetches: its results, likewise; for an operation it returns None, having run it.
            name: name of the function.
            input_signature: specs for the arguments; those of the feeds if None.

        Raises:
            KeyError: the graph has no such tensor.
            ValueError: a fetch needs a placeholder that is not fed.
        """
        fed = [self._element(one) for one in structure.flatten(feeds)]
        for one in fed:
            if not isinstance(one, SymbolicTensor):
                raise ValueError(f"prune: feeds must be tensors, got {one!r}")  # noqa: TRY004 (TensorFlow's class)
        wanted = structure.map_structure(self._element, fetches)
        specs = [
            TensorSpec.of(one.shape, one.dtype, one.value.node.name)
            for one in fed
            if isinstance(one, SymbolicTensor)
        ]
        if input_signature is not None:
            specs = [
                TensorSpec.of(given.shape, spec.dtype, spec.name)
                for given, spec in zip(input_signature, specs, strict=True)
            ]
        flat = structure.flatten(wanted)
        graph, captured = self._cut(name or "pruned", [one.value for one in fed], specs, flat)
        results = structure.map_structure(
            lambda one: (
                TensorSpec.of(one.shape, one.dtype) if isinstance(one, SymbolicTensor) else None
            ),
            wanted,
        )
        return WrappedFunction(graph, captured, (tuple(specs), {}), results, self.variables)

    def _element(self, one: Any) -> Any:
        if isinstance(getattr(one, "name", None), str) and not isinstance(
            one, (SymbolicTensor, Operation)
        ):
            one = one.name  # a TensorInfo
        return self.graph.as_graph_element(one)

    def _cut(
        self, name: str, fed: list[Value], specs: list[TensorSpec], wanted: list[Any]
    ) -> tuple[Any, list[Any]]:
        copy = Copy(GraphBuilder(name))
        for value, spec in zip(fed, specs, strict=True):
            made = copy.target.add_input(PLACEHOLDER, spec, str(spec.name), value.handle)
            copy.values[value] = made
        outputs = [one.value for one in wanted if isinstance(one, SymbolicTensor)]
        effects = [one.node for one in wanted if isinstance(one, Operation)]
        first = len(self.graph.inputs) - len(self.captured)
        behind = dict(zip(self.graph.inputs[first:], self.captured, strict=True))
        captured: list[Any] = []
        for value in behind:
            if value not in copy.values and _reaches(value.node, outputs, effects, copy.values):
                made = copy.target.add_input(
                    value.node.op, value.spec, value.node.name, value.handle
                )
                copy.values[value] = made
                captured.append(behind[value])
        for node in _before(outputs, effects, copy.values):
            if node.op is PLACEHOLDER:
                raise ValueError(
                    f"Unable to lift tensor: a fetch depends on placeholder {node.name!r}, which "
                    f"is not among the feeds\n  Try: feeds=[{f'{node.name}:0'!r}, ...]"
                )
            copy.node(node)
        copy.target.set_outputs([copy.values[value] for value in outputs])
        ran = [there for node in effects for there in copy.nodes.get(node, ())]
        copy.target.effects = [
            node for node in needed(copy.target.outputs, ran) if node.op.stateful or node in ran
        ]
        return copy.target.finish(), captured


def _before(outputs: list[Value], effects: list[Node], given: Mapping[Value, Value]) -> list[Node]:
    """The nodes that must run, in topological order; fed nodes depend on nothing."""
    order: list[Node] = []
    done: set[Node] = set()
    waiting = [(node, False) for node in effects]
    waiting += [(value.node, False) for value in outputs if value not in given]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            order.append(node)
        elif node not in done:
            done.add(node)
            waiting.append((node, True))
            waiting += [(value.node, False) for value in node.inputs if value not in given]
            waiting += [(one, False) for one in node.controls]
    return order


def _reaches(
    node: Node, outputs: list[Value], effects: list[Node], given: Mapping[Value, Value]
) -> bool:
    return node in _before(outputs, effects, given)
