"""Cases of core/ops/array/nth_elements.py: rows sorted as a whole."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cases.array.shapes import drawn, numbers
from support.opcase import OpCase

Array = npt.NDArray[Any]


def distinct(draw: st.DrawFn) -> tuple[Any, ...]:
    """Rows without ties, and an index into them."""
    rows, count = draw(st.integers(0, 3)), draw(st.integers(1, 5))
    ranks = [draw(st.permutations(range(count))) for _ in range(rows)]
    x = np.array(ranks, np.float64).reshape(rows, count) * 1.5 - 2
    return x, np.int32(draw(st.integers(0, count - 1)))


def with_ties(draw: st.DrawFn) -> tuple[Any, ...]:
    count = draw(st.integers(1, 5))
    x = draw(numbers(draw(st.sampled_from([[count], [2, 2, count]])))).round()
    return x, np.int32(draw(st.integers(0, count - 1)))


def nth(x: Array, n: Array, turned: bool = False) -> Array:
    found = [sorted(row, reverse=turned)[int(n)] for row in x.reshape(-1, x.shape[-1]).tolist()]
    return np.array(found, x.dtype).reshape(x.shape[:-1])


CASES = [
    OpCase("NthElement", drawn(distinct), nth),
    OpCase(
        "NthElement", drawn(distinct), lambda x, n: nth(x, n, turned=True), attrs={"reverse": True}
    ),
    OpCase("NthElement", drawn(with_ties), nth, differentiable=()),
]
