"""Forward and backward recurrent operators over one sequence, merged to a bidirectional one."""

from typing import Any, NamedTuple

import numpy as np

from pinnace.deploy.onnx.ir.builder import GraphBuilder, bodies_of
from pinnace.deploy.onnx.ir.graph import Node, Value, constant_input

_USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
_WEIGHTS = (1, 2, 3)
_STATES = (5, 6)


class _Half(NamedTuple):
    """One direction's part of a bidirectional operator: index `place` along `axis` of `whole`."""

    whole: Value
    axis: int
    place: int
    is_swapped: bool = False


def join_directions(g: GraphBuilder) -> None:
    """Merge the pairs of a graph, including those in bodies."""
    for node in g.nodes:
        for body in bodies_of(node):
            join_directions(body)
    partners = _partners(g)
    if not partners:
        return
    nodes, g.nodes = g.nodes, []
    places: dict[Value, Value] = {}
    halves: dict[Value, _Half] = {}
    for node in nodes:
        node.inputs = [None if v is None else places.get(v, v) for v in node.inputs]
        for body in bodies_of(node):
            body.replace(places)
        partner = partners.get(node)
        if partner is not None:
            partner.inputs = [None if v is None else places.get(v, v) for v in partner.inputs]
            _join(g, node, partner, halves)
        elif node in partners.values():
            continue
        elif not _side_by_side(g, node, halves, places):
            _follow(g, node, halves, places)
    g.outputs = [(name, places.get(value, value)) for name, value in g.outputs]
    g.prune()


def _partners(g: GraphBuilder) -> dict[Node, Node]:
    """The first of two nodes -> the second one."""
    found: dict[Node, Node] = {}
    waiting: dict[object, Node] = {}
    known = set(g.inputs)
    before: dict[Node, set[Value]] = {}
    for node in g.nodes:
        if node.kind in _USUAL and node.attrs.get("direction") in {None, *_OPPOSITE}:
            before[node] = set(known)
            attrs = {key: value for key, value in node.attrs.items() if key in _SHARED}
            lengths = node.inputs[4] if len(node.inputs) > 4 else None
            states = tuple(_given(node, i) is not None for i in _STATES)
            key = (node.kind, node.inputs[0], lengths, str(sorted(attrs.items())), states)
            way = node.attrs.get("direction") or "forward"
            other = waiting.get((key, _OPPOSITE[way]))
            late = [v for v in node.inputs if v is not None and v.array is None]
            inside = other is not None and all(v in before[other] or v.node is None for v in late)
            if other is not None and inside:
                found[other] = node
                del waiting[key, _OPPOSITE[way]]
            else:
                waiting[key, way] = node
        known.update(node.outputs)
    return found


_SHARED = frozenset({"hidden_size", "linear_before_reset", "clip"})
_OPPOSITE = {"forward": "reverse", "reverse": "forward"}


def _given(node: Node, index: int) -> Value | None:
    return node.inputs[index] if index < len(node.inputs) else None


def _join(g: GraphBuilder, first: Node, second: Node, halves: dict[Value, _Half]) -> None:
    """Add the bidirectional operator, and record the replacements of the outputs."""
    backwards = first.attrs.get("direction") == "reverse"
    pair = (second, first) if backwards else (first, second)
    operands: list[Value | None] = [first.inputs[0]]
    operands += [_stacked(g, pair, index) for index in _WEIGHTS]
    operands.append(_given(first, 4))
    for index in _STATES:
        states = [value for node in pair if (value := _given(node, index)) is not None]
        operands.append(g.concat(states, 0) if states else None)
    attrs: dict[str, Any] = {key: value for key, value in first.attrs.items() if key in _SHARED}
    attrs["direction"] = "bidirectional"
    names = [node.attrs.get("activations", _USUAL[node.kind]) for node in pair]
    if any(listed != _USUAL[first.kind] for listed in names):
        attrs["activations"] = [name for listed in names for name in listed]
        for key in ("activation_alpha", "activation_beta"):
            numbers = [n for node in pair for n in node.attrs.get(key, ())]
            if numbers:
                attrs[key] = numbers
    count = max(len(node.outputs) for node in pair)
    with g.scope(first.origin):
        made = g.ops(first.kind, count, *operands, **attrs)
    for index, node in enumerate(pair):
        for place, value in enumerate(node.outputs):
            halves[value] = _Half(made[place], 1 if place == 0 else 0, index)


def _stacked(g: GraphBuilder, pair: tuple[Node, Node], index: int) -> Value | None:
    """The weights of both; zeros for a direction without them."""
    arrays = [constant_input(node, index) for node in pair]
    there = [array for array in arrays if array is not None]
    values = [value for node in pair if (value := _given(node, index)) is not None]
    if not there:
        return None
    parts = [np.zeros_like(there[0]) if array is None else array for array in arrays]
    return g.constant(np.concatenate(parts), values[0].name, values[0].dtype)


def _follow(
    g: GraphBuilder, node: Node, halves: dict[Value, _Half], places: dict[Value, Value]
) -> None:
    """Rewire a user of one direction's output, with a slice of the whole if needed."""
    first = node.inputs[0] if node.inputs else None
    half = halves.get(first) if first is not None else None
    if half is not None and node.kind == "Squeeze":
        with g.scope(node.origin):
            made = g.op("Gather", half.whole, g.index(half.place), axis=half.axis)
        made.refine(node.outputs[0].shape)
        places[node.outputs[0]] = made
        halves[made] = half
        return
    if half is not None and node.kind == "Transpose" and list(node.attrs["perm"]) == [1, 0, 2]:
        halves[node.outputs[0]] = half._replace(is_swapped=not half.is_swapped)
    g.nodes.append(node)


def _side_by_side(
    g: GraphBuilder, node: Node, halves: dict[Value, _Half], places: dict[Value, Value]
) -> bool:
    """The concatenation of both directions: the whole with its axes permuted."""
    if node.kind != "Concat" or len(node.inputs) != 2:
        return False
    found = [halves.get(value) for value in node.inputs if value is not None]
    one, other = (found[0], found[1]) if len(found) == 2 else (None, None)
    if one is None or other is None or (one.place, other.place) != (0, 1):
        return False
    if one.whole is not other.whole or one.is_swapped is not other.is_swapped:
        return False
    target = node.outputs[0]
    if node.attrs["axis"] not in {-1, target.rank - 1} or target.size(-1) is None:
        return False
    perm = [1, 0, 2] if one.axis == 0 else [2, 0, 1, 3] if one.is_swapped else [0, 2, 1, 3]
    with g.scope(node.origin):
        turned = g.transpose(one.whole, perm)
        kept = [0] * (target.rank - 1)
        made = g.op("Reshape", turned, g.ints(*kept, int(target.shape[-1] or 0)))
    made.refine(target.shape)
    places[target] = made
    return True
