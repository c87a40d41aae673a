"""Error functions and gamma functions."""

import math

import numpy as np

from pinnace.deploy.onnx.converters.math.exponents import log_of_sum
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes

# erfc(z) = t exp(-z² + P(t)), t = 2 / (2 + z), z >= 0; relative error below 1.2e-7.
_ERFC = (
    -1.26551223,
    1.00002368,
    0.37409196,
    0.09678418,
    -0.18628806,
    0.27886807,
    -1.13520398,
    1.48851587,
    -0.82215223,
    0.17087277,
)
# erfinv(x) = x P(w), w = -log(1 - x²); below 5 in w - 2.5, above in sqrt(w) - 3.
_NEAR = (
    1.50140941,
    0.246640727,
    -0.00417768164,
    -0.00125372503,
    0.00021858087,
    -4.39150654e-06,
    -3.5233877e-06,
    3.43273939e-07,
    2.81022636e-08,
)
_FAR = (
    2.83297682,
    1.00167406,
    0.00943887047,
    -0.0076224613,
    0.00573950773,
    -0.00367342844,
    0.00134934322,
    0.000100950558,
    -0.000200214257,
)
_LANCZOS = (
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)
_STEPS = 10
_BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)


@converts("Erfc")
def erfc(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Erfc, expanded later unless it is part of a larger formula."""
    del call
    return g.formula("Erfc", x)


def complement(g: GraphBuilder, x: Value) -> Value:
    """1 - erf(x) below 1/2; above that a formula that keeps digits where 1 - erf(x) loses them.

    Source:
        Numerical Recipes, 2nd edition, section 6.2 (`erfcc`).
    """
    far = g.op("Abs", x)
    t = g.op("Div", g.like(x, 2), g.binary("Add", far, 2))
    exponent = g.op("Sub", _polynomial(g, t, _ERFC), g.op("Mul", far, far))
    tail = g.op("Mul", t, g.op("Exp", exponent))
    near = g.op("Sub", g.like(x, 1), g.op("Erf", x))
    return g.where(g.binary("Greater", x, 0.5), tail, near)


def _polynomial(g: GraphBuilder, x: Value, coefficients: tuple[float, ...]) -> Value:
    """A polynomial by Horner's rule, the constant first."""
    total = g.like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = g.binary("Add", g.op("Mul", total, x), coefficient)
    return total


@converts("Erfinv")
def erfinv(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Two polynomials in the logarithm of 1 - x²; infinite at 1 and -1.

    Source:
        Giles, "Approximating the erfinv function", GPU Computing Gems, 2011.
    """
    del call
    w = g.op("Neg", log_of_sum(g, g.op("Neg", g.op("Mul", x, x))))
    near = _polynomial(g, g.binary("Sub", w, 2.5), _NEAR)
    far = _polynomial(g, g.binary("Sub", g.op("Sqrt", w), 3), _FAR)
    inside = g.op("Mul", g.where(g.binary("Less", w, 5), near, far), x)
    end = g.op("Equal", g.op("Abs", x), g.like(x, 1))
    return g.where(end, g.op("Div", x, g.like(x, 0)), inside)


@converts("Lgamma")
def lgamma(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Lanczos' sum in float64; reflection below 1/2.

    Source:
        Lanczos, 1964, with g = 7 and 9 terms.
    """
    del call
    wide = g.cast(x, dtypes.float64)
    low = g.binary("Less", wide, 0.5)
    z = g.binary("Sub", g.where(low, g.op("Sub", g.like(wide, 1), wide), wide), 1)
    places = g.constant(np.arange(1, len(_LANCZOS) + 1, dtype=np.float64))
    terms = g.op("Div", g.constant(np.array(_LANCZOS)), g.op("Add", g.unsqueeze(z, x.rank), places))
    series = g.binary(
        "Add", g.op("ReduceSum", terms, g.ints(x.rank), keepdims=0), 0.99999999999980993
    )
    t = g.binary("Add", z, 7.5)
    power = g.op("Sub", g.op("Mul", g.binary("Add", z, 0.5), g.op("Log", t)), t)
    above = g.binary("Add", g.op("Add", power, g.op("Log", series)), 0.5 * math.log(2 * math.pi))
    sine = g.op("Abs", g.op("Sin", g.binary("Mul", _fraction(g, wide), math.pi)))
    below = g.op("Sub", g.op("Sub", g.like(wide, math.log(math.pi)), g.op("Log", sine)), above)
    endless = g.op("IsInf", wide)
    return g.cast(g.where(endless, g.like(wide, math.inf), g.where(low, below, above)), x.dtype)


def _fraction(g: GraphBuilder, x: Value) -> Value:
    return g.op("Sub", x, g.op("Floor", x))


@converts("Digamma")
def digamma(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """An asymptotic series after ten recurrence steps, in float64; reflection below 1/2.

    Source:
        Abramowitz and Stegun, 6.3.6, 6.3.7 and 6.3.18.
    """
    del call
    wide = g.cast(x, dtypes.float64)
    low = g.binary("Less", wide, 0.5)
    z = g.where(low, g.op("Sub", g.like(wide, 1), wide), wide)
    steps = g.op("Add", g.unsqueeze(z, x.rank), g.constant(np.arange(_STEPS, dtype=np.float64)))
    climbed = g.op("ReduceSum", g.op("Reciprocal", steps), g.ints(x.rank), keepdims=0)
    t = g.binary("Add", z, _STEPS)
    square = g.op("Reciprocal", g.op("Mul", t, t))
    series = g.op("Mul", square, _polynomial(g, square, _BERNOULLI))
    half = g.op("Div", g.like(t, 0.5), t)
    above = g.op("Sub", g.op("Sub", g.op("Sub", g.op("Log", t), half), series), climbed)
    angle = g.binary("Mul", _fraction(g, wide), math.pi)
    turn = g.op("Div", g.binary("Mul", g.op("Cos", angle), math.pi), g.op("Sin", angle))
    below = g.op("Sub", above, turn)
    pole = g.op("And", g.binary("LessOrEqual", wide, 0), g.op("Equal", g.op("Floor", wide), wide))
    found = g.where(low, below, above)
    return g.cast(g.where(pole, g.like(wide, math.nan), found), x.dtype)
