"""Fourier transforms of whole signals and of short frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops.operation import operation
from pinnace.ops.array import casting, padding
from pinnace.ops.math import complexes
from pinnace.ops.signal import fourier, frames, windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor


def _joined(name: str, x: Any) -> Tensor:
    """The complex tensor of a pair of real and imaginary parts."""
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(
            f"keras.ops.{name}: x must be a pair (real, imaginary), got {type(x).__name__}"
        )
    real, imag = (convert_to_tensor(part) for part in x)
    if not real.shape.is_compatible_with(imag.shape):
        raise ValueError(
            f"keras.ops.{name}: both parts must have one shape, got {real.shape.text} and "
            f"{imag.shape.text}"
        )
    if not (real.dtype.is_floating and imag.dtype.is_floating):
        raise ValueError(
            f"keras.ops.{name}: both parts must be floats, got {real.dtype.name} and "
            f"{imag.dtype.name}"
        )
    return complexes.complex(real, imag)


def _parts(x: Tensor) -> tuple[Tensor, Tensor]:
    return complexes.real(x), complexes.imag(x)


@operation("math", "FFT")
def fft(x: Any) -> tuple[Tensor, Tensor]:
    """The discrete Fourier transform along the last axis.

    Args:
        x: a pair of real and imaginary parts [..., n], float32 or float64.

    Returns:
        A pair [..., n].

    Raises:
        ValueError: no pair of floats of one shape.
    """
    return _parts(fourier.fft(_joined("fft", x)))


@operation("math", "FFT2")
def fft2(x: Any) -> tuple[Tensor, Tensor]:
    """The discrete Fourier transform along the last two axes.

    Args:
        x: a pair of real and imaginary parts [..., m, n], float32 or float64.

    Returns:
        A pair [..., m, n].

    Raises:
        ValueError: no pair of floats of one shape.
    """
    return _parts(fourier.fft2d(_joined("fft2", x)))


@operation("math", "IFFT2")
def ifft2(x: Any) -> tuple[Tensor, Tensor]:
    """The inverse of `fft2`.

    Args:
        x: a pair of real and imaginary parts [..., m, n], float32 or float64.

    Returns:
        A pair [..., m, n].

    Raises:
        ValueError: no pair of floats of one shape.
    """
    return _parts(fourier.ifft2d(_joined("ifft2", x)))


def _lengths(length: Any) -> Any:
    return None if length is None else [length]


@operation("math", "RFFT", "fft_length")
def rfft(x: Any, fft_length: int | None = None) -> tuple[Tensor, Tensor]:
    """The non-redundant half of the Fourier transform of real numbers.

    Args:
        x: [..., n], float32 or float64.
        fft_length: cut or filled up with zeros to this length before; n if None.

    Returns:
        A pair of real and imaginary parts [..., fft_length / 2 + 1].
    """
    return _parts(fourier.rfft(x, _lengths(fft_length)))


@operation("math", "IRFFT", "fft_length")
def irfft(x: Any, fft_length: int | None = None) -> Tensor:
    """The inverse of `rfft`.

    Args:
        x: a pair of real and imaginary parts [..., n], float32 or float64.
        fft_length: length of the result; 2 (n - 1) if None.

    Returns:
        [..., fft_length], real.

    Raises:
        ValueError: no pair of floats of one shape.
    """
    return fourier.irfft(_joined("irfft", x), _lengths(fft_length))


@operation("math", "ExtractSequences", "sequence_length", "sequence_stride")
def extract_sequences(x: Any, sequence_length: int, sequence_stride: int) -> Tensor:
    """Frames of one length along the last axis; a remainder is dropped.

    Args:
        x: [..., n].
        sequence_length: length of each piece.
        sequence_stride: how far the next one begins behind the one before.

    Returns:
        [..., pieces, sequence_length], dtype of `x`.
    """
    return frames.frame(x, sequence_length, sequence_stride)


def _window(
    name: str, window: Any, sequence_length: int, fft_length: int, dtype: Any
) -> Callable[..., Tensor] | None:
    """The window, padded on both sides to `fft_length`, as `tf.signal` expects it."""
    if fft_length < sequence_length:
        raise ValueError(
            f"keras.ops.{name}: `fft_length` must equal or be larger than sequence_length, got "
            f"{fft_length} and {sequence_length}"
        )
    if window is None:
        return None
    named = {"hann": windows.hann_window, "hamming": windows.hamming_window}
    if isinstance(window, str):
        if window not in named:
            raise ValueError(
                f"keras.ops.{name}: If a string is passed to `window`, it must be hann or hamming, "
                f"got {window!r}"
            )
        values = named[window](sequence_length, periodic=True, dtype=dtype)
    else:
        values = casting.cast(window, dtype)
    if values.shape.as_list() != [sequence_length]:
        raise ValueError(
            f"keras.ops.{name}: The shape of `window` must be equal to [{sequence_length}], "
            f"[sequence_length], got {values.shape.text}"
        )
    before = (fft_length - sequence_length) // 2
    wide = padding.pad(values, [[before, fft_length - sequence_length - before]])
    return lambda *_, **__: wide


@operation("math", "STFT", "sequence_length", "sequence_stride", "fft_length", "window", "center")
def stft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    window: Any = "hann",
    center: bool = True,
) -> tuple[Tensor, Tensor]:
    """The Fourier transforms of short pieces of the last axis.

    Args:
        x: [..., n], float32 or float64.
        sequence_length: length of each piece.
        sequence_stride: how far the next one begins behind the one before.
        fft_length: length of the transform, not below `sequence_length`.
        window: window function that each piece is multiplied by: "hann", "hamming", numbers
            [sequence_length], or None.
        center: whether each piece is around its place; then both ends are reflected.

    Returns:
        A pair of real and imaginary parts [..., pieces, fft_length / 2 + 1].

    Raises:
        TypeError: unsupported dtype.
        ValueError: `fft_length` or `sequence_stride` is too small, or there is no such window.
    """
    tensor: Tensor = convert_to_tensor(x)
    if tensor.dtype.name not in {"float32", "float64"}:
        raise TypeError(f"keras.ops.stft: x must be float32 or float64, got {tensor.dtype.name}")
    _check_stride("stft", sequence_stride)
    weights = _window("stft", window, sequence_length, fft_length, tensor.dtype)
    if center:
        ends = [[0, 0]] * ((tensor.shape.rank or 1) - 1) + [[fft_length // 2, fft_length // 2]]
        tensor = padding.pad(tensor, ends, "REFLECT")
    return _parts(frames.stft(tensor, fft_length, sequence_stride, fft_length, weights))


def _check_stride(name: str, stride: Any) -> None:
    if not isinstance(stride, int) or stride < 1:
        raise ValueError(
            f"keras.ops.{name}: `sequence_stride` must be a positive integer, got {stride!r}"
        )


@operation(
    "math",
    "ISTFT",
    *("sequence_length", "sequence_stride", "fft_length", "length", "window", "center"),
)
def istft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: Any = "hann",
    center: bool = True,
) -> Tensor:
    """The inverse of `stft`: the signal with the transform x.

    Args:
        x: a pair of real and imaginary parts [..., pieces, fft_length / 2 + 1].
        sequence_length: length of each piece.
        sequence_stride: how far the next one begins behind the one before.
        fft_length: length of the transform, not below `sequence_length`.
        length: length of the signal; what the pieces cover if None.
        window: window function that each piece was multiplied by.
        center: whether each piece was around its place.

    Returns:
        [..., length], real.

    Raises:
        ValueError: no pair of floats of one shape, or no such window.
    """
    _check_stride("istft", sequence_stride)
    pieces = _joined("istft", x)
    dtype = complexes.real(pieces).dtype
    weights = _window("istft", window, sequence_length, fft_length, dtype)
    if weights is not None:
        weights = frames.inverse_stft_window_fn(sequence_stride, weights)
    signal = frames.inverse_stft(pieces, fft_length, sequence_stride, fft_length, weights)
    start = fft_length // 2 if center else 0
    if length is not None:
        return signal[..., start : start + length]
    return signal[..., start:-start] if start else signal
