"""Cases of core/ops/linalg/determinants.py: Leibniz's sum over permutations."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cases.linalg.solving import OPTIONS, matrices
from support.opcase import OpCase

Array = npt.NDArray[Any]


def determinant(x: Array) -> Array:
    size = x.shape[-1]
    total = np.zeros(x.shape[:-2], x.dtype)
    for order in itertools.permutations(range(size)):
        swaps = sum(a > b for a, b in itertools.combinations(order, 2))
        factors = [x[..., row, column] for row, column in enumerate(order)]
        total = total + (-1) ** swaps * math.prod(factors[1:], start=factors[0])
    return total


def sign_and_log(x: Array) -> tuple[Array, Array]:
    value = determinant(x)
    return value / np.abs(value), np.log(np.abs(value)).astype(x.dtype)


CASES = [
    OpCase(
        "MatrixDeterminant", matrices(), determinant, **{**OPTIONS, "slack": 1e4, "smooth": 1e3}
    ),
    OpCase(
        "MatrixDeterminant",
        matrices(np.complex128),
        determinant,
        **{**OPTIONS, "slack": 1e4, "smooth": 1e3},
    ),
    OpCase("LogMatrixDeterminant", matrices(), sign_and_log, **OPTIONS),
]
