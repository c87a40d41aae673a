"""Cases of core/ops/math/logic.py: Python's logic."""

import operator

import numpy as np
from hypothesis import strategies as st

from cases.math.arithmetic import case
from support.drawing import alike, broadcastable, each

ANY = st.booleans()

CASES = [
    case("LogicalAnd", broadcastable(ANY, ANY, dtype=np.bool_), each(operator.and_, bool)),
    case("LogicalOr", broadcastable(ANY, ANY, dtype=np.bool_), each(operator.or_, bool)),
    case("LogicalNot", alike(ANY, dtype=np.bool_), each(operator.not_, bool)),
]
