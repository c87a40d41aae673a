"""Cases of core/ops/math/histograms.py: NumPy's histogram of values clipped to the range."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def counted(values: Array, limits: Array, count: Array) -> Array:
    low, high = limits.tolist()
    inside = np.clip(values, low, np.nextafter(high, low))
    return np.histogram(inside, int(count), (low, high))[0]


def build(rng: np.random.Generator) -> tuple[Array, ...]:
    # Not at the edges of bins, which are integers.
    values = rng.integers(-4, 12, (3, 5)) + rng.uniform(0.1, 0.9, (3, 5))
    return values, np.array([-2.0, 8.0]), np.array(rng.choice([5, 10]), np.int32)


CASES = [
    OpCase(
        "HistogramFixedWidth",
        random_arrays(build),
        counted,
        dtypes=(dtypes.float64, dtypes.float32),
    )
]
