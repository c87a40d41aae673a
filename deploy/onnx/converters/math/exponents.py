"""Powers, roots, exponentials, logarithms, the sigmoid."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.element_types import computed_in
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array


@converts("Rsqrt")
def rsqrt(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """1 / Sqrt."""
    del call
    return g.op("Reciprocal", g.op("Sqrt", x))


@converts("Log1p")
def log1p(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """`x * log(u) / (u - 1)` with u = 1 + x, which is accurate near 0 where log(1 + x) is not.

    Source:
        Kahan, in Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, section
        1.14.1.
    """
    del call
    return log_of_sum(g, x)


def log_of_sum(g: GraphBuilder, x: Value) -> Value:
    """log(1 + x)."""
    one = g.like(x, 1)
    total = g.op("Add", x, one)
    rest = g.op("Sub", total, one)
    # If 1 + x rounds to 1, the result is x; if it is infinite, the correction would be NaN.
    tiny = g.binary("Equal", rest, 0)
    huge = g.op("Equal", total, x)
    safe = g.where(g.op("Or", tiny, huge), one, rest)
    exact = g.op("Div", g.op("Mul", g.op("Log", total), g.where(huge, one, x)), safe)
    return g.where(tiny, x, exact)


@converts("Expm1")
def expm1(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """tanh(x / 2) * (exp(x) + 1) near 0, where exp(x) - 1 loses digits; exp(x) - 1 elsewhere."""
    del call
    power = g.op("Exp", x)
    near = g.op("Mul", g.op("Tanh", g.binary("Mul", x, 0.5)), g.binary("Add", power, 1))
    far = g.binary("Sub", power, 1)
    return g.where(g.binary("Less", g.op("Abs", x), 1), near, far)


@converts("Pow")
def power(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Pow; small integer exponents become products."""
    exponent = call.constant(1)
    if exponent is not None and exponent.size == 1 and exponent.ndim <= x.rank:
        number = float(exponent.reshape(-1)[0])
        if number == 1.0 and not exponent.ndim:
            return x
        if number == 2.0 and not exponent.ndim:
            return g.op("Mul", x, x)
    if x.dtype.is_integer and not x.is_size:
        return _whole_power(g, x, y, exponent)
    # ONNX allows another type for the exponent, so only one operand would be widened.
    wide = computed_in("Pow", x.dtype) or x.dtype
    return g.cast(g.op("Pow", g.cast(x, wide), g.cast(y, wide)), x.dtype)


def _whole_power(g: GraphBuilder, x: Value, y: Value, exponent: Array | None) -> Value:
    """Squares and products, which wrap; ONNX Runtime would compute in float64 and truncate."""
    wide = x.dtype if x.dtype.size >= dtypes.int32.size else dtypes.int32
    base, powers = g.cast(x, wide), g.cast(y, wide)
    if exponent is not None and not exponent.ndim and int(exponent) >= 0:
        return g.cast(_known_power(g, base, int(exponent)), x.dtype)
    # Both have the shape of the result from the first iteration on.
    zeros = g.op("Sub", powers, powers)
    base = g.op("Add", base, zeros)
    powers = g.op("Add", powers, g.op("Sub", base, base))
    ones = g.op("Add", g.op("Sub", powers, powers), g.like(base, 1))
    spec = TensorSpec.of(base.shape, wide)
    body = g.body()
    body.input("turn", TensorSpec([], dtypes.int64))
    body.input("go", TensorSpec([], dtypes.bool))
    result, square, left = (body.input(name, spec) for name in ("result", "square", "left"))
    half = body.binary("Div", left, 2)
    is_odd = body.op("Greater", left, body.binary("Mul", half, 2))
    body.result(_is_left(body, half))
    body.result(body.where(is_odd, body.op("Mul", result, square), result))
    body.result(body.op("Mul", square, square))
    body.result(half)
    trips = g.constant(np.array(np.iinfo(np.int64).max))
    made, _, _ = g.with_bodies(
        "Loop", [spec] * 3, trips, _is_left(g, powers), ones, base, powers, body=body
    )
    return g.cast(made, x.dtype)


def _is_left(g: GraphBuilder, powers: Value) -> Value:
    """Whether any exponent is still positive."""
    found = g.op("ReduceSum", g.as_int64(g.binary("Greater", powers, 0)), keepdims=0)
    return g.binary("Greater", found, 0)


def _known_power(g: GraphBuilder, x: Value, number: int) -> Value:
    """An integer power by repeated squaring."""
    result, square = None, x
    while number:
        if number & 1:
            result = square if result is None else g.op("Mul", result, square)
        number >>= 1
        if number:
            square = g.op("Mul", square, square)
    return g.op("Add", g.op("Sub", x, x), g.like(x, 1)) if result is None else result


@converts("Xlogy")
def xlogy(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """`x * log(y)`, and 0 where x is 0."""
    del call
    return _unless_zero(g, x, g.op("Log", _guarded(g, x, y)))


@converts("Xlog1py")
def xlog1py(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """`x * log(1 + y)`, and 0 where x is 0."""
    del call
    return _unless_zero(g, x, log_of_sum(g, _guarded(g, x, y)))


@converts("Xdivy")
def xdivy(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """`x / y`, and 0 where x is 0."""
    del call
    empty = g.binary("Equal", x, 0)
    return g.where(empty, g.like(x, 0), g.op("Div", x, _guarded(g, x, y)))


def _guarded(g: GraphBuilder, x: Value, y: Value) -> Value:
    return g.where(g.binary("Equal", x, 0), g.like(y, 1), y)


def _unless_zero(g: GraphBuilder, x: Value, y: Value) -> Value:
    return g.where(g.binary("Equal", x, 0), g.like(x, 0), g.op("Mul", x, y))


@converts("SqrtGrad")
def sqrt_grad(g: GraphBuilder, call: NodeView, y: Value, dy: Value) -> Value:
    """`dy / (2 y)`."""
    del call
    return g.op("Div", g.binary("Mul", dy, 0.5), y)


@converts("RsqrtGrad")
def rsqrt_grad(g: GraphBuilder, call: NodeView, y: Value, dy: Value) -> Value:
    """-dy y³ / 2."""
    del call
    return g.op("Mul", g.binary("Mul", dy, -0.5), g.op("Mul", y, g.op("Mul", y, y)))


@converts("SigmoidGrad")
def sigmoid_grad(g: GraphBuilder, call: NodeView, y: Value, dy: Value) -> Value:
    """`dy y (1 - y)`."""
    del call
    return g.op("Mul", dy, g.op("Mul", y, g.op("Sub", g.like(y, 1), y)))
