"""Calls of tf.audio, and of histograms."""

import struct

import numpy as np

from golden.functions.calls import Call, waves

SOUND = waves(9, 2, dtype="float32") * np.float32(0.6)


def wav(samples: np.ndarray, rate: int) -> bytes:  # type: ignore[type-arg]
    data = samples.astype("<i2").tobytes()
    channels = samples.shape[1]
    head = struct.pack("<HHIIHH", 1, channels, rate, rate * 2 * channels, 2 * channels, 16)
    body = (
        b"WAVEfmt " + struct.pack("<I", 16) + head + b"data" + struct.pack("<I", len(data)) + data
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body


FILE = wav(waves(7, 2) * 16000, 44100)
VALUES = waves(6, 7)
CALLS = [
    Call("audio.encode_wav", (SOUND, 8000)),
    Call("audio.encode_wav", (SOUND[:, :1], 44100)),
    *(
        Call("audio.decode_wav", (FILE,), {"desired_channels": c, "desired_samples": n})
        for c in (-1, 1, 2)
        for n in (-1, 3, 12)
    ),
    *(
        Call(name, (VALUES.astype(t), np.array([-1.5, 1.25], t), 9))
        for name in ("histogram_fixed_width", "histogram_fixed_width_bins")
        for t in ("float32", "float64")
    ),
]
