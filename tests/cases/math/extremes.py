"""Cases of core/ops/math/extremes.py: one group of numbers after the other, in Python."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cases.math.reduction import APART, Array, over
from pinnace.framework import dtypes
from support.drawing import with_axis
from support.opcase import OpCase


def place_of(choose: Callable[[list[Any]], Any]) -> Callable[..., Array]:
    return over(lambda values: values.index(choose(values)), np.int64)


CASES = [
    OpCase("ArgMax", with_axis(APART, least=1), place_of(max)),
    OpCase("ArgMin", with_axis(APART, least=1), place_of(min)),
    OpCase(
        "ArgMax", with_axis(APART, least=1), place_of(max), attrs={"output_type": dtypes.uint16}
    ),
    OpCase("ArgMin", with_axis(APART, least=1), place_of(min), attrs={"output_type": dtypes.int32}),
]
