"""softmax(q kᵀ * scale + mask) v replaced by Attention, in opsets that have it."""

from typing import NamedTuple

import numpy as np

from pinnace.deploy.onnx.ir.builder import GraphBuilder, bodies_of
from pinnace.deploy.onnx.ir.graph import Node, Value, constant_input
from pinnace.deploy.onnx.passes.replacing import Places, replace_values
from pinnace.framework import dtypes

_SINCE = 23
_LAST_TWO = [0, 1, 3, 2]
_RANK = 4


class _Attention(NamedTuple):
    """Multi-head attention.

    Attributes:
        target: the result, [batch, heads, rows, columns].
        query: [batch, heads, rows, size].
        keys: before a transpose, and the permutation to [batch, heads, rows, size].
        values: [batch, heads, rows, columns].
        scale: the factor of the scores.
        mask: the summand of the scores; None for none.
        kept: for a selecting mask: where scores are kept, else `low`.
        low: the constant for masked scores.
    """

    target: Value
    query: Value
    keys: tuple[Value, list[int] | None]
    values: Value
    scale: float
    mask: Value | None
    kept: Value | None
    low: Value | None


def name_attention(g: GraphBuilder) -> None:
    """Replace formulas by the operator, including those in nested graphs."""
    if g.opset < _SINCE:
        return
    for node in g.nodes:
        for body in bodies_of(node):
            name_attention(body)
    users = g.users()
    results = {value for _, value in g.outputs}
    found: dict[Value, _Attention] = {}
    for node in g.nodes:
        attention = _attention(node, users, results) if node.kind == "Softmax" else None
        if attention is not None:
            found[attention.target] = attention

    def change(node: Node, places: Places) -> Value | None:
        attention = found.get(node.outputs[0])
        return None if attention is None else _written(g, attention, places)

    replace_values(g, change)


def _only(value: Value, users: dict[Value, list[Node]], results: set[Value]) -> Node | None:
    """The only user of a value; None if there are several, or if it is a result."""
    takers = users.get(value, [])
    return takers[0] if len(takers) == 1 and value not in results else None


def _attention(
    node: Node, users: dict[Value, list[Node]], results: set[Value]
) -> _Attention | None:
    weights, scores = node.outputs[0], node.inputs[0]
    taker = _only(weights, users, results)
    if scores is None or taker is None or taker.kind != "MatMul" or taker.inputs[0] is not weights:
        return None
    if scores.shape.rank != _RANK or scores.dtype is not dtypes.float32:
        return None
    if node.attrs.get("axis", -1) not in {-1, _RANK - 1}:
        return None
    masked = _masked(scores)
    if masked is None:
        return None
    scores, scale = _unscaled(masked.scores)
    values, product = taker.inputs[1], scores.node
    if product is None or product.kind != "MatMul" or values is None or values.rank != _RANK:
        return None
    query, turned = product.inputs
    if query is None or turned is None or query.rank != _RANK or turned.rank != _RANK:
        return None
    keys = _untransposed(turned)
    rest = (masked.mask, masked.kept, masked.low)
    return _Attention(taker.outputs[0], query, keys, values, scale, *rest)


class _Masked(NamedTuple):
    scores: Value
    mask: Value | None = None
    kept: Value | None = None
    low: Value | None = None


def _masked(scores: Value) -> _Masked | None:
    """The scores before an additive or selecting mask; None for other masks."""
    node = scores.node
    if node is not None and node.kind == "Where":
        kept, found, low = node.inputs
        if found is None or low is None or low.array is None or low.array.size != 1:
            return None
        return _Masked(found, None, kept, low)
    if node is not None and node.kind == "Add":
        places = [_is_scores(value) for value in node.inputs]
        found = node.inputs[places.index(True)] if places.count(True) == 1 else None
        return None if found is None else _Masked(found, node.inputs[places.index(False)])
    return _Masked(scores)


def _is_scores(value: Value | None) -> bool:
    if value is None:
        return False
    node = _unscaled(value)[0].node
    return node is not None and node.kind == "MatMul"


def _unscaled(value: Value) -> tuple[Value, float]:
    """The value before a multiplication by a number."""
    node = value.node
    if node is None or node.kind not in {"Mul", "Div"}:
        return value, 1.0
    for place in (1, 0) if node.kind == "Mul" else (1,):
        number, other = constant_input(node, place), node.inputs[1 - place]
        if number is not None and number.size == 1 and other is not None and number.any():
            factor = float(number.reshape(-1)[0])
            return other, factor if node.kind == "Mul" else 1 / factor
    return value, 1.0


def _untransposed(turned: Value) -> tuple[Value, list[int] | None]:
    node = turned.node
    source = node.inputs[0] if node is not None and node.kind == "Transpose" else None
    if node is None or source is None:
        return turned, _LAST_TWO
    perm = [node.attrs["perm"][axis] for axis in _LAST_TWO]
    return source, None if perm == sorted(perm) else perm


def _written(g: GraphBuilder, attention: _Attention, places: Places) -> Value:
    def now(value: Value) -> Value:
        return places.get(value, value)

    source, perm = attention.keys
    keys = now(source) if perm is None else g.transpose(now(source), perm)
    mask = attention.mask
    if attention.kept is not None and attention.low is not None:
        mask = g.where(now(attention.kept), g.like(attention.low, 0), attention.low)
    # Scaling the query is equivalent to scaling the scores.
    query, factor = _unscaled(now(attention.query))
    return g.op(
        "Attention",
        query,
        keys,
        now(attention.values),
        None if mask is None else now(mask),
        scale=float(np.float32(attention.scale * factor)),
    )
