"""Cases of core/ops/math/bits.py: Python's integers."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.math.arithmetic import case
from support.drawing import alike, broadcastable, each

BYTES = st.integers(0, 255)
SIGNED = st.integers(-(2**31), 2**31 - 1)


def wrapped(function: Callable[[int, int], int]) -> Callable[..., Any]:
    """The result as a signed 32-bit integer."""
    return each(lambda x, y: (function(int(x), int(y)) + 2**31) % 2**32 - 2**31, np.int64)


def bits_set(x: int) -> int:
    return f"{x % 2**32:b}".count("1")


SHIFTS = broadcastable(SIGNED, st.integers(0, 31), dtype=np.int32)

CASES = [
    case("BitwiseAnd", broadcastable(BYTES, BYTES, dtype=np.uint8), each(operator.and_, int)),
    case("BitwiseOr", broadcastable(BYTES, BYTES, dtype=np.uint8), each(operator.or_, int)),
    case("BitwiseXor", broadcastable(BYTES, BYTES, dtype=np.uint8), each(operator.xor, int)),
    case("Invert", alike(BYTES, dtype=np.uint8), each(lambda x: 255 - x, int)),
    case("Invert", alike(SIGNED, dtype=np.int32), each(lambda x: -1 - x, int)),
    case("LeftShift", SHIFTS, wrapped(lambda x, y: x * 2**y)),
    case("PopulationCount", alike(BYTES, dtype=np.uint8), each(int.bit_count, int)),
    case("PopulationCount", alike(SIGNED, dtype=np.int32), each(bits_set, int)),
    case("RightShift", SHIFTS, wrapped(lambda x, y: x // 2**y)),
]
