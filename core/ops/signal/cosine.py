"""Cosine transforms by Fourier transforms: dct, idct, and the lapped mdct."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import complex64, complex128, float64, int32
from pinnace.framework.tensor import Tensor
from pinnace.ops.array import casting, constants, joining, padding, permutations, shapes
from pinnace.ops.math import arithmetic, complexes, exponents, ranges, trigonometry
from pinnace.ops.signal import fourier, frames, windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import TensorLike

__all__ = ["dct", "idct", "inverse_mdct", "mdct"]

_Size: TypeAlias = "int | Tensor"
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
        input: [..., N], float32 or float64.
        type: 1 to 4.
        n: N is cut off or filled up with zeros to it.
        axis: -1.
        norm: "ortho" makes the transform orthogonal; not for type 1.
        name: name of the node while tracing.

    Returns:
        [..., N], as `scipy.fft.dct` has it.

    Raises:
        ValueError: unknown type or norm.
        NotImplementedError: unsupported axis.
    """
    del name
    _check(type, n, axis, norm)
    x = convert_to_tensor(input)
    size: _Size | None = x.shape[-1] if x.shape.rank else None
    if n is not None and (size is None or isinstance(size, int)):
        if size is None or n < size:
            x = x[..., :n]
        if size is None or n > size:
            x = _filled(x, n - shapes.shape(x)[-1] if size is None else n - size)
        size = n
    elif size is None:
        size = shapes.shape(x)[-1]
    if type == 1:
        if isinstance(size, int) and size < 2:
            raise ValueError(f"dct: type 1 needs at least 2 values, got {size}")
        around = joining.concat([x, permutations.reverse(x[..., 1:-1], [-1])], -1)
        return complexes.real(fourier.rfft(around))
    if type == 2:
        return _second(x, size, norm)
    if type == 3:
        return _third(x, size, norm)
    odd = _second(_filled(x, size), 2 * size)
    return odd[..., 1::2] * _root(x, 0.5, size) if norm == "ortho" else odd[..., 1::2]


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
        raise NotImplementedError(f"dct: axis must be -1, got {axis}")
    if n is not None and n < 1:
        raise ValueError(f"dct: n must be at least 1, got {n}")
    if type not in _INVERSE:
        raise ValueError(f"dct: type must be 1, 2, 3 or 4, got {type}")
    if norm not in (None, "ortho"):
        raise ValueError(f"dct: norm must be None or 'ortho', got {norm!r}")
    if type == 1 and norm == "ortho":
        raise ValueError("dct: type 1 has no orthogonal form")


def _filled(x: Tensor, missing: _Size) -> Tensor:
    """`x` padded by that many zeros along the last axis; negative numbers add none."""
    if isinstance(missing, Tensor):
        missing = arithmetic.maximum(missing, 0)
    last = joining.stack([0, missing])
    if x.shape.rank is None:
        others = constants.zeros(joining.stack([shapes.rank(x) - 1, 2]), int32)
    else:
        others = constants.zeros([x.shape.rank - 1, 2], int32)
    return padding.pad(x, joining.concat([others, [last]], 0))


def _root(x: Tensor, factor: float, size: _Size) -> Any:
    """√(factor / size), in the dtype of `x`."""
    if isinstance(size, int):
        return math.sqrt(factor / size)
    return exponents.sqrt(factor / casting.cast(size, x.dtype))


def _turns(x: Tensor, size: _Size, sign: int) -> Tensor:
    """exp(± i π k / 2N), in the complex dtype for `x`."""
    kind = complex128 if x.dtype is float64 else complex64
    if isinstance(size, int):
        return convert_to_tensor(np.exp(sign * 0.5j * np.pi * np.arange(size) / size), kind)
    places = ranges.range(casting.cast(size, float64), dtype=float64)
    angles = places * (sign * 0.5 * math.pi) / casting.cast(size, float64)
    return casting.cast(complexes.complex(trigonometry.cos(angles), trigonometry.sin(angles)), kind)


def _second(x: Tensor, size: _Size, norm: str | None = None) -> Tensor:
    half = fourier.rfft(x, [2 * size])[..., :size]
    y = complexes.real(half * _turns(x, size, -1)) * 2
    return y * _ortho(x, size, 0.25) if norm == "ortho" else y


def _third(x: Tensor, size: _Size, norm: str | None) -> Tensor:
    if norm == "ortho":
        x = x * _ortho(x, size, 1, 0.5)
    turned = casting.cast(x, complex128 if x.dtype is float64 else complex64)
    y = fourier.irfft(turned * _turns(x, size, 1), [2 * size])
    return y[..., :size] * casting.cast(2 * size, x.dtype)


def _ortho(x: Tensor, size: _Size, first: float, others: float | None = None) -> Tensor:
    """√(first / size), then √(others / size): factors of the values."""
    others = 2 * first if others is None else others
    if isinstance(size, int):
        factors = np.full(size, math.sqrt(others / size))
        factors[0] = math.sqrt(first / size)
        return convert_to_tensor(factors, x.dtype)
    rest = constants.fill([size - 1], _root(x, others, size))
    return joining.concat([[_root(x, first, size)], rest], 0)


def mdct(
    signals: TensorLike,
    frame_length: int,
    window_fn: Callable[..., Tensor] | None = windows.vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The modified discrete cosine transform of frames that overlap by half.

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
    """The inverse of `mdct`, except for half a frame at each end.

    Args:
        mdcts: [..., frames, n].
        window_fn: the window function of the transform.
        norm: the norm of the transform.
        name: name of the node while tracing.

    Returns:
        [..., samples].
    """
    x = convert_to_tensor(mdcts)
    half: Any = x.shape[-1] if x.shape.rank else None
    if half is None:
        half = shapes.shape(x)[-1]
    y = idct(x, 4, norm=norm)
    if norm is None:
        y = y * (0.5 / casting.cast(half, y.dtype))
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
