"""Convolution and pooling of volumes by their formulas, in float64, tap by tap."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np


class Windows(NamedTuple):
    """Taps, strides and dilations along each of three axes, and the padding."""

    taps: tuple[int, int, int]
    steps: tuple[int, int, int]
    padding: str
    gaps: tuple[int, int, int] = (1, 1, 1)


def convolved(x: Any, filters: Any, windows: Windows) -> Any:
    """[batch, *sizes, outputs]: the sum over taps of slices of x times the tap's matrix."""
    return sum(
        part.astype(np.float64) @ filters[tap].astype(np.float64)
        for tap, part in _parts(x, windows, 0)
    )


def largest(x: Any, windows: Windows) -> Any:
    """[batch, *sizes, channels]: the largest number of each window."""
    return np.max([part for _, part in _parts(x, windows, -np.inf)], axis=0)


def mean(x: Any, windows: Windows) -> Any:
    """[batch, *sizes, channels]: the mean of the numbers of each window that are in x."""
    counts = sum(part for _, part in _parts(np.ones_like(x), windows, 0))
    return sum(part.astype(np.float64) for _, part in _parts(x, windows, 0)) / counts


def _parts(x: Any, windows: Windows, filler: float) -> Any:
    """For each tap: the elements that all windows read there."""
    pads, counts = [], []
    for size, taps, step, gap in zip(
        x.shape[1:4], windows.taps, windows.steps, windows.gaps, strict=True
    ):
        reach = (taps - 1) * gap + 1
        if windows.padding == "VALID":
            pads.append((0, 0))
            counts.append((size - reach) // step + 1)
        else:
            counts.append(-(-size // step))
            whole = max(0, (counts[-1] - 1) * step + reach - size)
            pads.append((whole // 2, whole - whole // 2))
    wide = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=filler)
    for tap in product(*map(range, windows.taps)):
        cuts = [
            slice(t * gap, t * gap + (count - 1) * step + 1, step)
            for t, gap, step, count in zip(tap, windows.gaps, windows.steps, counts, strict=True)
        ]
        yield tap, wide[(slice(None), *cuts)]
