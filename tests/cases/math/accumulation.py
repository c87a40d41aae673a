"""Cases of core/ops/math/accumulation.py: sums with a single rounding."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from pinnace.framework.shapes import Shape
from support.drawing import array
from support.opcase import OpCase


def total(inputs: tuple[Any, ...]) -> Any:
    flat = zip(*(x.reshape(-1).tolist() for x in inputs), strict=True)
    return np.array([math.fsum(found) for found in flat]).reshape(inputs[0].shape)


CASES = [
    OpCase(
        "AccumulateNV2",
        st.lists(array((2, 3)), min_size=1, max_size=4).map(lambda found: (tuple(found),)),
        total,
        attrs={"shape": Shape([2, 3])},
        slack=256,
        reason="several numbers are added, which may cancel",
    )
]
