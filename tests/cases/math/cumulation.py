"""Cases of core/ops/math/cumulation.py: Python's accumulate, line by line."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from support.drawing import numbers, with_axis
from support.opcase import OpCase

Array = npt.NDArray[Any]

FLAGS = [(exclusive, reverse) for exclusive in (False, True) for reverse in (False, True)]


def along(
    join: Callable[[Any, Any], Any], first: float, exclusive: bool, reverse: bool
) -> Callable[..., Array]:
    def accumulated(x: Array, axis: Array) -> Array:
        out = np.empty(x.shape)
        lines, results = np.moveaxis(x, int(axis), -1), np.moveaxis(out, int(axis), -1)
        for place in np.ndindex(*lines.shape[:-1]):
            line = lines[place].tolist()
            if reverse:
                line.reverse()
            if exclusive and line:
                line = [first, *line[:-1]]
            done = list(itertools.accumulate(line, join))
            results[place] = done[::-1] if reverse else done
        return out

    return accumulated


def log_add(x: float, y: float) -> float:
    if min(x, y) == -math.inf:
        return max(x, y)
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


def cases(
    op: str, join: Callable[[Any, Any], Any], first: float, elements: Any, **options: Any
) -> list[OpCase]:
    return [
        OpCase(
            op,
            with_axis(elements),
            along(join, first, exclusive, reverse),
            attrs={"exclusive": exclusive, "reverse": reverse},
            **options,
        )
        for exclusive, reverse in FLAGS
    ]


CASES = [
    *cases("Cumsum", lambda x, y: x + y, 0, numbers(), slack=64),
    *cases("Cumprod", lambda x, y: x * y, 1, numbers(0.5, 2), ulps=8),
    *[
        OpCase(
            "CumulativeLogsumexp",
            with_axis(numbers()),
            along(log_add, -math.inf, exclusive, reverse),
            attrs={"exclusive": exclusive, "reverse": reverse},
            slack=64,
        )
        for exclusive, reverse in FLAGS
    ],
]
