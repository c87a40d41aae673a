"""Cases of core/ops/linalg/solving.py: Gauss's elimination, row by row."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]

LEADS = ((), (2,), (0,))
OPTIONS: dict[str, Any] = {
    "slack": 1000,
    "reason": "the condition of the matrices",
    "dtypes": (dtypes.float64, dtypes.float32),
    "smooth": 10,
}


def drawn(rng: np.random.Generator, *shape: int, kind: Any = np.float64) -> Array:
    x: Any = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if kind is np.complex128 else x


def regular(rng: np.random.Generator, *lead: int, size: int, kind: Any = np.float64) -> Array:
    """Diagonally dominant matrices."""
    x = drawn(rng, *lead, size, size, kind=kind)
    return x / np.maximum(np.abs(x), 1) + 4 * np.eye(size)


def systems(
    kind: Any = np.float64, *, broadcast: bool = False
) -> st.SearchStrategy[tuple[Array, ...]]:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        lead = LEADS[rng.integers(len(LEADS))]
        size, columns = int(rng.integers(1, 4)), int(rng.integers(0, 3))
        others = () if broadcast else lead
        matrix = regular(rng, *lead, size=size, kind=kind)
        return matrix, drawn(rng, *others, size, columns, kind=kind)

    return random_arrays(build)


def matrices(kind: Any = np.float64) -> st.SearchStrategy[tuple[Array, ...]]:
    return systems(kind).map(lambda pair: pair[:1])


def adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def eliminated(matrix: Array, rhs: Array) -> Array:
    lead = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    a = np.broadcast_to(matrix, (*lead, *matrix.shape[-2:])).copy()
    x = np.broadcast_to(rhs, (*lead, *rhs.shape[-2:])).copy()
    for place in np.ndindex(*lead):
        for i in range(a.shape[-1]):
            pivot = i + int(np.argmax(np.abs(a[place][i:, i])))
            a[place][[i, pivot]], x[place][[i, pivot]] = a[place][[pivot, i]], x[place][[pivot, i]]
            x[place][i] /= a[place][i, i]
            a[place][i] /= a[place][i, i]
            for j in range(a.shape[-1]):
                if j != i:
                    x[place][j] -= a[place][j, i] * x[place][i]
                    a[place][j] -= a[place][j, i] * a[place][i]
    return x


def inverse(matrix: Array) -> Array:
    return eliminated(matrix, np.eye(matrix.shape[-1]).astype(matrix.dtype))


def triangle(matrix: Array, lower: bool) -> Array:
    return np.tril(matrix) if lower else np.triu(matrix)


def both_kinds(op: str, draw: Any, reference: Any, attrs: dict[str, Any]) -> list[OpCase]:
    return [
        OpCase(op, draw(kind), reference, attrs=attrs, **OPTIONS)
        for kind in (np.float64, np.complex128)
    ]


CASES = [
    *both_kinds("MatrixSolve", systems, eliminated, {}),
    *both_kinds("MatrixSolve", systems, lambda m, r: eliminated(adjoint(m), r), {"adjoint": True}),
    *both_kinds("MatrixInverse", matrices, inverse, {}),
    *both_kinds("MatrixInverse", matrices, lambda m: inverse(adjoint(m)), {"adjoint": True}),
    *[
        case
        for lower in (True, False)
        for case in (
            *both_kinds(
                "MatrixTriangularSolve",
                systems,
                lambda m, r, w=lower: eliminated(triangle(m, w), r),
                {"lower": lower},
            ),
            *both_kinds(
                "MatrixTriangularSolve",
                systems,
                lambda m, r, w=lower: eliminated(adjoint(triangle(m, w)), r),
                {"lower": lower, "adjoint": True},
            ),
        )
    ],
    OpCase(
        "MatrixTriangularSolve",
        systems(broadcast=True),
        lambda m, r: eliminated(np.tril(m), r),
        **OPTIONS,
    ),
]
