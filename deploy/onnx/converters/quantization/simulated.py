"""Fake quantisation of floats by TensorFlow's formulas.

QuantizeLinear and DequantizeLinear round halves to even and support 8 bits only; FakeQuant rounds
halves up, and supports 2 to 16 bits.
"""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("FakeQuantWithMinMaxArgs")
def fake_args(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """FakeQuant with the range in attributes."""
    return _fake(g, call, x, g.like(x, call.attr("min")), g.like(x, call.attr("max")))


@converts("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def fake_vars(g: GraphBuilder, call: NodeView, x: Value, low: Value, high: Value) -> Value:
    """FakeQuant with the range as inputs, for all elements or per entry of the last axis."""
    return _fake(g, call, x, low, high)


def _fake(g: GraphBuilder, call: NodeView, x: Value, low: Value, high: Value) -> Value:
    least, most = int(call.attr("narrow_range")), 2 ** int(call.attr("num_bits")) - 1
    scale = g.binary("Div", g.op("Sub", high, low), most - least)
    # The zero point is an integer, so that 0 is a multiple of the step.
    zero = g.op("Sub", g.like(x, least), g.op("Div", low, scale))
    zero = g.op("Min", g.op("Max", zero, g.like(x, least)), g.like(x, most))
    zero = g.op("Floor", g.binary("Add", zero, 0.5))
    bottom = g.op("Mul", g.op("Sub", g.like(x, least), zero), scale)
    top = g.op("Mul", g.op("Sub", g.like(x, most), zero), scale)
    up = g.op("Sub", g.op("Min", g.op("Max", x, bottom), top), bottom)
    steps = g.binary("Add", g.op("Mul", up, g.op("Div", g.like(x, 1), scale)), 0.5)
    y = g.op("Add", g.op("Mul", g.op("Floor", steps), scale), bottom)
    nothing = g.op("And", g.binary("Equal", low, 0), g.binary("Equal", high, 0))
    return g.where(nothing, g.like(x, 0), y)
