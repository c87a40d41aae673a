"""Cases of core/ops/linalg/earlier.py: entry by entry."""

from typing import Any

import numpy as np
import numpy.typing as npt

from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def entries(rows: int, columns: int, low: int, high: int) -> Any:
    """(row of the table, index in it, row, column) of each entry on a diagonal, from the left."""
    for d in range(high, low - 1, -1):
        for i in range(min(rows + min(d, 0), columns - max(d, 0))):
            yield high - d, i, i + max(-d, 0), i + max(d, 0)


def limits(k: Any) -> tuple[int, int]:
    flat = np.atleast_1d(k)
    return int(flat[0]), int(flat[-1])


def table_shape(x: Array, low: int, high: int) -> tuple[int, ...]:
    width = max(min(x.shape[-2] + min(d, 0), x.shape[-1] - max(d, 0)) for d in range(low, high + 1))
    return (*x.shape[:-2], high - low + 1, width)


def part(x: Array, k: Any = 0, padding: Any = 0.0) -> Array:
    low, high = limits(k)
    out = np.full(table_shape(x, low, high), padding)
    for d, i, row, column in entries(*x.shape[-2:], low, high):
        out[..., d, i] = x[..., row, column]
    return out[..., 0, :] if low == high else out


def put(x: Array, diagonal: Array, k: Any = 0) -> Array:
    low, high = limits(k)
    out = x.copy()
    table = diagonal[..., None, :] if low == high else diagonal
    for d, i, row, column in entries(*x.shape[-2:], low, high):
        out[..., row, column] = table[..., d, i]
    return out


def made(diagonal: Array, k: Any = 0, *rest: Any) -> Array:
    padding = rest[2] if rest else 0.0
    low, high = limits(k)
    table = diagonal[..., None, :] if low == high else diagonal
    size = table.shape[-1] + (max(-high, low, 0) if low * high > 0 or low == high else 0)
    empty = np.full((*table.shape[:-2], size, size), padding)
    return put(empty, diagonal, k)


K = np.array([-1, 1], np.int32)
ONE = np.array(-1, np.int32)
NO = np.array(-1, np.int32)


def matrix(rng: np.random.Generator) -> Array:
    return rng.standard_normal((*rng.integers(1, 3, int(rng.integers(0, 2))), 3, 4))


def rows(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal((*rng.integers(1, 3, int(rng.integers(0, 2))), *shape))


def with_diagonal(rng: np.random.Generator, k: Any) -> tuple[Array, ...]:
    x = matrix(rng)
    return x, rng.standard_normal(part(x, k).shape)


PADDING = np.array(0.5)
CASES = [
    OpCase("MatrixDiag", random_arrays(lambda rng: (rows(rng, 3),)), made),
    OpCase("MatrixDiagPart", random_arrays(lambda rng: (matrix(rng),)), part),
    OpCase("MatrixSetDiag", random_arrays(lambda rng: with_diagonal(rng, 0)), put),
    OpCase(
        "MatrixDiagV2",
        random_arrays(lambda rng: (rows(rng, 3, 4), K, NO, NO, PADDING)),
        made,
        differentiable=(0,),
        project=lambda x: (
            x * [[1, 1, 1, 0], [1] * 4, [1, 1, 1, 0]] if x.shape[-2:] == (3, 4) else x
        ),
    ),
    OpCase(
        "MatrixDiagPartV2",
        random_arrays(lambda rng: (matrix(rng), K, PADDING)),
        part,
        differentiable=(0,),
    ),
    OpCase("MatrixSetDiagV2", random_arrays(lambda rng: (*with_diagonal(rng, ONE), ONE)), put),
    OpCase("MatrixSetDiagV2", random_arrays(lambda rng: (*with_diagonal(rng, K), K)), put),
]
