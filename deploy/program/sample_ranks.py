"""Ranks that the graph does not tell: those of a sample.

Formats want ranks written down. A sample's are those of one call; the file's metadata names where
they come from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.graph import Graph, Value
from pinnace.graph.walk import ordered

_HANDLES = (dtypes.resource, dtypes.variant)
# Arguments that are shapes: their size is the rank of what comes of them.
_SHAPES = {"SparseReshape": (1, 2)}


def unknown_ranks(graph: Graph) -> list[Value]:
    """The values of unknown rank, and shapes of unknown length; those inside of functions apart."""
    nodes = ordered(graph)
    found = [value for node in nodes for value in node.outputs if value.shape.rank is None]
    found += [
        node.inputs[place]
        for node in nodes
        for place in _SHAPES.get(node.op.name, ())
        if not node.inputs[place].shape.is_fully_defined()
    ]
    return [value for value in dict.fromkeys(found) if value.dtype not in _HANDLES]


def with_ranks(
    graph: Graph, inputs: Mapping[str, TensorSpec], feeds: Sequence[Array]
) -> tuple[Graph, tuple[str, ...]]:
    """The graph with the ranks that its values have for some inputs.

    Args:
        graph: without captures; nobody else's, for its values change.
        inputs: name -> spec.
        feeds: in order.

    Returns:
        The graph, and the outputs whose ranks this tells.
    """
    unknown = unknown_ranks(graph)
    if not unknown:
        return graph, ()
    names = tuple(f"value_{place}" for place in range(len(unknown)))
    probe = replace(graph, outputs=tuple(unknown), output_names=names)
    specs = {name: TensorSpec.of(spec.shape, spec.dtype, name) for name, spec in inputs.items()}
    results = {name: value.spec for name, value in zip(names, unknown, strict=True)}
    found = ConcreteFunction(probe, (), ((), specs), results, by_name=True).run(list(feeds))
    told = tuple(
        name
        for name, value in zip(graph.output_names, graph.outputs, strict=True)
        if value.shape.rank is None
    )
    shapes = {value for value in unknown if value.shape.rank is not None}
    for value, array in zip(unknown, found, strict=True):
        value.refine(Shape.of(array.shape) if value in shapes else Shape([None] * array.ndim))
    return graph, told
