"""Random shuffles of rows."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.random import philox, stateful
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.specs import TensorSpec


@converts("StatelessShuffle")
def shuffle(
    g: GraphBuilder, call: NodeView, value: Value, key: Value, counter: Value, alg: Value
) -> Value:
    """Fisher and Yates' shuffle: each row, in order, is swapped with one at or behind it."""
    del alg
    if value.shape.rank == 0:
        return g.op("Identity", value)
    start = philox.of_arrays(g, call, key, counter, 3)
    count = g.scalar(g.size_of(value, 0))
    drawn = philox.words(g, start, g.op("Div", g.op("Add", count, g.index(3)), g.index(4)))
    body = g.body()
    turn = body.input("row", TensorSpec([], dtypes.int64))
    go = body.input("go", TensorSpec([], dtypes.bool))
    order = body.input("order", TensorSpec([None], dtypes.int64))
    body.result(go)
    left = body.cast(body.op("Sub", count, turn), dtypes.uint64)
    ahead = body.op("Mod", body.op("Gather", drawn, turn, axis=0), left)
    pair = body.joined(
        body.reshape(turn, [1]), body.reshape(body.op("Add", turn, body.as_int64(ahead)), [1])
    )
    rows = body.op("Gather", order, pair, axis=0)
    turned = body.slice(rows, 0, -1, np.iinfo(np.int64).min, -1)
    body.result(body.op("ScatterElements", order, pair, turned, axis=0))
    first = g.iota(count)
    turns = g.op("Max", g.op("Sub", count, g.index(1)), g.index(0))
    specs = [TensorSpec.of(first.shape, dtypes.int64)]
    found = g.with_bodies("Loop", specs, turns, None, first, body=body)[0]
    return g.op("Gather", value, found, axis=0)


@converts("RandomShuffle")
def shuffle_by_state(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Rows sorted by random numbers."""
    if not x.rank:
        return g.op("Identity", x)
    count = g.size_of(x, 0)
    keys = stateful.uniform_numbers(g, call, count)
    order = g.ops("TopK", 2, keys, count, axis=0, largest=1, sorted=1)[1]
    return g.op("Gather", x, order, axis=0)
