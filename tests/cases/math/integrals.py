"""Cases of core/ops/math/integrals.py: SciPy."""

import scipy.special

from support.drawing import alike, numbers
from support.opcase import OpCase

CASES = [
    OpCase("Dawsn", alike(numbers(-20, 20)), scipy.special.dawsn, ulps=8),
    OpCase(
        "Expint",
        alike(numbers(0.125, 40)),
        scipy.special.expi,
        ulps=16,
        slack=32,
        reason="SciPy's exp(x) at 40; a zero at 0.37",
        smooth=1000,
    ),
    OpCase("FresnelCos", alike(numbers(-8, 8)), lambda x: scipy.special.fresnel(x)[1], smooth=1e4),
    OpCase("FresnelSin", alike(numbers(-8, 8)), lambda x: scipy.special.fresnel(x)[0], smooth=1e4),
    OpCase("Spence", alike(numbers(0.0625, 50)), scipy.special.spence, ulps=8, smooth=1000),
]
