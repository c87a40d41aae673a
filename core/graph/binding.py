"""Known arguments of a graph as constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import GraphBuilder
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import CONST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph


def bound(graph: Graph, known: Mapping[int, Array]) -> Graph:
    """The graph with constants wherever these arguments are used; it takes the same arguments.

    Args:
        graph: stays as it is.
        known: place of an argument -> its array in all calls.
    """
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    for place, array in known.items():
        value = graph.inputs[place]
        attrs = {"value": array, "dtype": value.dtype}
        spec = TensorSpec.of(Shape(array.shape), value.dtype)
        made = copy.target.add_raw(CONST, (), attrs, f"{value.node.name}/value", [spec])
        copy.values[value] = made.outputs[0]
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node not in arguments:
            copy.node(node)
    copy.outputs(graph)
    return copy.target.finish()
