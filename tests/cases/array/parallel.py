"""Cases of core/ops/array/parallel.py, with stacked rows as the reference."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import drawn, numbers
from pinnace.framework.shapes import Shape
from support.opcase import OpCase


def rows(draw: st.DrawFn) -> tuple[Any, ...]:
    return (tuple(draw(numbers([1, 2, 3])) for _ in range(4)),)


def below(values: tuple[Any, ...]) -> Any:
    found = np.zeros((4, 2, 3), values[0].dtype)
    for place, row in enumerate(values):
        found[place] = row[0]
    return found


CASES = [
    OpCase(
        "ParallelConcat",
        drawn(rows),
        below,
        attrs={"shape": Shape([4, 2, 3])},
        differentiable=(),
    )
]
