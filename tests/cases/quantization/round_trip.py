"""Cases of core/ops/quantization/round_trip.py: multiples of the scale."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def whole_range(x: Array, low: Array, high: Array, bits: Any = 8) -> Array:
    """Multiples of the scale that the larger bound requires."""
    del low, high
    most = 2 ** (int(bits) - 1) - 1
    scale = max(x.max() / most, -x.min() / (most + 1))
    return np.rint(x / scale) * scale


def spread(rng: np.random.Generator) -> tuple[Array, ...]:
    """Multiples of 1/127, up to 1: none is midway between two steps."""
    x = rng.integers(-126, 127, (3, 4)) / 127
    x[0, 0], x[0, 1] = 1, -1
    return x, np.array(0.0), np.array(0.0)


AROUND: dict[str, Any] = {"differentiable": (), "dtypes": (dtypes.float64, dtypes.float32)}
CASES = [
    OpCase("QuantizeAndDequantizeV2", random_arrays(spread), whole_range, **AROUND),
    OpCase("QuantizeAndDequantizeV4", random_arrays(spread), whole_range, **AROUND),
    OpCase(
        "QuantizeAndDequantizeV3",
        random_arrays(lambda rng: (*spread(rng), np.array(8, np.int32))),
        whole_range,
        attrs={"range_given": False},
        **AROUND,
    ),
    OpCase(
        "QuantizeAndDequantizeV4Grad",
        random_arrays(
            lambda rng: (
                *rng.integers(-8, 9, (2, 3, 4)) / 4,
                np.array(-1.1),
                np.array(1.3),
            )
        ),
        lambda dy, x, low, high: (
            np.where((low <= x) & (x <= high), dy, 0),
            np.zeros(()),
            np.zeros(()),
        ),
        differentiable=(),
    ),
]
