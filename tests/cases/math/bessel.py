"""Cases of core/ops/math/bessel.py: SciPy's Bessel functions."""

from typing import Any

import scipy.special

from support.drawing import alike, numbers
from support.opcase import OpCase

ZEROS: dict[str, Any] = {"ulps": 64, "reason": "SciPy itself loses digits far out", "smooth": 10}
CASES = [
    OpCase("BesselJ0", alike(numbers(-60, 60)), scipy.special.j0, **ZEROS),
    OpCase("BesselJ1", alike(numbers(-60, 60)), scipy.special.j1, **ZEROS),
    OpCase("BesselY0", alike(numbers(0.25, 60)), scipy.special.y0, **{**ZEROS, "smooth": 1000}),
    OpCase("BesselY1", alike(numbers(0.25, 60)), scipy.special.y1, **{**ZEROS, "smooth": 1000}),
    OpCase("BesselK0", alike(numbers(0.25, 30)), scipy.special.k0, smooth=1000),
    OpCase("BesselK0e", alike(numbers(0.25, 200)), scipy.special.k0e, ulps=8, smooth=1000),
    OpCase("BesselK1", alike(numbers(0.25, 30)), scipy.special.k1, smooth=1000),
    OpCase("BesselK1e", alike(numbers(0.25, 200)), scipy.special.k1e, ulps=8, smooth=1000),
]
