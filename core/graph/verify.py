"""Checks of graphs' invariants, for tests and hand-built graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError, OpError
from pinnace.graph.graph import GraphInferCall
from pinnace.graph.walk import needed
from pinnace.ops.execute import infer_shapes

if TYPE_CHECKING:
    from pinnace.graph.graph import Graph, Node, Value


def verify(graph: Graph) -> None:
    """Check that the graph is well formed and every value has the spec that inference gives.

    Every value and control comes from a node of the graph; names are unique; dtypes and counts of
    inputs are those of the op; shapes do not contradict inference; there are no cycles.

    Raises:
        InvalidArgumentError: the graph is not well formed; the first fault found is named.
    """
    where = f"graph {graph.name!r}"
    nodes = set(graph.nodes)
    given = {value.node for value in graph.inputs}
    _check_names(graph, where)
    for node in graph.nodes:
        place = f"{where}, node {node.name!r}"
        _check_edges(node, nodes, place)
        if node not in given:
            _check_inputs(node, place)
            _check_outputs(node, place)
    for value in (*graph.inputs, *graph.outputs):
        _check_belongs(value, nodes, where)
    for value in graph.inputs:
        if value.node.inputs:
            raise InvalidArgumentError(f"{where}: argument {value!r} is computed by its node")
    for node in graph.effects:
        if node not in nodes:
            raise InvalidArgumentError(f"{where}: effect {node!r} is not in it")
    needed((value for node in graph.nodes for value in node.outputs), graph.nodes)


def _check_names(graph: Graph, where: str) -> None:
    seen: set[str] = set()
    for node in graph.nodes:
        if node.name in seen:
            raise InvalidArgumentError(f"{where}: two nodes are named {node.name!r}")
        seen.add(node.name)
    counts = (len(graph.inputs), len(graph.outputs))
    if counts != (len(graph.input_names), len(graph.output_names)):
        raise InvalidArgumentError(
            f"{where} has {counts[0]} inputs and {counts[1]} outputs, and names for "
            f"{len(graph.input_names)} and {len(graph.output_names)}"
        )


def _check_edges(node: Node, nodes: set[Node], place: str) -> None:
    for value in node.inputs:
        _check_belongs(value, nodes, place)
    for control in node.controls:
        if control not in nodes:
            raise InvalidArgumentError(f"{place} waits for {control!r}, which is not in it")


def _check_belongs(value: Value, nodes: set[Node], place: str) -> None:
    node = value.node
    if node not in nodes or not any(value is one for one in node.outputs):
        raise InvalidArgumentError(f"{place} uses {value!r}, which is no output of a node of it")


def _check_inputs(node: Node, place: str) -> None:
    op = node.op
    for name in (*op.type_sets, *op.attrs, *op.number_attrs, *op.list_types):
        if name not in node.attrs:
            raise InvalidArgumentError(f"{place}: {op.name} needs attribute {name!r}")
    kinds = []
    for arg in op.inputs:
        if arg.list_attr:
            kinds.extend(node.attrs[arg.list_attr])
        else:
            dtype = arg.dtype or node.attrs[arg.type_attr]
            kinds.extend([dtype] * op.input_count(arg, node.attrs))
    found = [value.dtype for value in node.inputs]
    if found != kinds:
        raise InvalidArgumentError(
            f"{place}: {op.name} takes {[kind.name for kind in kinds]} ({op.signature}), "
            f"got {[kind.name for kind in found]}"
        )


def _check_outputs(node: Node, place: str) -> None:
    op = node.op
    kinds = op.output_dtypes(node.attrs)
    found = tuple(value.dtype for value in node.outputs)
    if found != kinds:
        raise InvalidArgumentError(
            f"{place}: {op.name} gives {[kind.name for kind in kinds]}, the node has "
            f"{[kind.name for kind in found]}"
        )
    call = GraphInferCall(op, op.pack_inputs(node.inputs, node.attrs), node.attrs)
    try:
        shapes = infer_shapes(op, call, len(kinds))
    except OpError as error:
        raise InvalidArgumentError(f"{place}: {error.message}") from error
    for value, shape in zip(node.outputs, shapes, strict=True):
        if not value.shape.is_compatible_with(shape):
            raise InvalidArgumentError(
                f"{place}: output {value.index} has shape {value.shape.text}, inference says "
                f"{shape.text}"
            )
