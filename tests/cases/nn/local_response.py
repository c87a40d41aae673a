"""Cases of core/ops/nn/local_response.py: the formula, written out."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from support.drawing import random_arrays
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]
RADIUS = 2


def responded(x: Array) -> Array:
    """x / sqrt(1 + half of the squares of up to five neighbours)."""
    channels = range(x.shape[-1])
    near = [(x[..., max(c - RADIUS, 0) : c + RADIUS + 1] ** 2).sum(-1) for c in channels]
    return x / np.sqrt(1 + 0.5 * np.stack(near, -1))


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
]
