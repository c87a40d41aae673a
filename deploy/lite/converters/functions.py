"""Elementwise functions of one argument: exponents, trigonometry, rounding, activations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.converters.element_types import computed
from pinnace.deploy.lite.converters.registry import converts
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.deploy.lite.ir.model import Tensor

_UNARY = {
    "Exp": "EXP",
    "Log": "LOG",
    "Sqrt": "SQRT",
    "Rsqrt": "RSQRT",
    "Sin": "SIN",
    "Cos": "COS",
    "Tanh": "TANH",
    "Sigmoid": "LOGISTIC",
    "Relu6": "RELU6",
    "Elu": "ELU",
}
_ROUNDINGS = {"Floor": "FLOOR", "Ceil": "CEIL", "Round": "ROUND", "Rint": "ROUND"}

# Eigen's erf in float32: x P(x²) / Q(x²) for |x| up to 4.
_ERF_P = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
_ERF_Q = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)
_ERF_LAST = 4.0
_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def _unary(op: str, kind: str) -> None:
    @converts(op, to=kind)
    def convert(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
        del call
        return computed(g, kind, x)


def _rounding(op: str, kind: str) -> None:
    @converts(op, to=kind)
    def convert(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
        del call
        return g.op(kind, x) if x.dtype.is_floating else x


for _op, _kind in _UNARY.items():
    _unary(_op, _kind)
for _op, _kind in _ROUNDINGS.items():
    _rounding(_op, _kind)


@converts("Relu", to="RELU")
def relu(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """RELU; for integers, MAXIMUM of x and 0."""
    del call
    if x.dtype.is_floating:
        return g.op("RELU", x)
    return computed(g, "MAXIMUM", x, g.like(x, 0))


@converts("LeakyRelu", to="LEAKY_RELU")
def leaky_relu(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """LEAKY_RELU; the slope below 0 is an option."""
    return g.op("LEAKY_RELU", x, alpha=float(call.attr("alpha")))


@converts("Selu", to="ELU MAXIMUM MINIMUM MUL ADD")
def selu(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """λ (max(x, 0) + α elu(min(x, 0)))."""
    del call
    zero = g.like(x, 0)
    below = g.op("ELU", g.op("MINIMUM", x, zero))
    scaled = g.op("MUL", below, g.like(x, _SELU_SCALE * _SELU_ALPHA))
    above = g.op("MUL", g.op("MAXIMUM", x, zero), g.like(x, _SELU_SCALE))
    return g.op("ADD", above, scaled)


@converts("Softplus", to="RELU ABS NEG EXP ADD LOG")
def softplus(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """max(x, 0) + log(1 + e^-|x|)."""
    del call
    tail = g.op("EXP", g.op("NEG", g.op("ABS", x)))
    return g.op("ADD", g.op("RELU", x), g.op("LOG", g.op("ADD", tail, g.like(x, 1))))


@converts("Softsign", to="ABS ADD DIV")
def softsign(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    del call
    return g.op("DIV", x, g.op("ADD", g.op("ABS", x), g.like(x, 1)))


@converts("Log1p", to="ADD LOG SUB DIV MUL SELECT_V2")
def log1p(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """log u · x / (u - 1) with u = 1 + x, which corrects the rounding of u."""
    del call
    return _log1p(g, x)


def _log1p(g: GraphBuilder, x: Tensor) -> Tensor:
    one = g.like(x, 1)
    u = g.op("ADD", x, one)
    rest = g.op("SUB", u, one)
    ratio = g.op("DIV", x, rest)
    exact = g.op("MUL", g.op("LOG", u), ratio)
    lost = g.op("EQUAL", rest, g.like(x, 0), dtype=dtypes.bool)
    huge = g.op("EQUAL", rest, x, dtype=dtypes.bool)
    plain = g.op("SELECT_V2", huge, g.op("LOG", u), exact, dtype=x.dtype)
    return g.op("SELECT_V2", lost, x, plain, dtype=x.dtype)


@converts("Expm1", to="ABS NEG ELU EXP MUL SELECT_V2")
def expm1(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """ELU for x < 0; -expm1(-x) e^x for x > 0."""
    del call
    return _expm1(g, x)


def _expm1(g: GraphBuilder, x: Tensor) -> Tensor:
    below = g.op("ELU", g.op("NEG", g.op("ABS", x)))
    # Above 88 or so the product would be finite times infinity; e^x itself is accurate.
    above = g.op("MUL", g.op("NEG", below), g.op("EXP", x))
    is_above = g.op("GREATER", x, g.like(x, 0), dtype=dtypes.bool)
    return g.op("SELECT_V2", is_above, above, below, dtype=x.dtype)


@converts("Erf", to="MUL ADD DIV")
def erf(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """A quotient of polynomials, since LiteRT has no operator for erf."""
    del call
    return _erf(g, x)


@converts("Erfc", to="MUL ADD DIV SUB")
def erfc(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """1 - erf(x)."""
    del call
    return g.op("SUB", g.like(x, 1), _erf(g, x))


def _erf(g: GraphBuilder, x: Tensor) -> Tensor:
    low, high = g.like(x, -_ERF_LAST), g.like(x, _ERF_LAST)
    x = g.op("MAXIMUM", g.op("MINIMUM", x, high), low)
    square = g.op("MUL", x, x)
    top = g.op("MUL", x, _polynomial(g, square, _ERF_P))
    return g.op("DIV", top, _polynomial(g, square, _ERF_Q))


def _polynomial(g: GraphBuilder, x: Tensor, numbers: Sequence[float]) -> Tensor:
    """A polynomial by Horner's rule, the highest power first."""
    found = g.op("MUL", x, g.like(x, numbers[0]))
    found = g.op("ADD", found, g.like(x, numbers[1]))
    for number in numbers[2:]:
        found = g.op("ADD", g.op("MUL", found, x), g.like(x, number))
    return found


@converts("Tan", to="SIN COS DIV")
def tan(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """sin x / cos x."""
    del call
    return g.op("DIV", g.op("SIN", x), g.op("COS", x))


@converts("Sinh", "Cosh", to="EXP NEG ADD SUB MUL")
def hyperbolic(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """Half the sum or difference of e^x and e^-x; sinh uses expm1, which is accurate near 0."""
    half = g.like(x, 0.5)
    if call.node.op.name == "Cosh":
        both = g.op("ADD", g.op("EXP", x), g.op("EXP", g.op("NEG", x)))
        return g.op("MUL", both, half)
    both = g.op("SUB", _expm1(g, x), _expm1(g, g.op("NEG", x)))
    return g.op("MUL", both, half)


@converts("Atan2", to="ATAN2")
def atan2(g: GraphBuilder, call: NodeView, y: Tensor, x: Tensor) -> Tensor:
    """ATAN2; both inputs are broadcast, since the kernel takes one shape only."""
    if y.shape != x.shape or not y.shape.is_fully_defined():
        zero = g.op("MUL", g.op("MUL", y, x), g.like(x, 0))
        if call.input_spec(0).shape != call.input_spec(1).shape:
            y, x = g.op("ADD", y, zero), g.op("ADD", x, zero)
    return g.op("ATAN2", y, x)


@converts("Atan", to="ATAN2")
def atan(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """atan2(x, 1)."""
    del call
    return g.op("ATAN2", x, _ones_like(g, x))


@converts("Asin", "Acos", to="ATAN2 SQRT MUL ADD SUB")
def arc(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """asin x = atan2(x, √((1 - x)(1 + x))); acos has the arguments swapped."""
    one = g.like(x, 1)
    product = g.op("MUL", g.op("SUB", one, x), g.op("ADD", x, one))
    other = g.op("SQRT", product)
    return g.op("ATAN2", *((x, other) if call.node.op.name == "Asin" else (other, x)))


def _ones_like(g: GraphBuilder, x: Tensor) -> Tensor:
    zeros = g.op("ZEROS_LIKE", x)
    return g.op("ADD", zeros, g.like(x, 1))


@converts("Atanh", to="LOG ADD SUB DIV MUL")
def atanh(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """½ log1p(2x / (1 - x))."""
    del call
    ratio = g.op("DIV", g.op("ADD", x, x), g.op("SUB", g.like(x, 1), x))
    return g.op("MUL", _log1p(g, ratio), g.like(x, 0.5))


@converts("Asinh", to="ABS SQRT LOG ADD DIV MUL SIGN")
def asinh(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """sign(x) log1p(|x| + x² / (1 + √(x² + 1)))."""
    del call
    size = g.op("ABS", x)
    one = g.like(x, 1)
    square = g.op("MUL", x, x)
    root = g.op("SQRT", g.op("ADD", square, one))
    inside = g.op("ADD", size, g.op("DIV", square, g.op("ADD", root, one)))
    return g.op("MUL", g.op("SIGN", x), _log1p(g, inside))


@converts("Acosh", to="SQRT LOG ADD SUB MUL")
def acosh(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """log(x + √((x - 1)(x + 1)))."""
    del call
    one = g.like(x, 1)
    root = g.op("SQRT", g.op("MUL", g.op("SUB", x, one), g.op("ADD", x, one)))
    return g.op("LOG", g.op("ADD", x, root))


@converts("Softmax", to="SOFTMAX")
def softmax(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """SOFTMAX along the last axis."""
    del call
    return g.op("SOFTMAX", x, beta=1.0)


@converts("LogSoftmax", to="LOG_SOFTMAX")
def log_softmax(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """LOG_SOFTMAX along the last axis."""
    del call
    return g.op("LOG_SOFTMAX", x)


@converts("SigmoidGrad", "TanhGrad", "ReluGrad", to="MUL SUB")
def activation_gradients(g: GraphBuilder, call: NodeView, a: Tensor, b: Tensor) -> Tensor:
    """dy y (1 - y); dy (1 - y²); dy where the feature is positive."""
    one = g.like(a, 1)
    name = call.node.op.name
    if name == "SigmoidGrad":
        return g.op("MUL", b, g.op("MUL", a, g.op("SUB", one, a)))
    if name == "TanhGrad":
        return g.op("MUL", b, g.op("SUB", one, g.op("MUL", a, a)))
    is_above = g.op("GREATER", b, g.like(b, 0), dtype=dtypes.bool)
    return g.op("SELECT_V2", is_above, a, g.like(a, 0), dtype=a.dtype)
