"""Cases of core/ops/math/sobol.py: SciPy's sequence without its first point, the origin."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.stats import qmc

from cases.math.arithmetic import case
from pinnace.framework import dtypes


def points(dim: Any, count: Any, skip: Any, **_: Any) -> Any:
    sequence = qmc.Sobol(int(dim), scramble=False, bits=31)
    return sequence.fast_forward(int(skip) + 1).random(int(count))


def numbers(low: int, high: int) -> Any:
    return st.integers(low, high).map(np.int32)


CASES = [
    case(
        "SobolSample",
        st.tuples(numbers(1, 200), numbers(1, 40), numbers(0, 5000)),
        points,
        attrs={"dtype": kind},
        differentiable=(),
    )
    for kind in (dtypes.float32, dtypes.float64)
]
