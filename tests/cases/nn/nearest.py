"""Cases of core/ops/nn/nearest.py."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from support.drawing import random_arrays
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]


def chosen(axis: int, sign: int) -> Callable[[Array], tuple[Array, Array]]:
    def reference(x: Array) -> tuple[Array, Array]:
        at = np.argsort(-sign * x, axis=axis).take((0, 1), axis)
        return np.take_along_axis(x, at, axis), at.astype(np.int32)

    return reference


CASES = [
    OpCase(
        "ApproxTopK",
        random_arrays(lambda rng: (rng.permutation(24).reshape(4, 6) - 11.0,)),
        chosen(axis, 1 if largest else -1),
        attrs={"k": 2, "reduction_dimension": axis, "is_max_k": largest},
        slack=0,
        ulps=0,
        # It has no float64, in which finite differences are computed.
        differentiable=(),
    )
    for axis in (-1, 0)
    for largest in (True, False)
]
