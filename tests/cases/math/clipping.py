"""Cases of core/ops/math/clipping.py."""

import numpy as np
from hypothesis import strategies as st

from support.drawing import alike, array, each, numbers
from support.opcase import OpCase


def clipped(x: float, low: float, high: float) -> float:
    return sorted((low, x, high))[1]


SCALARS = st.tuples(
    array(elements=numbers(apart_from=(-2, 3))), st.just(np.array(-2.0)), st.just(np.array(3.0))
)

CASES = [
    OpCase("ClipByValue", SCALARS, each(clipped), slack=0),
    OpCase(
        "ClipByValue",
        alike(
            numbers(apart_from=(-4, -2, 2, 4)),
            st.sampled_from([-4.0, -2.0]),
            st.sampled_from([2.0, 4.0]),
        ),
        each(clipped),
        slack=0,
    ),
]
