"""Cases of core/ops/nn/isotonic.py: the min-max formula, entry by entry."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]


def falling(x: Array) -> tuple[Array, Array]:
    """Min over starts of the max over ends of the mean between (Barlow and others, 1972)."""
    count = x.shape[1]
    y = np.array(
        [
            [
                min(max(row[a : b + 1].mean() for b in range(i, count)) for a in range(i + 1))
                for i in range(count)
            ]
            for row in x
        ]
    ).reshape(x.shape)
    steps = np.cumsum(np.diff(y, axis=1) < -1e-9, axis=1)
    return y, np.concatenate([np.zeros((len(x), 1)), steps], 1).astype(np.int32)


CASES = [
    OpCase(
        "IsotonicRegression",
        random_arrays(lambda rng: (rng.normal(size=(2, 5)),)),
        falling,
        attrs={"output_dtype": kind},
        dtypes=(kind,),
        # Finite differences are computed in float64.
        differentiable=None if kind is dtypes.float64 else (),
    )
    for kind in (dtypes.float64, dtypes.float32)
]
