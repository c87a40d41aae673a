"""Cases of core/ops/image/drawing.py: pixel by pixel, on the frame or not."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]
YELLOW_BLUE_RED = np.array([[1.0, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1]])


def on_frame(row: int, column: int, box: Array) -> bool:
    top, left, bottom, right = box.tolist()
    down, across = top <= row <= bottom, left <= column <= right
    return (row in (top, bottom) and across) or (column in (left, right) and down)


def framed(images: Array, boxes: Array, colours: Any = None) -> Array:
    own = colours is None
    table = YELLOW_BLUE_RED if own else colours
    out = images.copy()
    size = np.array(images.shape[1:3] * 2) - 1
    for b, row, column in np.ndindex(*images.shape[:3]):
        for n, box in enumerate(np.trunc(boxes[b] * size).astype(int)):
            if on_frame(row, column, box):
                colour = table[n % len(table)][: images.shape[3]]
                out[b, row, column] = 1 if own and images.shape[3] == 1 else colour
    return out


def build(rng: np.random.Generator, own: bool) -> tuple[Array, ...]:
    channels = int(rng.choice([1, 3, 4]))
    images = rng.random((2, *rng.integers(2, 6, 2), channels))
    corners = np.sort(rng.random((2, int(rng.integers(0, 3)), 2, 2)), axis=2) * 1.2
    boxes = corners.reshape(2, -1, 4).astype(np.float32)
    if own:
        return images, boxes
    return images, boxes, rng.random((2, channels)).astype(np.float32)


OPTIONS: dict[str, Any] = {"dtypes": (dtypes.float32,)}
CASES = [
    OpCase("DrawBoundingBoxes", random_arrays(lambda rng: build(rng, True)), framed, **OPTIONS),
    OpCase("DrawBoundingBoxesV2", random_arrays(lambda rng: build(rng, False)), framed, **OPTIONS),
]
