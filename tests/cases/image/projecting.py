"""Cases of core/ops/image/projecting.py: pixel by pixel, in fractions.

Projections have eighths and halves, so that positions are exact in float32 and rounding never
decides which pixel is the nearest.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]

FILL_MODES = ("CONSTANT", "REFLECT", "WRAP", "NEAREST")


def drawn(rng: np.random.Generator) -> tuple[Array, ...]:
    batch, height, width, channels = rng.integers(1, [3, 5, 5, 3])
    images = rng.integers(-64, 64, (batch, height, width, channels)) / 8
    rows = batch if rng.random() < 0.5 else 1
    transforms = rng.integers(-16, 17, (rows, 8)) / 8
    transforms[:, 2::3] *= 4
    # If the depth is a power of two, quotients are exact.
    transforms[:, 6:] = [[0, 0], [1, 0], [-1, 0]][rng.integers(3)]
    sizes = rng.integers(1, 3, 2)
    fill = np.array(rng.integers(-4, 5) / 2, np.float32)
    return images, transforms.astype(np.float32), sizes.astype(np.int32), fill


def mapped(place: Fraction, size: int, mode: str) -> Fraction:
    """The position that a fill mode reads instead."""
    if mode == "CONSTANT" or 0 <= place <= size - 1:
        return place
    if mode == "NEAREST" or size == 1:
        return Fraction(min(max(place, 0), size - 1))
    if mode == "REFLECT":
        # Both halves of a period of two images; below 0 it is counted from the end of the last one.
        turn = place % (2 * size) if place >= 0 else -(-place % (2 * size))
        if turn < 0:
            turn = turn + 2 * size if turn < -size else -turn - 1
        elif turn >= size:
            turn = 2 * size - turn - 1
        return min(max(turn, Fraction(0)), Fraction(size - 1))
    turns = int(-place / (size - 1)) + 1 if place < 0 else -int(place / (size - 1))
    return min(max(place + size * turns, Fraction(0)), Fraction(size - 1))


def nearest(place: Fraction) -> int:
    return math.floor(abs(place) + Fraction(1, 2)) * (1 if place >= 0 else -1)


def pixel(image: Array, row: int, column: int, fill: Any) -> Array:
    if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
        return np.asarray(image[row, column])
    return np.full(image.shape[-1], fill)


def blended(image: Array, row: Fraction, column: Fraction, fill: Any) -> Array:
    top, left = math.floor(row), math.floor(column)
    down, right = float(row - top), float(column - left)
    corners = [[pixel(image, top + i, left + j, fill) for j in (0, 1)] for i in (0, 1)]
    lines = [(1 - right) * near + right * far for near, far in corners]
    return (1 - down) * lines[0] + down * lines[1]


def projected(interpolation: str, mode: str) -> Any:
    def reference(images: Array, transforms: Array, sizes: Array, fill: Any = 0.0) -> Array:
        out = np.empty((len(images), *sizes.tolist(), images.shape[-1]))
        for n, y, x in np.ndindex(*out.shape[:3]):
            a = [Fraction(float(v)) for v in transforms[n if len(transforms) > 1 else 0]]
            depth = a[6] * x + a[7] * y + 1
            if not depth:
                out[n, y, x] = fill
                continue
            column = mapped((a[0] * x + a[1] * y + a[2]) / depth, images.shape[2], mode)
            row = mapped((a[3] * x + a[4] * y + a[5]) / depth, images.shape[1], mode)
            if interpolation == "NEAREST":
                out[n, y, x] = pixel(images[n], nearest(row), nearest(column), fill)
            else:
                out[n, y, x] = blended(images[n], row, column, fill)
        return out

    return reference


INPUTS = random_arrays(drawn)
# The gradient is projected by the inverse, which is not the derivative. All values are blended in
# float32, in which eighths of eighths of eighths are exact; float16 rounds once.
OPTIONS: dict[str, Any] = {
    "differentiable": (),
    "dtypes": (dtypes.float32, dtypes.float16, dtypes.float64),
}

CASES = [
    OpCase(
        f"ImageProjectiveTransformV{version}",
        INPUTS if version == 3 else INPUTS.map(lambda xs: xs[:3]),
        projected(interpolation, mode),
        attrs={"interpolation": interpolation, "fill_mode": mode},
        **OPTIONS,
    )
    for version in (2, 3)
    for mode in FILL_MODES
    for interpolation in ("NEAREST", "BILINEAR")
]
