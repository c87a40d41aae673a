"""Cases of core/ops/nn/normalization.py: the formulas, written out."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]
RADIUS = 2
# Numbers that float32, in which attributes are, has.
EPSILON = 2.0**-7


def responded(x: Array) -> Array:
    """x / sqrt(1 + half of the squares of up to five neighbours)."""
    channels = range(x.shape[-1])
    near = [(x[..., max(c - RADIUS, 0) : c + RADIUS + 1] ** 2).sum(-1) for c in channels]
    return x / np.sqrt(1 + 0.5 * np.stack(near, -1))


def normalized(x: Array, scale: Array, offset: Array, mean: Array, variance: Array) -> Any:
    y = (x - mean) / (variance + EPSILON) ** 0.5 * scale + offset
    return y, mean, variance, mean, variance


def moments(rng: np.random.Generator) -> tuple[Array, ...]:
    x = rng.standard_normal((2, 3, 2, 4))
    return x, *(rng.standard_normal(4) for _ in range(3)), rng.random(4) + 0.5


CASES = [
    OpCase(
        "LRN",
        random_arrays(lambda rng: (rng.standard_normal((1, 2, 3, 5)),)),
        responded,
        attrs={"depth_radius": RADIUS, "bias": 1.0, "alpha": 0.5, "beta": 0.5},
        slack=64.0,
        reason="a power of a sum",
        differentiable=(),  # not in float64; test_derivatives.py has the gradient
    ),
    *(
        OpCase(
            f"FusedBatchNorm{version}",
            random_arrays(moments),
            (lambda *xs: (*normalized(*xs), np.zeros(0))) if version == "V3" else normalized,
            attrs={"is_training": False, "epsilon": EPSILON},
            dtypes=(dtypes.float32,),
            slack=64.0,
            reason="differences, over roots",
            differentiable=(),
        )
        for version in ("", "V2", "V3")
    ),
]
