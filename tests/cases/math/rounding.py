"""Cases of core/ops/math/rounding.py: Python's math."""

import math

import numpy as np
from hypothesis import strategies as st

from cases.math.arithmetic import case
from support.drawing import alike, each, numbers

# Halves among them, which go to the even side.
HALVES = st.integers(-20, 20).map(lambda n: n / 2)
ANY = st.one_of(HALVES, numbers())

CASES = [
    case("Floor", alike(ANY), each(math.floor)),
    case("Ceil", alike(ANY), each(math.ceil)),
    case("Rint", alike(ANY), each(round)),
    case("Round", alike(ANY), each(round)),
    case("Round", alike(st.integers(-9, 9), dtype=np.int32), each(round, int)),
]
