"""Ranks that the graph leaves unknown, taken from a run on a sample.

Formats require ranks in the file. They are the ranks of one run, and the file's metadata says so.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from pinnace.framework import dtypes
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.graph import Graph, Node, Value
from pinnace.graph.walk import ordered

_HANDLES = (dtypes.resource, dtypes.variant)
# (op, index) of shape arguments: their length is the rank of the result.
_SHAPES = {"SparseReshape": (1, 2)}
# Attributes of functions whose outputs are those of the node that runs them.
_FUNCTIONS = {
    "call": ("f",),
    "branch": ("then_branch", "else_branch", "branches"),
    "loop": ("body",),
}


def unknown_ranks(graph: Graph) -> list[Value]:
    """The values of unknown rank, and shapes of unknown length, outside of functions."""
    nodes = ordered(graph)
    found = [value for node in nodes for value in node.outputs if value.shape.rank is None]
    found += [
        node.inputs[place]
        for node in nodes
        for place in _SHAPES.get(node.op.name, ())
        if not node.inputs[place].shape.is_fully_defined()
    ]
    return [value for value in dict.fromkeys(found) if value.dtype not in _HANDLES]


def varying_ranks(graph: Graph, given: Collection[Value] = ()) -> set[Value]:
    """The values whose rank differs from run to run.

    Such a value comes from a condition whose branches have different ranks, or depends on one. For
    shapes, the length counts. No sample can determine such a rank.

    Args:
        graph: the program, or a function of it.
        given: its arguments of varying rank.
    """
    found = set(given)
    for node in ordered(graph):
        places = [place for place, value in enumerate(node.inputs) if value in found]
        differ = _differing(node, places)
        for place, value in enumerate(node.outputs):
            if _is_open(value) and (places or place in differ):
                found.add(value)
    return found


def refuse_varying(graph: Graph, unknown: Collection[str]) -> None:
    """Refuse outputs whose rank differs from run to run.

    Args:
        graph: the program.
        unknown: names of its outputs of unknown rank.

    Raises:
        UnimplementedError: conditions decide ranks; the message names them.
    """
    varying = varying_ranks(graph)
    pairs = zip(graph.output_names, graph.outputs, strict=True)
    names = [name for name, value in pairs if name in unknown and value in varying]
    if names:
        conditions = [node for node in ordered(graph) if _differing(node, ())]
        where = ", ".join(
            f"{node.name!r}" + (f" (called at {node.source})" if node.source else "")
            for node in conditions
        )
        raise UnimplementedError(
            f"export: the rank of output {names[0]!r} is unknown: the branches of {where} return "
            "different ranks, which no sample can determine\n"
            "  Try: the same rank in every branch, with expand_dims or reshape"
        )


def _differing(node: Node, places: Sequence[int]) -> set[int]:
    """The outputs whose rank differs between branches, or varies inside a function."""
    names = _FUNCTIONS.get(node.op.runs or "")
    if names is None:
        return set()
    given = [node.attrs[name] for name in names if name in node.attrs]
    graphs = [ref.graph for one in given for ref in (one if isinstance(one, tuple) else (one,))]
    first = 1 if node.op.runs == "branch" else 0
    found = set()
    for graph in graphs:
        arguments = [graph.inputs[place - first] for place in places if place >= first]
        inside = varying_ranks(graph, arguments)
        found |= {place for place, value in enumerate(graph.outputs) if value in inside}
    for place, values in enumerate(zip(*(graph.outputs for graph in graphs), strict=True)):
        ranks = {value.shape.rank for value in values} - {None}
        lengths = {value.shape[0] for value in values if _is_vector(value)} - {None}
        if len(ranks) > 1 or (len(lengths) > 1 and _is_open(node.outputs[place])):
            found.add(place)
    return found


def _is_vector(value: Value) -> bool:
    return value.dtype.is_integer and value.shape.rank == 1


def _is_open(value: Value) -> bool:
    """Whether the rank is unknown, or, for a possible shape, the length."""
    return value.shape.rank is None or (_is_vector(value) and value.shape[0] is None)


def with_ranks(
    graph: Graph, inputs: Mapping[str, TensorSpec], feeds: Sequence[Array]
) -> tuple[Graph, tuple[str, ...]]:
    """Set the ranks that a graph's values have for given inputs.

    Args:
        graph: without captures; its values are changed, so it must not be shared.
        inputs: name -> spec.
        feeds: the inputs, in order.

    Returns:
        The graph, and the outputs whose rank this determined; varying ones are not among them.
    """
    varying = varying_ranks(graph)
    unknown = [value for value in unknown_ranks(graph) if value not in varying]
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
        if value.shape.rank is None and value not in varying
    )
    shapes = {value for value in unknown if value.shape.rank is not None}
    for value, array in zip(unknown, found, strict=True):
        value.refine(Shape.of(array.shape) if value in shapes else Shape([None] * array.ndim))
    return graph, told
