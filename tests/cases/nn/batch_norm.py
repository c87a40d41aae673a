"""Cases of core/ops/nn/batch_norm.py: the formulas, written out."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]
# Numbers that are exact in float32, the type of attributes.
EPSILON = 2.0**-7


def normalized(x: Array, scale: Array, offset: Array, mean: Array, variance: Array) -> Any:
    y = (x - mean) / (variance + EPSILON) ** 0.5 * scale + offset
    return y, mean, variance, mean, variance


def moments(rng: np.random.Generator) -> tuple[Array, ...]:
    x = rng.standard_normal((2, 3, 2, 4))
    return x, *(rng.standard_normal(4) for _ in range(3)), rng.random(4) + 0.5


CASES = [
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
