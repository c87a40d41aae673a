"""Keys and counters of the stateless random ops, from a Philox block of the seed."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.random import philox
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("StatelessRandomGetKeyCounter")
def key_counter(g: GraphBuilder, call: NodeView, seed: Value) -> tuple[Value, Value]:
    """Key and counter, from one Philox block of the seed."""
    del call
    start = philox.of_seed(g, seed)
    halves = [g.reshape(half, [1]) for half in (start.low, start.high)]
    return g.reshape(start.key, [1]), g.joined(*halves)


@converts("StatelessRandomGetAlg")
def algorithm(g: GraphBuilder, call: NodeView) -> Value:
    """The constant for Philox."""
    del call
    return g.constant(np.array(1, np.int32))


@converts("StatelessRandomGetKeyCounterAlg")
def key_counter_algorithm(
    g: GraphBuilder, call: NodeView, seed: Value
) -> tuple[Value, Value, Value]:
    """Key, counter and algorithm, from one Philox block of the seed."""
    return (*key_counter(g, call, seed), algorithm(g, call))
