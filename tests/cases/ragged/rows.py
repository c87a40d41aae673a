"""Rows of different length to draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cases.sparse.matrices import numbers

Array = npt.NDArray[Any]

CASES: list[Any] = []


@st.composite
def rows(draw: st.DrawFn) -> tuple[Array, Array]:
    """Row splits, and values [n]."""
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    splits = np.cumsum([0, *lengths]).astype(np.int64)
    return splits, draw(numbers(int(splits[-1])))
