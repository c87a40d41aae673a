"""Recurrent cells and layers that are single ops, as their formulas in a loop.

ONNX's LSTM does not return gates, and returns the states of the last step only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.onnx.converters.registry import converts
from pinnace.framework import dtypes
from pinnace.framework.specs import TensorSpec
from pinnace.ops.nn.recurrent_blocks import ORDERS

if TYPE_CHECKING:
    from pinnace.deploy.onnx.converters.node_view import NodeView
    from pinnace.deploy.onnx.ir.builder import GraphBuilder
    from pinnace.deploy.onnx.ir.graph import Value


def _affine(g: GraphBuilder, x: Value, h: Value, w: Value, b: Value) -> Value:
    both = g.concat([x, h], 1)
    return g.op("Add", g.op("MatMul", both, w), b)


def _parts(g: GraphBuilder, x: Value, count: int) -> tuple[Value, ...]:
    return g.ops("Split", count, x, axis=1, num_outputs=count)


def _step(
    g: GraphBuilder,
    call: NodeView,
    x: Value,
    state: Value,
    hidden: Value,
    weights: tuple[Value, ...],
) -> tuple[Value, ...]:
    """One LSTM step; the formulas are those of `lstm_step` in `ops/kernels/cells.py`."""
    w, wci, wcf, wco, b = weights
    order = ORDERS[call.node.op.name]
    gates = dict(zip(order, _parts(g, _affine(g, x, hidden, w, b), 4), strict=True))
    peephole = bool(call.attr("use_peephole"))
    bias = 0.0 if order == "ifco" else float(call.attr("forget_bias"))
    clip = float(call.attr("cell_clip"))
    i, f, o = gates["i"], gates["f"], gates["o"]
    if bias:
        f = g.binary("Add", f, bias)
    if peephole:
        i = g.op("Add", i, g.op("Mul", state, wci))
        f = g.op("Add", f, g.op("Mul", state, wcf))
    i, f, candidate = g.op("Sigmoid", i), g.op("Sigmoid", f), g.op("Tanh", gates["c"])
    new = g.op("Add", g.op("Mul", candidate, i), g.op("Mul", state, f))
    if clip > 0:
        new = g.op("Clip", new, g.like(new, -clip), g.like(new, clip))
    if peephole:
        o = g.op("Add", o, g.op("Mul", new, wco))
    o, squashed = g.op("Sigmoid", o), g.op("Tanh", new)
    return i, new, f, o, candidate, squashed, g.op("Mul", squashed, o)


@converts("LSTMBlockCell")
def lstm_cell(
    g: GraphBuilder, call: NodeView, x: Value, state: Value, hidden: Value, *weights: Value
) -> tuple[Value, ...]:
    """One step of a cell."""
    return _step(g, call, x, state, hidden, weights)


@converts("BlockLSTM", "BlockLSTMV2")
def lstm_layer(
    g: GraphBuilder,
    call: NodeView,
    length: Value,
    x: Value,
    state: Value,
    hidden: Value,
    *weights: Value,
) -> tuple[Value, ...]:
    """A step in every iteration of a loop; zeros behind the last valid step."""
    body = g.body()
    turn = body.input("step", TensorSpec([], dtypes.int64))
    go = body.input("go", TensorSpec([], dtypes.bool))
    now = [
        body.input(name, TensorSpec.of(value.shape, value.dtype))
        for name, value in (("state", state), ("hidden", hidden))
    ]
    body.result(go)
    here = body.op("Gather", x, turn, axis=0)
    found = _step(body, call, here, now[0], now[1], weights)
    for value in (found[1], found[6], *found):
        body.result(value)
    steps = g.as_int64(length)
    states = [TensorSpec.of(value.shape, value.dtype) for value in (state, hidden)]
    sequence = TensorSpec([None, *state.shape], x.dtype)
    specs = [*states, *[sequence] * 7]
    made = g.with_bodies("Loop", specs, steps, None, state, hidden, body=body)[2:]
    behind = g.op("Sub", g.size_of(x, 0), g.reshape(steps, [1]))
    pads = g.joined(g.ints(0, 0, 0), behind, g.ints(0, 0))
    # Without iterations a loop does not determine sizes.
    sizes = g.joined(g.reshape(steps, [1]), g.shape_of(state))
    return tuple(g.op("Pad", g.reshape(value, sizes), pads) for value in made)


@converts("GRUBlockCell")
def gru_cell(
    g: GraphBuilder,
    call: NodeView,
    x: Value,
    hidden: Value,
    w_ru: Value,
    w_c: Value,
    b_ru: Value,
    b_c: Value,
) -> tuple[Value, ...]:
    """One step of a cell."""
    del call
    both = g.op("Sigmoid", _affine(g, x, hidden, w_ru, b_ru))
    reset, update = _parts(g, both, 2)
    candidate = g.op("Tanh", _affine(g, x, g.op("Mul", hidden, reset), w_c, b_c))
    kept = g.op("Mul", update, hidden)
    new = g.op("Mul", g.op("Sub", g.like(update, 1), update), candidate)
    return reset, update, candidate, g.op("Add", new, kept)
