"""Cases of core/ops/ragged/gathering.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.ragged.rows import Array, rows
from support.opcase import OpCase


@st.composite
def taken(draw: st.DrawFn) -> tuple[Any, ...]:
    splits, values = draw(rows())
    chosen = draw(st.lists(st.integers(0, len(splits) - 2), max_size=5))
    return (splits,), values, np.array(chosen, np.int64)


def gathered(nested: Any, values: Array, indices: Array) -> tuple[Array, Array]:
    (splits,) = nested
    parts = [values[splits[i] : splits[i + 1]] for i in indices]
    joined = np.concatenate([*parts, values[:0]])
    return np.cumsum([0, *(len(part) for part in parts)]), joined


CASES = [OpCase("RaggedGather", taken(), gathered, attrs={"OUTPUT_RAGGED_RANK": 1})]
