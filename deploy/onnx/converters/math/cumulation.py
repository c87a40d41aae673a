"""Cumulative sums and products."""

from collections.abc import Callable

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Cumsum")
def cumsum(g: GraphBuilder, call: NodeView, x: Value, axis: Value) -> Value:
    """CumSum."""
    where = g.reshape(g.as_int64(axis), [])
    exclusive, reverse = int(call.attr("exclusive")), int(call.attr("reverse"))
    if x.rank == 0:
        call.fail("its input must not be a scalar")
    return g.op("CumSum", x, where, exclusive=exclusive or None, reverse=reverse or None)


@converts("Cumprod", constants=("axis",))
def cumprod(g: GraphBuilder, call: NodeView, x: Value, axis: Value) -> Value:
    """Products of 1, 2, 4, ... neighbours, in log2(size) steps."""
    del axis

    def joined(a: Value, b: Value) -> Value:
        return g.op("Mul", a, b)

    return _running(g, call, x, g.like(x, 1), joined)


@converts("CumulativeLogsumexp", constants=("axis",))
def cumulative_logsumexp(g: GraphBuilder, call: NodeView, x: Value, axis: Value) -> Value:
    """log(exp(a) + exp(b)) of 1, 2, 4, ... neighbours."""
    del axis

    def joined(a: Value, b: Value) -> Value:
        high = g.op("Max", a, b)
        # -inf - -inf would be NaN.
        safe = g.where(g.op("IsInf", high), g.like(x, 0), high)
        total = g.op("Add", g.op("Exp", g.op("Sub", a, safe)), g.op("Exp", g.op("Sub", b, safe)))
        return g.op("Add", g.op("Log", total), safe)

    # TensorFlow: an empty sum is the lowest number instead of -inf.
    lowest = (
        np.finfo(np.float32 if x.dtype.size < 4 else x.dtype.numpy).min
        if x.dtype.name != "float16"
        else -65504.0
    )
    return _running(g, call, x, g.like(x, float(lowest)), joined)


def _running(
    g: GraphBuilder,
    call: NodeView,
    x: Value,
    neutral: Value,
    joined: Callable[[Value, Value], Value],
) -> Value:
    axis = call.needed_int(1, "axis") % x.rank
    size = x.size(axis)
    if size is None:
        call.fail("the axis size must be known: ONNX has no cumulative product before opset 26")
    reverse = bool(call.attr("reverse"))
    result = _shifted(g, x, axis, 1, neutral, reverse) if call.attr("exclusive") else x
    step = 1
    while step < size:
        result = joined(result, _shifted(g, result, axis, step, neutral, reverse))
        step *= 2
    return g.op("Identity", result) if result is x else result


def _shifted(
    g: GraphBuilder, x: Value, axis: int, step: int, neutral: Value, reverse: bool
) -> Value:
    """`x` shifted along the axis, filled with `neutral`."""
    amounts = [0] * (2 * x.rank)
    amounts[axis + (x.rank if reverse else 0)] = step
    amounts[axis + (0 if reverse else x.rank)] = -step
    return g.op("Pad", x, g.ints(*amounts), neutral)
