"""Cases of core/ops/math/tails.py: SciPy."""

import numpy as np
import numpy.typing as npt
import scipy.special

from pinnace.framework import dtypes
from support.drawing import alike, broadcastable, numbers
from support.opcase import OpCase

Array = npt.NDArray[np.float64]
A, X = numbers(0.1, 40), numbers(0.01, 60)


def slope(a: Array, x: Array) -> Array:
    """The derivative by finite differences of fourth order."""
    h = 1e-3 * np.minimum(a, 1)
    f = scipy.special.gammainc
    near, far = f(a + h, x) - f(a - h, x), f(a + 2 * h, x) - f(a - 2 * h, x)
    return np.asarray((8 * near - far) / (12 * h))


LOOSE = {"slack": 64.0, "reason": "logarithms of large numbers cancel", "smooth": 10.0}
CASES = [
    OpCase("Igamma", broadcastable(A, X), scipy.special.gammainc, **LOOSE),
    OpCase("Igammac", broadcastable(A, X), scipy.special.gammaincc, **LOOSE),
    OpCase(
        "IgammaGradA",
        broadcastable(A, X),
        slope,
        dtypes=(dtypes.float32,),
        slack=64.0,
        reason="differences, and logarithms of large numbers",
    ),
    *(
        OpCase(op, alike(numbers(-30, 30)), function, ulps=64, reason="sums of 200 terms")
        for op, function in (
            ("BesselI0", scipy.special.i0),
            ("BesselI0e", scipy.special.i0e),
            ("BesselI1", scipy.special.i1),
            ("BesselI1e", scipy.special.i1e),
        )
    ),
]
