"""The mel scale, and cepstral coefficients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import as_dtype, float32
from pinnace.framework.errors import UnimplementedError
from pinnace.ops.array import broadcasting, constants
from pinnace.ops.signal import cosine

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms"]


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = float32,
    name: str | None = None,
) -> Tensor:
    """Triangular filters on the mel scale, to multiply spectrograms by.

    Args:
        num_mel_bins: columns.
        num_spectrogram_bins: rows: frequencies from 0 to half the sample rate.
        sample_rate: samples per second.
        lower_edge_hertz: start of the first triangle, in Hz.
        upper_edge_hertz: end of the last one, in Hz.
        dtype: a float type.
        name: name of the node while tracing.

    Returns:
        [num_spectrogram_bins, num_mel_bins], `dtype`; a mel is 1127 log(1 + Hz / 700).

    Raises:
        ValueError: a number out of range.
    """
    bins, rate = _known(num_spectrogram_bins), _known(sample_rate)
    kind = as_dtype(dtype)
    if num_mel_bins <= 0 or rate <= 0 or not kind.is_floating:
        raise ValueError(
            "linear_to_mel_weight_matrix: num_mel_bins and sample_rate must be above 0 and dtype "
            f"floating point, got {num_mel_bins}, {rate} and {kind.name}"
        )
    if not 0 <= lower_edge_hertz < upper_edge_hertz <= rate / 2:
        raise ValueError(
            "linear_to_mel_weight_matrix: 0 <= lower_edge_hertz < upper_edge_hertz <= "
            f"sample_rate / 2 must hold, got {lower_edge_hertz} and {upper_edge_hertz} for {rate}"
        )
    # Frequency 0 is in no triangle.
    pitches = _mel(np.linspace(0, rate / 2, int(bins))[1:])[:, None]
    edges = np.linspace(
        _mel(np.float64(lower_edge_hertz)), _mel(np.float64(upper_edge_hertz)), num_mel_bins + 2
    )
    rising = (pitches - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - pitches) / (edges[2:] - edges[1:-1])
    weights = np.maximum(0, np.minimum(rising, falling))
    return constants.constant(np.pad(weights, [[1, 0], [0, 0]]), kind, name=name or "mel")


def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: TensorLike, name: str | None = None
) -> Tensor:
    """Mel-frequency cepstral coefficients [..., bins] of logarithmic mel spectrograms.

    Args:
        log_mel_spectrograms: [..., bins], a float type.
        name: name of the node while tracing.

    Raises:
        ValueError: the spectrograms have no bins.
    """
    x = convert_to_tensor(log_mel_spectrograms)
    bins = x.shape[-1] if x.shape.rank else None
    if not bins:
        raise ValueError(
            f"mfccs_from_log_mel_spectrograms: the last axis must be known, got {x.shape}"
        )
    return cosine.dct(x, 2, name=name) * math.sqrt(0.5 / bins)


def _mel(hertz: Any) -> Array:
    return np.asarray(1127.0 * np.log1p(hertz / 700.0))


def _known(value: Any) -> Any:
    known = broadcasting.known_value(convert_to_tensor(value))
    if known is None:
        raise UnimplementedError("linear_to_mel_weight_matrix: numbers must be known while tracing")
    return known.item()
