"""Cases of core/ops/audio/waves.py: files packed with struct."""

from typing import Any

import numpy as np
import numpy.typing as npt

from golden.functions.sounds import wav
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def one(data: bytes) -> Array:
    out = np.empty((), object)
    out[()] = data
    return out


def samples(rng: np.random.Generator) -> Array:
    return rng.integers(-32768, 32768, (int(rng.integers(0, 5)), int(rng.integers(1, 4))))


def decoded(contents: Array) -> tuple[Array, Array]:
    data = contents.item()
    channels, rate = int.from_bytes(data[22:24], "little"), int.from_bytes(data[24:28], "little")
    values = [
        int.from_bytes(data[i : i + 2], "little", signed=True) / 2**15
        for i in range(44, len(data), 2)
    ]
    return np.array(values).reshape(-1, channels), np.array(rate)


CASES = [
    OpCase("DecodeWav", random_arrays(lambda rng: (one(wav(samples(rng), 16000)),)), decoded),
    OpCase(
        "EncodeWav",
        random_arrays(
            lambda rng: ((samples(rng) / 2**15).astype(np.float32), np.array(8000, np.int32))
        ),
        lambda audio, rate: one(wav(np.rint(audio * 2**15), int(rate))),
    ),
]
