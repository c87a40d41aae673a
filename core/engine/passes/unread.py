"""Leaves out loop variables that nothing reads.

JAX's scan returns the rows of all iterations and the last state. Keras uses one of the two: a
recurrent layer that returns its last state would write each state into a list that nobody reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Node
from pinnace.graph.walk import needed, ordered

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pinnace.graph.graph import Value


def without_unread(graph: Graph) -> Graph:
    """The same program; loops compute only what the program, their condition and effects need."""
    nodes = ordered(graph)
    read = {*graph.outputs, *(value for node in nodes for value in node.inputs)}
    kept = {node: _kept(node, read) for node in nodes if node.op.runs == "loop"}
    if all(len(places) == len(node.inputs) for node, places in kept.items()):
        return graph
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    for node in nodes:
        if node in arguments:
            continue
        if len(kept.get(node, node.inputs)) == len(node.inputs):
            copy.node(node)
        else:
            _write(node, kept[node], copy)
    copy.outputs(graph)
    return copy.target.finish()


def _kept(node: Node, read: Collection[Value]) -> Sequence[int]:
    """The loop variables that the program, the condition, effects, or one of these read."""
    places = range(len(node.inputs))
    cond, body = node.attrs["cond"].graph, node.attrs["body"].graph
    if not len(body.inputs) == len(body.outputs) == len(cond.inputs) == len(node.outputs):
        return places
    found = {place for place in places if node.outputs[place] in read}
    found |= _places(cond, needed(cond.outputs, cond.effects))
    while True:
        asked = needed([body.outputs[place] for place in sorted(found)], body.effects)
        more = _places(body, asked) - found
        if not more:
            return sorted(found)
        found |= more


def _places(graph: Graph, nodes: Sequence[Node]) -> set[int]:
    """The indices of the arguments that are among these nodes."""
    among = set(nodes)
    return {place for place, value in enumerate(graph.inputs) if value.node in among}


def _write(node: Node, kept: Sequence[int], copy: Copy) -> None:
    """Add the loop with only these variables."""
    cond, body = node.attrs["cond"], node.attrs["body"]
    attrs = {
        **node.attrs,
        "cond": FunctionRef(cond.name, _part(cond.graph, kept, range(len(cond.graph.outputs)))),
        "body": FunctionRef(body.name, _part(body.graph, kept, kept)),
    }
    for name in ("T", "output_shapes"):
        if len(attrs[name]) == len(node.inputs):
            attrs[name] = tuple(attrs[name][place] for place in kept)
    outputs = [node.outputs[place] for place in kept]
    made = copy.target.add_raw(
        node.op,
        [copy.values[node.inputs[place]] for place in kept],
        attrs,
        node.name,
        [TensorSpec.of(value.spec.shape, value.spec.dtype) for value in outputs],
        copy.controls(node.controls),
    )
    made.source = node.source
    for here, there in zip(outputs, made.outputs, strict=True):
        there.handle = here.handle
        copy.values[here] = there
    copy.nodes[node] = (made,)


def _part(function: Graph, arguments: Sequence[int], results: Sequence[int]) -> Graph:
    """A function with only these arguments and results."""
    copy = Copy(GraphBuilder(function.name))
    for place in arguments:
        value = function.inputs[place]
        made = copy.target.add_input(
            value.node.op, value.spec, function.input_names[place], value.handle
        )
        copy.values[value], copy.nodes[value.node] = made, (made.node,)
    outputs = [function.outputs[place] for place in results]
    asked = set(needed(outputs, function.effects)) - {value.node for value in function.inputs}
    for node in ordered(function):
        if node in asked:
            copy.node(node)
    names = [function.output_names[place] for place in results]
    copy.target.set_outputs([copy.values[value] for value in outputs], names)
    copy.target.effects = [there for node in function.effects for there in copy.nodes[node]]
    return copy.target.finish()
