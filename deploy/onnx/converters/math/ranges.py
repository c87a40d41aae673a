"""Arithmetic sequences."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("LinSpace")
def lin_space(g: GraphBuilder, call: NodeView, start: Value, stop: Value, num: Value) -> Value:
    """start + i * step; the last element is stop itself, whatever the rounding."""
    del call
    count = g.as_int64(num)
    places = g.iota(count)
    steps = g.op("Max", g.op("Sub", count, g.index(1)), g.index(1))
    step = g.op("Div", g.op("Sub", stop, start), g.cast(steps, start.dtype))
    line = g.op("Add", start, g.op("Mul", g.cast(places, start.dtype), step))
    last = g.op("Equal", places, steps)
    return g.where(last, stop, line)
