"""Seeded random numbers, equal to TensorFlow's."""

from collections.abc import Callable

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.random import philox
from pinnace.deploy.onnx.converters.random.streams import some
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.specs import TensorSpec
from pinnace.ops.kernels.philox import SKIP_PER_OUTPUT

_Draw = Callable[[GraphBuilder, philox.Start, Value, DType], Value]


def _shaped(
    g: GraphBuilder, call: NodeView, shape: Value, start: philox.Start, draw: _Draw
) -> Value:
    dtype = call.dtype("dtype")
    flat = draw(g, start, philox.count_of(g, shape), dtype)
    return g.cast(g.reshape(flat, g.as_int64(shape)), dtype)


@converts("StatelessRandomUniform")
def uniform(g: GraphBuilder, call: NodeView, shape: Value, seed: Value) -> Value:
    """The low bits of words as fractions."""
    return _shaped(g, call, shape, philox.of_seed(g, seed), philox.unit)


@converts("StatelessRandomUniformV2")
def uniform_of_key(
    g: GraphBuilder, call: NodeView, shape: Value, key: Value, counter: Value, alg: Value
) -> Value:
    """The low bits of words as fractions."""
    del alg
    return _shaped(g, call, shape, philox.of_arrays(g, call, key, counter, 3), philox.unit)


@converts("StatelessRandomNormal")
def normal(g: GraphBuilder, call: NodeView, shape: Value, seed: Value) -> Value:
    """Box and Muller's formula for pairs of fractions."""
    return _shaped(g, call, shape, philox.of_seed(g, seed), philox.bell)


@converts("StatelessRandomNormalV2")
def normal_of_key(
    g: GraphBuilder, call: NodeView, shape: Value, key: Value, counter: Value, alg: Value
) -> Value:
    """Box and Muller's formula for pairs of fractions."""
    del alg
    return _shaped(g, call, shape, philox.of_arrays(g, call, key, counter, 3), philox.bell)


def _whole(g: GraphBuilder, start: philox.Start, count: Value, dtype: DType) -> Value:
    return philox.wrapped(g, philox.integers(g, start, count, dtype), dtype)


@converts("StatelessRandomUniformFullInt")
def full_int(g: GraphBuilder, call: NodeView, shape: Value, seed: Value) -> Value:
    """The words as integers."""
    return _shaped(g, call, shape, philox.of_seed(g, seed), _whole)


@converts("StatelessRandomUniformFullIntV2")
def full_int_of_key(
    g: GraphBuilder, call: NodeView, shape: Value, key: Value, counter: Value, alg: Value
) -> Value:
    """The words as integers."""
    del alg
    return _shaped(g, call, shape, philox.of_arrays(g, call, key, counter, 3), _whole)


def _between(low: Value, high: Value) -> _Draw:
    def draw(g: GraphBuilder, start: philox.Start, count: Value, dtype: DType) -> Value:
        drawn = philox.integers(g, start, count, dtype)
        least = g.cast(low, dtypes.uint64)
        # In 64 bits the difference is right for all signs.
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


@converts("StatelessMultinomial")
def multinomial(
    g: GraphBuilder, call: NodeView, logits: Value, samples: Value, seed: Value
) -> Value:
    """Inverse transform sampling: the index of a fraction in the cumulative sums of exp(logits)."""
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


_FURTHEST = 2  # the largest |x| of a truncated normal number


@converts("StatelessTruncatedNormal")
def truncated(g: GraphBuilder, call: NodeView, shape: Value, seed: Value) -> Value:
    """Normal numbers, redrawn if they are 2 or more away from 0."""
    return _shaped(g, call, shape, philox.of_seed(g, seed), _redrawn)


@converts("StatelessTruncatedNormalV2")
def truncated_of_key(
    g: GraphBuilder, call: NodeView, shape: Value, key: Value, counter: Value, alg: Value
) -> Value:
    """Normal numbers, redrawn if they are 2 or more away from 0."""
    del alg
    return _shaped(g, call, shape, philox.of_arrays(g, call, key, counter, 3), _redrawn)


def _redrawn(g: GraphBuilder, start: philox.Start, count: Value, dtype: DType) -> Value:
    """Rejection sampling; numbers are grouped by block, and each group has its own stream."""
    kind = dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    size = 2 if kind is dtypes.float64 else 4
    groups = g.op("Div", g.binary("Add", count, size - 1), g.index(size))
    origins = g.binary("Mul", g.iota(groups), SKIP_PER_OUTPUT * size // 4)
    found = g.op("Sub", origins, origins)
    sizes = g.joined(g.reshape(groups, [1]), g.ints(size))
    numbers = g.fill(sizes, g.constant(np.zeros((), kind.numpy)))
    inner = g.body()
    block = inner.input("block", TensorSpec([], dtypes.int64))
    inner.input("go", TensorSpec([], dtypes.bool))
    specs = [TensorSpec([None], dtypes.int64), TensorSpec([None, size], kind)]
    had, kept = (inner.input("state", spec) for spec in specs)
    words = philox.words_at(inner, start, inner.op("Add", origins, block))
    drawn = philox.normals(inner, philox.fractions(inner, words, kind))
    columns = inner.reshape(drawn, [-1, size])
    fits = inner.binary("Less", inner.op("Abs", columns), _FURTHEST)
    places = g.constant(np.arange(size, dtype=np.int64)[None])
    for column in range(size):
        value = inner.slice(columns, 1, column, column + 1)
        good = inner.slice(fits, 1, column, column + 1)
        here = inner.op("Equal", inner.unsqueeze(had, 1), places)
        kept = inner.where(inner.op("And", here, good), value, kept)
        # A number beyond the end counts, too: the group only gets fuller.
        had = inner.op("Add", had, inner.squeeze(inner.as_int64(good), 1))
    inner.result(some(inner, inner.binary("Less", had, size)))
    for value in (had, kept):
        inner.result(value)
    trips = g.constant(np.array(np.iinfo(np.int64).max))
    go = g.binary("Greater", groups, 0)
    _, whole = g.with_bodies("Loop", specs, trips, go, found, numbers, body=inner)
    return g.slice(g.reshape(whole, [-1]), 0, 0, g.reshape(count, [1]))
