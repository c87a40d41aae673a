"""Batch normalization of a float32 matrix by compiled code, with rows shared among threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.kernels import compiled, team

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.ops.kernels.precision import Array

# Elements a thread is worth waking for.
_SHARED = 1 << 18
# Numbers that are processed as one row: several rows with few channels.
_WIDE = 512
_LEAST = np.float32(-np.inf)
_ZERO = np.float32(0)


def normalise(
    x: Array, scale: Array, offset: Array, epsilon: float, out: Array, *, rectified: bool
) -> Array | None:
    """[3, C]: mean, biased variance and that with Bessel's correction; None where NumPy must do it.

    Args:
        x: [rows, C].
        scale: [C].
        offset: [C].
        epsilon: added to the variance.
        out: [rows, C], filled with the normalised rows.
        rectified: whether negative numbers become zeros.
    """
    kernels = _made(("moments", "normalised"), x, scale, offset, out)
    if kernels is None:
        return None
    channels = x.shape[1]
    width, pieces, step = _cut(x)
    states = np.empty((pieces, 3, width), np.float32)
    found = np.empty((3, channels), np.float32)
    flat, target = x.reshape(-1), out.reshape(-1)
    size, small, floor = x.size, np.float32(epsilon), _ZERO if rectified else _LEAST
    moments, normalised = kernels

    def sum_up(piece: int) -> None:
        start = piece * step
        moments(start, min(size, start + step), flat, channels, states[piece])

    def fill(piece: int) -> None:
        start = piece * step
        end = min(size, start + step)
        normalised(start, end, flat, channels, scale, offset, small, floor, states, found, target)

    team.share(pieces, sum_up, threads=pieces)
    team.share(pieces, fill, threads=pieces)
    return found


def scale_by(
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    epsilon: float,
    out: Array,
    *,
    rectified: bool,
) -> bool:
    """Fill `out` like `normalise`, with given moments; False if NumPy must do it."""
    kernels = _made(("scaled",), x, scale, offset, mean, variance, out)
    if kernels is None:
        return False
    width, pieces, step = _cut(x)
    flat, target, size = x.reshape(-1), out.reshape(-1), x.size
    numbers = (np.float32(epsilon), _ZERO if rectified else _LEAST, width)

    def fill(piece: int) -> None:
        start = piece * step
        end = min(size, start + step)
        kernels[0](start, end, flat, x.shape[1], scale, offset, mean, variance, *numbers, target)

    team.share(pieces, fill, threads=pieces)
    return True


def slopes(
    x: Array,
    dy: Array,
    scale: Array,
    offset: Array | None,
    mean: Array,
    variance: Array,
    epsilon: float,
    out: Array,
) -> Array | None:
    """[2, C]: gradients of scale and offset; None where NumPy must do it.

    Args:
        x: [rows, C].
        dy: [rows, C], gradient of what was normalised.
        scale: [C].
        offset: [C] if the result was rectified, else None.
        mean: [C], of the rows.
        variance: [C], of the rows.
        epsilon: added to the variance.
        out: [rows, C], filled with the gradient of x.
    """
    names = ("projections", "slopes")
    if offset is not None:
        names = ("rectified_projections", "rectified_slopes")
    shift = scale if offset is None else offset
    kernels = _made(names, x, dy, scale, shift, mean, variance, out)
    if kernels is None:
        return None
    channels = x.shape[1]
    width, pieces, step = _cut(x)
    states = np.empty((pieces, 2, width), np.float32)
    found = np.empty((2, channels), np.float32)
    flat, dy_flat, target, size = x.reshape(-1), dy.reshape(-1), out.reshape(-1), x.size
    vectors = (channels, scale, shift, mean, variance, np.float32(epsilon))
    project, fill_in = kernels

    def sum_up(piece: int) -> None:
        start = piece * step
        project(start, min(size, start + step), flat, dy_flat, *vectors, states[piece])

    def fill(piece: int) -> None:
        start = piece * step
        end = min(size, start + step)
        fill_in(start, end, flat, dy_flat, *vectors, states, found, target)

    team.share(pieces, sum_up, threads=pieces)
    team.share(pieces, fill, threads=pieces)
    return found


def _made(names: Sequence[str], *arrays: Array) -> list[Callable[..., Any]] | None:
    """The kernels, if they exist and can read these arrays."""
    found = [compiled.made(name) for name in names]
    readable = all(
        array.dtype == np.float32 and array.flags.c_contiguous and array.flags.aligned
        for array in arrays
    )
    kernels = [kernel for kernel in found if kernel is not None]
    return kernels if readable and arrays[0].size > 0 and len(kernels) == len(names) else None


def _cut(x: Array) -> tuple[int, int, int]:
    """(width, pieces, elements of each): pieces are whole rows of the width except the last."""
    channels = x.shape[1]
    width = channels * max(1, min(len(x), _WIDE // channels))
    rows = -(-x.size // width)
    threads = min(team.size(), rows) if x.size >= _SHARED else 1
    step = -(-rows // threads)
    return width, -(-rows // step), step * width
