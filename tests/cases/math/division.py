"""Cases of core/ops/math/division.py: Python's own division."""

import math
import operator

import numpy as np
from hypothesis import strategies as st

from cases.math.arithmetic import ANY, COMPLEX, OFF_ZERO, WHOLE, case
from support.drawing import (
    broadcastable,
    complex_arrays,
    each,
    numbers,
)
from support.opcase import OpCase


def _is_off_whole_numbers(pair: tuple[np.ndarray, np.ndarray]) -> bool:
    """Whether no quotient is near an integer, where remainders jump.

    Both numbers and the quotient are rounded, in bfloat16 by up to 2⁻⁹ of their size.
    """
    quotients = np.asarray(pair[0] / pair[1])
    distance = np.abs(quotients - np.round(quotients))
    return bool(np.all(distance > 0.01 + 3 * 2**-9 * np.abs(quotients)))


PAIRS = broadcastable(numbers(-10, 10), numbers(0.5, 4)).filter(_is_off_whole_numbers)


WHOLE_PAIRS = broadcastable(WHOLE, WHOLE.filter(bool), dtype=np.int32)


def truncated(x: float, y: float) -> float:
    return float(math.trunc(x / y))


CASES = [
    case("RealDiv", broadcastable(ANY, OFF_ZERO), each(operator.truediv), smooth=100),
    OpCase("RealDiv", complex_arrays(COMPLEX, COMPLEX), each(operator.truediv, complex)),
    case("Div", broadcastable(ANY, OFF_ZERO), each(operator.truediv), smooth=100),
    case("Div", WHOLE_PAIRS, each(truncated, int)),
    case(
        "DivNoNan",
        broadcastable(ANY, st.one_of(st.just(0.0), numbers(0.5, 4))),
        each(lambda x, y: x / y if y else 0.0),
        differentiable=(0,),
    ),
    case("DivNoNan", broadcastable(ANY, OFF_ZERO), each(operator.truediv), smooth=100),
    case("FloorDiv", PAIRS, each(lambda x, y: math.floor(x / y))),
    case("FloorDiv", WHOLE_PAIRS, each(operator.floordiv, int)),
    case("FloorMod", PAIRS, each(operator.mod)),
    case("FloorMod", WHOLE_PAIRS, each(operator.mod, int)),
    case("TruncateDiv", WHOLE_PAIRS, each(truncated, int)),
    case("TruncateMod", PAIRS, each(math.fmod)),
    case("TruncateMod", WHOLE_PAIRS, each(math.fmod, int)),
    case("Mod", WHOLE_PAIRS, each(math.fmod, int)),
]
