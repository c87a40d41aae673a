"""Image files: PNG, JPEG, GIF, BMP and WebP, read and written by Pillow (extra `image`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import DType, as_dtype, float32, uint8, uint16
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.image import files, pixels
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["decode_bmp", "decode_gif", "decode_image", "decode_png", "decode_webp", "encode_png"]

_CHANNELS: Mapping[str, tuple[int, ...]] = {
    "DecodePng": (0, 1, 3, 4),
    "DecodeJpeg": (0, 1, 3, 4),  # 4 for a PNG file
    "DecodeAndCropJpeg": (0, 1, 3),
    "DecodeBmp": (0, 3, 4),
    "DecodeWebP": (0, 3, 4),
    "DecodeImage": (0, 1, 3, 4),
}

_PNG_TYPES = {"dtype": typed({uint8, uint16}, default=uint8)}


def _infer_picture(call: InferCall) -> Shape:
    if call.spec(0).shape.rank not in (None, 0):
        call.fail("contents must be a scalar: the bytes of one file")
    channels = call.attrs.get("channels", 0)
    allowed = _CHANNELS[call.op.name]
    if channels not in allowed:
        call.fail(f"channels must be one of {', '.join(map(str, allowed))}, got {channels}")
    if call.op.name == "DecodeImage" and call.attrs["expand_animations"]:
        return Shape(None)
    sizes: list[int | None] = [None, None, channels or None]
    window = call.constant(1) if call.op.name == "DecodeAndCropJpeg" else None
    if window is not None and window.shape == (4,):
        sizes[:2] = [int(n) for n in window[2:]]
    return Shape([None, *sizes] if call.op.name == "DecodeWebP" else sizes)


def decode_png(
    contents: TensorLike, channels: int = 0, dtype: Any = uint8, name: str | None = None
) -> Tensor:
    """The pixels of a PNG file.

    Args:
        contents: [], string: the bytes of the file.
        channels: 0 as in the file, 1 grey, 3 RGB, 4 RGB and alpha.
        dtype: uint8 or uint16.
        name: name of the node while tracing.

    Returns:
        [height, width, channels], `dtype`.

    Raises:
        InvalidArgumentError: the bytes are no picture.
        UnimplementedError: Pillow is not there, or cannot keep 16 bits of a picture in colours.
    """
    return execute_one(DECODE_PNG, contents, channels=channels, dtype=as_dtype(dtype), name=name)


def _decode_png_kernel(contents: Array, *, channels: int, dtype: DType) -> Array:
    kinds = KINDS["DecodePng"]
    frames = files.read("DecodePng", contents, kinds, channels, dtype.numpy, still=True)
    return frames[0]  # type: ignore[no-any-return]


def decoder(
    name: str,
    kernel: Callable[..., Array],
    infer: Callable[[InferCall], Shape] = _infer_picture,
    *,
    inputs: str = "contents: string",
    types: Any = None,
    attrs: Any = None,
) -> OpDef:
    return define(
        name=name,
        signature=f"{inputs} -> image: {'dtype' if types else 'uint8'}",
        types=types or {},
        attrs=attrs or {},
        infer=infer,
        kernel=kernel,
        gradient=NOT_DIFFERENTIABLE,
    )


COUNT = {"channels": attr("int", default=0)}


DECODE_PNG = decoder("DecodePng", _decode_png_kernel, types=_PNG_TYPES, attrs=COUNT)


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """All frames of a GIF file: [frames, height, width, 3], uint8.

    Args:
        contents: [], string: the bytes of a file.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the bytes are no GIF.
    """
    return execute_one(DECODE_GIF, contents, name=name)


def _infer_frames(call: InferCall) -> Shape:
    if call.spec(0).shape.rank not in (None, 0):
        call.fail("contents must be a scalar: the bytes of one file")
    return Shape([None, None, None, 3])


def _decode_gif_kernel(contents: Array) -> Array:
    return files.read("DecodeGif", contents, KINDS["DecodeGif"], 3, uint8.numpy)


DECODE_GIF = decoder("DecodeGif", _decode_gif_kernel, _infer_frames)


def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP file: [height, width, channels], uint8; 0 channels are the file's.

    Args:
        contents: [], string: the bytes of a file.
        channels: 0, 3 or 4; must be what the file has, unless 0.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the bytes are no BMP, or one with another number of channels.
    """
    return execute_one(DECODE_BMP, contents, channels=channels, name=name)


def _decode_bmp_kernel(contents: Array, *, channels: int) -> Array:
    return files.read("DecodeBmp", contents, KINDS["DecodeBmp"], channels, uint8.numpy)[0]  # type: ignore[no-any-return]


DECODE_BMP = decoder("DecodeBmp", _decode_bmp_kernel, attrs=COUNT)


def decode_webp(
    contents: TensorLike, channels: int = 0, dtype: Any = uint8, name: str | None = None
) -> Tensor:
    """The pixels of a WebP file: [frames, height, width, channels], uint8.

    Args:
        contents: [], string: the bytes of a file.
        channels: 0, 3 or 4; 0 is the file's.
        dtype: uint8.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the bytes are no WebP.
    """
    return execute_one(DECODE_WEBP, contents, channels=channels, dtype=as_dtype(dtype), name=name)


def _decode_webp_kernel(contents: Array, *, channels: int, dtype: DType) -> Array:
    return files.read("DecodeWebP", contents, KINDS["DecodeWebP"], channels, dtype.numpy)


DECODE_WEBP = decoder(
    "DecodeWebP", _decode_webp_kernel, types={"dtype": typed({uint8}, default=uint8)}, attrs=COUNT
)


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: Any = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of a file of any of these kinds, which its first bytes tell.

    Args:
        contents: [], string: the bytes of the file.
        channels: None or 0 as in the file, 1 grey, 3 RGB, 4 RGB and alpha.
        dtype: uint8, uint16 or float32 (from 0 to 1); others by `convert_image_dtype`. 8 bits are
            made 16 by 257 in a PNG file, by 256 in others.
        name: name of the node while tracing.
        expand_animations: False takes the first picture of an animation.

    Returns:
        [height, width, channels]; of an animation [frames, height, width, channels].
    """
    kind = as_dtype(dtype)
    decoded = kind if kind in {uint8, uint16, float32} else uint16
    image = execute(
        DECODE_IMAGE,
        contents,
        channels=channels or 0,
        dtype=decoded,
        expand_animations=expand_animations,
        name=name,
    )
    return image if decoded is kind else pixels.convert_image_dtype(image, kind)


def _decode_image_kernel(
    contents: Array, *, channels: int, dtype: DType, expand_animations: bool
) -> Array:
    kind = files.kind_of(contents)
    if kind == "WEBP" and dtype is not uint8:
        raise InvalidArgumentError(
            f"DecodeImage: a WebP file has 8 bits, dtype must be uint8, got {dtype.name}"
        )
    # TensorFlow reads the PNG file of a picture in float32 with 16 bits.
    deep = dtype is uint16 or (dtype is float32 and kind == "PNG")
    whole = uint16.numpy if deep else uint8.numpy
    found = files.read(
        "DecodeImage", contents, KINDS["DecodeImage"], channels, whole, first=not expand_animations
    )
    moving = kind in {"GIF", "WEBP"} and expand_animations
    found = found if moving else found[0]
    if dtype is not float32:
        return found
    return found * (1 / float32.numpy.type(np.iinfo(whole).max))  # type: ignore[no-any-return]


DECODE_IMAGE = decoder(
    "DecodeImage",
    _decode_image_kernel,
    types={"dtype": typed({uint8, uint16, float32}, default=uint8)},
    attrs={**COUNT, "expand_animations": attr("bool", default=True)},
)


def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """A PNG file.

    Args:
        image: [height, width, 1 to 4 channels], uint8; uint16 if grey.
        compression: 0 quick to 9 small, -1 in between.
        name: name of the node while tracing.

    Returns:
        [], string.
    """
    return execute_one(ENCODE_PNG, convert_to_tensor(image), compression=compression, name=name)


def infer_file(call: InferCall) -> Shape:
    if call.spec(0).shape.rank not in (None, 3):
        call.fail("the picture must have 3 axes: height, width, channels")
    return Shape(())


def _encode_png_kernel(image: Array, *, compression: int) -> Array:
    return files.write_png(image, compression)


ENCODE_PNG = define(
    name="EncodePng",
    signature="image: T -> contents: string",
    types={"T": _PNG_TYPES["dtype"]},
    attrs={"compression": attr("int", default=-1)},
    infer=infer_file,
    kernel=_encode_png_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


# TensorFlow's ops refuse other formats, or return another rank than they declare.
KINDS: Mapping[str, tuple[str, ...]] = {
    "DecodePng": ("PNG", "JPEG", "GIF"),
    "DecodeJpeg": ("JPEG", "PNG", "GIF"),
    "DecodeAndCropJpeg": ("JPEG",),
    "DecodeGif": ("GIF", "PNG", "JPEG"),
    "DecodeBmp": ("BMP",),
    "DecodeWebP": ("WEBP",),
    "DecodeImage": ("PNG", "JPEG", "GIF", "BMP", "WEBP"),
}
