"""Cases of core/ops/math/exponents.py: Python's math and cmath."""

import cmath
import math

from cases.math.arithmetic import case
from support.drawing import alike, broadcastable, complex_arrays, complex_numbers, each, numbers
from support.opcase import OpCase

ANY = numbers(-8, 8)
POSITIVE = numbers(0.1, 20)
COMPLEX = complex_numbers()


def sigmoid(x: float) -> float:
    return (1 + math.tanh(x / 2)) / 2 if x > 0 else math.exp(x) / (1 + math.exp(x))


def unless_zero(value: float, x: float) -> float:
    return value if x else 0.0


CASES = [
    case("Exp", alike(ANY), each(math.exp)),
    case("Exp", complex_arrays(COMPLEX), each(cmath.exp, complex), slack=64, smooth=100),
    case("Expm1", alike(ANY), each(math.expm1)),
    case("Log", alike(POSITIVE), each(math.log)),
    case("Log", complex_arrays(COMPLEX), each(cmath.log, complex), slack=4),
    case("Log1p", alike(numbers(-0.9, 20)), each(math.log1p)),
    case("Sqrt", alike(POSITIVE), each(math.sqrt)),
    case("Sqrt", complex_arrays(COMPLEX), each(cmath.sqrt, complex), slack=4),
    case("Rsqrt", alike(POSITIVE), each(lambda x: 1 / math.sqrt(x)), smooth=10),
    case("Pow", broadcastable(POSITIVE, numbers(-2, 2)), each(math.pow), smooth=10),
    OpCase(
        "Pow",
        complex_arrays(COMPLEX, COMPLEX),
        each(pow, complex),
        ulps=512,  # of the smaller part, a fraction of the magnitude
        slack=1e5,
        smooth=1e3,
        reason="z ** w is exp(w log z), which magnifies errors by |w log z|",
    ),
    case("Sigmoid", alike(ANY), each(sigmoid), ulps=4),
    case(
        "SigmoidGrad",
        alike(ANY, ANY),
        each(lambda y, dy: dy * y * (1 - y)),
        slack=64,
        reason="1 - y cancels",
    ),
    case("SqrtGrad", alike(POSITIVE, ANY), each(lambda y, dy: dy / (2 * y)), smooth=10),
    case("RsqrtGrad", alike(numbers(0.1, 4), ANY), each(lambda y, dy: -dy * y**3 / 2), ulps=4),
    case(
        "Xlogy",
        broadcastable(numbers(apart_from=(0,)), POSITIVE),
        each(lambda x, y: x * math.log(y)),
        ulps=4,
    ),
    case(
        "Xlogy",
        broadcastable(numbers(0, 0), numbers(0, 0)),
        each(lambda x, y: 0.0 * x * y),
        differentiable=(),
    ),
    case(
        "Xlog1py",
        broadcastable(numbers(apart_from=(0,)), numbers(-0.9, 20)),
        each(lambda x, y: x * math.log1p(y)),
        ulps=4,
    ),
    case(
        "Xdivy",
        broadcastable(numbers(apart_from=(0,)), POSITIVE),
        each(lambda x, y: x / y),
        smooth=10,
    ),
    case(
        "Xdivy",
        broadcastable(numbers(0, 0), numbers(0, 0)),
        each(lambda x, y: 0.0 * x * y),
        differentiable=(),
    ),
]
