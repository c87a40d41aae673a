"""Cases of core/ops/math/reduction.py: one group of numbers after the other, in Python."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from support.drawing import complex_numbers, numbers, with_axes
from support.opcase import OpCase

Array = npt.NDArray[Any]

ANY = numbers()
OFF_ZERO = numbers(apart_from=(0,))
# Values that are never close: a small step does not move a maximum.
APART = st.integers(-1000, 1000)
SLACK = {"slack": 1000.0, "reason": "sums of up to 64 numbers up to 10 that cancel"}


def over(function: Callable[[list[Any]], Any], kind: Any = np.float64) -> Callable[..., Array]:
    """`function` of every group of numbers along the reduced axes."""

    def reduced(x: Array, axes: Array) -> Array:
        gone = {int(a) % x.ndim for a in axes.reshape(-1)}
        stay = [a for a in range(x.ndim) if a not in gone]
        moved = x.transpose([*stay, *sorted(gone)])
        out = np.empty([x.shape[a] for a in stay], kind)
        for place in np.ndindex(*out.shape):
            out[place] = function(moved[place].reshape(-1).tolist())
        return out

    return reduced


def keeping(function: Callable[..., Array]) -> Callable[..., Array]:
    """The same with the reduced axes kept."""

    def reduced(x: Array, axes: Array) -> Array:
        gone = {int(a) % x.ndim for a in axes.reshape(-1)}
        sizes = [1 if a in gone else n for a, n in enumerate(x.shape)]
        return function(x, axes).reshape(sizes)

    return reduced


def both(op: str, inputs: Any, function: Callable[..., Array], **options: Any) -> list[OpCase]:
    return [
        OpCase(op, inputs, function, **options),
        OpCase(op, inputs, keeping(function), attrs={"keep_dims": True}, **options),
    ]


def average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def truncated_average(values: Sequence[int]) -> int:
    return math.trunc(sum(values) / len(values))


def largest(values: Sequence[float]) -> float:
    return max(values, default=-math.inf)


def least(values: Sequence[float]) -> float:
    return min(values, default=math.inf)


def distinct(*, least_size: int) -> st.SearchStrategy[tuple[Any, ...]]:
    """No two values are equal, so that extremes are unique."""

    def apart(drawn: tuple[Array, Array]) -> tuple[Array, Array]:
        x, axes = drawn
        ranks = np.argsort(np.argsort(x, axis=None, kind="stable"), kind="stable")
        return ranks.reshape(x.shape).astype(np.float64), axes

    return with_axes(least=least_size).map(apart)


CASES = [
    *both("Sum", with_axes(ANY), over(math.fsum), **SLACK),
    OpCase("Sum", with_axes(complex_numbers(), np.complex128), over(sum, np.complex128), **SLACK),
    OpCase("Sum", with_axes(st.integers(-99, 99), np.int32), over(sum, np.int64)),
    *both("Mean", with_axes(ANY, least=1), over(average), **SLACK),
    OpCase("Mean", with_axes(ANY), over(average), differentiable=(), **SLACK),
    OpCase("Mean", with_axes(st.integers(-99, 99), np.int32, 1), over(truncated_average, np.int64)),
    *both(
        "Prod",
        with_axes(numbers(0.5, 1.5)),
        over(math.prod),
        ulps=128,
        slack=0,
        reason="up to 64 roundings",
        smooth=100,
    ),
    OpCase("Prod", with_axes(st.integers(-2, 2).map(float)), over(math.prod), slack=0),
    *both("Max", distinct(least_size=0), over(largest), slack=0),
    *both("Min", distinct(least_size=0), over(least), slack=0),
    OpCase("Max", with_axes(APART, np.int64, 1), over(max, np.int64)),
    *both("EuclideanNorm", with_axes(OFF_ZERO, least=1), over(lambda xs: math.hypot(*xs)), ulps=8),
    *both("All", with_axes(st.booleans(), np.bool_), over(all, np.bool_)),
    *both("Any", with_axes(st.booleans(), np.bool_), over(any, np.bool_)),
]
