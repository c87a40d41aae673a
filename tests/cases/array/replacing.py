"""Cases of core/ops/array/replacing.py: row by row."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import Array, drawn, numbers
from pinnace.framework import dtypes
from support.opcase import OpCase


def rows(draw: st.DrawFn) -> tuple[Any, ...]:
    """Row indices, some repeated, some out of range, where they wrap around."""
    rest = draw(st.lists(st.integers(0, 3), max_size=2))
    count = draw(st.integers(1, 4))
    places = draw(st.lists(st.integers(-5, 6), max_size=5))
    x = draw(numbers([count, *rest]))
    return x, np.array(places, np.int32), draw(numbers([len(places), *rest]))


def changed(factor: int) -> Any:
    def reference(x: Array, places: Array, v: Array) -> Array:
        y = x.copy()
        for place, row in zip(places.tolist(), v, strict=True):
            at = place % len(x)
            y[at] = y[at] + factor * row if factor else row
        return y

    return reference


CASES = [
    OpCase("InplaceUpdate", drawn(rows), changed(0)),
    OpCase("InplaceAdd", drawn(rows), changed(1)),
    OpCase("InplaceSub", drawn(rows), changed(-1)),
    OpCase("DeepCopy", drawn(rows).map(lambda xs: xs[:1]), lambda x: x),
    OpCase(
        "Empty",
        st.lists(st.integers(0, 4), max_size=3).map(lambda sizes: (np.array(sizes, np.int32),)),
        lambda sizes: np.zeros(sizes.tolist()),
        attrs={"dtype": dtypes.float32, "init": True},
    ),
]
