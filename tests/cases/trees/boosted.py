"""Cases of core/ops/trees/boosted.py: Python's bisect."""

import bisect
from typing import Any

import numpy as np
import numpy.typing as npt

from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def drawn(rng: np.random.Generator) -> tuple[Any, ...]:
    count = int(rng.integers(1, 4))
    values = [rng.integers(-6, 7, int(rng.integers(0, 5))) / 2 for _ in range(count)]
    edges = [np.sort(rng.integers(-4, 5, int(rng.integers(1, 5)))) for _ in range(count)]
    return tuple(tuple(x.astype(np.float32) for x in part) for part in (values, edges))


def buckets(values: tuple[Array, ...], edges: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(
        np.array([min(bisect.bisect_left(e.tolist(), v), len(e) - 1) for v in x], np.int32)
        for x, e in zip(values, edges, strict=True)
    )


CASES = [OpCase("BoostedTreesBucketize", random_arrays(drawn), buckets)]
