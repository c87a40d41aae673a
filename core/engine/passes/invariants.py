"""Loop-invariant constants become constants of the loop's body.

A function's body sees captured values as arguments. In the plan of a body these become constants:
values that depend on them alone are computed once, and weights are packed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Node, Value, constant_of
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import CONST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.tensor import Array


def with_invariants(graph: Graph) -> Graph:
    """The same program; constants that a loop passes through unchanged are constants of its body.

    Scalars stay arguments: loops over scalars are compiled, and one kernel serves all limits.

    Args:
        graph: the program, with constants folded.
    """
    found = {node: given for node in graph.nodes if (given := _constants(node))}
    if not found:
        return graph
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node in arguments:
            continue
        made = copy.node(node)
        if node in found:
            made.attrs = {**node.attrs, "body": _reference(node.attrs["body"], found[node])}
    copy.outputs(graph)
    return copy.target.finish()


def _constants(node: Node) -> dict[int, Array]:
    """The constant arrays among a loop's initial values, by index."""
    if node.op.runs != "loop":
        return {}
    arrays = {place: constant_of(value) for place, value in enumerate(node.inputs)}
    return {place: array for place, array in arrays.items() if array is not None and array.ndim > 0}


def _reference(body: FunctionRef, given: Mapping[int, Array]) -> FunctionRef:
    return FunctionRef(body.name, lambda: _with_constants(body.graph, given))


def _with_constants(body: Graph, given: Mapping[int, Array]) -> Graph:
    """A body with these arrays as constants in place of the arguments that it returns unchanged."""
    copy = Copy(GraphBuilder(body.name))
    copy.inputs(body)
    handed = {}
    for place, array in given.items():
        value = body.inputs[place]
        if _origin(body.outputs[place]) is not value:
            continue
        handed[value] = copy.values[value]
        attrs = {"value": array, "dtype": value.dtype}
        made = copy.target.add_raw(CONST, (), attrs, f"{value.node.name}/value", [value.spec])
        made.outputs[0].refine(type(value.shape)(array.shape))
        copy.values[value] = made.outputs[0]
    arguments = {value.node for value in body.inputs}
    for node in ordered(body):
        if node not in arguments:
            copy.node(node)
    # Loop-invariant variables are returned as given, as the loop's results.
    copy.values.update(
        (value, argument)
        for place in given
        for value in (body.outputs[place],)
        if (argument := handed.get(body.inputs[place])) is not None
    )
    copy.outputs(body)
    return copy.target.finish()


def _origin(value: Value) -> Value:
    """The value that an identity chain starts from."""
    while value.node.op.alias and not value.node.controls:
        value = value.node.inputs[value.node.outputs.index(value)]
    return value
