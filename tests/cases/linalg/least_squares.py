"""Cases of core/ops/linalg/least_squares.py: the ridge as additional rows, by SVD."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cases.linalg.solving import LEADS, drawn
from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]

# Full rank; more rows than columns, and the reverse.
SIZES = ((3, 2), (2, 3), (2, 2), (3, 1), (1, 3))
ALL: dict[str, Any] = {
    "slack": 4000,
    "reason": "the condition of the matrices, squared",
    # The regulariser is float64, whatever dtype the matrices have.
    "dtypes": (dtypes.float64,),
    "differentiable": (0, 1),
    "smooth": 1000,
}


def systems(*, ridge: bool, kind: Any = np.float64) -> st.SearchStrategy[tuple[Array, ...]]:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        lead = LEADS[rng.integers(len(LEADS))]
        rows, columns = SIZES[rng.integers(len(SIZES))]
        # Far from matrices of lower rank: an identity matrix dominates the rest.
        matrix = drawn(rng, *lead, rows, columns, kind=kind)
        matrix = matrix / np.maximum(np.abs(matrix), 1) + 3 * np.eye(rows, columns)
        rhs = drawn(rng, *lead, rows, int(rng.integers(1, 3)), kind=kind)
        return matrix, rhs, np.array(rng.uniform(0.1, 2) if ridge else 0.0)

    return random_arrays(build)


def shortest(matrix: Array, rhs: Array) -> Array:
    lead = matrix.shape[:-2]
    out = np.zeros((*lead, matrix.shape[-1], rhs.shape[-1]), matrix.dtype)
    for place in np.ndindex(*lead):
        out[place] = np.linalg.lstsq(matrix[place], rhs[place], rcond=None)[0]
    return out


def ridged(matrix: Array, rhs: Array, ridge: Array) -> Array:
    lead, columns = matrix.shape[:-2], matrix.shape[-1]
    rows = np.broadcast_to(np.sqrt(ridge) * np.eye(columns), (*lead, columns, columns))
    zeros = np.zeros((*lead, columns, rhs.shape[-1]))
    return shortest(np.concatenate([matrix, rows], -2), np.concatenate([rhs, zeros], -2))


CASES = [
    OpCase("MatrixSolveLs", systems(ridge=True), ridged, **ALL),
    OpCase("MatrixSolveLs", systems(ridge=True, kind=np.complex128), ridged, **ALL),
    OpCase("MatrixSolveLs", systems(ridge=False), ridged, **ALL),
    OpCase(
        "MatrixSolveLs",
        systems(ridge=True),
        lambda matrix, rhs, ridge: shortest(matrix, rhs),  # noqa: ARG005 (it takes no ridge)
        attrs={"fast": False},
        **ALL,
    ),
]
