"""Cases of core/ops/linalg/triangles.py: SciPy, which uses different code."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from cases.linalg.solving import OPTIONS, matrices
from support.opcase import OpCase

Array = npt.NDArray[Any]


def factors(x: Array) -> tuple[Array, Array]:
    both, order = np.empty_like(x), np.zeros(x.shape[:-1], np.int32)
    for place in np.ndindex(*x.shape[:-2]):
        p, lower, upper = scipy.linalg.lu(x[place])
        both[place] = np.tril(lower, -1) + upper
        order[place] = np.argmax(p, axis=0)
    return both, order


CASES = [
    OpCase("Lu", matrices(), factors, **OPTIONS),
    OpCase("Lu", matrices(np.complex128), factors, **OPTIONS),
]
