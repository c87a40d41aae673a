"""Cases of core/ops/random/candidates.py that are not random."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from support.drawing import random_arrays
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]


def hits(right: Array, drawn: Array) -> tuple[Array, Array, Array]:
    found = [
        (row, int(np.flatnonzero(drawn == label)[0]))
        for row, labels in enumerate(right)
        for label in labels
        if label in drawn
    ]
    rows, places = np.array(found, np.int64).reshape(-1, 2).T
    lowest = np.full(len(found), np.finfo(np.float32).min, np.float32)
    return rows.astype(np.int32), places, lowest


CASES = [
    OpCase(
        "ComputeAccidentalHits",
        random_arrays(lambda rng: (rng.integers(0, 9, (3, 2)), rng.permutation(9)[:5])),
        hits,
        attrs={"num_true": 2},
    )
]
