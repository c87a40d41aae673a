"""Cases of core/ops/math/clustering.py: distances one by one."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from support.opcase import OpCase


@st.composite
def points(draw: st.DrawFn) -> tuple[Any, ...]:
    """Whole numbers: squares and their sums are exact."""
    n, count, width = (draw(st.integers(*r)) for r in ((1, 4), (1, 5), (1, 3)))
    whole = st.integers(-9, 9)

    def matrix(rows: int) -> Any:
        drawn = draw(st.lists(whole, min_size=rows * width, max_size=rows * width))
        return np.array(drawn, np.float32).reshape(rows, width)

    return matrix(n), matrix(count), np.int64(draw(st.integers(1, 7)))


def nearest(x: Any, centers: Any, k: Any) -> tuple[Any, Any]:
    count = min(int(k), len(centers))
    found = [
        sorted((sum((a - b) ** 2 for a, b in zip(p, c, strict=True)), i) for i, c in pairs)[:count]
        for p in x.tolist()
        for pairs in [list(enumerate(centers.tolist()))]
    ]
    indices = np.array([[i for _, i in row] for row in found], np.int64).reshape(len(x), count)
    distances = np.array([[d for d, _ in row] for row in found], np.float32)
    return indices, distances.reshape(len(x), count)


CASES = [OpCase("NearestNeighbors", points(), nearest, differentiable=())]
