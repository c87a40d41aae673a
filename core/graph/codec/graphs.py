"""GraphDef → main graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.functions import FunctionLibrary
from pinnace.graph.codec.lowering import body_with_flow
from pinnace.graph.codec.references import with_handles
from pinnace.graph.graph import GraphBuilder
from pinnace.graph.walk import needed
from pinnace.ops.array.constants import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.graph.graph import Graph, Value
    from pinnace.proto.graph_pb2 import GraphDef
    from pinnace.proto.node_def_pb2 import NodeDef

Given: TypeAlias = "Callable[[GraphBuilder, NodeDef, int], Value | None]"


def decode_graph(
    message: GraphDef,
    where: str,
    outputs: Sequence[str],
    *,
    name: str = "graph",
    output_names: Sequence[str] | None = None,
    inputs: Sequence[tuple[str, str, TensorSpec]] = (),
    effects: Sequence[str] = (),
    library: FunctionLibrary | None = None,
    given: Given | None = None,
) -> Graph:
    """The part of a main graph that some of its values need.

    Args:
        message: the graph.
        where: the file, for errors.
        outputs: references to the values that become the outputs.
        name: name of the graph.
        output_names: one per output; those of the nodes if None.
        inputs: (reference, name, spec) of the values that become arguments, whatever computes them.
        effects: names of nodes that must run.
        library: the functions of `message`, if they were taken out of it already.
        given: the value that replaces output k of a node, or None; it may add to the graph.

    Raises:
        InvalidArgumentError: the message is no graph, or a reference leads nowhere.
        UnimplementedError: a loop or condition of TensorFlow 1 is none that is understood.
    """
    library = library or FunctionLibrary(message.library.function, where)
    nodes: dict[str, NodeDef] = {}
    for node in message.node:
        if node.name in nodes:
            raise InvalidArgumentError(f"{where}: two nodes are named {node.name!r}")
        nodes[node.name] = node
    graph = GraphBuilder(name)
    wanted = [_place(text, where) for text in outputs]
    fed: dict[tuple[str, int], Value | None] = {}
    for text, argument, spec in inputs:
        fed[_place(text, where)] = add_argument(graph, spec, argument)
    part, references = with_handles(nodes, outputs, effects, fed.keys())

    def stands_for(name: str, position: int) -> Value | None:
        key = (name, position)
        if key not in fed:
            known = given is not None and name in part
            fed[key] = given(graph, part[name], position) if known else None  # type: ignore[misc]  # known says so
        return fed[key]

    places = [_place(text, where) for text in references]
    body = body_with_flow(graph, part, library, f"{where}: main graph", stands_for, places)
    body.decode([*(name for name, k in places if stands_for(name, k) is None), *effects])
    results = [body.value(text, "a result") for text in references]
    graph.set_outputs(results, output_names or [node for node, _ in wanted])
    # As in a session, fetching a value runs everything it depends on, including effects.
    graph.effects = [
        node
        for node in needed(graph.outputs, [body.node(name) for name in effects])
        if node.op.stateful
    ]
    return graph.finish()


def add_argument(
    graph: GraphBuilder, spec: TensorSpec, name: str, handle: TensorSpec | None = None
) -> Value:
    """A new graph argument with exactly this name."""
    value = graph.add_input(PLACEHOLDER, TensorSpec.of(spec.shape, spec.dtype), name, handle)
    graph.input_names[-1] = name
    return value


def _place(text: str, where: str) -> tuple[str, int]:
    """The node and output of a reference."""
    name, _, index = text.partition(":")
    if text[:1] == "^" or (index and not (index.isascii() and index.isdigit())):
        raise InvalidArgumentError(f"{where}: {text[:200]!r} does not name a tensor of the graph")
    return name, int(index or 0)
