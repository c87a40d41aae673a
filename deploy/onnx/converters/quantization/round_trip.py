"""Quantisation and dequantisation to floats by TensorFlow's formulas.

QuantizeLinear and DequantizeLinear support 8 bits only.
"""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4")
def there_and_back(g: GraphBuilder, call: NodeView, x: Value, low: Value, high: Value) -> Value:
    """Floats rounded to multiples of a step, which the larger end of the range determines."""
    return _around(g, call, x, low, high, int(call.attr("num_bits")), call.attr("round_mode"))


@converts("QuantizeAndDequantizeV3", constants=("num_bits",))
def there_and_back_v3(
    g: GraphBuilder, call: NodeView, x: Value, low: Value, high: Value, bits: Value
) -> Value:
    """QuantizeAndDequantizeV2 with the number of bits as an input."""
    del bits
    return _around(g, call, x, low, high, call.needed_int(3, "num_bits"), "HALF_TO_EVEN")


def _around(
    g: GraphBuilder, call: NodeView, x: Value, low: Value, high: Value, bits: int, mode: str
) -> Value:
    signed, narrow, axis = (call.attr(n) for n in ("signed_input", "narrow_range", "axis"))
    given = call.attr("range_given")
    kind = x.dtype
    wide = dtypes.float32 if kind.size == 2 else kind
    x = g.cast(x, wide)
    if given:
        sizes = [-1 if n == axis else 1 for n in range(x.rank)] if axis >= 0 else []
        low, high = (g.reshape(g.cast(n, wide), sizes) for n in (low, high))
    else:
        axes = g.ints(*[n for n in range(x.rank) if axis < 0 or n != axis])
        low, high = (g.op(f"Reduce{n}", x, axes, keepdims=1) for n in ("Min", "Max"))
    least = -(1 << (bits - 1)) + int(narrow) if signed else 0
    most = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1

    def scale_of(end: Value, whole: int) -> Value:
        """The number of steps per unit, if `whole` steps reach this end of the range."""
        largest = g.like(x, float(np.finfo(wide.numpy).max))
        leads = g.binary("Greater", g.binary("Mul", end, whole), 0)
        return g.where(
            leads, g.op("Div", g.like(x, whole), g.where(leads, end, g.like(x, 1))), largest
        )

    by_low, by_high = scale_of(low, least), scale_of(high, most)
    lower = g.op("Less", by_low, by_high)
    scale = g.where(lower, by_low, by_high)
    step = g.where(lower, g.binary("Div", low, least or 1), g.binary("Div", high, most))
    if given:
        bottom = g.where(lower, low, g.binary("Mul", step, least))
        top = g.where(lower, g.binary("Mul", step, most), high)
        x = g.op("Min", g.op("Max", x, bottom), top)
    scaled = g.op("Mul", x, scale)
    even = mode == "HALF_TO_EVEN"
    whole = g.op("Round", scaled) if even else g.op("Floor", g.binary("Add", scaled, 0.5))
    return g.cast(g.op("Mul", whole, step), kind)
