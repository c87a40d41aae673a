"""Graphs and functions → GraphDef and FunctionDef.

It only uses nodes and is below the class of graphs, whose `Graph.as_graph_def` calls it. Reading
needs the class: see `functions` and `graphs`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.graph.codec.attrs import NameOf, encode_attr
from pinnace.graph.codec.gradients import encode_mark
from pinnace.graph.codec.nodes import OUTPUT_SHAPES, encode_node, output_reference
from pinnace.graph.codec.shapes import encode_shape
from pinnace.graph.function_ref import functions_of
from pinnace.graph.gradients import custom_gradient_of
from pinnace.graph.walk import ordered
from pinnace.proto.function_pb2 import FunctionDef
from pinnace.proto.graph_pb2 import GraphDef

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pinnace.graph.function_ref import FunctionRef
    from pinnace.graph.graph import Graph, GraphBuilder, Node, Value
    from pinnace.proto.node_def_pb2 import NodeDef

USER_NAME = "_user_specified_name"
# The versions of TensorFlow 2.21. Readers older than MIN_CONSUMER refuse the graph.
PRODUCER = 2474
MIN_CONSUMER = 12
_ILLEGAL = re.compile(r"[^a-z0-9_]")
_BAD = re.compile(r"[^A-Za-z0-9_.\\/-]")


def encode_graph(graph: Graph, names: FunctionNames | None = None) -> GraphDef:
    """A graph by itself, its arguments as Placeholder nodes, with the functions it calls.

    Only what outputs and effects need is written.
    """
    names = names or FunctionNames()
    message = GraphDef()
    message.versions.producer = PRODUCER
    message.versions.min_consumer = MIN_CONSUMER
    nodes = ordered(graph)
    written = set(nodes)
    missing = [value.node for value in graph.inputs if value.node not in written]
    for node in (*missing, *nodes):
        references = [graph_reference(value) for value in node.inputs]
        controls = [f"^{one.name}" for one in node.controls]
        message.node.append(encode_node(node, references + controls, names.of_ref))
    message.library.function.extend(encode_library([ref.graph for ref in graph.functions()], names))
    return message


def encode_whole(graph: Graph | GraphBuilder, start: int, shapes: bool) -> GraphDef:
    """All nodes of a graph, needed or not, in creation order, and the functions they call.

    Args:
        graph: the graph, which may still be under construction.
        start: how many nodes to leave out.
        shapes: whether nodes have the shapes of their outputs as an attribute.
    """
    names = FunctionNames()
    message = GraphDef()
    message.versions.producer = PRODUCER
    message.versions.min_consumer = MIN_CONSUMER
    given = dict(zip((value.node for value in graph.inputs), graph.input_names, strict=True))
    for node in graph.nodes[start:]:
        message.node.append(encode_node_whole(node, given, names, shapes=shapes))
    called = [ref.graph for node in graph.nodes for ref in functions_of(node)]
    message.library.function.extend(encode_library(called, names))
    return message


def encode_node_whole(
    node: Node,
    arguments: Mapping[Node, str],
    names: FunctionNames | None = None,
    *,
    shapes: bool = False,
) -> NodeDef:
    """A node of a main graph with its attributes, also those that have their defaults.

    Args:
        node: the node.
        arguments: the user's names of the argument nodes.
        names: the names of functions.
        shapes: whether it contains the shapes of its outputs.
    """
    references = [graph_reference(value) for value in node.inputs]
    controls = [f"^{one.name}" for one in node.controls]
    naming = (names or FunctionNames()).of_ref
    message = encode_node(node, references + controls, naming, defaults=True, shapes=shapes)
    if node in arguments:
        message.attr[USER_NAME].s = arguments[node].encode()
    return message


def graph_reference(value: Value) -> str:
    """A value in the notation of main graphs: `node`, or `node:k` for output k."""
    return value.node.name if value.index == 0 else f"{value.node.name}:{value.index}"


def encode_function(
    graph: Graph,
    name: str,
    name_of: NameOf | None = None,
    gradients: Mapping[Node, str] | None = None,
) -> FunctionDef:
    """A graph as a function.

    Only what outputs and effects need is written; every effect is named in `control_ret`.

    Args:
        graph: the graph.
        name: name of the function.
        name_of: the name under which a function it calls is written.
        gradients: the names under which gradients of nodes are written.
    """
    own = {value.node for value in graph.inputs}
    nodes = [node for node in ordered(graph) if node not in own]
    arguments = _argument_names(graph, nodes)
    taken = {node.name for node in nodes} | set(arguments.values())
    results = _legal_names(graph.output_names, set())
    message = FunctionDef()
    signature = message.signature
    signature.name = name
    for index, value in enumerate(graph.inputs):
        _encode_argument(message, index, value, arguments[value], graph.input_names[index])
    for value, result in zip(graph.outputs, results, strict=True):
        signature.output_arg.add(name=result, type=value.dtype.enum)
        message.ret[result] = arguments.get(value) or output_reference(value)
    signature.is_stateful = any(node.op.stateful for node in nodes)
    for node in graph.effects:
        if node.name in taken and node.name not in message.control_ret:
            message.control_ret[node.name] = node.name
            signature.control_output.append(node.name)
    for node in nodes:
        references = [arguments.get(value) or output_reference(value) for value in node.inputs]
        controls = [f"^{one.name}" for one in node.controls if one not in own]
        written = encode_node(node, references + controls, name_of)
        custom = custom_gradient_of(node)
        if custom is not None:
            encode_mark(written, custom, (gradients or {}).get(node))
        message.node_def.append(written)
    return message


def tensor_name(graph: Graph, value: Value) -> str:
    """The name of a tensor of a loaded function: `node:index`, or `argument:0`."""
    own = {one.node for one in graph.inputs}
    if value.node in own:
        nodes = [node for node in ordered(graph) if node not in own]
        return f"{_argument_names(graph, nodes)[value]}:0"
    return f"{value.node.name}:{value.index}"


def _encode_argument(message: FunctionDef, index: int, value: Value, name: str, given: str) -> None:
    arg = message.signature.input_arg.add(name=name, type=value.dtype.enum)
    attrs = message.arg_attr[index].attr
    attrs[USER_NAME].s = given.encode()
    if value.dtype is not dtypes.resource:
        attrs[OUTPUT_SHAPES].CopyFrom(encode_attr((value.shape,), "list(shape)"))
    elif value.handle is not None:
        arg.handle_data.add(dtype=value.handle.dtype.enum, shape=encode_shape(value.handle.shape))


def _legal_names(names: Iterable[str], taken: set[str]) -> list[str]:
    """Argument names that TensorFlow allows: unique, lower case, starting with a letter."""
    legal = []
    for name in names:
        base = _ILLEGAL.sub("_", name.lower())
        if not base[:1].isalpha():
            base = f"arg_{base.lstrip('_')}"
        unique, number = base, 0
        while unique in taken:
            number += 1
            unique = f"{base}_{number}"
        taken.add(unique)
        legal.append(unique)
    return legal


def _argument_names(graph: Graph, nodes: Iterable[Node]) -> dict[Value, str]:
    names = _legal_names(graph.input_names, {node.name for node in nodes})
    return dict(zip(graph.inputs, names, strict=True))


class FunctionNames:
    """Unique names under which the functions of several graphs are written.

    Args:
        prefix: put before the names of functions that were traced here.
    """

    def __init__(self, prefix: str = "__inference_") -> None:
        self._prefix = prefix
        self._names: dict[Graph, str] = {}
        self._taken: set[str] = set()

    def of(self, graph: Graph) -> str:
        """The name of a graph."""
        found = self._names.get(graph)
        if found is None:
            wanted = _BAD.sub("_", graph.name)
            if not wanted.startswith(self._prefix):
                wanted = f"{self._prefix}{wanted}"
            found, number = wanted, 0
            while found in self._taken:
                number += 1
                found = f"{wanted}_{number}"
            self._taken.add(found)
            self._names[graph] = found
        return found

    def of_ref(self, ref: FunctionRef) -> str:
        """The name of the function to which a node refers."""
        return self.of(ref.graph)


def encode_library(
    graphs: Iterable[Graph], names: FunctionNames, gradients: Mapping[Node, str] | None = None
) -> list[FunctionDef]:
    """These graphs and all they call, without duplicates.

    Args:
        graphs: the graphs.
        names: names of functions.
        gradients: the names of the gradients of nodes.

    Raises:
        InvalidArgumentError: a function calls itself.
    """
    return [
        encode_function(graph, names.of(graph), names.of_ref, gradients)
        for graph in called_graphs(graphs)
    ]


def called_graphs(graphs: Iterable[Graph]) -> list[Graph]:
    """These graphs and all that they call, without duplicates."""
    waiting = list(graphs)
    found: dict[Graph, None] = {}
    while waiting:
        graph = waiting.pop(0)
        if graph not in found:
            found[graph] = None
            waiting.extend(ref.graph for ref in graph.functions())
    return list(found)
