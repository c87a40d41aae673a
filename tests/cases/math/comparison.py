"""Cases of core/ops/math/comparison.py: Python's comparisons."""

import math
import operator

import numpy as np
from hypothesis import strategies as st

from cases.math.arithmetic import case
from support.drawing import alike, array, broadcastable, each

# Few values, so that many are equal.
ANY = st.integers(-3, 3).map(lambda n: n / 2)
ODD = st.sampled_from([0.0, -1.5, math.inf, -math.inf, math.nan])
WORDS = st.sampled_from([b"", b"a", b"b"])


def words() -> st.SearchStrategy[tuple[object, ...]]:
    text = array(st.just((3,)), WORDS, object)
    return st.tuples(text, text)


CASES = [
    case("Equal", broadcastable(ANY, ANY), each(operator.eq, bool)),
    case("Equal", words(), each(operator.eq, bool)),
    case("Equal", alike(st.booleans(), st.booleans(), dtype=np.bool_), each(operator.eq, bool)),
    case("NotEqual", broadcastable(ANY, ANY), each(operator.ne, bool)),
    case("NotEqual", words(), each(operator.ne, bool)),
    case("Less", broadcastable(ANY, ANY), each(operator.lt, bool)),
    case("LessEqual", broadcastable(ANY, ANY), each(operator.le, bool)),
    case("Greater", broadcastable(ANY, ANY), each(operator.gt, bool)),
    case("GreaterEqual", broadcastable(ANY, ANY), each(operator.ge, bool)),
    case("IsFinite", alike(ODD), each(math.isfinite, bool)),
    case("IsInf", alike(ODD), each(math.isinf, bool)),
    case("IsNan", alike(ODD), each(math.isnan, bool)),
    case(
        "ApproximateEqual",
        alike(ANY, ANY),
        each(lambda x, y: abs(x - y) < 0.75, bool),
        attrs={"tolerance": 0.75},
    ),
]
