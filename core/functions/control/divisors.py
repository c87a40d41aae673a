"""The greatest common divisor, and the least common multiple.

The functions of NumPy's names (`numpy_names`) and of `keras.ops` share these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.functions.control.looping import while_loop
from pinnace.ops.array import constants, rearranged, selecting
from pinnace.ops.math import arithmetic, comparison, division, polar, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def gcd(x: Tensor, y: Tensor) -> Tensor:
    """Euclid's algorithm on all pairs at once; the second number of a finished pair is 0.

    Args:
        x: an integer type.
        y: dtype of `x`, broadcastable to it.
    """
    zero, one = (constants.constant(n, x.dtype) for n in (0, 1))

    def left(_: Tensor, y: Tensor) -> Tensor:
        return reduction.reduce_any(comparison.not_equal(y, zero))

    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        going = comparison.not_equal(y, zero)
        # A remainder by 1 is 0, so that finished pairs stay as they are.
        rest = division.floormod(x, selecting.where(going, y, one))
        return selecting.where(going, y, x), rest

    found: Tensor = while_loop(left, step, rearranged.broadcast(_size(x), _size(y)))[0]
    return found


def lcm(x: Tensor, y: Tensor) -> Tensor:
    """The least common multiple; 0 if a number is."""
    # At least 1: the divisor of two zeros is 0, and their multiple is 0 with any divisor.
    divisor = arithmetic.maximum(gcd(x, y), constants.constant(1, x.dtype))
    return arithmetic.multiply(_size(x), division.floordiv(_size(y), divisor))


def _size(x: Tensor) -> Tensor:
    return x if x.dtype.is_unsigned else polar.abs(x)
