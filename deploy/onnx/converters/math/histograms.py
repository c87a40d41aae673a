"""Histograms."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("HistogramFixedWidth")
def histogram_fixed_width(
    g: GraphBuilder, call: NodeView, values: Value, limits: Value, bins: Value
) -> Value:
    """Ones scattered and added, with indices in float64 as in the kernel; NaN gets an extra bin."""
    x = g.cast(g.reshape(values, [-1]), dtypes.float64)
    ends = g.cast(limits, dtypes.float64)
    low, high = g.slice(ends, 0, 0, 1), g.slice(ends, 0, 1, 2)
    count = g.reshape(g.as_int64(bins), [1])
    width = g.op("Div", g.op("Sub", high, low), g.cast(count, dtypes.float64))
    places = g.op("Floor", g.op("Div", g.op("Sub", x, low), width))
    last = g.cast(g.op("Sub", count, g.ints(1)), dtypes.float64)
    inside = g.op("Min", g.op("Max", places, g.like(x, 0)), last)
    odd = g.op("IsNaN", x)
    # NaN is replaced before the cast, since its integer differs from platform to platform.
    safe = g.as_int64(g.where(odd, g.like(x, 0), inside))
    bin_of = g.where(odd, count, safe)
    kind = call.dtype("dtype")
    zeros = g.fill(g.op("Add", count, g.ints(1)), g.constant(0, dtype=kind))
    ones = g.fill(g.shape_of(x), g.constant(1, dtype=kind))
    whole = g.op("ScatterElements", zeros, bin_of, ones, axis=0, reduction="add")
    return g.slice(whole, 0, 0, count)
