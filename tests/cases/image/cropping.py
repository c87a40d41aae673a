"""Cases of core/ops/image/cropping.py."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

import pinnace.ops.image  # noqa: F401 (registers the ops)
from cases.array.shapes import drawn, ints, numbers
from pinnace.framework import dtypes
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]

# Thirds and fifths: no line is exactly on a grid point, where the derivative is undefined.
ENDS = st.integers(1, 19).map(lambda n: n / 20 + 1 / 300)


def boxes(draw: st.DrawFn, count: int) -> Array:
    rows = [[draw(ENDS) for _ in range(4)] for _ in range(count)]
    return np.array(rows, np.float32).reshape(count, 4)


def cropped(draw: st.DrawFn) -> tuple[Any, ...]:
    image = draw(numbers([2, draw(st.integers(2, 4)), draw(st.integers(2, 4)), 2]))
    count = draw(st.integers(0, 2))
    owner = ints(*(draw(st.integers(0, 1)) for _ in range(count)))
    size = ints(draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    return image, boxes(draw, count), owner, size


def line(low: float, high: float, size: int, new: int, count: int) -> float:
    if count == 1:
        return (low + high) / 2 * (size - 1)
    return (low + (high - low) * new / (count - 1)) * (size - 1)


def corners(
    image: Array, box: Array, place: tuple[int, int], size: tuple[int, int]
) -> Iterator[tuple[int, int, float]]:
    """The grid points around a position in a crop, and their weights."""
    y = line(box[0], box[2], image.shape[0], place[0], size[0])
    x = line(box[1], box[3], image.shape[1], place[1], size[1])
    if not (0 <= y <= image.shape[0] - 1 and 0 <= x <= image.shape[1] - 1):
        return
    for j, i in itertools.product((math.floor(y), math.ceil(y)), (math.floor(x), math.ceil(x))):
        yield j, i, (1 - abs(y - j)) * (1 - abs(x - i))


def crop(image: Array, box: Array, owner: Array, size: Array) -> Array:
    out = np.zeros((len(box), *size, image.shape[3]))
    for b, i, j in np.ndindex(*out.shape[:3]):
        for y, x, share in corners(image[owner[b]], box[b], (i, j), tuple(size.tolist())):
            out[b, i, j] += share * image[owner[b], y, x]
    return out


def graded(draw: st.DrawFn) -> tuple[Any, ...]:
    image, box, owner, size = cropped(draw)
    return draw(numbers([len(box), *size, 2])), box, owner, ints(*image.shape)


def to_image(dy: Array, box: Array, owner: Array, shape: Array) -> Array:
    out = np.zeros(shape)
    for b, i, j in np.ndindex(*dy.shape[:3]):
        for y, x, share in corners(out[owner[b]], box[b], (i, j), dy.shape[1:3]):
            out[owner[b], y, x] += share * dy[b, i, j]
    return out


def graded_boxes(draw: st.DrawFn) -> tuple[Any, ...]:
    image, box, owner, size = cropped(draw)
    return draw(numbers([len(box), *size, 2])), image, box, owner


def to_boxes(dy: Array, image: Array, box: Array, owner: Array) -> Array:
    """Finite differences of the crops themselves."""
    out = np.zeros(box.shape)
    size = np.array(dy.shape[1:3])
    wide = box.astype(np.float64)
    for place in np.ndindex(*box.shape):
        step = np.zeros(box.shape)
        step[place] = 1e-6
        ahead, behind = (crop(image, moved, owner, size) for moved in (wide + step, wide - step))
        out[place] = np.sum(dy * (ahead - behind)) / 2e-6
    return out


def case(op: str, draws: Any, reference: Any, **attrs: Any) -> OpCase:
    return OpCase(
        op,
        drawn(draws),
        reference,
        attrs=attrs,
        dtypes=(dtypes.float32,),
        differentiable=(),
        slack=4096.0,
        reason="places and shares are float32, and TensorFlow's order of steps is kept",
    )


CASES = [
    case("CropAndResize", cropped, crop),
    case("CropAndResizeGradImage", graded, to_image, T=dtypes.float32),
    case("CropAndResizeGradBoxes", graded_boxes, to_boxes),
]
