"""Cases of core/ops/sparse/distances.py: the recursion, from the ends of both sequences."""

from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from support.drawing import random_arrays
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]
ROWS, LENGTH = 3, 4


def drawn(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """A sparse matrix of sequences of numbers from 0 to 2."""
    lengths = rng.integers(0, LENGTH + 1, ROWS)
    places = [(row, n) for row, length in enumerate(lengths) for n in range(length)]
    indices = np.array(places, np.int64).reshape(-1, 2)
    return indices, rng.integers(0, 3, len(places)), np.array([ROWS, LENGTH])


@cache
def levenshtein(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    if not a or not b:
        return len(a) + len(b)
    changed = levenshtein(a[:-1], b[:-1]) + (a[-1] != b[-1])
    return min(changed, levenshtein(a[:-1], b) + 1, levenshtein(a, b[:-1]) + 1)


def distances(*parts: Array) -> Array:
    said, right = (
        [tuple(values[indices[:, 0] == row].tolist()) for row in range(ROWS)]
        for indices, values in (parts[:2], parts[3:5])
    )
    found = [levenshtein(a, b) for a, b in zip(said, right, strict=True)]
    return np.array(found, np.float32)


CASES = [
    OpCase(
        "EditDistance",
        random_arrays(lambda rng: (*drawn(rng), *drawn(rng))),
        distances,
        attrs={"normalize": False},
    )
]
