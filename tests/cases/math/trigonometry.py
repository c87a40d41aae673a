"""Cases of core/ops/math/trigonometry.py: Python's math and cmath."""

import cmath
import math
from typing import Any

from cases.math import arithmetic
from support.drawing import alike, broadcastable, complex_arrays, complex_numbers, each, numbers
from support.opcase import OpCase

ANY = numbers(-5, 5)
INSIDE = numbers(-0.9, 0.9)
COMPLEX = complex_numbers(0.1, 0.9)


def case(op: str, inputs: Any, reference: Any, **options: Any) -> OpCase:
    """A case for NumPy's float32 loops, which may be off by four ulps."""
    return arithmetic.case(op, inputs, reference, **{"ulps": 4, **options})


CASES = [
    case("Sin", alike(ANY), each(math.sin), slack=1),
    case("Cos", alike(ANY), each(math.cos), slack=1),
    case("Tan", alike(numbers(-1.3, 1.3)), each(math.tan), ulps=4, smooth=10),
    case("Asin", alike(INSIDE), each(math.asin), smooth=10),
    case("Acos", alike(INSIDE), each(math.acos), smooth=10),
    case("Atan", alike(ANY), each(math.atan)),
    case(
        "Atan2",
        broadcastable(numbers(0.1, 5), numbers(apart_from=(0,))),
        each(math.atan2),
        smooth=10,
    ),
    case("Sinh", alike(ANY), each(math.sinh)),
    case("Cosh", alike(ANY), each(math.cosh)),
    case("Tanh", alike(ANY), each(math.tanh)),
    case("Asinh", alike(ANY), each(math.asinh)),
    case("Acosh", alike(numbers(1.1, 20)), each(math.acosh), smooth=10),
    case("Atanh", alike(INSIDE), each(math.atanh), smooth=10),
    case(
        "TanhGrad",
        alike(ANY, ANY),
        each(lambda y, dy: dy * (1 - y * y)),
        slack=512,
        reason="1 - y² cancels",
    ),
    case("Sin", complex_arrays(COMPLEX), each(cmath.sin, complex), slack=4),
    case("Cos", complex_arrays(COMPLEX), each(cmath.cos, complex), slack=4),
    case("Tanh", complex_arrays(COMPLEX), each(cmath.tanh, complex), slack=8, smooth=10),
    case("Atanh", complex_arrays(COMPLEX), each(cmath.atanh, complex), slack=8, smooth=10),
]
