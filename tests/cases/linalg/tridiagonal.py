"""Cases of core/ops/linalg/tridiagonal.py: the whole matrices."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cases.linalg.solving import LEADS, OPTIONS, drawn, eliminated
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def whole(above: Array, main: Array, below: Array) -> Array:
    """The matrix, each diagonal [..., n]."""
    size = main.shape[-1]
    out = main[..., None] * np.eye(size)
    for i in range(size - 1):
        out[..., i, i + 1] = above[..., i]
        out[..., i + 1, i] = below[..., i + 1]
    return out


def solved(diagonals: Array, rhs: Array) -> Array:
    return eliminated(whole(*(diagonals[..., i, :] for i in range(3))), rhs)


def product(above: Array, main: Array, below: Array, rhs: Array) -> Array:
    return whole(above[..., 0, :], main[..., 0, :], below[..., 0, :]) @ rhs


def systems(kind: Any = np.float64) -> st.SearchStrategy[tuple[Array, ...]]:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        lead, size = LEADS[rng.integers(len(LEADS))], int(rng.integers(1, 5))
        diagonals = drawn(rng, *lead, 3, size, kind=kind)
        diagonals[..., 1, :] += 5
        # Entries outside the matrix are not read; their gradient is 0.
        return diagonals, drawn(rng, *lead, size, int(rng.integers(0, 3)), kind=kind)

    return random_arrays(build)


def rows(kind: Any = np.float64) -> st.SearchStrategy[tuple[Array, ...]]:
    return systems(kind).map(
        lambda pair: (*(pair[0][..., i : i + 1, :] for i in range(3)), pair[1])
    )


def banded(*, lower: bool, adjoint: bool) -> OpCase:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        lead, size = LEADS[rng.integers(len(LEADS))], int(rng.integers(1, 5))
        count = int(rng.integers(1, size + 1))
        bands = drawn(rng, *lead, count, size)
        bands[..., 0 if lower else -1, :] += 5
        return bands, drawn(rng, size, int(rng.integers(0, 3)))

    def reference(bands: Array, rhs: Array) -> Array:
        count, size = bands.shape[-2:]
        matrix = np.zeros((*bands.shape[:-2], size, size))
        for j in range(count):
            for i in range(size):
                column = i - j if lower else i + j
                if 0 <= column < size:
                    matrix[..., i, column] = bands[..., j if lower else count - 1 - j, i]
        return eliminated(matrix.swapaxes(-1, -2) if adjoint else matrix, rhs)

    attrs = {"lower": lower, "adjoint": adjoint}
    return OpCase("BandedTriangularSolve", random_arrays(build), reference, attrs=attrs, **OPTIONS)


CASES = [
    *(
        OpCase("TridiagonalSolve", systems(kind), solved, **OPTIONS)
        for kind in (np.float64, np.complex128)
    ),
    *(
        OpCase("TridiagonalMatMul", rows(kind), product, **OPTIONS)
        for kind in (np.float64, np.complex128)
    ),
    *(banded(lower=lower, adjoint=adjoint) for lower in (True, False) for adjoint in (True, False)),
]
