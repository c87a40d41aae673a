"""Normal numbers that are not far from 0."""

import numpy as np

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.converters.random import philox
from pinnace.deploy.onnx.converters.random.streams import some
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.specs import TensorSpec
from pinnace.ops.kernels.philox import SKIP_PER_OUTPUT

_FURTHEST = 2


@converts("StatelessTruncatedNormal")
def truncated(g: GraphBuilder, call: NodeView, shape: Value, seed: Value) -> Value:
    """Normal numbers, drawn again where they are 2 or more from 0."""
    return _shaped(g, call, shape, philox.of_seed(g, seed))


@converts("StatelessTruncatedNormalV2")
def truncated_of_key(
    g: GraphBuilder, call: NodeView, shape: Value, key: Value, counter: Value, alg: Value
) -> Value:
    """Normal numbers, drawn again where they are 2 or more from 0."""
    del alg
    return _shaped(g, call, shape, philox.of_arrays(g, call, key, counter, 3))


def _shaped(g: GraphBuilder, call: NodeView, shape: Value, start: philox.Start) -> Value:
    dtype = call.dtype("dtype")
    kind = dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    flat = _drawn(g, start, philox.count_of(g, shape), kind)
    return g.cast(g.reshape(flat, g.as_int64(shape)), dtype)


def _drawn(g: GraphBuilder, start: philox.Start, count: Value, kind: DType) -> Value:
    """So many numbers: they come in groups as large as a block; each group has a stream."""
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
        # One that finds no room counts, too: what is full only gets fuller.
        had = inner.op("Add", had, inner.squeeze(inner.as_int64(good), 1))
    inner.result(some(inner, inner.binary("Less", had, size)))
    for value in (had, kept):
        inner.result(value)
    trips = g.constant(np.array(np.iinfo(np.int64).max))
    go = g.binary("Greater", groups, 0)
    _, whole = g.with_bodies("Loop", specs, trips, go, found, numbers, body=inner)
    return g.slice(g.reshape(whole, [-1]), 0, 0, g.reshape(count, [1]))
