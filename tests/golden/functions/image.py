"""Calls of tf.image."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from golden.functions.calls import Call, bytes_of, waves

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
X = (waves(2, 6, 7, 3, dtype="float32") + 2) / 4.5
Y = (waves(2, 6, 7, 3, phase=0.7, dtype="float32") + 2) / 4.5
B, B1 = bytes_of(2, 6, 7, 3), bytes_of(5, 6, 1)
WIDE = (waves(20, 23, 3, dtype="float32") + 2) / 4
WIDER = np.clip(WIDE + 0.1 * waves(20, 23, 3, phase=2.0, dtype="float32"), 0, 1)
LARGE = (waves(1, 90, 91, 1, dtype="float32") + 2) / 4
LARGER = np.clip(LARGE + 0.2 * waves(1, 90, 91, 1, phase=1.0, dtype="float32"), 0, 1)
SEED = np.array([3, 5])
NEAR: dict[str, Any] = {"rtol": 2e-5, "atol": 2e-6, "reason": "float32"}
EDGE: dict[str, Any] = {
    "rtol": 0,
    "atol": 5,
    "reason": "TensorFlow decodes the part alone: colours at its edges lack their neighbours",
}
LAST: dict[str, Any] = {"rtol": 0, "atol": 1, "reason": "Pillow mixes 8 bits of the 16"}


def png(pixels: Any, palette: Any = None, depth: int = 8) -> bytes:
    """A PNG file, line by line without filters."""
    height, width, channels = pixels.shape
    kind = 3 if palette is not None else {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    wide = pixels.astype(">u2" if depth == 16 else np.uint8)
    lines = b"".join(b"\0" + line.tobytes() for line in wide)

    def chunk(name: bytes, data: bytes) -> bytes:
        whole = name + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    colours = b"" if palette is None else chunk(b"PLTE", palette.tobytes())
    parts = [
        chunk(b"IHDR", head),
        colours,
        chunk(b"IDAT", zlib.compress(lines)),
        chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def bmp(pixels: Any) -> bytes:
    """A 24-bit BMP file, from the bottom row up."""
    height, width, _ = pixels.shape
    rows = b"".join(row[:, ::-1].tobytes() + b"\0" * (-width * 3 % 4) for row in pixels[::-1])
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(rows), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54) + head + rows


def files() -> list[Call]:
    found = []
    for count in (1, 2, 3, 4):
        data = png(bytes_of(5, 6, count, phase=count))
        found += [Call("image.decode_png", (data,), {"channels": n}) for n in (0, 1, 3, 4)]
        found.append(Call("image.decode_image", (data,), {"channels": 3}))
        found.append(Call("image.decode_png", (data,), {"dtype": "uint16"}))
    indexed = png(bytes_of(4, 4, 1) % 5, bytes_of(5, 3))
    deep = png((waves(4, 5, 1) * 16000 + 32768).astype(np.uint16), depth=16)
    deep3 = png((waves(4, 5, 3) * 16000 + 32768).astype(np.uint16), depth=16)
    for data in (indexed, deep, deep3):
        found += [Call("image.decode_png", (data,), {"channels": n}) for n in (0, 3, 4)]
    found += [Call("image.decode_png", (data,), {"channels": 1}) for data in (indexed, deep)]
    found.append(Call("image.decode_png", (deep3,), {"channels": 1}, **LAST))
    found.append(Call("image.decode_png", (deep,), {"dtype": "uint16"}))
    found.append(Call("image.decode_bmp", (bmp(bytes_of(3, 5, 3)),)))
    found.append(Call("image.decode_image", (bmp(bytes_of(3, 5, 3)),), {"dtype": "float32"}))
    for name in ("colours.jpg", "progressive.jpg", "grey.jpg"):
        data = (PICTURES / name).read_bytes()
        exact = {"dct_method": "INTEGER_ACCURATE"}
        found += [Call("image.decode_jpeg", (data,), {"channels": n, **exact}) for n in (0, 1, 3)]
        found += [Call("image.decode_jpeg", (data,), {"ratio": n, **exact}) for n in (2, 4, 8)]
        found += [
            Call("image.extract_jpeg_shape", (data,)),
            Call("image.is_jpeg", (data,)),
            Call("image.decode_and_crop_jpeg", (data, [2, 3, 9, 11]), exact, **EDGE),
        ]
    return [*found, Call("image.is_jpeg", (indexed,))]


def colours() -> list[Call]:
    spaces = ["rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb"]
    found = [Call(f"image.{name}", (X,), sources=(0,), **NEAR) for name in spaces]
    found += [Call("image.rgb_to_hsv", (X.astype("float64"),), sources=(0,))]
    found += [Call("image.hsv_to_rgb", (X,), **NEAR)]
    found += [Call("image.rgb_to_grayscale", (x,), **NEAR) for x in (X, B)]
    found += [Call("image.grayscale_to_rgb", (x,)) for x in (X[..., :1], B1)]
    for x in (X, B, X.astype("float16")):
        loose = NEAR if x.dtype != "float16" else {"rtol": 4e-3, "atol": 4e-3, "reason": "float16"}
        found += [
            Call("image.adjust_brightness", (x, 0.2), **loose),
            Call("image.adjust_gamma", (x, 2.0, 0.5), **loose),
            Call("image.per_image_standardization", (x,), **(loose if x is not B else NEAR)),
        ]
    for x in (X, B):
        found += [
            Call("image.adjust_contrast", (x, 1.7), **NEAR),
            Call("image.adjust_hue", (x, 0.3), **NEAR),
            Call("image.adjust_hue", (x, -0.4), **NEAR),
            Call("image.adjust_saturation", (x, 0.4), **NEAR),
            Call("image.adjust_saturation", (x, 3.0), **NEAR),
        ]
    types = ["uint8", "int8", "uint16", "int16", "int32", "float16", "float32", "float64"]
    for dtype in types:
        found += [Call("image.convert_image_dtype", (x, dtype), **NEAR) for x in (X[0], B[0])]
        found += [
            Call(
                "image.convert_image_dtype",
                (x * np.float32(1.4) - np.float32(0.2), dtype, True),
                **NEAR,
            )
            for x in (X[0],)
        ]
    return found


def chance() -> list[Call]:
    names = [("brightness", (0.3,)), ("contrast", (0.5, 1.5)), ("saturation", (0.5, 1.5))]
    names += [("hue", (0.3,))]
    found = [Call(f"image.stateless_random_{n}", (X, *a, SEED), **NEAR) for n, a in names]
    for n in ("flip_left_right", "flip_up_down"):
        found += [
            Call(f"image.stateless_random_{n}", (x, SEED + k)) for x in (X, X[0]) for k in (0, 1)
        ]
    found += [Call("image.stateless_random_crop", (B[0], [3, 4, 3], SEED + k)) for k in range(3)]
    return found


def comparisons() -> list[Call]:
    found = [
        Call("image.psnr", (X, Y, 1.0), sources=(0,), **NEAR),
        Call("image.psnr", (B, B[::-1], 255), **NEAR),
        Call("image.ssim", (WIDE, WIDER, 1.0), sources=(0,), **NEAR),
        Call(
            "image.ssim", (WIDE, WIDER, 1.0), {"return_index_map": True, "filter_size": 5}, **NEAR
        ),
        Call("image.total_variation", (X,), sources=(0,), **NEAR),
        Call("image.total_variation", (X[0],), **NEAR),
        Call("image.image_gradients", (X,), sources=(0,), **NEAR),
        Call("image.sobel_edges", (X,), sources=(0,), **NEAR),
    ]
    options = {"filter_size": 5, "power_factors": (0.3, 0.3, 0.4)}
    return [*found, Call("image.ssim_multiscale", (LARGE, LARGER, 1.0), options, **NEAR)]


def patches() -> list[Call]:
    found = []
    for padding in ("SAME", "VALID"):
        for size, stride, rate in ((2, 1, 1), (3, 2, 1), (2, 3, 2)):
            a, b, c = ([1, n, n, 1] for n in (size, stride, rate))
            sources = (0,) if stride == 1 or rate == 1 else ()
            found.append(
                Call("image.extract_patches", (X, a, b, c, padding), sources=sources, **NEAR)
            )
    x = waves(1, 4, 5, 4, 2, dtype="float32")
    for padding in ("SAME", "VALID"):
        args = (x, [1, 2, 3, 2, 1], [1, 1, 2, 1, 1], padding)
        found.append(Call("extract_volume_patches", args, sources=(0,), **NEAR))
    return found


def boxes() -> list[Call]:
    corners = np.sort((waves(2, 9, 1, 2, 2, dtype="float32") + 2) / 3.7, axis=3)
    rows = corners.reshape(2, 9, 1, 4)
    scores = (waves(2, 9, 3, phase=1.1, dtype="float32") + 2) / 4
    each = np.concatenate([rows, rows[:, ::-1], rows * 0.9], 2)
    found = [
        Call("image.combined_non_max_suppression", (b, scores, 4, total, 0.4, 0.2), options)
        for b in (rows, each)
        for total in (5, 20)
        for options in ({}, {"pad_per_class": True}, {"clip_boxes": False})
    ]
    overlaps = np.abs(waves(9, 9, dtype="float32")) / 2
    found.append(
        Call("image.non_max_suppression_overlaps", (overlaps, scores[0, :, 0], 5, 0.7, 0.1))
    )
    frames = rows[:, :, 0][:, :4] * 1.3 - 0.1
    frames = frames.astype("float32")
    found += [
        Call("image.draw_bounding_boxes", (x, frames, colors))
        for x in (X, X[..., :1])
        for colors in (None, waves(2, x.shape[3], dtype="float32"))
    ]
    found += [
        Call("image.resize_with_pad", (x, h, w), options, **NEAR)
        for x in (X, X[0], B[0])
        for h, w in ((9, 9), (4, 12), (13, 5))
        for options in ({}, {"method": "nearest"})
    ]
    return found


CALLS = [*files(), *colours(), *chance(), *comparisons(), *patches(), *boxes()]
