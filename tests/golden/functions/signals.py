"""Calls of tf.signal."""

from typing import Any

import numpy as np

from golden.functions.calls import Call, waves

X = waves(2, 37)
C = waves(2, 3, 4, 5) + 1j * waves(2, 3, 4, 5, phase=1.0)
R = waves(2, 3, 4, 5, phase=2.0)
NEAR: dict[str, Any] = {"rtol": 2e-5, "atol": 5e-6, "reason": "float32"}


def transforms() -> list[Call]:
    found = []
    for end in ("", "2d", "3d"):
        count = int(end[0]) if end else 1
        found += [Call(f"signal.{n}fft{end}", (C,), sources=(0,)) for n in ("", "i")]
        found += [Call(f"signal.{n}fft{end}", (C.astype("complex64"),), **NEAR) for n in ("", "i")]
        sources = (0,) if count < 3 else ()
        for lengths in (None, [6, 7, 3][:count], [2, 4, 8][-count:]):
            found.append(Call(f"signal.rfft{end}", (R, lengths)))
            found.append(Call(f"signal.irfft{end}", (C, lengths)))
        found.append(Call(f"signal.rfft{end}", (R,), sources=sources))
        # Real at the self-conjugate frequencies.
        spectra = np.fft.rfftn(R, axes=range(-count, 0))
        full = list(R.shape[-count:])
        found.append(Call(f"signal.irfft{end}", (spectra, full), sources=sources))
    shifts = [
        Call(f"signal.{n}fftshift", (R,), {"axes": a}) for n in ("", "i") for a in (None, [1, 2])
    ]
    return found + shifts


def windows() -> list[Call]:
    names = ["hann_window", "hamming_window"]
    found = [
        Call(f"signal.{n}", (size,), {"periodic": p, "dtype": "float64"})
        for n in names
        for size in (1, 2, 7, 8)
        for p in (True, False)
    ]
    loose = {"rtol": 1e-6, "atol": 1e-7, "reason": "TensorFlow's Bessel functions"}
    found += [Call("signal.kaiser_window", (9, b, "float64"), **loose) for b in (0.5, 12.0)]
    found += [Call("signal.kaiser_bessel_derived_window", (8, 4.0, "float64"), **loose)]
    return [
        *found,
        Call("signal.vorbis_window", (8, "float64")),
        Call("signal.hann_window", (8,), **NEAR),
    ]


def cosines() -> list[Call]:
    found = []
    for kind in (1, 2, 3, 4):
        for norm in (None, "ortho") if kind > 1 else (None,):
            found += [
                Call(f"signal.{n}dct", (R, kind, None, -1, norm), sources=(0,)) for n in ("", "i")
            ]
            found += [Call("signal.dct", (R, kind, n, -1, norm)) for n in (3, 9)]
    for norm in (None, "ortho"):
        found.append(Call("signal.mdct", (X, 8), {"norm": norm}, sources=(0,)))
        found.append(
            Call("signal.mdct", (X, 8), {"norm": norm, "window_fn": None, "pad_end": True})
        )
        found.append(Call("signal.inverse_mdct", (waves(2, 5, 6),), {"norm": norm}, sources=(0,)))
        found.append(
            Call("signal.inverse_mdct", (waves(2, 5, 6),), {"norm": norm, "window_fn": None})
        )
    return found


def frames() -> list[Call]:
    found = [
        Call("signal.frame", (X, length, step), {"pad_end": pad}, sources=(0,))
        for length, step in ((8, 3), (5, 5), (4, 7), (40, 10))
        for pad in (True, False)
    ]
    found.append(Call("signal.frame", (R, 2, 1), {"axis": 1, "pad_end": True, "pad_value": 7.0}))
    found += [Call("signal.overlap_and_add", (R, step), sources=(0,)) for step in (1, 2, 5, 7)]
    for length, step, size in ((8, 3, None), (7, 2, 16), (5, 5, 4)):
        sources = (0,) if size != 4 else ()
        found.append(Call("signal.stft", (X, length, step, size), sources=sources))
        found.append(
            Call("signal.stft", (X, length, step, size), {"pad_end": True, "window_fn": None})
        )
        count = (size or 8) // 2 + 1
        spectra = waves(2, 4, count) + 1j * waves(2, 4, count, phase=1.0)
        found.append(Call("signal.inverse_stft", (spectra, length, step, size)))
    return found


def mel() -> list[Call]:
    loose: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-7, "reason": "TensorFlow's order of steps"}
    return [
        Call("signal.linear_to_mel_weight_matrix", (), {"dtype": "float64"}, **loose),
        Call(
            "signal.linear_to_mel_weight_matrix", (10, 65, 16000, 80.0, 7600.0, "float64"), **loose
        ),
        Call("signal.mfccs_from_log_mel_spectrograms", (R,), sources=(0,)),
    ]


CALLS = [*transforms(), *windows(), *cosines(), *frames(), *mel()]
