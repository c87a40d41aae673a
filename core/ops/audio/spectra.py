"""Spectra of sounds, and mel-frequency cepstral coefficients: AudioSpectrogram, Mfcc."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

__all__: list[str] = []


def transform_length(window_size: int) -> int:
    """The power of two to which a window is padded."""
    return 1 << (window_size - 1).bit_length()


def hann(window_size: int) -> Array:
    """The periodic Hann window, [window_size], float64."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window_size) / window_size)


@functools.lru_cache(maxsize=8)
def filterbank(bins: int, rate: int, low: float, high: float, count: int) -> Array:
    """Triangular filters on the mel scale, [bins, count], float64.

    A frequency's share of the filter whose centre is next above it falls from 1 to 0 on the way
    down to the centre below; the filter there gets the rest.
    """
    hertz = 0.5 * rate / (bins - 1)
    lowest, highest = _mel(low), _mel(high)
    centres = lowest + (highest - lowest) / (count + 1) * np.arange(1, count + 2)
    edges = np.concatenate([[lowest], centres])
    first, last = int(1.5 + low / hertz), int(high / hertz)
    weights = np.zeros((bins, count))
    places = np.arange(max(first, 0), min(last, bins - 1) + 1)
    mels = _mel(places * hertz)
    above = np.minimum(np.searchsorted(centres[:count], mels, side="left"), count)
    share = (edges[above + 1] - mels) / (edges[above + 1] - edges[above])
    lower, upper = above > 0, above < count
    weights[places[lower], above[lower] - 1] = share[lower]
    weights[places[upper], above[upper]] += 1 - share[upper]
    weights.flags.writeable = False
    return weights


def cosines(count: int, coefficients: int) -> Array:
    """The cosine transform, [count, coefficients], float64."""
    places = (np.arange(count) + 0.5)[:, None] * np.arange(coefficients)
    return np.sqrt(2.0 / count) * np.cos(np.pi / count * places)  # type: ignore[no-any-return]


def _spectrogram_kernel(
    input: Array, *, window_size: int, stride: int, magnitude_squared: bool
) -> Array:
    samples, channels = input.shape
    bins = transform_length(window_size) // 2 + 1
    if samples < window_size or not channels:
        count = 0 if samples < window_size else 1 + (samples - window_size) // stride
        return np.zeros((channels, count, bins), np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(input.T, window_size, axis=1)[:, ::stride]
    found = np.fft.rfft(windows * hann(window_size), transform_length(window_size))
    power = np.square(found.real) + np.square(found.imag)
    return (power if magnitude_squared else np.sqrt(power)).astype(np.float32)


def _infer_spectrogram(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    size, stride = call.attrs["window_size"], call.attrs["stride"]
    if shape.rank not in {None, 2}:
        call.fail("input must have two axes: [samples, channels]")
    if size < 2 or stride < 1:
        call.fail(f"window_size must be at least 2 and stride 1, got {size} and {stride}")
    samples, channels = (None, None) if shape.rank is None else (shape[0], shape[1])
    count = None
    if samples is not None:
        count = 0 if samples < size else 1 + (samples - size) // stride
    return Shape([channels, count, transform_length(size) // 2 + 1])


AUDIO_SPECTROGRAM = define(
    name="AudioSpectrogram",
    signature="input: float32 -> spectrogram: float32",
    attrs={
        "window_size": attr("int"),
        "stride": attr("int"),
        "magnitude_squared": attr("bool", default=False),
    },
    infer=_infer_spectrogram,
    kernel=_spectrogram_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _mel(hertz: Array | float) -> Array:
    return 1127.0 * np.log1p(np.asarray(hertz, np.float64) / 700.0)


# Lower energies are raised to this value, so that silence has a logarithm.
FLOOR = 1e-12
# More filters than any sound has use for; the table of them has a row per frequency.
_MOST_FILTERS = 2**14


def _mfcc_kernel(
    spectrogram: Array,
    sample_rate: Array,
    *,
    upper_frequency_limit: float,
    lower_frequency_limit: float,
    filterbank_channel_count: int,
    dct_coefficient_count: int,
) -> Array:
    bins, rate = spectrogram.shape[-1], int(sample_rate.reshape(-1)[0])
    if bins < 2 or rate <= 0:
        raise InvalidArgumentError(
            "Mfcc: sample_rate and the number of frequencies must be above 0 and 1, "
            f"got {rate} and {bins}"
        )
    if upper_frequency_limit * (bins - 1) >= 0.5 * rate * bins:
        raise InvalidArgumentError(
            f"Mfcc: upper_frequency_limit must be at most half the sample rate, {rate / 2} Hz, "
            f"got {upper_frequency_limit}"
        )
    weights = filterbank(
        bins, rate, lower_frequency_limit, upper_frequency_limit, filterbank_channel_count
    )
    energies = np.sqrt(spectrogram.astype(np.float64)) @ weights
    logs = np.log(np.maximum(energies, FLOOR))
    found: Array = logs @ cosines(filterbank_channel_count, dct_coefficient_count)
    return found.astype(np.float32)


def _infer_mfcc(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank not in {None, 3}:
        call.fail("spectrogram must have three axes: [channels, slices, frequencies]")
    if call.spec(1).shape.rank not in {None, 0}:
        call.fail("sample_rate must be a scalar")
    low, high = call.attrs["lower_frequency_limit"], call.attrs["upper_frequency_limit"]
    filters, count = (
        call.attrs[f"{name}_count"] for name in ("filterbank_channel", "dct_coefficient")
    )
    if not 0 <= low < high:
        call.fail(
            f"0 <= lower_frequency_limit < upper_frequency_limit must hold, got {low}, {high}"
        )
    if not 1 <= count <= filters <= _MOST_FILTERS:
        call.fail(
            "1 <= dct_coefficient_count <= filterbank_channel_count <= "
            f"{_MOST_FILTERS} must hold, got {count} and {filters}"
        )
    lead = Shape([None, None]) if shape.rank is None else shape[:2]
    return lead.concatenate([count])


MFCC = define(
    name="Mfcc",
    signature="spectrogram: float32, sample_rate: int32 -> output: float32",
    attrs={
        "upper_frequency_limit": attr("float", default=4000.0),
        "lower_frequency_limit": attr("float", default=20.0),
        "filterbank_channel_count": attr("int", default=40),
        "dct_coefficient_count": attr("int", default=13),
    },
    infer=_infer_mfcc,
    kernel=_mfcc_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
