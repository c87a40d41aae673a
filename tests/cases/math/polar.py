"""Cases of core/ops/math/polar.py."""

import cmath
import math

from cases.math.arithmetic import OFF_ZERO, case
from cases.math.complexes import COMPLEX, in_both
from support.drawing import alike, each
from support.opcase import OpCase


def sign(x: float) -> float:
    return math.copysign(1, x) if x else 0


def complex_sign(z: complex) -> complex:
    return z / abs(z)


CASES = [
    case("Abs", alike(OFF_ZERO), each(abs)),
    case("Sign", alike(OFF_ZERO), each(sign)),
    OpCase("Sign", COMPLEX, each(complex_sign, complex), smooth=100),
    *in_both("Angle", each(cmath.phase)),
    *in_both("ComplexAbs", each(abs)),
]
