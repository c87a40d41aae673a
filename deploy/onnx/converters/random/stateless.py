"""Random numbers that a seed tells: TensorFlow's own, each drawn once."""

from collections.abc import Callable

import numpy as np

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.converters.random import philox
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.specs import TensorSpec

_Draw = Callable[[GraphBuilder, philox.Start, Value, DType], Value]


def _shaped(
    g: GraphBuilder, call: NodeView, shape: Value, start: philox.Start, draw: _Draw
) -> Value:
    dtype = call.dtype("dtype")
    flat = draw(g, start, philox.count_of(g, shape), dtype)
    return g.cast(g.reshape(flat, g.as_int64(shape)), dtype)


@converts("StatelessRandomUniform")
def uniform(g: GraphBuilder, call: NodeView, shape: Value, seed: Value) -> Value:
    """The low bits of words, as a fraction."""
    return _shaped(g, call, shape, philox.of_seed(g, seed), philox.unit)


@converts("StatelessRandomUniformV2")
def uniform_of_key(
    g: GraphBuilder, call: NodeView, shape: Value, key: Value, counter: Value, alg: Value
) -> Value:
    """The low bits of words, as a fraction."""
    del alg
    return _shaped(g, call, shape, philox.of_arrays(g, call, key, counter, 3), philox.unit)


@converts("StatelessRandomNormal")
def normal(g: GraphBuilder, call: NodeView, shape: Value, seed: Value) -> Value:
    """Pairs of fractions by Box and Muller's formula."""
    return _shaped(g, call, shape, philox.of_seed(g, seed), philox.bell)


@converts("StatelessRandomNormalV2")
def normal_of_key(
    g: GraphBuilder, call: NodeView, shape: Value, key: Value, counter: Value, alg: Value
) -> Value:
    """Pairs of fractions by Box and Muller's formula."""
    del alg
    return _shaped(g, call, shape, philox.of_arrays(g, call, key, counter, 3), philox.bell)


def _whole(g: GraphBuilder, start: philox.Start, count: Value, dtype: DType) -> Value:
    return philox.wrapped(g, philox.integers(g, start, count, dtype), dtype)


@converts("StatelessRandomUniformFullInt")
def full_int(g: GraphBuilder, call: NodeView, shape: Value, seed: Value) -> Value:
    """The words themselves."""
    return _shaped(g, call, shape, philox.of_seed(g, seed), _whole)


@converts("StatelessRandomUniformFullIntV2")
def full_int_of_key(
    g: GraphBuilder, call: NodeView, shape: Value, key: Value, counter: Value, alg: Value
) -> Value:
    """The words themselves."""
    del alg
    return _shaped(g, call, shape, philox.of_arrays(g, call, key, counter, 3), _whole)


def _between(low: Value, high: Value) -> _Draw:
    def draw(g: GraphBuilder, start: philox.Start, count: Value, dtype: DType) -> Value:
        drawn = philox.integers(g, start, count, dtype)
        least = g.cast(low, dtypes.uint64)
        # In 64 bits the difference is right whatever the signs are.
        span = g.op("Sub", g.cast(high, dtypes.uint64), least)
        return philox.wrapped(g, g.op("Add", g.op("Mod", drawn, span), least), dtype)

    return draw


@converts("StatelessRandomUniformInt")
def uniform_int(
    g: GraphBuilder, call: NodeView, shape: Value, seed: Value, low: Value, high: Value
) -> Value:
    """Remainders of the words."""
    return _shaped(g, call, shape, philox.of_seed(g, seed), _between(low, high))


@converts("StatelessRandomUniformIntV2")
def uniform_int_of_key(
    g: GraphBuilder,
    call: NodeView,
    shape: Value,
    key: Value,
    counter: Value,
    alg: Value,
    low: Value,
    high: Value,
) -> Value:
    """Remainders of the words."""
    del alg
    start = philox.of_arrays(g, call, key, counter, 3)
    return _shaped(g, call, shape, start, _between(low, high))


@converts("StatelessRandomGetKeyCounter")
def key_counter(g: GraphBuilder, call: NodeView, seed: Value) -> tuple[Value, Value]:
    """One block of Philox, of the seed."""
    del call
    start = philox.of_seed(g, seed)
    halves = [g.reshape(half, [1]) for half in (start.low, start.high)]
    return g.reshape(start.key, [1]), g.joined(*halves)


@converts("StatelessRandomGetAlg")
def algorithm(g: GraphBuilder, call: NodeView) -> Value:
    """Philox."""
    del call
    return g.constant(np.array(1, np.int32))


@converts("StatelessRandomGetKeyCounterAlg")
def key_counter_algorithm(
    g: GraphBuilder, call: NodeView, seed: Value
) -> tuple[Value, Value, Value]:
    """One block of Philox, of the seed."""
    return (*key_counter(g, call, seed), algorithm(g, call))


@converts("StatelessMultinomial")
def multinomial(
    g: GraphBuilder, call: NodeView, logits: Value, samples: Value, seed: Value
) -> Value:
    """Where in the sums of exp(logits) a fraction falls."""
    rows = g.cast(logits, dtypes.float64)
    odd = g.op("Or", g.op("IsNaN", rows), g.op("IsInf", rows))
    least = g.constant(np.array(np.finfo(np.float64).min))
    known = g.where(odd, least, rows)
    top = g.op("ReduceMax", known, g.ints(1), keepdims=1)
    weights = g.where(odd, g.like(rows, 0), g.op("Exp", g.op("Sub", known, top)))
    sums = g.op("CumSum", weights, g.index(1))
    sizes = g.joined(g.size_of(logits, 0), g.reshape(g.as_int64(samples), [1]))
    flat = philox.unit(g, philox.of_seed(g, seed), philox.count_of(g, sizes), dtypes.float64)
    places = g.op("Mul", g.reshape(flat, sizes), g.slice(sums, 1, -1, np.iinfo(np.int64).max))
    before = g.op("LessOrEqual", g.unsqueeze(sums, 1), g.unsqueeze(places, 2))
    found = g.op("ReduceSum", g.as_int64(before), g.ints(2), keepdims=0)
    return g.cast(found, call.dtype("output_dtype"))


@converts("StatelessShuffle")
def shuffle(
    g: GraphBuilder, call: NodeView, value: Value, key: Value, counter: Value, alg: Value
) -> Value:
    """Fisher and Yates: a row changes places with one at or behind it, the first rows first."""
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
