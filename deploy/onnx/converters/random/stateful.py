"""Unseeded random numbers, drawn by ONNX Runtime if the caller allows it."""

import math

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes

_FLOAT = dtypes.float32.onnx
# Draws per number of a truncated normal: all are beyond two deviations once in 10^16.
_TRIES = 12


def uniform_numbers(g: GraphBuilder, call: NodeView, sizes: Value) -> Value:
    """Uniform float32 numbers in [0, 1)."""
    blank = g.op("Expand", g.constant(np.float32(0)), sizes)
    drawn = g.op("RandomUniformLike", blank, dtype=_FLOAT, low=0.0, high=1.0, seed=_seed(call))
    return g.op("Min", drawn, g.constant(np.nextafter(np.float32(1), np.float32(0))))


def _normal(g: GraphBuilder, call: NodeView, sizes: Value) -> Value:
    blank = g.op("Expand", g.constant(np.float32(0)), sizes)
    return g.op("RandomNormalLike", blank, dtype=_FLOAT, mean=0.0, scale=1.0, seed=_seed(call))


def _seed(call: NodeView) -> float | None:
    """The seed; numbers repeat in each session, but differ from TensorFlow's."""
    if not call.may_draw:
        call.fail(
            "draws random numbers from a state, which an ONNX model does not have; "
            "allow_random=True (--allow-random) lets ONNX Runtime draw them"
        )
    number = int(call.attr("seed")) * 1_000_003 + int(call.attr("seed2"))
    return float(number % 2**24) if number else None


@converts("RandomUniform")
def uniform(g: GraphBuilder, call: NodeView, sizes: Value) -> Value:
    """RandomUniformLike."""
    return g.cast(uniform_numbers(g, call, g.as_int64(sizes)), call.dtype("dtype"))


@converts("RandomUniformInt")
def uniform_int(g: GraphBuilder, call: NodeView, sizes: Value, least: Value, most: Value) -> Value:
    """The floor of a uniform number between the bounds."""
    low, high = (g.cast(x, dtypes.float64) for x in (least, most))
    share = g.cast(uniform_numbers(g, call, g.as_int64(sizes)), dtypes.float64)
    drawn = g.op("Floor", g.op("Mul", share, g.op("Sub", high, low)))
    return g.op("Add", g.cast(drawn, least.dtype), least)


@converts("RandomStandardNormal")
def standard_normal(g: GraphBuilder, call: NodeView, sizes: Value) -> Value:
    """RandomNormalLike."""
    return g.cast(_normal(g, call, g.as_int64(sizes)), call.dtype("dtype"))


@converts("TruncatedNormal")
def truncated_normal(g: GraphBuilder, call: NodeView, sizes: Value) -> Value:
    """The first of several normal numbers within two deviations."""
    wide = g.as_int64(sizes)
    several = g.joined(g.ints(_TRIES), wide)
    drawn = _normal(g, call, several)
    within = g.op("LessOrEqual", g.op("Abs", drawn), g.constant(np.float32(2)))
    first = g.op("ArgMax", g.cast(within, dtypes.float32), axis=0, keepdims=1)
    found = g.op("GatherElements", drawn, first, axis=0)
    clipped = g.op("Max", g.op("Min", found, g.like(found, 2)), g.like(found, -2))
    return g.cast(g.squeeze(clipped, 0), call.dtype("dtype"))


@converts("Multinomial")
def multinomial(g: GraphBuilder, call: NodeView, logits: Value, count: Value) -> Value:
    """The argmax of the logits plus Gumbel noise, for each sample."""
    samples = g.reshape(g.as_int64(count), [1])
    rows, classes = (g.size_of(logits, axis) for axis in range(2))
    drawn = uniform_numbers(g, call, g.joined(rows, samples, classes))
    share = g.op("Max", drawn, g.constant(np.float32(math.ldexp(1, -60))))
    noise = g.op("Neg", g.op("Log", g.op("Neg", g.op("Log", share))))
    scores = g.op("Add", g.unsqueeze(g.cast(logits, dtypes.float32), 1), noise)
    return g.cast(g.op("ArgMax", scores, axis=2, keepdims=0), call.dtype("output_dtype"))
