"""Cases of core/ops/image/codecs.py: files built line by line, and their pixels."""

import io
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from golden.functions.image import bmp, png
from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def one(data: bytes) -> Array:
    out = np.empty((), object)
    out[()] = data
    return out


def case(op: str, write: Any, depth: int, reference: Any, **attrs: Any) -> OpCase:
    """Appends the pixels to the file, where only the reference reads them."""

    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        shape = (*rng.integers(1, 6, 2), depth)
        pixels = rng.integers(0, 256, shape).astype(np.uint8)
        mark = np.array(shape, np.uint8).tobytes()
        return (one(write(pixels) + pixels.tobytes() + mark),)

    def unpacked(contents: Array) -> Any:
        data = contents.item()
        shape = tuple(data[-3:])
        count = int(np.prod(shape))
        return reference(np.frombuffer(data[-3 - count : -3], np.uint8).reshape(shape))

    return OpCase(op, random_arrays(build), unpacked, attrs=attrs)


def unchanged(x: Array) -> Array:
    return x


def bitmap(rng: np.random.Generator) -> tuple[Array, ...]:
    """A BMP file, to which nothing may be appended."""
    return (one(bmp(rng.integers(0, 256, (*rng.integers(1, 6, 2), 3)).astype(np.uint8))),)


def by_pillow(contents: Array) -> Array:
    return np.asarray(Image.open(io.BytesIO(contents.item())).convert("RGB"))


CASES = [
    *(case("DecodePng", png, n, unchanged) for n in (1, 3, 4)),
    case("DecodePng", png, 1, lambda x: np.concatenate([x, x, x], -1), channels=3),
    case("DecodePng", png, 4, lambda x: x[..., :3], channels=3),
    case("DecodePng", png, 3, lambda x: x.astype(np.uint16) * 257, dtype=dtypes.uint16),
    OpCase("DecodeBmp", random_arrays(bitmap), by_pillow),
    case("DecodeImage", png, 3, lambda x: x / 255, dtype=dtypes.float32, expand_animations=False),
]
