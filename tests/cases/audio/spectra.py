"""Cases of core/ops/audio/spectra.py: the sums that define them, filter by filter."""

import cmath
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def sounds(rng: np.random.Generator) -> tuple[Array, ...]:
    shape = rng.integers(0, 30), rng.integers(1, 3)
    return (rng.uniform(-1, 1, shape).astype(np.float32),)


def spectrogram(size: int, stride: int, squared: bool) -> Any:
    length = 1
    while length < size:
        length *= 2

    def reference(x: Array) -> Array:
        count = max((len(x) - size) // stride + 1, 0)
        out = np.zeros((x.shape[1], count, length // 2 + 1))
        for channel, slot, k in np.ndindex(*out.shape):
            total = 0j
            for i in range(size):
                window = math.sin(math.pi * i / size) ** 2
                sample = float(x[slot * stride + i, channel])
                total += window * sample * cmath.exp(-2j * math.pi * i * k / length)
            out[channel, slot, k] = abs(total) ** 2 if squared else abs(total)
        return out

    return reference


def powers(bins: int) -> Any:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        shape = rng.integers(1, 3), rng.integers(0, 3), bins
        x = rng.uniform(0, 4, shape) * rng.choice([0, 1, 1], shape[:2])[..., None]
        return x.astype(np.float32), np.array(8000, np.int32)

    return random_arrays(build)


def mel(hertz: float) -> float:
    return 1127 * math.log(1 + hertz / 700)


def coefficients(low: float, high: float, filters: int, count: int) -> Any:
    def energy(row: Array, rate: int, number: int) -> float:
        """The energy that a triangular filter between the neighbouring centres passes."""
        step = (mel(high) - mel(low)) / (filters + 1)
        centre = mel(low) + step * (number + 1)
        total = 0.0
        for place, power in enumerate(row.tolist()):
            hertz = place * rate / 2 / (len(row) - 1)
            between = (
                low <= hertz <= high and place * 2 >= 2 * low / (rate / 2 / (len(row) - 1)) + 1
            )
            if between:
                total += math.sqrt(power) * max(0.0, 1 - abs(mel(hertz) - centre) / step)
        return total

    def reference(x: Array, rate: Array) -> Array:
        out = np.zeros((*x.shape[:2], count))
        for channel, slot, k in np.ndindex(*out.shape):
            logs = [
                math.log(max(energy(x[channel, slot], int(rate), n), 1e-12)) for n in range(filters)
            ]
            turns = [math.cos(math.pi * k * (n + 0.5) / filters) for n in range(filters)]
            out[channel, slot, k] = math.sqrt(2 / filters) * math.fsum(
                a * b for a, b in zip(logs, turns, strict=True)
            )
        return out

    return reference


def mfcc(bins: int, low: float, high: float, filters: int, count: int) -> OpCase:
    return OpCase(
        "Mfcc",
        powers(bins),
        coefficients(low, high, filters, count),
        attrs={
            "lower_frequency_limit": low,
            "upper_frequency_limit": high,
            "filterbank_channel_count": filters,
            "dct_coefficient_count": count,
        },
        slack=1000,
        reason="logarithms up to 28 that cancel",
    )


CASES = [
    *[
        OpCase(
            "AudioSpectrogram",
            random_arrays(sounds),
            spectrogram(size, stride, squared),
            attrs={"window_size": size, "stride": stride, "magnitude_squared": squared},
        )
        for size, stride, squared in ((4, 2, False), (6, 5, True), (9, 3, False))
    ],
    mfcc(17, 20.0, 3800.0, 5, 4),
    mfcc(33, 300.0, 4000.0, 8, 8),
    mfcc(9, 0.0, 2000.0, 12, 3),
]
