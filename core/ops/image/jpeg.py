"""JPEG files, decoded as a whole or cropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import DType, as_dtype, int32, int64, uint8
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.image import files, pixels
from pinnace.ops.image.codecs import COUNT, KINDS, decoder, infer_file
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr, typed
from pinnace.ops.registry import define, scalar

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = [
    "adjust_jpeg_quality",
    "decode_and_crop_jpeg",
    "decode_jpeg",
    "encode_jpeg",
    "extract_jpeg_shape",
    "is_jpeg",
]


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
        try_recover_truncated: a missing end becomes grey instead of an error.
        acceptable_fraction: below 1 as `try_recover_truncated`.
        dct_method: kept for the graph; the exact integer method is used.
        name: name of the node while tracing.

    Returns:
        [height, width, channels], uint8. Decoders may differ by a few units, where TensorFlow was
        built with the quick method.
    """
    return execute_one(
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

    Args:
        contents: [], string: the bytes of a file.
        crop_window: [4], int32: y, x, height, width in pixels.
        channels: 0, 1 or 3; 0 is the file's.
        ratio: 1, 2, 4 or 8: by how much the picture is reduced.
        fancy_upscaling: interpolate colour planes of lower resolution.
        try_recover_truncated: fill up a file that ends too early.
        acceptable_fraction: least share of lines such a file must have.
        dct_method: "", "INTEGER_FAST" or "INTEGER_ACCURATE".
        name: name of the node while tracing.

    Returns:
        [height, width, channels], uint8.

    Raises:
        InvalidArgumentError: the bytes are no JPEG, or the window is not inside of the picture.
    """
    return execute_one(
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
    """
    return execute_one(
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


ENCODE_JPEG = define(
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
    infer=infer_file,
    kernel=_encode_jpeg_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _jpeg(
    op: str, contents: Array, channels: int, ratio: int, fancy: bool, recover: bool, least: float
) -> Array:
    return files.read_jpeg(
        op, contents, KINDS[op], channels, ratio, fancy=fancy, recover=recover or least < 1
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


_HOW = {
    **COUNT,
    "ratio": attr("int", default=1),
    "fancy_upscaling": attr("bool", default=True),
    "try_recover_truncated": attr("bool", default=False),
    "acceptable_fraction": attr("float", default=1.0),
    "dct_method": attr("string", default=""),
}


def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, dct_method: str = "", name: str | None = None
) -> Tensor:
    """`image` [height, width, 1 or 3] after JPEG compression at a quality of 0 to 100.

    Args:
        image: [height, width, 1 or 3], uint8, or a float type in [0, 1].
        jpeg_quality: [], int32.
        dct_method: as for `decode_jpeg`.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `image`.
    """
    x = convert_to_tensor(image)
    coded = execute(
        ENCODE_JPEG_VARIABLE_QUALITY,
        pixels.convert_image_dtype(x, uint8, saturate=True),
        convert_to_tensor(jpeg_quality, int32),
    )
    channels = (x.shape[-1] or 0) if x.shape.rank else 0
    decoded = decode_jpeg(coded, channels=channels, dct_method=dct_method)
    return pixels.convert_image_dtype(decoded, x.dtype, saturate=True, name=name)


def _encode_any_kernel(images: Array, quality: Array) -> Array:
    return files.write_jpeg("EncodeJpegVariableQuality", images, int(quality))


ENCODE_JPEG_VARIABLE_QUALITY = define(
    name="EncodeJpegVariableQuality",
    signature="images: uint8, quality: int32 -> contents: string",
    infer=scalar,
    kernel=_encode_any_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def extract_jpeg_shape(
    contents: TensorLike, output_type: Any = int32, name: str | None = None
) -> Tensor:
    """[3]: height, width and channels of a JPEG file, from its header.

    Args:
        contents: [], string: the bytes of a file.
        output_type: int32 or int64.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the bytes are no JPEG.
    """
    return execute_one(EXTRACT_JPEG_SHAPE, contents, output_type=as_dtype(output_type), name=name)


def _infer_sizes(call: InferCall) -> Shape:
    if call.spec(0).shape.rank not in (None, 0):
        call.fail("contents must be a scalar: the bytes of one file")
    return Shape([3])


def _shape_kernel(contents: Array, *, output_type: DType) -> Array:
    return files.jpeg_shape("ExtractJpegShape", contents).astype(output_type.numpy)


EXTRACT_JPEG_SHAPE = define(
    name="ExtractJpegShape",
    signature="contents: string -> image_shape: output_type",
    types={"output_type": typed({int32, int64}, default=int32)},
    infer=_infer_sizes,
    kernel=_shape_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Whether the bytes begin as a JPEG file does: [], bool.

    Args:
        contents: [], string.
        name: name of the node while tracing.
    """
    from pinnace.ops.math import comparison
    from pinnace.ops.strings import conversion

    return comparison.equal(conversion.substr(contents, 0, 3), b"\xff\xd8\xff", name)


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


DECODE_JPEG = decoder("DecodeJpeg", _decode_jpeg_kernel, attrs=_HOW)

DECODE_AND_CROP_JPEG = decoder(
    "DecodeAndCropJpeg",
    _crop_jpeg_kernel,
    inputs="contents: string, crop_window: int32",
    attrs=_HOW,
)
