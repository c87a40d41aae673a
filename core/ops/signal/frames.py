"""Overlapping frames of signals, their short-time spectra, and reconstruction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int32
from pinnace.ops.array import (
    broadcasting,
    gathering,
    joining,
    padding,
    permutations,
    reshaping,
    shapes,
    tiling,
)
from pinnace.ops.math import arithmetic, division, ranges, reduction, segments
from pinnace.ops.signal import fourier, windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = ["frame", "inverse_stft", "inverse_stft_window_fn", "overlap_and_add", "stft"]


def frame(
    signal: TensorLike,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Windows along an axis, `frame_step` apart.

    Args:
        signal: [..., samples, ...].
        frame_length: samples of a frame.
        frame_step: samples from one frame to the next.
        pad_end: frames that reach beyond the end are kept, filled up.
        pad_value: the padding value.
        axis: the axis of samples.
        name: name of the node while tracing.

    Returns:
        [..., frames, frame_length, ...]: the axis is replaced by two.
    """
    x = convert_to_tensor(signal)
    rank = x.shape.rank
    if rank is None or not -rank <= axis < rank:
        raise ValueError(f"frame: axis must be one of signal's, got {axis} for shape {x.shape}")
    at = axis % rank
    size = shapes.axis_sizes(x)[at]
    length, step = _number(frame_length), _number(frame_step)
    if pad_end:
        count = -(-size // step)
        more = arithmetic.maximum(0, length + step * (count - 1) - size)
        zero = more * 0
        pairs = [joining.stack([zero, more if i == at else zero]) for i in range(rank)]
        x = padding.pad(
            x, joining.stack(pairs), constant_values=convert_to_tensor(pad_value, x.dtype)
        )
    else:
        count = arithmetic.maximum(0, 1 + (size - length) // step)
    places = _places(count, length, step)
    return gathering.gather(x, places, axis=at, name=name)


def overlap_and_add(signal: TensorLike, frame_step: Any, name: str | None = None) -> Tensor:
    """Overlapping frames, `frame_step` apart, added up.

    Args:
        signal: [..., frames, frame_length].
        frame_step: samples from one frame to the next.
        name: name of the node while tracing.

    Returns:
        [..., (frames - 1) frame_step + frame_length].
    """
    x = convert_to_tensor(signal)
    if x.shape.rank is None or x.shape.rank < 2:
        raise ValueError(
            f"overlap_and_add: signal must have at least two axes, got shape {x.shape}"
        )
    *lead, count, length = shapes.axis_sizes(x)
    step = _number(frame_step)
    ids = reshaping.reshape(_places(count, length, step), [-1])
    flat = reshaping.reshape(x, joining.stack([*lead, count * length]))
    rank = x.shape.rank - 1
    total = (count - 1) * step + length
    first = permutations.transpose(flat, [rank - 1, *range(rank - 1)]) if rank > 1 else flat
    summed = segments.unsorted_segment_sum(first, ids, total)
    return permutations.transpose(summed, [*range(1, rank), 0], name=name) if rank > 1 else summed


def stft(
    signals: TensorLike,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Tensor] | None = windows.hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The spectra of overlapping frames.

    Args:
        signals: [..., samples], float32 or float64.
        frame_length: samples of a frame.
        frame_step: samples from one frame to the next.
        fft_length: None is the next power of two from `frame_length` on.
        window_fn: (length, dtype) to a window; None for none.
        pad_end: frames that reach beyond the end are kept, filled up with zeros.
        name: name of the node while tracing.

    Returns:
        [..., frames, fft_length // 2 + 1], complex.
    """
    framed = frame(signals, frame_length, frame_step, pad_end=pad_end)
    if window_fn is not None:
        framed = framed * window_fn(frame_length, dtype=framed.dtype)
    return fourier.rfft(framed, [_fft_length(frame_length, fft_length)], name)


def inverse_stft(
    stfts: TensorLike,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Tensor] | None = windows.hann_window,
    name: str | None = None,
) -> Tensor:
    """The signals [..., samples] of their spectra; exact if the window is `inverse_stft_window_fn`.

    Args:
        stfts: [..., frames, fft_length // 2 + 1], complex.
        frame_length: samples of a frame.
        frame_step: samples from one frame to the next.
        fft_length: as for `stft`.
        window_fn: (length, dtype) to a window; None for none.
        name: name of the node while tracing.
    """
    size = _fft_length(frame_length, fft_length)
    real = fourier.irfft(stfts, [size])
    length = _number(frame_length)
    if isinstance(length, int) and isinstance(size, int) and length > size:
        real = padding.pad(real, [*[[0, 0]] * ((real.shape.rank or 1) - 1), [0, length - size]])
    real = real[..., :length]
    if window_fn is not None:
        real = real * window_fn(frame_length, dtype=real.dtype)
    return overlap_and_add(real, frame_step, name)


def inverse_stft_window_fn(
    frame_step: Any,
    forward_window_fn: Callable[..., Tensor] = windows.hann_window,
    name: str | None = None,
) -> Callable[..., Tensor]:
    """The window with which `inverse_stft` undoes `stft` with `forward_window_fn`.

    Args:
        frame_step: samples from one frame to the next.
        forward_window_fn: the window of `stft`: (frame_length, dtype=...) to [frame_length].
        name: name of the node while tracing.

    Returns:
        (frame_length, dtype) to a window.

    Source:
        Griffin and Lim, "Signal estimation from modified short-time Fourier transform", 1984.
    """
    del name

    def inverse_window(frame_length: Any, dtype: Any) -> Tensor:
        length, step = _number(frame_length), _number(frame_step)
        forward = forward_window_fn(frame_length, dtype=dtype)
        overlaps = -(-length // step)
        squares = padding.pad(arithmetic.square(forward), [[0, overlaps * step - length]])
        rows = reshaping.reshape(squares, [overlaps, step])
        summed = tiling.tile(reduction.reduce_sum(rows, 0, keepdims=True), [overlaps, 1])
        # Samples that the window leaves out stay 0.
        return division.divide_no_nan(forward, reshaping.reshape(summed, [-1])[:length])

    return inverse_window


def _number(value: Any) -> Any:
    """A Python number if it is known."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    tensor = convert_to_tensor(value, int32)
    known = broadcasting.known_value(tensor)
    return tensor if known is None else int(known)


def _places(count: Any, length: Any, step: Any) -> Tensor:
    """[count, length]: the index of each sample of each frame."""
    starts = reshaping.expand_dims(ranges.range(count) * step, 1)
    return starts + ranges.range(length)


def _fft_length(frame_length: Any, fft_length: Any) -> Any:
    if fft_length is not None:
        return _number(fft_length)
    length = _number(frame_length)
    if isinstance(length, int):
        return 1 << max(length - 1, 0).bit_length()
    from pinnace.framework.dtypes import float64
    from pinnace.ops.array import casting
    from pinnace.ops.math import exponents, rounding

    bits = rounding.ceil(exponents.log(casting.cast(length, float64)) / np.log(2.0))
    return casting.cast(exponents.pow(2.0, bits), int32)
