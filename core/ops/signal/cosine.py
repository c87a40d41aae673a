"""Cosine transforms, made of Fourier transforms: dct, idct, and the lapped mdct."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import complex64, complex128, float64
from pinnace.framework.errors import UnimplementedError
from pinnace.ops.array import casting, joining, padding, permutations
from pinnace.ops.math import complexes
from pinnace.ops.signal import fourier, frames, windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = ["dct", "idct", "inverse_mdct", "mdct"]

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def dct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The cosine transform of the last axis; of type 2: 2 Σ x[n] cos(π k (2n + 1) / 2N).

    Args:
        input: [..., N], float32 or float64, N known.
        type: 1 to 4.
        n: N is cut off or filled up with zeros to it.
        axis: -1.
        norm: "ortho" makes the transform orthogonal; not for type 1.
        name: name of the node while tracing.

    Returns:
        [..., N], as `scipy.fft.dct` has it.

    Raises:
        ValueError: another type, axis or norm.
    """
    del name
    _check(type, n, axis, norm)
    x = convert_to_tensor(input)
    size = x.shape[-1] if x.shape.rank else None
    if size is None:
        raise UnimplementedError("dct: the last axis must have a known size")
    if n is not None and n < size:
        x, size = x[..., :n], n
    elif n is not None and n > size:
        x = padding.pad(x, [*[[0, 0]] * ((x.shape.rank or 1) - 1), [0, n - size]])
        size = n
    if type == 1:
        if size < 2:
            raise ValueError(f"dct: type 1 needs at least 2 values, got {size}")
        around = joining.concat([x, permutations.reverse(x[..., 1:-1], [-1])], -1)
        return complexes.real(fourier.rfft(around))
    if type == 2:
        return _second(x, size, norm)
    if type == 3:
        return _third(x, size, norm)
    odd = _second(padding.pad(x, [*[[0, 0]] * ((x.shape.rank or 1) - 1), [0, size]]), 2 * size)
    return odd[..., 1::2] * (math.sqrt(0.5 / size) if norm == "ortho" else 1)


def idct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `dct` of that type, but for a factor (2N; type 1: 2 (N - 1)) without a norm.

    Args:
        input: [..., N].
        type: 1 to 4, of the transform that is undone.
        n: must be None.
        axis: -1.
        norm: "ortho" or None.
        name: name of the node while tracing.
    """
    if n is not None:
        raise ValueError(f"idct: n must be None, got {n}")
    _check(type, n, axis, norm)
    return dct(input, _INVERSE[type], n, axis, norm, name)


def _check(type: Any, n: Any, axis: Any, norm: Any) -> None:
    if axis != -1:
        raise ValueError(f"dct: axis must be -1, got {axis}")
    if n is not None and n < 1:
        raise ValueError(f"dct: n must be at least 1, got {n}")
    if type not in _INVERSE:
        raise ValueError(f"dct: type must be 1, 2, 3 or 4, got {type}")
    if norm not in (None, "ortho"):
        raise ValueError(f"dct: norm must be None or 'ortho', got {norm!r}")
    if type == 1 and norm == "ortho":
        raise ValueError("dct: type 1 has no orthogonal form")


def _turns(x: Tensor, size: int, sign: int) -> Tensor:
    """exp(± i π k / 2N), complex as `x` is real."""
    kind = complex128 if x.dtype is float64 else complex64
    return convert_to_tensor(np.exp(sign * 0.5j * np.pi * np.arange(size) / size), kind)


def _second(x: Tensor, size: int, norm: str | None = None) -> Tensor:
    half = fourier.rfft(x, [2 * size])[..., :size]
    y = complexes.real(half * _turns(x, size, -1)) * 2
    return y * _ortho(x, size, math.sqrt(0.25 / size)) if norm == "ortho" else y


def _third(x: Tensor, size: int, norm: str | None) -> Tensor:
    if norm == "ortho":
        factors = np.full(size, math.sqrt(0.5 / size))
        factors[0] = math.sqrt(1 / size)
        x = x * convert_to_tensor(factors, x.dtype)
    turned = casting.cast(x, complex128 if x.dtype is float64 else complex64)
    y = fourier.irfft(turned * _turns(x, size, 1), [2 * size])
    return y[..., :size] * (2 * size)


def _ortho(x: Tensor, size: int, first: float) -> Tensor:
    factors = np.full(size, first * math.sqrt(2))
    factors[0] = first
    return convert_to_tensor(factors, x.dtype)


def mdct(
    signals: TensorLike,
    frame_length: int,
    window_fn: Callable[..., Tensor] | None = windows.vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The lapped cosine transform: frames that overlap by half, each of half as many numbers.

    Args:
        signals: [..., samples], float32 or float64.
        frame_length: a multiple of 4.
        window_fn: (length, dtype) to a window whose squares add up to 1; None for none.
        pad_end: a last frame is filled up with zeros.
        norm: "ortho" or None.
        name: name of the node while tracing.

    Returns:
        [..., frames, frame_length / 2].
    """
    del name
    size = _quarters("mdct", frame_length)
    framed = frames.frame(signals, size, size // 2, pad_end=pad_end)
    if window_fn is not None:
        framed = framed * window_fn(size, dtype=framed.dtype)
    else:
        framed = framed * math.sqrt(0.5)
    a, b, c, d = joining.split(framed, 4, axis=-1)
    flip = permutations.reverse
    folded = joining.concat([-flip(c, [-1]) - d, a - flip(b, [-1])], -1)
    return dct(folded, 4, norm=norm)


def inverse_mdct(
    mdcts: TensorLike,
    window_fn: Callable[..., Tensor] | None = windows.vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The signals of `mdct`, but for half a frame at each end.

    Args:
        mdcts: [..., frames, n].
        window_fn: that of the transform.
        norm: that of the transform.
        name: name of the node while tracing.

    Returns:
        [..., samples].
    """
    x = convert_to_tensor(mdcts)
    half = x.shape[-1] if x.shape.rank else None
    if half is None:
        raise UnimplementedError("inverse_mdct: the last axis must have a known size")
    y = idct(x, 4, norm=norm)
    if norm is None:
        y = y * (0.5 / half)
    first, second = joining.split(y, 2, axis=-1)
    flip = permutations.reverse
    whole = joining.concat([second, -flip(second, [-1]), -flip(first, [-1]), -first], -1)
    if window_fn is not None:
        whole = whole * window_fn(2 * half, dtype=whole.dtype)
    else:
        whole = whole * math.sqrt(0.5)
    return frames.overlap_and_add(whole, half, name)


def _quarters(who: str, frame_length: Any) -> int:
    size = int(frame_length)
    if size < 4 or size % 4:
        raise ValueError(f"{who}: frame_length must be a multiple of 4, got {size}")
    return size
