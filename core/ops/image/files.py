"""Conversion between arrays and image files by Pillow, which is imported on first use."""

from __future__ import annotations

import importlib
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.extras import install_command
from pinnace.ops.image import bitmaps
from pinnace.ops.memory import claim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

# TensorFlow refuses larger images; a small file may claim any size.
_MOST = 1 << 29
_PILLOW = 4  # bytes of a pixel of most modes
_STARTS = ((b"\x89PNG", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF8", "GIF"), (b"BM", "BMP"))
_CHANNELS = {"PNG": (0, 1, 3, 4), "JPEG": (0, 1, 3), "GIF": (0, 3), "BMP": (0, 3, 4)}
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
# Luma in 15 bits as in libpng: 0.299 red and 0.587 green truncated, blue the rest.
_PNG_GREY = np.array([9797, 19234, 3737])


def kind_of(contents: Array) -> str:
    """The format of a file by its first bytes; "" if it is unknown."""
    data = bytes(contents.item() if isinstance(contents, np.ndarray) else contents)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    return next((kind for start, kind in _STARTS if data.startswith(start)), "")


def read(
    op: str,
    contents: Array,
    kinds: Sequence[str],
    channels: int,
    dtype: np.dtype[Any],
    *,
    first: bool = False,
    still: bool = False,
) -> Array:
    """All frames of a file, or the first: [frames, height, width, channels].

    Args:
        op: who asks, for errors.
        contents: the bytes of the file.
        kinds: the kinds of files that it may be.
        channels: how many, 0 for those of the file.
        dtype: uint8 or uint16.
        first: only the first picture.
        still: whether an animation is an error.

    Raises:
        InvalidArgumentError: the file is broken, too large, of another kind, or a kind that has
            not these channels.
        UnimplementedError: Pillow is missing, or it cannot.
    """
    kind = _checked_kind(op, contents, kinds, channels)
    if kind == "JPEG":
        still_picture = read_jpeg(op, contents, kinds, channels, 1)[None].astype(dtype)
        return still_picture * _widening(kind, dtype)  # type: ignore[no-any-return]
    if kind == "BMP":
        pixels = bitmaps.read(op, contents.item(), channels, _MOST)
        return pixels[None].astype(dtype) * _widening(kind, dtype)  # type: ignore[no-any-return]
    frames = []
    with _opened(op, contents, kind) as image:
        count = 1 if first else getattr(image, "n_frames", 1)
        if count > 1 and still:
            raise InvalidArgumentError(
                f"{op}: an animation of {count} frames needs DecodeGif or DecodeImage"
            )
        _check_size(op, image, max(count, 1))
        for frame in range(count):
            try:
                image.seek(frame)
                frames.append(_pixels(op, image, channels, dtype))
            except (OSError, SyntaxError, ValueError, EOFError) as error:
                raise _broken(op, kind, error) from None
    return np.stack(frames)


def _checked_kind(op: str, contents: Array, kinds: Sequence[str], channels: int) -> str:
    """The format of the file, which must be one of these and have as many channels."""
    kind = kind_of(contents)
    if kind not in kinds:
        found = f"they are a {kind} file, for another op" if kind else "they are none"
        raise InvalidArgumentError(
            f"{op}: contents must be a {' or '.join(kinds)} file: {found}; they begin with "
            f"{_start(contents)!r}"
        )
    allowed = _CHANNELS.get(kind, (0, 3, 4))
    if channels not in allowed:
        raise InvalidArgumentError(
            f"{op}: channels of a {kind} file must be in {allowed}, got {channels}"
        )
    return kind


def read_jpeg(
    op: str,
    contents: Array,
    kinds: Sequence[str],
    channels: int,
    ratio: int,
    *,
    fancy: bool = True,
    recover: bool = False,
) -> Array:
    """The pixels of a JPEG file, or of another still image: uint8 [height, width, channels]."""
    if _checked_kind(op, contents, kinds, channels) != "JPEG":
        return read(op, contents, kinds, channels, np.dtype(np.uint8), still=True)[0]  # type: ignore[no-any-return]
    if ratio not in (1, 2, 4, 8):
        raise InvalidArgumentError(f"{op}: ratio must be 1, 2, 4 or 8, got {ratio}")
    if not fancy:
        raise UnimplementedError(
            f"{op}: fancy_upscaling=False is not implemented: Pillow has no such choice"
        )
    data = contents.item() + (b"\xff\xd9" if recover else b"")
    with _opened(op, data, "JPEG") as image:
        _check_size(op, image, 1)
        wanted = channels or (1 if image.mode == "L" else 3)
        width, height = image.size
        size = (max(1, width // ratio), max(1, height // ratio))
        # The decoder itself extracts the luminance, and decodes at reduced size from fewer
        # coefficients.
        image.draft("L" if wanted == 1 else "RGB", size if ratio > 1 else image.size)
        small = (-(-width // ratio), -(-height // ratio))
        if image.size != small:
            raise UnimplementedError(
                f"{op}: ratio {ratio} is too much for a picture of {width} by {height}"
            )
        try:
            if image.mode == "CMYK":
                return _from_cmyk(np.asarray(image), wanted)
            image = image.convert(_MODES[wanted])
            return np.asarray(image).reshape(*small[::-1], wanted)
        except (OSError, SyntaxError, ValueError) as error:
            raise _broken(op, "JPEG", error) from None


def jpeg_shape(op: str, contents: Array) -> Array:
    """[height, width, channels] of a JPEG file."""
    with _opened(op, contents, "JPEG") as image:
        width, height = image.size
        return np.array([height, width, len(image.getbands())])


def part(op: str, image: Array, window: Sequence[int]) -> Array:
    """The window y, x, height, width of a picture.

    Raises:
        InvalidArgumentError: the window is not inside of the picture.
    """
    if len(window) != 4:
        raise InvalidArgumentError(
            f"{op}: crop_window must be y, x, height, width, got {list(window)}"
        )
    y, x, height, width = window
    inside = y >= 0 and x >= 0 and height > 0 and width > 0
    if not (inside and y + height <= image.shape[0] and x + width <= image.shape[1]):
        raise InvalidArgumentError(
            f"{op}: crop_window (y, x, height, width) must be inside of the picture of "
            f"{image.shape[0]} by {image.shape[1]}, got {list(window)}"
        )
    return image[y : y + height, x : x + width]


def write_png(image: Array, compression: int) -> Array:
    """The bytes of a PNG file.

    Raises:
        InvalidArgumentError: shapes or levels that PNG has not.
        UnimplementedError: 16 bits in colours.
    """
    if image.ndim != 3 or image.shape[2] not in _MODES or 0 in image.shape:
        raise InvalidArgumentError(
            "EncodePng: image must be [height, width, channels] with 1 to 4 channels, got "
            f"{list(image.shape)}"
        )
    if not -1 <= compression <= 9:
        raise InvalidArgumentError(
            f"EncodePng: compression must be from -1 to 9, got {compression}"
        )
    if image.dtype == np.uint16 and image.shape[2] != 1:
        raise UnimplementedError(
            "EncodePng: 16 bits need a picture in grey: Pillow writes colours in 8"
        )
    flat = np.ascontiguousarray(image[..., 0] if image.shape[2] == 1 else image)
    picture = _pillow("EncodePng").fromarray(flat)
    return _written(picture, "PNG", **({} if compression < 0 else {"compress_level": compression}))


def write_jpeg(
    op: str,
    image: Array,
    quality: int,
    *,
    channels: int | None = None,
    progressive: bool = False,
    optimize: bool = False,
    subsampling: int = 2,
    dpi: tuple[int, int] = (300, 300),
    xmp: bytes = b"",
) -> Array:
    """The bytes of a JPEG file.

    Raises:
        InvalidArgumentError: shapes or qualities that JPEG has not.
    """
    wanted = (1, 3) if channels is None else (channels,)
    if image.ndim != 3 or image.shape[2] not in wanted or 0 in image.shape:
        raise InvalidArgumentError(
            f"{op}: the picture must be [height, width, channels] with "
            f"{' or '.join(map(str, wanted))} channels, got {list(image.shape)}"
        )
    if not 0 <= quality <= 100:
        raise InvalidArgumentError(f"{op}: quality must be from 0 to 100, got {quality}")
    flat = np.ascontiguousarray(image[..., 0] if image.shape[2] == 1 else image)
    # Pillow reads 0 as its default; libjpeg treats 0 like 1.
    options = {"quality": max(quality, 1), "progressive": progressive, "optimize": optimize}
    more = {"subsampling": subsampling, "dpi": dpi, **({"xmp": xmp} if xmp else {})}
    return _written(_pillow(op).fromarray(flat), "JPEG", **options, **more)


def _written(picture: Any, kind: str, **options: Any) -> Array:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    out = np.empty((), object)
    out[()] = buffer.getvalue()
    return out


def _pillow(op: str) -> Any:
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        raise UnimplementedError(
            f"{op}: picture files need Pillow\n  Try: {install_command('image')}"
        ) from None


def _opened(op: str, contents: Any, kind: str) -> Any:
    data = contents if isinstance(contents, bytes) else contents.item()
    pillow = _pillow(op)
    try:
        return pillow.open(io.BytesIO(data), formats=[kind])
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as error:
        raise _broken(op, kind, error) from None


def _broken(op: str, kind: str, error: Exception) -> InvalidArgumentError:
    return InvalidArgumentError(f"{op}: contents are no {kind} file that can be read: {error}")


def _start(contents: Array) -> bytes:
    return bytes(contents.item()[:8])


def _check_size(op: str, image: Any, frames: int) -> None:
    width, height = image.size
    if width * height * len(image.getbands()) * frames >= _MOST:
        raise InvalidArgumentError(f"{op}: a picture of {width} by {height} is too large")
    # Account for Pillow's memory in advance: the decoded image and the array.
    claim(width * height * (_PILLOW + len(image.getbands()) * frames))


def _widening(kind: str, dtype: np.dtype[Any]) -> Any:
    """Conversion from 8 to 16 bits: 255 becomes 65535 for PNG files, 65280 for others."""
    return dtype.type(1 if dtype == np.uint8 else 257 if kind == "PNG" else 256)


def _pixels(op: str, image: Any, channels: int, dtype: np.dtype[Any]) -> Array:
    """[height, width, channels] of the current frame of `image`."""
    if image.mode.startswith("I"):
        grey = np.asarray(image).astype(np.uint16)
        if dtype == np.uint8:
            grey = (grey >> 8).astype(np.uint8)
        return _spread(grey[..., None], channels or 1)
    if dtype == np.uint16 and _is_deep(image):
        raise UnimplementedError(
            f"{op}: 16 bits of a picture in colours: Pillow reads 8 of them; ask for uint8"
        )
    own = _own_mode(image)
    found = np.asarray(image.convert(own) if image.mode != own else image)
    found = found.reshape(*found.shape[:2], -1)
    if image.format == "WEBP" and channels not in (0, found.shape[2]):
        raise InvalidArgumentError(
            f"{op}: this WebP file has {found.shape[2]} channels, got channels={channels}"
        )
    return _spread(found, channels or found.shape[2]).astype(dtype) * _widening(image.format, dtype)  # type: ignore[no-any-return]


def _is_deep(image: Any) -> bool:
    """Whether a PNG file has 16 bits per channel, by the name of Pillow's raw mode."""
    return any("16" in str(tile[3]) for tile in getattr(image, "tile", ()))


def _own_mode(image: Any) -> str:
    if image.mode in ("1", "L"):
        return "LA" if image.mode == "L" and "transparency" in image.info else "L"
    if image.mode == "P":
        return "RGBA" if "transparency" in image.info and image.format == "PNG" else "RGB"
    if image.mode == "RGB" and "transparency" in image.info and image.format == "PNG":
        return "RGBA"
    return image.mode if image.mode in ("LA", "RGB", "RGBA") else "RGB"


def _spread(pixels: Array, channels: int) -> Array:
    """Pixels with another number of channels; new alpha is opaque."""
    count = pixels.shape[2]
    if count == channels:
        return pixels
    has_alpha = count in (2, 4)
    colours, alpha = (pixels[..., :-1], pixels[..., -1:]) if has_alpha else (pixels, None)
    if channels >= 3 and colours.shape[2] == 1:
        colours = np.repeat(colours, 3, 2)
    elif channels <= 2 and colours.shape[2] == 3:
        grey = (colours.astype(np.int64) @ _PNG_GREY) >> 15
        colours = grey.astype(pixels.dtype)[..., None]
    if channels in (1, 3):
        return colours
    if alpha is None:
        alpha = np.full((*pixels.shape[:2], 1), np.iinfo(pixels.dtype).max, pixels.dtype)
    return np.concatenate([colours, alpha], 2)


def _from_cmyk(ink: Array, channels: int) -> Array:
    light = 255 - ink.astype(np.int32)
    colours = (light[..., :3] * light[..., 3:] // 255).astype(np.uint8)
    return _spread(colours, channels)
