"""Cases of core/ops/linalg/functions.py: SciPy, which uses the Schur decomposition."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
from hypothesis import strategies as st

from cases.linalg.solving import LEADS, OPTIONS, drawn, regular
from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]
LOOSE: dict[str, Any] = {**OPTIONS, "slack": 1e5, "smooth": 100}


def each(function: Callable[[Array], Any]) -> Callable[[Array], Array]:
    def mapped(x: Array) -> Array:
        out = np.empty(x.shape, np.complex128 if x.dtype.kind == "c" else np.float64)
        for place in np.ndindex(*x.shape[:-2]):
            out[place] = function(x[place])
        return out

    return mapped


def right_of_zero(kind: Any = np.float64) -> st.SearchStrategy[tuple[Array, ...]]:
    """Matrices with eigenvalues right of the imaginary axis; some have only one eigenvector."""

    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        lead, size = LEADS[rng.integers(len(LEADS))], int(rng.integers(1, 4))
        if rng.integers(3) == 0:
            steps = np.triu(drawn(rng, *lead, size, size, kind=kind), 1)
            return (steps + 3 * np.eye(size),)
        return (regular(rng, *lead, size=size, kind=kind),)

    return random_arrays(build)


CASES = [
    OpCase("MatrixSquareRoot", right_of_zero(), each(scipy.linalg.sqrtm), **LOOSE),
    OpCase("MatrixSquareRoot", right_of_zero(np.complex128), each(scipy.linalg.sqrtm), **LOOSE),
    OpCase(
        "MatrixLogarithm",
        right_of_zero(np.complex128),
        each(scipy.linalg.logm),
        **{**LOOSE, "dtypes": (dtypes.float64, dtypes.float32)},
    ),
]
