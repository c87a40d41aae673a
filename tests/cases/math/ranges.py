"""Cases of core/ops/math/ranges.py: Python's range and fractions."""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from support.drawing import numbers
from support.opcase import OpCase

Array = npt.NDArray[Any]
WHOLE = st.integers(-20, 20)
COUNTS = st.integers(1, 20).map(lambda n: np.array(n, np.int32))


def ends(kind: Any) -> st.SearchStrategy[tuple[Array, ...]]:
    """Start, limit and a step from one towards the other."""
    steps = st.integers(1, 5)
    return st.tuples(WHOLE, WHOLE, steps).map(
        lambda t: tuple(np.array(n, kind) for n in (t[0], t[1], t[2] if t[1] >= t[0] else -t[2]))
    )


def python_range(start: Array, limit: Array, delta: Array) -> Array:
    return np.array(range(int(start), int(limit), int(delta)))


def steps_between(start: Array, stop: Array, num: Array) -> Array:
    first, last = Fraction(float(start)), Fraction(float(stop))
    gaps = max(int(num) - 1, 1)
    return np.array([float(first + (last - first) * k / gaps) for k in range(int(num))])


SCALAR = numbers().map(np.asarray)

CASES = [
    OpCase("Range", ends(np.int32), python_range),
    OpCase("Range", ends(np.float64), python_range, slack=0, differentiable=()),
    OpCase("LinSpace", st.tuples(SCALAR, SCALAR, COUNTS), steps_between),
]
