"""Pictures as files: PNG, JPEG, GIF, BMP and WebP, read and written by Pillow (extra `image`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import DType, as_dtype, float32, int32, int64, uint8, uint16
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute
from pinnace.ops.image import files, pixels
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr, typed
from pinnace.ops.registry import register, scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = [
    "adjust_jpeg_quality",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "is_jpeg",
]


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

    Source:
        TensorFlow op `DecodePng` (image_ops.cc).
    """
    return execute(DECODE_PNG, contents, channels=channels, dtype=as_dtype(dtype), name=name)  # type: ignore[no-any-return]


def decode_jpeg(
    contents: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The pixels of a JPEG file.

    Args:
        contents: [], string: the bytes of the file.
        channels: 0 as in the file, 1 grey, 3 RGB.
        ratio: 1, 2, 4 or 8: each side is divided by it.
        fancy_upscaling: True, which is how Pillow makes colours finer.
        try_recover_truncated: what is missing at the end is grey, and no error.
        acceptable_fraction: below 1 as `try_recover_truncated`.
        dct_method: kept for the graph; the exact integer method is used.
        name: name of the node while tracing.

    Returns:
        [height, width, channels], uint8. Decoders may differ by a few units, where TensorFlow was
        built with the quick method.

    Source:
        TensorFlow op `DecodeJpeg` (image_ops.cc).
    """
    return execute(  # type: ignore[no-any-return]
        DECODE_JPEG,
        contents,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=float(acceptable_fraction),
        dct_method=dct_method,
        name=name,
    )


def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A part of a JPEG file: `crop_window` is y, x, height, width; the rest as `decode_jpeg`.

    Source:
        TensorFlow op `DecodeAndCropJpeg` (image_ops.cc).
    """
    return execute(  # type: ignore[no-any-return]
        DECODE_AND_CROP_JPEG,
        contents,
        crop_window,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=float(acceptable_fraction),
        dct_method=dct_method,
        name=name,
    )


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """All pictures of a GIF file: [frames, height, width, 3], uint8.

    Source:
        TensorFlow op `DecodeGif` (image_ops.cc).
    """
    return execute(DECODE_GIF, contents, name=name)  # type: ignore[no-any-return]


def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP file: [height, width, channels], uint8; 0 channels are the file's.

    Source:
        TensorFlow op `DecodeBmp` (image_ops.cc).
    """
    return execute(DECODE_BMP, contents, channels=channels, name=name)  # type: ignore[no-any-return]


def decode_webp(
    contents: TensorLike, channels: int = 0, dtype: Any = uint8, name: str | None = None
) -> Tensor:
    """The pixels of a WebP file: [frames, height, width, channels], uint8.

    Source:
        TensorFlow op `DecodeWebP` (image_ops.cc).
    """
    return execute(DECODE_WEBP, contents, channels=channels, dtype=as_dtype(dtype), name=name)  # type: ignore[no-any-return]


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

    Source:
        TensorFlow op `DecodeImage` (image_ops.cc).
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


def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """A PNG file.

    Args:
        image: [height, width, 1 to 4 channels], uint8; uint16 if grey.
        compression: 0 quick to 9 small, -1 in between.
        name: name of the node while tracing.

    Returns:
        [], string.

    Source:
        TensorFlow op `EncodePng` (image_ops.cc).
    """
    return execute(ENCODE_PNG, convert_to_tensor(image), compression=compression, name=name)  # type: ignore[no-any-return]


def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """A JPEG file.

    Args:
        image: [height, width, channels], uint8.
        format: "" as the channels are, "grayscale" for 1, "rgb" for 3.
        quality: 0 to 100.
        progressive: coarse first, then finer.
        optimize_size: smaller, more slowly.
        chroma_downsampling: colours in half the resolution.
        density_unit: "in" or "cm", of the following.
        x_density: pixels per unit.
        y_density: pixels per unit.
        xmp_metadata: put into the file if not empty.
        name: name of the node while tracing.

    Returns:
        [], string.

    Source:
        TensorFlow op `EncodeJpeg` (image_ops.cc).
    """
    return execute(  # type: ignore[no-any-return]
        ENCODE_JPEG,
        image,
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )


def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, dct_method: str = "", name: str | None = None
) -> Tensor:
    """`image` [height, width, 1 or 3] as it looks after JPEG of that quality, 0 to 100."""
    x = convert_to_tensor(image)
    coded = execute(
        ENCODE_JPEG_VARIABLE_QUALITY,
        pixels.convert_image_dtype(x, uint8, saturate=True),
        convert_to_tensor(jpeg_quality, int32),
    )
    channels = (x.shape[-1] or 0) if x.shape.rank else 0
    decoded = decode_jpeg(coded, channels=channels, dct_method=dct_method)
    return pixels.convert_image_dtype(decoded, x.dtype, saturate=True, name=name)


def extract_jpeg_shape(
    contents: TensorLike, output_type: Any = int32, name: str | None = None
) -> Tensor:
    """[3]: height, width and channels of a JPEG file, from its head alone.

    Source:
        TensorFlow op `ExtractJpegShape` (image_ops.cc).
    """
    return execute(EXTRACT_JPEG_SHAPE, contents, output_type=as_dtype(output_type), name=name)  # type: ignore[no-any-return]


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Whether the bytes begin as a JPEG file does: [], bool."""
    from pinnace.ops.math import comparison
    from pinnace.ops.strings import conversion

    return comparison.equal(conversion.substr(contents, 0, 3), b"\xff\xd8\xff", name)


# Kernels and shapes.


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


def _infer_frames(call: InferCall) -> Shape:
    if call.spec(0).shape.rank not in (None, 0):
        call.fail("contents must be a scalar: the bytes of one file")
    return Shape([None, None, None, 3])


def _infer_sizes(call: InferCall) -> Shape:
    if call.spec(0).shape.rank not in (None, 0):
        call.fail("contents must be a scalar: the bytes of one file")
    return Shape([3])


def _infer_file(call: InferCall) -> Shape:
    if call.spec(0).shape.rank not in (None, 3):
        call.fail("the picture must have 3 axes: height, width, channels")
    return Shape(())


_CHANNELS: Mapping[str, tuple[int, ...]] = {
    "DecodePng": (0, 1, 3, 4),
    "DecodeJpeg": (0, 1, 3, 4),  # 4 of a PNG file
    "DecodeAndCropJpeg": (0, 1, 3),
    "DecodeBmp": (0, 3, 4),
    "DecodeWebP": (0, 3, 4),
    "DecodeImage": (0, 1, 3, 4),
}


# TensorFlow's ops refuse the other kinds too, or give them another rank than they tell.
_KINDS: Mapping[str, tuple[str, ...]] = {
    "DecodePng": ("PNG", "JPEG", "GIF"),
    "DecodeJpeg": ("JPEG", "PNG", "GIF"),
    "DecodeAndCropJpeg": ("JPEG",),
    "DecodeGif": ("GIF", "PNG", "JPEG"),
    "DecodeBmp": ("BMP",),
    "DecodeWebP": ("WEBP",),
    "DecodeImage": ("PNG", "JPEG", "GIF", "BMP", "WEBP"),
}


def _decode_png_kernel(contents: Array, *, channels: int, dtype: DType) -> Array:
    kinds = _KINDS["DecodePng"]
    frames = files.read("DecodePng", contents, kinds, channels, dtype.numpy, still=True)
    return frames[0]  # type: ignore[no-any-return]


def _decode_bmp_kernel(contents: Array, *, channels: int) -> Array:
    return files.read("DecodeBmp", contents, _KINDS["DecodeBmp"], channels, uint8.numpy)[0]  # type: ignore[no-any-return]


def _decode_webp_kernel(contents: Array, *, channels: int, dtype: DType) -> Array:
    return files.read("DecodeWebP", contents, _KINDS["DecodeWebP"], channels, dtype.numpy)


def _decode_gif_kernel(contents: Array) -> Array:
    return files.read("DecodeGif", contents, _KINDS["DecodeGif"], 3, uint8.numpy)


def _decode_image_kernel(
    contents: Array, *, channels: int, dtype: DType, expand_animations: bool
) -> Array:
    kind = files.kind_of(contents)
    if kind == "WEBP" and dtype is not uint8:
        message = f"DecodeImage: a WebP file has 8 bits, dtype must be uint8, got {dtype.name}"
        raise InvalidArgumentError(message)
    # TensorFlow reads the PNG file of a picture in float32 with 16 bits.
    deep = dtype is uint16 or (dtype is float32 and kind == "PNG")
    whole = uint16.numpy if deep else uint8.numpy
    found = files.read(
        "DecodeImage", contents, _KINDS["DecodeImage"], channels, whole, first=not expand_animations
    )
    moving = kind in {"GIF", "WEBP"} and expand_animations
    found = found if moving else found[0]
    if dtype is not float32:
        return found
    return found * (1 / float32.numpy.type(np.iinfo(whole).max))  # type: ignore[no-any-return]


def _jpeg(
    op: str, contents: Array, channels: int, ratio: int, fancy: bool, recover: bool, least: float
) -> Array:
    return files.read_jpeg(
        op, contents, _KINDS[op], channels, ratio, fancy=fancy, recover=recover or least < 1
    )


def _decode_jpeg_kernel(
    contents: Array,
    *,
    channels: int,
    ratio: int,
    fancy_upscaling: bool,
    try_recover_truncated: bool,
    acceptable_fraction: float,
) -> Array:
    return _jpeg(
        "DecodeJpeg",
        contents,
        channels,
        ratio,
        fancy_upscaling,
        try_recover_truncated,
        acceptable_fraction,
    )


def _crop_jpeg_kernel(
    contents: Array,
    crop_window: Array,
    *,
    channels: int,
    ratio: int,
    fancy_upscaling: bool,
    try_recover_truncated: bool,
    acceptable_fraction: float,
) -> Array:
    whole = _jpeg(
        "DecodeAndCropJpeg",
        contents,
        channels,
        ratio,
        fancy_upscaling,
        try_recover_truncated,
        acceptable_fraction,
    )
    return files.part("DecodeAndCropJpeg", whole, crop_window.tolist())


def _encode_png_kernel(image: Array, *, compression: int) -> Array:
    return files.write_png(image, compression)


def _encode_jpeg_kernel(
    image: Array,
    *,
    format: str,
    quality: int,
    progressive: bool,
    optimize_size: bool,
    chroma_downsampling: bool,
    density_unit: str,
    x_density: int,
    y_density: int,
    xmp_metadata: str,
) -> Array:
    per_inch = 2.54 if density_unit == "cm" else 1
    return files.write_jpeg(
        "EncodeJpeg",
        image,
        quality,
        channels={"": None, "grayscale": 1, "rgb": 3}[format],
        progressive=progressive,
        optimize=optimize_size,
        subsampling=2 if chroma_downsampling else 0,
        dpi=(round(x_density * per_inch), round(y_density * per_inch)),
        xmp=xmp_metadata.encode() if isinstance(xmp_metadata, str) else xmp_metadata,
    )


def _encode_any_kernel(images: Array, quality: Array) -> Array:
    return files.write_jpeg("EncodeJpegVariableQuality", images, int(quality))


def _shape_kernel(contents: Array, *, output_type: DType) -> Array:
    return files.jpeg_shape("ExtractJpegShape", contents).astype(output_type.numpy)


def _decoder(
    name: str,
    kernel: Callable[..., Array],
    infer: Callable[[InferCall], Shape] = _infer_picture,
    *,
    inputs: str = "contents: string",
    types: Any = None,
    attrs: Any = None,
) -> OpDef:
    return register(
        OpDef(
            name=name,
            signature=f"{inputs} -> image: {'dtype' if types else 'uint8'}",
            types=types or {},
            attrs=attrs or {},
            infer=infer,
            kernel=kernel,
            gradient=NOT_DIFFERENTIABLE,
        )
    )


_COUNT = {"channels": attr("int", default=0)}
_HOW = {
    **_COUNT,
    "ratio": attr("int", default=1),
    "fancy_upscaling": attr("bool", default=True),
    "try_recover_truncated": attr("bool", default=False),
    "acceptable_fraction": attr("float", default=1.0),
    "dct_method": attr("string", default=""),
}
_PNG_TYPES = {"dtype": typed({uint8, uint16}, default=uint8)}
DECODE_PNG = _decoder("DecodePng", _decode_png_kernel, types=_PNG_TYPES, attrs=_COUNT)
DECODE_BMP = _decoder("DecodeBmp", _decode_bmp_kernel, attrs=_COUNT)
DECODE_GIF = _decoder("DecodeGif", _decode_gif_kernel, _infer_frames)
DECODE_WEBP = _decoder(
    "DecodeWebP", _decode_webp_kernel, types={"dtype": typed({uint8}, default=uint8)}, attrs=_COUNT
)
DECODE_IMAGE = _decoder(
    "DecodeImage",
    _decode_image_kernel,
    types={"dtype": typed({uint8, uint16, float32}, default=uint8)},
    attrs={**_COUNT, "expand_animations": attr("bool", default=True)},
)
DECODE_JPEG = _decoder("DecodeJpeg", _decode_jpeg_kernel, attrs=_HOW)
DECODE_AND_CROP_JPEG = _decoder(
    "DecodeAndCropJpeg",
    _crop_jpeg_kernel,
    inputs="contents: string, crop_window: int32",
    attrs=_HOW,
)
ENCODE_PNG = register(
    OpDef(
        name="EncodePng",
        signature="image: T -> contents: string",
        types={"T": _PNG_TYPES["dtype"]},
        attrs={"compression": attr("int", default=-1)},
        infer=_infer_file,
        kernel=_encode_png_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
ENCODE_JPEG = register(
    OpDef(
        name="EncodeJpeg",
        signature="image: uint8 -> contents: string",
        attrs={
            "format": attr("string", default="", allowed=("", "grayscale", "rgb")),
            "quality": attr("int", default=95),
            "progressive": attr("bool", default=False),
            "optimize_size": attr("bool", default=False),
            "chroma_downsampling": attr("bool", default=True),
            "density_unit": attr("string", default="in", allowed=("in", "cm")),
            "x_density": attr("int", default=300),
            "y_density": attr("int", default=300),
            "xmp_metadata": attr("string", default=""),
        },
        infer=_infer_file,
        kernel=_encode_jpeg_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
ENCODE_JPEG_VARIABLE_QUALITY = register(
    OpDef(
        name="EncodeJpegVariableQuality",
        signature="images: uint8, quality: int32 -> contents: string",
        infer=scalar,
        kernel=_encode_any_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
EXTRACT_JPEG_SHAPE = register(
    OpDef(
        name="ExtractJpegShape",
        signature="contents: string -> image_shape: output_type",
        types={"output_type": typed({int32, int64}, default=int32)},
        infer=_infer_sizes,
        kernel=_shape_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
