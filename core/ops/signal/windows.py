"""Window functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS, as_dtype, float32, float64
from pinnace.framework.errors import UnimplementedError
from pinnace.ops.array import broadcasting, casting, constants, selecting
from pinnace.ops.math import arithmetic, comparison, ranges, trigonometry

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array, Tensor

__all__ = [
    "hamming_window",
    "hann_window",
    "kaiser_bessel_derived_window",
    "kaiser_window",
    "vorbis_window",
]


def hann_window(
    window_length: Any, periodic: bool = True, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """0.5 - 0.5 cos(2π n / N).

    Args:
        window_length: how many values.
        periodic: N is the length, so that the next window would follow on; else one less. Odd
            lengths are never periodic, which is TensorFlow's rule.
        dtype: a float type.
        name: name of the node while tracing.

    Returns:
        [window_length], `dtype`.
    """
    return _raised_cosine("hann_window", window_length, periodic, dtype, 0.5, 0.5, name)


def hamming_window(
    window_length: Any, periodic: bool = True, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """0.54 - 0.46 cos(2π n / N); arguments as for `hann_window`.

    Args:
        window_length: number of samples.
        periodic: whether the window continues periodically (N is its length), or is symmetric.
        dtype: a float type.
        name: name of the node while tracing.

    Returns:
        [window_length], dtype `dtype`.
    """
    return _raised_cosine("hamming_window", window_length, periodic, dtype, 0.54, 0.46, name)


def kaiser_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """I₀(β √(1 - x²)) / I₀(β), x in [-1, 1]; narrower for larger β.

    Args:
        window_length: how many values.
        beta: β, not negative.
        dtype: a float type.
        name: name of the node while tracing.
    """
    length = _length("kaiser_window", window_length)
    return _constant(np.kaiser(length, float(beta)), dtype, "kaiser_window", name)


def kaiser_bessel_derived_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """The Kaiser-Bessel-derived window, for `mdct`.

    Args:
        window_length: number of samples, even.
        beta: shape of the Kaiser window: the larger, the narrower.
        dtype: a float type.
        name: name of the node while tracing.

    Returns:
        [window_length], dtype `dtype`.
    """
    length = _length("kaiser_bessel_derived_window", window_length)
    sums = np.cumsum(np.kaiser(length // 2 + 1, float(beta)))
    half = np.sqrt(sums[:-1] / sums[-1])
    both = np.concatenate([half, half[::-1]])
    return _constant(both, dtype, "kaiser_bessel_derived_window", name)


def vorbis_window(window_length: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """sin(π/2 sin²(π (n + 1/2) / N)), N = window_length; for `mdct`.

    Args:
        window_length: number of samples.
        dtype: a float type.
        name: name of the node while tracing.

    Returns:
        [window_length], dtype `dtype`.
    """
    length = _known("vorbis_window", window_length)
    if length is None:
        places, count = _places(window_length)
        angles = (places + 0.5) * math.pi / arithmetic.maximum(count, 1.0)
        values = trigonometry.sin(math.pi / 2 * arithmetic.square(trigonometry.sin(angles)))
        return casting.cast(values, _float("vorbis_window", dtype), name)
    angle = np.pi / max(length, 1) * (np.arange(length) + 0.5)
    return _constant(np.sin(np.pi / 2 * np.sin(angle) ** 2), dtype, "vorbis_window", name)


def _raised_cosine(
    who: str, window_length: Any, periodic: bool, dtype: Any, a: float, b: float, name: str | None
) -> Tensor:
    length = _known(who, window_length)
    if length is None:
        places, size = _places(window_length)
        even = comparison.equal(size % 2.0, 0.0) if periodic else False
        span = arithmetic.maximum(size - 1 + casting.cast(even, float64), 1.0)
        waves = trigonometry.cos(2 * math.pi * places / span)
        shaped = selecting.where(
            comparison.equal(size, 1.0), constants.ones_like(waves), a - b * waves
        )
        return casting.cast(shaped, _float(who, dtype), name)
    if length == 1:
        return _constant(np.ones(1), dtype, who, name)
    count = length - 1 + int(bool(periodic) and length % 2 == 0)
    values = a - b * np.cos(2 * math.pi * np.arange(length) / max(count, 1))
    return _constant(values, dtype, who, name)


def _known(who: str, window_length: Any) -> int | None:
    """The length; None if it is known only at run time."""
    tensor = convert_to_tensor(window_length)
    if tensor.shape.rank:
        raise ValueError(f"{who}: window_length must be a scalar, got shape {tensor.shape}")
    known = broadcasting.known_value(tensor)
    return None if known is None else int(known)


def _length(who: str, window_length: Any) -> int:
    known = _known(who, window_length)
    if known is None:
        raise UnimplementedError(
            f"{who}: window_length must be known while tracing; give it as a Python number"
        )
    return known


def _places(length: Any) -> tuple[Tensor, Tensor]:
    """0, 1, … below a length unknown while tracing, and the length."""
    count = casting.cast(length, float64)
    return ranges.range(count, dtype=float64), count


def _float(who: str, dtype: Any) -> DType:
    kind = as_dtype(dtype)
    if kind not in FLOATS:
        raise ValueError(f"{who}: dtype must be floating point, got {kind.name}")
    return kind


def _constant(values: Array, dtype: Any, who: str, name: str | None) -> Tensor:
    return constants.constant(values, _float(who, dtype), name=name or who)
