"""Window functions, which taper towards both ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.keras.dtype_policy import floatx
from pinnace.ops.array import casting, constants, selecting
from pinnace.ops.math import arithmetic, comparison, polar, ranges, trigonometry
from pinnace.ops.signal import windows

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def _places(x: Any) -> tuple[Tensor, Tensor]:
    """0, 1, 2, …, and the last index, but at least 1."""
    count = casting.cast(x, "int32")
    last = casting.cast(arithmetic.maximum(count - 1, 1), floatx())
    return casting.cast(ranges.range(count), floatx()), last


def _alone(x: Any, window: Tensor) -> Tensor:
    """A single weight is 1."""
    single = comparison.equal(casting.cast(x, "int32"), 1)
    return selecting.where(single, constants.ones_like(window), window)


def bartlett(x: Any) -> Tensor:
    """The triangular window, 0 at both ends.

    Args:
        x: how many weights.

    Returns:
        [x], the default float type.
    """
    places, last = _places(x)
    return _alone(x, 1.0 - polar.abs(2.0 * places / last - 1.0))


def blackman(x: Any) -> Tensor:
    """The Blackman window: 0.42 - 0.5 cos(2 π t) + 0.08 cos(4 π t) for t from 0 to 1.

    Args:
        x: how many weights.

    Returns:
        [x], the default float type.
    """
    places, last = _places(x)
    turn = places * (2.0 * math.pi) / last
    slow, fast = trigonometry.cos(turn), trigonometry.cos(2.0 * turn)
    return _alone(x, 0.42 - 0.5 * slow + 0.08 * fast)


def hamming(x: Any) -> Tensor:
    """The symmetric Hamming window.

    Args:
        x: how many weights.

    Returns:
        [x], float32.
    """
    return windows.hamming_window(casting.cast(x, "int32"), periodic=False)


def hanning(x: Any) -> Tensor:
    """The symmetric Hann window, 0 at both ends.

    Args:
        x: how many weights.

    Returns:
        [x], float32.
    """
    return windows.hann_window(casting.cast(x, "int32"), periodic=False)


def kaiser(x: Any, beta: float) -> Tensor:
    """The Kaiser window.

    Args:
        x: how many weights.
        beta: how fast it falls off; 0 is all ones.

    Returns:
        [x], float32.
    """
    return windows.kaiser_window(casting.cast(x, "int32"), beta=beta)
