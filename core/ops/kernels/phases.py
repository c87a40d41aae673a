"""The gradient of a convolution's input as convolutions with stride 1, one for each phase.

Tap t of window o reads x at o * stride - before + t * dilation. The positions r, r + stride, … are
therefore read by the taps with (r + before - t * dilation) divisible by the stride, and no others:
those taps, reversed, are the filter of a convolution of dy, and no zeros are inserted. With several
phases, a thread does all of them for some images, which are then still in its cache.
"""

from __future__ import annotations

import functools
import math
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.ops.kernels import tiles
from pinnace.ops.kernels.patches import Geometry, geometry

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array


class AxisPhase(NamedTuple):
    """A phase along an axis: positions of x, the taps that reach them, and where dy is read."""

    positions: slice
    taps: range
    dilation: int
    pads: tuple[int, int]

    @property
    def taps_reversed(self) -> slice:
        """The taps in reverse order, as an index of the filter's axis."""
        last, step = self.taps[-1], self.taps.step
        end = self.taps[0] - step
        return slice(last, None if end < 0 else end, -step)


class Phase(NamedTuple):
    """Positions of dx, taps of the filter that reach them, and the convolution of those.

    The convolution is None where no tap reaches the positions.
    """

    positions: tuple[slice, ...]
    taps: tuple[slice, ...]
    geometry: Geometry | None


@functools.lru_cache(maxsize=256)
def phases(g: Geometry) -> tuple[Phase, ...]:
    """All phases of a convolution."""
    found: list[Phase] = []
    for phase in product(*(_along(axis, g) for axis in range(len(g.sizes)))):
        positions = (slice(None), *(part.positions for part in phase))
        if any(len(part.taps) == 0 for part in phase):
            found.append(Phase(positions, (), None))
            continue
        inner = geometry(
            g.counts,
            [len(part.taps) for part in phase],
            (1,) * len(g.sizes),
            [part.pads for part in phase],
            [part.dilation for part in phase],
        )
        found.append(Phase(positions, tuple(part.taps_reversed for part in phase), inner))
    return tuple(found)


def _along(axis: int, g: Geometry) -> list[AxisPhase]:
    size, stride, dilation = g.sizes[axis], g.strides[axis], g.dilations[axis]
    before, taps, count = g.pads[axis][0], g.window[axis], g.counts[axis]
    common = math.gcd(stride, dilation)
    step = stride // common
    found = []
    for start in range(min(stride, size)):
        positions = slice(start, None, stride)
        first = next(
            (t for t in range(min(step, taps)) if (start + before - t * dilation) % stride == 0),
            taps,
        )
        mine = range(first, taps, step)
        if not mine:
            found.append(AxisPhase(positions, mine, 1, (0, 0)))
            continue
        # Position start + stride * m takes window m + offset(t); the last tap has the least offset.
        least = (start + before - mine[-1] * dilation) // stride
        most = (start + before - mine[0] * dilation) // stride
        length = len(range(start, size, stride))
        pads = (-least, length + most - count)
        found.append(AxisPhase(positions, mine, dilation // common, pads))
    return found


def convolve(filter: Array, dy: Array, g: Geometry, dx: Array) -> bool:
    """dx[...] = the gradient, all phases in one go; False where NumPy has to do it.

    Args:
        filter: [*window, C, O].
        dy: [batch, *counts, O].
        g: the convolution.
        dx: [batch, *sizes, C]; it may be a strided view.
    """
    transposed = filter.swapaxes(-1, -2)
    tasks, empty = [], []
    for phase in phases(g):
        target = dx[phase.positions]
        if phase.geometry is None:
            empty.append(target)
            continue
        taps = np.ascontiguousarray(transposed[phase.taps])
        task = tiles.prepared(dy, taps, phase.geometry, target)
        if task is None:
            return False
        tasks.append(task)
    for target in empty:
        target[...] = 0
    tiles.run_together(tasks, len(dy))
    return True
