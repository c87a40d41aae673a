"""A transposed convolution as convolutions: one for each remainder of a pixel's place.

Pixel `o` gets what tap `k` makes of pixel `i` where `i * step + k = o + before`. For pixels of the
same remainder of `(o + before) / step` these are the same taps, every `step`-th of the filter, over
neighbouring pixels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.networks.layers import Phase, Window

if TYPE_CHECKING:
    from collections.abc import Sequence


class AxisPhase(NamedTuple):
    """One remainder along one axis.

    Attributes:
        first: the first pixel.
        pixels: how many.
        taps: of the filter, in the order in which they meet what is read.
        before: zeros that its windows need before the image; negative if they begin inside.
        after: zeros behind it.
    """

    first: int
    pixels: int
    taps: tuple[int, ...]
    before: int
    after: int


def axis_phases(taps: int, step: int, before: int, size: int, given: int) -> list[AxisPhase] | None:
    """The remainders along one axis; None if no tap reaches some pixels.

    Args:
        taps: of the filter.
        step: from pixel to pixel of what is read, in pixels of the result.
        before: padding of the convolution that this is the transposed one of.
        size: of the result.
        given: of what is read.
    """
    if taps < step:
        return None
    found = []
    for remainder in range(step):
        own = tuple(range(remainder, taps, step))[::-1]
        begin = -(-(before - remainder) // step)
        first = remainder - before + step * begin
        if first >= size:
            continue
        count = (size - 1 - first) // step + 1
        last = begin + count - 1
        ahead = len(own) - 1 - begin
        found.append(AxisPhase(first, count, own, ahead, max(0, last - (given - 1))))
    return found


def phases_of(
    down: Sequence[AxisPhase], along: Sequence[AxisPhase], steps: tuple[int, int]
) -> tuple[Phase, ...]:
    """The phases of both axes.

    Args:
        down: of rows.
        along: of columns.
        steps: (down, along).
    """
    return tuple(
        Phase(
            Window(taps=(len(a.taps), len(b.taps)), border=(a.before, a.after, b.before, b.after)),
            (a.first, b.first),
            steps,
            (a.pixels, b.pixels),
            (a.taps, b.taps),
        )
        for a in down
        for b in along
    )
