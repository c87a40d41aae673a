"""Cases of core/ops/math/arithmetic.py: Python's own arithmetic."""

import math
import operator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from pinnace.framework import dtypes
from support.drawing import (
    SHAPES,
    alike,
    array,
    broadcastable,
    complex_arrays,
    complex_numbers,
    each,
    numbers,
)
from support.opcase import OpCase

ANY = numbers()
OFF_ZERO = numbers(apart_from=(0,))


WHOLE = st.integers(-100, 100)
COMPLEX = complex_numbers()
# Two values that are never equal.
APART = broadcastable(st.integers(-20, 20), st.integers(-20, 20).map(lambda n: n + 0.5))


def case(op: str, inputs: Any, reference: Any, **options: Any) -> OpCase:
    """A case with a strict tolerance: one or two ulps."""
    return OpCase(op, inputs, reference, **{"slack": 0, "ulps": 2, **options})


def terms() -> Any:
    counts = st.integers(1, 4)
    return st.tuples(SHAPES, counts).flatmap(
        lambda drawn: st.tuples(st.tuples(*[array(drawn[0])] * drawn[1]))
    )


CASES = [
    case("Add", broadcastable(ANY, ANY), each(operator.add)),
    case("AddV2", broadcastable(ANY, ANY), each(operator.add)),
    case("AddV2", complex_arrays(COMPLEX, COMPLEX), each(operator.add, complex)),
    case("AddV2", broadcastable(WHOLE, WHOLE, dtype=np.int64), each(operator.add, int)),
    case("Sub", broadcastable(ANY, ANY), each(operator.sub)),
    case("Mul", broadcastable(ANY, ANY), each(operator.mul)),
    OpCase("Mul", complex_arrays(COMPLEX, COMPLEX), each(operator.mul, complex)),
    case(
        "MulNoNan",
        broadcastable(st.one_of(st.just(math.inf), ANY), st.just(0.0)),
        each(lambda _, y: y),
        differentiable=(),
    ),
    case("MulNoNan", broadcastable(ANY, OFF_ZERO), each(operator.mul)),
    case(
        "NextAfter",
        alike(ANY, ANY),
        each(math.nextafter),
        dtypes=(dtypes.float64,),
    ),
    case("Maximum", APART, each(max)),
    case("Minimum", APART, each(min)),
    case("SquaredDifference", broadcastable(ANY, ANY), each(lambda x, y: (x - y) ** 2), ulps=4),
    case("Neg", alike(ANY), each(operator.neg)),
    case("Square", alike(ANY), each(lambda x: x**2)),
    OpCase("Square", complex_arrays(COMPLEX), each(lambda z: z**2, complex)),
    case("Reciprocal", alike(OFF_ZERO), each(lambda x: 1 / x), smooth=100),
    case("Inv", alike(OFF_ZERO), each(lambda x: 1 / x), smooth=100),
    case("ReciprocalGrad", alike(OFF_ZERO, ANY), each(lambda y, dy: -dy * y**2), ulps=4),
    case("InvGrad", alike(OFF_ZERO, ANY), each(lambda y, dy: -dy * y**2), ulps=4),
    case("AddN", terms(), lambda xs: each(lambda *ys: math.fsum(ys))(*xs), slack=32),
]
