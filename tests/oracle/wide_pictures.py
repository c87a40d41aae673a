"""Cases only for the oracle, of image files: every format for every op that reads it.

PNG, BMP, GIF and lossless WebP are exact. The inverse transform of JPEG has another order: with the
exact method both sides round equally; TensorFlow's default method is a faster one, with an error of
up to `QUICK`.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from PIL import Image

from golden.functions.image import PICTURES, bmp, png
from oracle.wide import Drawn, wide
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Callable

    from oracle.calls import Wide

EXACT = {"dct_method": "INTEGER_ACCURATE"}


def one(data: bytes) -> Any:
    """A scalar with these bytes."""
    out = np.empty((), object)
    out[()] = data
    return out


def pixels(draw: st.DrawFn, depth: int, dtype: Any = np.uint8) -> Any:
    shape = (draw(st.integers(1, 9)), draw(st.integers(1, 9)), depth)
    most = np.iinfo(dtype).max
    return np.random.default_rng(draw(st.integers(0, 999))).integers(0, most, shape, dtype, True)


def by_pillow(kind: str, pictures: list[Any], **options: Any) -> bytes:
    """A file with one image, or an animation."""
    stream = io.BytesIO()
    first, *rest = (Image.fromarray(one) for one in pictures)
    more = {"save_all": True, "append_images": rest} if rest else {}
    first.save(stream, kind, **more, **options)
    return stream.getvalue()


def a_png(draw: st.DrawFn) -> bytes:
    """PNG of 8 bits with any number of channels, with a palette, or 16 bits in grey."""
    way = draw(st.sampled_from([1, 2, 3, 4, "palette", "deep"]))
    if way == "palette":
        return png(pixels(draw, 1) % 5, np.arange(15, dtype=np.uint8).reshape(5, 3) * 17)
    if way == "deep":
        return png(pixels(draw, 1, np.uint16), depth=16)
    return png(pixels(draw, way))


def a_bmp(draw: st.DrawFn) -> bytes:
    """A 24-bit BMP, sometimes with trailing bytes."""
    return bmp(pixels(draw, 3)) + b"x" * draw(st.sampled_from([0, 0, 0, 1]))


def a_turned_bmp(draw: st.DrawFn) -> bytes:
    """A top-down BMP: TensorFlow's DecodeImage writes out of bounds for these in float32."""
    data = bytearray(a_bmp(draw))
    height = int.from_bytes(data[22:26], "little")
    data[22:26] = (-height).to_bytes(4, "little", signed=True)
    return bytes(data)


def a_gif(draw: st.DrawFn) -> bytes:
    first = pixels(draw, 3)
    frames = [np.roll(first, n, 0) for n in range(draw(st.integers(1, 3)))]
    # Few colours, so that each image has all of them.
    return by_pillow("GIF", [(frame // 128 * 255).astype(np.uint8) for frame in frames])


def a_webp(draw: st.DrawFn) -> bytes:
    """Lossless WebP; not an animation, which crashes TensorFlow's process."""
    return by_pillow("WEBP", [pixels(draw, 3)], lossless=True)


def a_jpeg(draw: st.DrawFn) -> bytes:
    name = draw(st.sampled_from(["colours.jpg", "grey.jpg", "progressive.jpg"]))
    return (PICTURES / name).read_bytes()


KINDS = {
    "PNG": a_png,
    "BMP": a_bmp,
    "TURNED": a_turned_bmp,
    "GIF": a_gif,
    "WEBP": a_webp,
    "JPEG": a_jpeg,
}


def read(kinds: str, **attrs: Any) -> Callable[[st.DrawFn], Drawn]:
    """Files of these formats, and the requested number of channels."""

    def build(draw: st.DrawFn) -> Drawn:
        kind = draw(st.sampled_from(kinds.split()))
        chosen = {name: draw(way) for name, way in attrs.items()}
        return (one(KINDS[kind](draw)),), chosen

    return build


def cropped(draw: st.DrawFn) -> Drawn:
    y, x = draw(st.integers(0, 19)), draw(st.integers(0, 30))
    window = [y, x, draw(st.integers(1, 21 - y)), draw(st.integers(1, 31 - x))]
    # In grey: TensorFlow upsamples colours without the pixels beside the window.
    return (one(a_jpeg(draw)), np.array(window, np.int32)), {"channels": 1, **EXACT}


ANY = st.sampled_from([0, 1, 3, 4])
DEPTHS = st.sampled_from([dtypes.uint8, dtypes.uint16])
WHOLE = st.just("INTEGER_ACCURATE")
CASES: tuple[Wide, ...] = (
    wide("DecodePng", read("PNG GIF", channels=ANY, dtype=DEPTHS)),
    wide("DecodeBmp", read("BMP TURNED PNG GIF JPEG", channels=st.sampled_from([0, 3, 4]))),
    wide("DecodeGif", read("GIF PNG")),
    wide("DecodeWebP", read("WEBP", channels=st.sampled_from([0, 3, 4]))),
    wide("DecodeJpeg", read("JPEG PNG", channels=st.sampled_from([0, 1, 3]), dct_method=WHOLE)),
    wide("DecodeAndCropJpeg", cropped),
    wide(
        "DecodeImage",
        read(
            "PNG BMP GIF",
            channels=ANY,
            dtype=st.sampled_from([dtypes.uint8, dtypes.uint16, dtypes.float32]),
            expand_animations=st.booleans(),
        ),
    ),
)
