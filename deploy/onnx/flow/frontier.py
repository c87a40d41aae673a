"""The values that cross from tokenizer to ONNX, found by a minimum cut."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pinnace.deploy.onnx.passes.minimum_cut import SINK, SOURCE, Network
from pinnace.deploy.refusals import Refusal, refused
from pinnace.deploy.tokenizer.errors import UnsupportedError
from pinnace.deploy.tokenizer.numbers import is_part
from pinnace.deploy.tokenizer.steps import Step, steps_of
from pinnace.framework import dtypes
from pinnace.graph.graph import Graph, Node, Value
from pinnace.graph.walk import ordered

# Costs: 1 for a crossing value; more for a string input that both sides read; and more than all of
# them together for values that cannot cross.
_INPUT: Final = 1 << 20
_NEVER: Final = 1 << 40
_CROSSING = (dtypes.bool, dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


@dataclass(frozen=True, slots=True)
class Frontier:
    """A graph split in two.

    Attributes:
        nodes: the tokenizer's nodes, in order.
        values: the values of these nodes that the other part takes.
        steps: the steps of these nodes, in order.
    """

    nodes: tuple[Node, ...]
    values: tuple[Value, ...]
    steps: tuple[Step, ...]


def find_frontier(graph: Graph, unconvertible: Collection[str]) -> Frontier:
    """Find the cut with the fewest crossing values, and of several the earliest.

    Args:
        graph: the graph, frozen and folded.
        unconvertible: names of the nodes without an ONNX counterpart.

    Raises:
        ExportRefusedError: an op on strings is supported neither by ONNX nor by tokenizers, or the
            model returns strings.
    """
    texts = {value.node for value in graph.inputs if value.dtype is dtypes.string}
    reached = _reached(graph, {value.node for value in graph.inputs})
    nodes = [node for node in ordered(graph) if node in reached]
    arguments = {value.node for value in graph.inputs}
    steps, reasons = _steps([node for node in nodes if node not in arguments], reached)
    from_texts = _reached(graph, texts) - texts
    must = _only_tokenizer([node for node in nodes if node in from_texts], unconvertible, reasons)
    _refuse(graph, [node for node in _behind(must, reached) if node in reasons], reasons)
    network = _network(graph, nodes, texts, reasons)
    for node in must:
        network.edge(SOURCE, node, _NEVER)
    side = network.cut(early=True)
    chosen = tuple(node for node in nodes if node in side and node not in arguments)
    values = _crossing(graph, chosen)
    odd = {value.node: _use(graph, value) for value in values if not _may_cross(value)}
    _refuse(graph, list(odd), odd)
    return Frontier(chosen, values, tuple(step for node in chosen for step in steps[node]))


def _reached(graph: Graph, start: Collection[Node]) -> set[Node]:
    """These nodes, and those reachable from them."""
    found = set(start)
    for node in ordered(graph):
        if any(value.node in found for value in node.inputs):
            found.add(node)
    return found


def _steps(
    nodes: Sequence[Node], reached: Collection[Node]
) -> tuple[dict[Node, list[Step]], dict[Node, str]]:
    """The steps of nodes, and the reasons why others have none."""
    steps: dict[Node, list[Step]] = {}
    reasons: dict[Node, str] = {}
    for node in nodes:
        foreign = [v for v in node.inputs if v.node not in reached and v.node.op.name != "Const"]
        try:
            steps[node] = steps_of(node)
        except UnsupportedError as error:
            reasons[node] = str(error)
        if foreign:
            reasons[node] = f"it takes what {foreign[0].node.op.name} gives"
    return steps, reasons


def _only_tokenizer(
    nodes: Sequence[Node], unconvertible: Collection[str], reasons: Mapping[Node, str]
) -> list[Node]:
    """The nodes that only a tokenizer supports."""
    unsupported: set[Node] = set()
    found = []
    for node in nodes:
        if node in reasons or any(value.node in unsupported for value in node.inputs):
            unsupported.add(node)
        if node.name in unconvertible:
            touches = any(v.dtype is dtypes.string for v in (*node.inputs, *node.outputs))
            if touches or node not in unsupported:
                found.append(node)
    return found


def _behind(nodes: Sequence[Node], reached: Collection[Node]) -> list[Node]:
    """These nodes and their ancestors."""
    found = dict.fromkeys(nodes)
    queue = list(nodes)
    while queue:
        for value in queue.pop().inputs:
            if value.node in reached and value.node not in found:
                found[value.node] = None
                queue.append(value.node)
    return list(found)


def _refuse(graph: Graph, nodes: Sequence[Node], reasons: Mapping[Node, str]) -> None:
    if not nodes:
        return
    grouped: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        grouped.setdefault((node.op.name, reasons[node]), []).append(node)
    raise refused(
        graph.name,
        [
            Refusal(op, f"it works on strings, and {reason}", _places(these))
            for (op, reason), these in sorted(grouped.items())
        ],
    )


def _places(nodes: Sequence[Node]) -> tuple[tuple[str, str | None], ...]:
    return tuple((node.name, node.source or None) for node in nodes)


def _may_cross(value: Value) -> bool:
    """Whether a value can be an input: numbers of known rank that are no part of a step."""
    return value.dtype in _CROSSING and value.shape.rank is not None and not is_part(value)


def _use(graph: Graph, value: Value) -> str:
    """Why a value cannot cross."""
    if value.dtype in _CROSSING:
        return f"what it gives cannot be an input of the file: {value.spec.text}"
    for name, output in zip(graph.output_names, graph.outputs, strict=True):
        if output is value:
            return f"its strings are the output {name!r}; try a signature without that output"
    users = {node.op.name for node in ordered(graph) if value in node.inputs}
    return f"its strings are taken by {', '.join(sorted(users))}, which a tokenizer has no step for"


def _network(
    graph: Graph, nodes: Sequence[Node], texts: Collection[Node], reasons: Mapping[Node, str]
) -> Network:
    """The flow network of the graph, with the tokenizer on the source's side."""
    network = Network()
    # Both parts may read numerical inputs.
    free = {value.node for value in graph.inputs} - set(texts)
    known = set(nodes) - free
    for node in known:
        if node in texts:
            network.edge(SOURCE, node, _NEVER)
        elif node in reasons:
            network.edge(node, SINK, _NEVER)
        for value in node.outputs:
            cost = 1 if _may_cross(value) else _NEVER
            network.edge(node, value, _INPUT if node in texts else cost)
        for value in node.inputs:
            if value.node in known:
                network.edge(value, node, _NEVER)
                network.edge(node, value.node, _NEVER)
    for value in graph.outputs:
        if value.node in known:
            network.edge(value, SINK, _NEVER)
    return network


def _crossing(graph: Graph, chosen: Sequence[Node]) -> tuple[Value, ...]:
    """The values that the other nodes take from the tokenizer's, in order."""
    inside = set(chosen)
    taken = {value for node in ordered(graph) if node not in inside for value in node.inputs} | set(
        graph.outputs
    )
    return tuple(value for node in chosen for value in node.outputs if value in taken)
