"""A transposed convolution as several convolutions: one for each remainder of a pixel's index.

Pixel `o` gets the contribution of tap `k` at pixel `i` if `i * step + k = o + before`. Pixels with
the same remainder of `(o + before) / step` use the same taps, every `step`-th of the filter, over
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
        pixels: number of pixels.
        taps: of the filter, in the order of the input.
        before: padding before the image; negative if its windows start inside.
        after: padding after it.
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
        step: stride of the transposed convolution.
        before: padding of the convolution whose transpose it is.
        size: of the output.
        given: of the input.
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
