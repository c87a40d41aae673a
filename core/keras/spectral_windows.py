"""Spectral windows by SciPy's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

# The coefficients of a sum of cosines with alternating signs.
_COSINES: dict[str, tuple[float, ...]] = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}
NAMES = (*_COSINES, "bartlett", "cosine", "tukey")


def checked_window(who: str, window: object) -> None:
    """Raise ValueError for an unknown window name."""
    if isinstance(window, str) and window not in NAMES:
        raise ValueError(
            f"{who}: window must be one of {', '.join(NAMES)}, or its numbers, got {window!r}"
        )


def named_window(name: str, length: int, periodic: bool) -> Array:
    """The numbers of a window, float64.

    Args:
        name: one of `NAMES`.
        length: the length.
        periodic: whether the number behind the last one would be the first one again; else the
            last one is as the first.
    """
    if length == 1:
        return np.ones(1)
    places = np.arange(length)
    whole = length if periodic else length - 1
    if name == "bartlett":
        return 1.0 - np.abs(2.0 * places / whole - 1.0)
    if name == "cosine":
        sines: Array = np.sin(np.pi * (places + 0.5) / (whole + 1))
        return sines
    if name == "tukey":
        # A quarter of the length rises, a quarter falls: half of it is a Hann window.
        nearest = np.minimum(places, whole - places) / whole
        rising: Array = np.where(nearest < 0.25, 0.5 - 0.5 * np.cos(4 * np.pi * nearest), 1.0)
        return rising
    terms = [
        (-1) ** order * share * np.cos(2 * np.pi * order * places / whole)
        for order, share in enumerate(_COSINES[name])
    ]
    total: Array = np.sum(terms, 0)
    return total
