"""Philox-4x32-10 in ONNX's integer operators, with TensorFlow's random bits.

A word is stored in 64 bits, so that the product of two words fits.

Source:
    Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

import math
from typing import NamedTuple

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.specs import TensorSpec

_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85
_SCRAMBLE_KEY = 0x02461E293EC8F720
_ROUNDS = 10
_WORD = 0xFFFFFFFF
_HALF = 32
_ALGORITHMS = (1, 3)  # Philox, and "auto", which is Philox here


class Start(NamedTuple):
    """The start of a stream, in uint64 scalars."""

    key: Value
    low: Value
    high: Value


def of_seed(g: GraphBuilder, seed: Value) -> Start:
    """The stream of a seed of two integers."""
    parts = g.cast(g.as_int64(seed), dtypes.uint64)
    low, high = (g.op("Gather", parts, g.index(place), axis=0) for place in (0, 1))
    mixed = words(g, Start(_number(g, _SCRAMBLE_KEY), low, high), g.index(1))
    first = [g.op("Gather", mixed, g.index(place), axis=0) for place in range(4)]
    return Start(_joined(g, first[0], first[1]), _number(g, 0), _joined(g, first[2], first[3]))


def of_arrays(g: GraphBuilder, call: NodeView, key: Value, counter: Value, algorithm: int) -> Start:
    """The stream that starts at a key [1] and a counter [2].

    Args:
        g: the graph.
        call: the op.
        key: uint64.
        counter: uint64.
        algorithm: the index of the argument that names the generator.
    """
    known = call.constant(algorithm)
    if known is not None and int(known) not in _ALGORITHMS:
        call.fail("only the Philox generator has a converter")
    halves = [g.op("Gather", counter, g.index(place), axis=0) for place in (0, 1)]
    return Start(g.reshape(key, []), *halves)


def words(g: GraphBuilder, start: Start, blocks: Value) -> Value:
    """The words of the first blocks of a stream, four per block: uint64, below 2 ** 32."""
    return words_at(g, start, g.iota(blocks))


def words_at(g: GraphBuilder, start: Start, places: Value) -> Value:
    """The words of the blocks at the given indices (int64) of a stream."""
    lows = g.op("Add", g.cast(places, dtypes.uint64), start.low)
    # The low half of the counter may overflow.
    carry = g.cast(g.op("Less", lows, start.low), dtypes.uint64)
    highs = g.op("Add", carry, start.high)
    state = [_low(g, lows), _high(g, lows), _low(g, highs), _high(g, highs)]
    state += [_low(g, start.key), _high(g, start.key)]
    body = g.body()
    body.input("round", TensorSpec([], dtypes.int64))
    go = body.input("go", TensorSpec([], dtypes.bool))
    specs = [TensorSpec.of(value.shape, dtypes.uint64) for value in state]
    inside = [body.input("word", spec) for spec in specs]
    body.result(go)
    for value in _round(body, *inside):
        body.result(value)
    found = g.with_bodies("Loop", specs, g.index(_ROUNDS), None, *state, body=body)
    columns = [g.unsqueeze(value, 1) for value in found[:4]]
    return g.reshape(g.concat(columns, 1), [-1])


def _round(
    g: GraphBuilder, c0: Value, c1: Value, c2: Value, c3: Value, key0: Value, key1: Value
) -> tuple[Value, ...]:
    first, second = (
        g.op("Mul", word, _number(g, number))
        for word, number in zip((c0, c2), _MULTIPLIERS, strict=True)
    )
    return (
        g.op("BitwiseXor", g.op("BitwiseXor", _high(g, second), c1), key0),
        _low(g, second),
        g.op("BitwiseXor", g.op("BitwiseXor", _high(g, first), c3), key1),
        _low(g, first),
        *(
            _low(g, g.op("Add", key, _number(g, number)))
            for key, number in zip((key0, key1), _WEYL, strict=True)
        ),
    )


def _number(g: GraphBuilder, number: int) -> Value:
    return g.constant(np.array(number, np.uint64))


def _low(g: GraphBuilder, x: Value) -> Value:
    return g.op("BitwiseAnd", x, _number(g, _WORD))


def _high(g: GraphBuilder, x: Value) -> Value:
    return g.op("BitShift", x, _number(g, _HALF), direction="RIGHT")


def _joined(g: GraphBuilder, low: Value, high: Value) -> Value:
    """Two words as one 64-bit number."""
    return g.op("BitwiseOr", low, g.op("BitShift", high, _number(g, _HALF), direction="LEFT"))


# Numbers from the random words.


def count_of(g: GraphBuilder, shape: Value) -> Value:
    """The number of elements of this shape: an int64 scalar."""
    return g.op("ReduceProd", g.as_int64(shape), keepdims=0)


def _drawn(g: GraphBuilder, start: Start, count: Value) -> Value:
    """The first `count` words of a stream."""
    blocks = g.op("Div", g.op("Add", count, g.index(3)), g.index(4))
    return g.slice(words(g, start, blocks), 0, 0, g.reshape(count, [1]))


def _pairs(g: GraphBuilder, drawn: Value) -> tuple[Value, Value]:
    """The first and the second words of pairs."""
    both = g.reshape(drawn, [-1, 2])
    first, second = (g.op("Gather", both, g.index(place), axis=1) for place in (0, 1))
    return first, second


def integers(g: GraphBuilder, start: Start, count: Value, dtype: DType) -> Value:
    """Integers of 32 or 64 random bits, as uint64."""
    if dtype.numpy.itemsize == 4:
        return _drawn(g, start, count)
    return _joined(g, *_pairs(g, _drawn(g, start, g.op("Mul", count, g.index(2)))))


def wrapped(g: GraphBuilder, x: Value, dtype: DType) -> Value:
    """The low bits of a uint64 as another integer type."""
    if dtype.numpy.itemsize == 4:
        x = g.cast(x, dtypes.uint32)
    return g.cast(x, dtype)


def unit(g: GraphBuilder, start: Start, count: Value, dtype: DType) -> Value:
    """Uniform numbers in [0, 1), float64 or float32."""
    each = 2 if dtype is dtypes.float64 else 1
    wanted = g.op("Mul", count, g.index(each)) if each > 1 else count
    return fractions(g, _drawn(g, start, wanted), dtype)


def fractions(g: GraphBuilder, drawn: Value, dtype: DType) -> Value:
    """Words as numbers in [0, 1): float64 takes two words."""
    if dtype is dtypes.float64:
        first, second = _pairs(g, drawn)
        top = g.op("BitwiseAnd", first, _number(g, 0xFFFFF))
        wide = g.cast(_joined(g, second, top), dtypes.float64)
        return g.binary("Mul", wide, 2.0**-52)
    bits = {dtypes.float16: 10, dtypes.bfloat16: 7}.get(dtype, 23)
    kept = g.op("BitwiseAnd", drawn, _number(g, (1 << bits) - 1))
    return g.binary("Mul", g.cast(kept, dtypes.float32), 2.0**-bits)


def bell(g: GraphBuilder, start: Start, count: Value, dtype: DType) -> Value:
    """Standard normal numbers, float64 or float32."""
    kind = dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    even = g.op("Mul", g.op("Div", g.op("Add", count, g.index(1)), g.index(2)), g.index(2))
    both = normals(g, unit(g, start, even, kind))
    return g.slice(both, 0, 0, g.reshape(count, [1]))


def normals(g: GraphBuilder, drawn: Value) -> Value:
    """Standard normal numbers from pairs of fractions."""
    first, second = _pairs(g, drawn)
    radius = g.op("Log", g.op("Max", first, g.like(first, 1e-7)))
    radius = g.op("Sqrt", g.binary("Mul", radius, -2))
    # The angle is rounded to the result's type after the product with 2 pi.
    turn = g.binary("Mul", g.cast(second, dtypes.float64), 2 * math.pi)
    angle = g.cast(turn, drawn.dtype)
    columns = [g.unsqueeze(g.op("Mul", g.op(name, angle), radius), 1) for name in ("Sin", "Cos")]
    return g.reshape(g.concat(columns, 1), [-1])
