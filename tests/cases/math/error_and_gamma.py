"""Cases of core/ops/math/error_and_gamma.py: SciPy's special functions."""

import math

import numpy as np
from hypothesis import strategies as st
from scipy import special

from cases.math.arithmetic import case
from support.drawing import alike, broadcastable, each, numbers

NEAR_POLES = (0.0, -1.0, -2.0, -3.0, -4.0, -5.0)
ORDERS = st.integers(0, 4).map(float)

CASES = [
    case("Erf", alike(numbers(-5, 5)), each(math.erf), ulps=8, reason="a fit in float32"),
    case("Erfc", alike(numbers(-5, 5)), each(math.erfc), ulps=16, reason="exp(-x²) magnifies"),
    case("Erfinv", alike(numbers(-0.95, 0.95)), special.erfinv, ulps=16, smooth=10),
    case("Ndtri", alike(numbers(0.05, 0.95)), special.ndtri, ulps=16, slack=4, smooth=10),
    case(
        "Lgamma",
        alike(numbers(0.1, 30)),
        special.gammaln,
        ulps=8,
        slack=8,
        reason="SciPy itself is inexact next to 1 and 2",
        smooth=10,
    ),
    case(
        "Lgamma",
        alike(numbers(-5, 5, apart_from=NEAR_POLES)),
        special.gammaln,
        ulps=8,
        slack=256,
        reason="zeros between the poles",
        smooth=1000,
    ),
    case(
        "Digamma",
        alike(numbers(0.1, 30)),
        special.digamma,
        ulps=8,
        slack=16,
        reason="a zero at 1.46",
        smooth=10,
    ),
    case(
        "Digamma",
        alike(numbers(-5, 5, apart_from=NEAR_POLES)),
        special.digamma,
        ulps=64,
        slack=2000,
        reason="zeros between the poles, next to which SciPy is inexact",
        smooth=1e4,
    ),
    case(
        "Polygamma",
        broadcastable(ORDERS, numbers(0.3, 20)),
        lambda n, x: special.polygamma(n.astype(np.int64), x),
        ulps=64,
        slack=16,
        reason="SciPy and we both round n! zeta(n + 1, x)",
        differentiable=(1,),
        smooth=1000,
    ),
    case(
        "Zeta",
        broadcastable(numbers(1.1, 12), numbers(0.3, 20)),
        special.zeta,
        ulps=64,
        reason="powers of q",
        differentiable=(1,),
        smooth=1000,
    ),
    case(
        "Betainc",
        alike(numbers(0.5, 10), numbers(0.5, 10), numbers(0.05, 0.95)),
        special.betainc,
        ulps=2000,
        slack=64,
        reason="logarithms of gamma functions cancel",
        differentiable=(2,),
        smooth=10,
    ),
]
