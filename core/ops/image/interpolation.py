"""Resizing by matrices; each row holds the weights of one new pixel.

An image is resized by one matrix per axis, and its gradient by their transposes.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pinnace.framework.tensor import Array
from pinnace.ops.kernels import pictures

Weights = npt.NDArray[np.float32]
# Most results that a function keeps, and weights of one: sizes may come from requests.
_MOST, _LARGEST = 8, 1 << 18
T = TypeVar("T")


def _kept(function: Callable[..., T]) -> Callable[..., T]:
    """A decorator: keeps the last results for small sizes; a data set has images of a few sizes."""
    cached = functools.lru_cache(maxsize=_MOST)(function)

    @functools.wraps(function)
    def found(size: int, new_size: int, *options: Any, **named: Any) -> T:
        is_small = size * new_size <= _LARGEST
        return (cached if is_small else function)(size, new_size, *options, **named)

    return found


# TensorFlow tabulates the cubic's coefficients with this many steps between two pixels.
_STEPS = 1024


def scale_of(size: int, new_size: int, align_corners: bool) -> np.float32:
    """The distance between new pixels in old coordinates."""
    if align_corners and new_size > 1:
        return np.float32(size - 1) / np.float32(new_size - 1)
    return np.float32(size) / np.float32(new_size)


def _places(
    size: int, new_size: int, align_corners: bool, half_pixel_centers: bool
) -> npt.NDArray[np.float32]:
    """The positions of new pixels in old coordinates."""
    steps = np.arange(new_size, dtype=np.float32)
    scale = scale_of(size, new_size, align_corners)
    if half_pixel_centers:
        return (steps + np.float32(0.5)) * scale - np.float32(0.5)
    return steps * scale


def nearest_places(
    size: int, new_size: int, align_corners: bool, half_pixel_centers: bool
) -> npt.NDArray[np.intp]:
    """[new_size]: the old pixel that each new one copies."""
    steps = np.arange(new_size, dtype=np.float32)
    scale = scale_of(size, new_size, align_corners)
    where = (steps + np.float32(0.5) if half_pixel_centers else steps) * scale
    # C's roundf: halves away from zero.
    whole = np.floor(where + np.float32(0.5)) if align_corners else np.floor(where)
    return np.asarray(np.clip(whole.astype(np.intp), 0, max(size - 1, 0)), np.intp)


@_kept
def linear_places(
    size: int, new_size: int, align_corners: bool, half_pixel_centers: bool
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.float32]]:
    """The old pixels before and after each new one, and the weight of the second."""
    where = _places(size, new_size, align_corners, half_pixel_centers)
    below = np.floor(where)
    low = np.maximum(below.astype(np.intp), 0)
    high = np.minimum(np.ceil(where).astype(np.intp), size - 1)
    return low, high, where - below


@_kept
def linear_weights(size: int, new_size: int, align: bool, half: bool) -> Weights:
    """[new_size, size]: the weights of linear interpolation."""
    low, high, part = linear_places(size, new_size, align, half)
    out = np.zeros((new_size, size), np.float32)
    rows = np.arange(new_size)
    np.add.at(out, (rows, low), 1 - part)
    np.add.at(out, (rows, high), part)
    return out


def nearest_weights(size: int, new_size: int, align: bool, half: bool) -> Weights:
    """[new_size, size]: the weights of nearest-neighbour interpolation."""
    out = np.zeros((new_size, size), np.float32)
    out[np.arange(new_size), nearest_places(size, new_size, align, half)] = 1
    return out


@functools.lru_cache(maxsize=2)
def _cubic_table(a: float) -> tuple[Weights, Weights]:
    """The cubic kernel at distances in [0, 1], and in [1, 2]."""
    near = np.arange(_STEPS + 1, dtype=np.float64) / _STEPS
    far = near + 1
    inside = ((a + 2) * near - (a + 3)) * near * near + 1
    outside = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    return inside.astype(np.float32), outside.astype(np.float32)


def cubic_tables(half: bool) -> tuple[Weights, Weights]:
    """The weights of near and far pixels, tabulated at equidistant positions between two pixels."""
    return _cubic_table(-0.5 if half else -0.75)


@_kept
def cubic_weights(size: int, new_size: int, align: bool, half: bool) -> Weights:
    """[new_size, size]: the weights of bicubic interpolation.

    With half-pixel centres it is Keys' cubic, and weights outside of the picture are dropped;
    without them TensorFlow's older one, which repeats the edge.
    """
    where = _places(size, new_size, align, half)
    below = np.floor(where).astype(np.intp)
    step = np.rint((where - below.astype(np.float32)) * _STEPS).astype(np.intp)
    inside, outside = cubic_tables(half)
    parts = (outside[step], inside[step], inside[_STEPS - step], outside[_STEPS - step])
    out = np.zeros((new_size, size), np.float32)
    rows = np.arange(new_size)
    for shift, part in enumerate(parts, -1):
        place = below + shift
        bound = np.clip(place, 0, size - 1)
        np.add.at(out, (rows, bound), np.where(place == bound, part, 0) if half else part)
    return _normalised(out) if half else out


def _normalised(weights: Weights) -> Weights:
    total = weights.sum(axis=1, keepdims=True)
    usable = np.abs(total) >= 1000 * np.finfo(np.float32).tiny
    return np.where(usable, weights / np.where(usable, total, 1), weights).astype(np.float32)


@_kept
def area_weights(size: int, new_size: int, align: bool) -> Weights:
    """[new_size, size]: the share of each old pixel in the interval covered by a new one."""
    scale = scale_of(size, new_size, align)
    start = np.arange(new_size, dtype=np.float32) * scale
    end = start + scale
    out = np.zeros((new_size, size), np.float32)
    for row, (first, last) in enumerate(zip(start, end, strict=True)):
        for place in range(int(np.floor(first)), int(np.ceil(last))):
            covered = min(place + 1, last) - max(place, first)
            out[row, min(place, size - 1)] += covered / scale
    return out


# Kernels of ScaleAndTranslate: a radius, and the weight at a distance from the centre.


def _lanczos(radius: int) -> tuple[float, Callable[[Array], Array]]:
    def weight(x: Array) -> Array:
        small = np.where(x <= 1e-3, 1.0, x)
        bell = radius * np.sin(np.pi * small) * np.sin(np.pi * small / radius)
        value = np.where(x <= 1e-3, 1.0, bell / (np.pi * np.pi * small * small))
        return np.where(x > radius, 0.0, value)

    return float(radius), weight


def _gaussian(x: Array) -> Array:
    sigma = 1.5 / 3
    return np.where(x >= 1.5, 0.0, np.exp(-x * x / (2 * sigma * sigma)))


def _box(x: Array) -> Array:
    return np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0))


def _triangle(x: Array) -> Array:
    return np.where(x < 1, 1 - x, 0.0)


def _keys_cubic(x: Array) -> Array:
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0.0, np.where(x >= 1, far, near))


def _mitchell_cubic(x: Array) -> Array:
    near = (((7 / 6) * x - 2) * x) * x + 8 / 9
    far = (((-7 / 18) * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0.0, np.where(x >= 1, far, near))


KERNELS: dict[str, tuple[float, Callable[[Array], Array]]] = {
    "lanczos1": _lanczos(1),
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "gaussian": (1.5, _gaussian),
    "box": (1.0, _box),
    "triangle": (1.0, _triangle),
    "keyscubic": (2.0, _keys_cubic),
    "mitchellcubic": (2.0, _mitchell_cubic),
}


@_kept
def kernel_weights(
    size: int, new_size: int, scale: float, translation: float, kernel: str, antialias: bool
) -> Weights:
    """[new_size, size]: a kernel centred on each new pixel, widened if `antialias`."""
    radius, weight = KERNELS[kernel]
    inverse = np.float32(1) / np.float32(scale)
    width = max(inverse, np.float32(1)) if antialias else np.float32(1)
    centres = (np.arange(new_size, dtype=np.float32) + np.float32(0.5)) * inverse
    centres -= inverse * np.float32(translation)
    steps = np.arange(size, dtype=np.float32) + np.float32(0.5)
    away = np.abs(steps - centres[:, None]) / width
    found = np.where(away <= radius, weight(away), 0).astype(np.float32)
    # TensorFlow: all weights of a centre outside of the picture are 0.
    found[(centres < 0) | (centres > size)] = 0
    return _normalised(found)


def resized(images: Array, rows: Weights, columns: Weights) -> Array:
    """[batch, height, width, channels], by one weight matrix per axis, in the dtype of `images`."""
    found = pictures.resampled(images, rows, columns)
    if found is not None:
        return found
    kind: Any = images.dtype
    batch, height, width, channels = images.shape
    wide = images.reshape(batch, height, width * channels)
    tall = np.matmul(rows.astype(kind), wide).reshape(batch, len(rows), width, channels)
    return np.asarray(np.matmul(columns.astype(kind), tall))
