"""Windows of images: patches, blurring, edges, and similarity of two images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.image_format import checked_format
from pinnace.keras.ops.formats import images_last, images_restored
from pinnace.keras.ops.operation import operation
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting, joining, permutations, reshaping, shapes, tiling
from pinnace.ops.image import comparing, patches
from pinnace.ops.math import exponents, ranges, reduction
from pinnace.ops.nn import convolutions, depthwise

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_PATCHES = ("size", "strides", "dilation_rate", "padding", "data_format")


def _each(name: str, argument: str, given: Any, count: int) -> list[int]:
    if isinstance(given, int):
        return [given] * count
    if not isinstance(given, (tuple, list)):
        raise TypeError(
            f"keras.ops.image.{name}: Invalid `{argument}` argument. Expected an int or a tuple, "
            f"got {given!r}"
        )
    if len(given) != count:
        raise ValueError(
            f"keras.ops.image.{name}: Invalid `{argument}` argument. Expected {count} numbers, got "
            f"{given!r}"
        )
    return [*given]


def _checked_padding(name: str, given: str) -> str:
    if given.lower() not in {"valid", "same"}:
        raise ValueError(f"keras.ops.image.{name}: padding must be valid or same, got {given!r}")
    return given.upper()


@operation("image", "ExtractPatches", *_PATCHES)
def extract_patches(
    images: Any,
    size: Any,
    strides: Any = None,
    dilation_rate: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> Tensor:
    """The windows of images, each as one row of channels.

    Args:
        images: [batch, height, width, channels] or one image without `batch`; for a `size` of three
            numbers, see `extract_patches_3d`.
        size: rows and columns of a window, a number or two; or depth, rows and columns.
        strides: distance of windows, likewise; None takes `size`, so that they do not overlap.
        dilation_rate: distance of the pixels in a window, likewise.
        padding: "valid", or "same" with zeros around.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        [batch, windows down, windows across, rows · columns · channels]; for "channels_first" with
        the last axis behind `batch`.

    Raises:
        TypeError: `size` is no number, tuple or list.
        ValueError: wrong number of sizes or axes.
    """
    name = "extract_patches"
    if isinstance(size, (tuple, list)) and len(size) == 3:
        return _volumes(name, images, size, strides, dilation_rate, padding, data_format)
    window = _each(name, "size", size, 2)
    steps = window if strides is None else _each(name, "strides", strides, 2)
    rates = _each(name, "dilation_rate", dilation_rate, 2)
    x, first, single = images_last(name, images, data_format)
    same = _checked_padding(name, padding)
    y = patches.extract_patches(x, [1, *window, 1], [1, *steps, 1], [1, *rates, 1], same)
    return images_restored(y, first, single)


@operation("image", "ExtractPatches3D", *_PATCHES)
def extract_patches_3d(
    volumes: Any,
    size: Any,
    strides: Any = None,
    dilation_rate: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> Tensor:
    """The windows of volumes, each as one row of channels.

    Args:
        volumes: [batch, depth, height, width, channels] or one volume without `batch`, a float
            dtype.
        size: depth, rows and columns of a window, a number or three.
        strides: distance of windows, likewise; None takes `size`, so that they do not overlap.
        dilation_rate: distance of the places in a window, likewise.
        padding: "valid", or "same" with zeros around.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        [batch, windows deep, down, across, depth · rows · columns · channels]; for
        "channels_first" with the last axis behind `batch`.

    Raises:
        TypeError: `size` is no number, tuple or list.
        ValueError: wrong number of sizes or axes; strides and dilation rates above 1.
    """
    name = "extract_patches_3d"
    return _volumes(name, volumes, size, strides, dilation_rate, padding, data_format)


def _volumes(
    name: str,
    volumes: Any,
    size: Any,
    strides: Any,
    dilation_rate: Any,
    padding: str,
    data_format: str | None,
) -> Tensor:
    window = _each(name, "size", size, 3)
    steps = window if strides is None else _each(name, "strides", strides, 3)
    rates = _each(name, "dilation_rate", dilation_rate, 3)
    if max(steps) > 1 and max(rates) > 1:
        raise ValueError(
            f"keras.ops.image.{name}: `strides > 1` not supported in conjunction with "
            f"`dilation_rate > 1`, got strides={steps} and dilation_rate={rates}"
        )
    x: Tensor = convert_to_tensor(volumes)
    if x.shape.rank not in {4, 5}:
        raise ValueError(
            f"keras.ops.image.{name}: volumes must have rank 4 (single volume) or 5 (batch of "
            f"volumes), got shape {x.shape.text}"
        )
    chosen = checked_format(f"keras.ops.image.{name}", data_format)
    single, first = x.shape.rank == 4, chosen == "channels_first"
    x = reshaping.expand_dims(x, 0) if single else x
    x = permutations.transpose(x, [0, 2, 3, 4, 1]) if first else x
    channels = x.shape[-1]
    if channels is None:
        raise ValueError(
            f"keras.ops.image.{name}: the channels must be known, got shape {x.shape.text}"
        )
    count = int(np.prod(window)) * channels
    # Each filter picks one place of the window.
    filters = np.eye(count, dtype=x.dtype.numpy).reshape(*window, channels, count)
    same = _checked_padding(name, padding)
    y = convolutions.convolution(x, filters, steps, same, dilations=rates)
    y = permutations.transpose(y, [0, 4, 1, 2, 3]) if first else y
    return reshaping.squeeze(y, [0]) if single else y


@operation("image", "GaussianBlur", "kernel_size", "sigma", "data_format")
def gaussian_blur(
    images: Any,
    kernel_size: Any = (3, 3),
    sigma: Any = (1.0, 1.0),
    data_format: str | None = None,
) -> Tensor:
    """Images smoothed by a Gaussian.

    Args:
        images: [batch, height, width, channels] or one image without `batch`, a float dtype.
        kernel_size: rows and columns of the window, in pixels; one number for both.
        sigma: the two standard deviations, in pixels; one number for both.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        Shape and dtype of `images`.

    Raises:
        ValueError: unsupported dtype or number of axes.
    """
    x, first, single = images_last("gaussian_blur", images, data_format)
    if not x.dtype.is_floating:
        raise ValueError(
            f"keras.ops.image.gaussian_blur: images must be floats, got {x.dtype.name}"
        )
    blur = blurred(x, _both(kernel_size), _both(sigma))
    return images_restored(blur, first, single)


def _both(given: Any) -> Any:
    """A number as two; two are unchanged."""
    pair = isinstance(given, (list, tuple)) or np.ndim(given)
    return given if pair else (given, given)


def blurred(x: Tensor, kernel_size: Any, sigma: Any) -> Tensor:
    """[batch, height, width, channels], smoothed; sizes and deviations may be scalar tensors."""
    kind = x.dtype
    rows, columns = (_bell(kernel_size[i], convert_to_tensor(sigma[i], kind)) for i in (0, 1))
    # Keras: the outer product is columns by rows, and is read as rows by columns.
    outer = columns[:, None] * rows[None, :]
    channels = shapes.axis_sizes(x)[3]
    sizes = [joining.stack([*(_size(n) for n in kernel_size), 1, 1])]
    window = reshaping.reshape(outer, sizes[0])
    filters = tiling.tile(window, joining.stack([1, 1, channels, 1]))
    return depthwise.depthwise_conv2d(x, filters, [1, 1, 1, 1], "SAME")


def _size(given: Any) -> Any:
    return given if isinstance(given, int) else casting.cast(given, dtypes.int32)


def _bell(size: Any, sigma: Tensor) -> Tensor:
    """The weights of a normal distribution at `size` places around its mean."""
    kind = sigma.dtype
    count = casting.cast(size, kind)
    places = (ranges.range(count, dtype=kind) - (count - 1) / 2) / sigma
    heights = exponents.exp(-0.5 * places * places)
    return heights / reduction.reduce_sum(heights)


@operation("image", "SobelEdges", "data_format")
def sobel_edges(images: Any, data_format: str | None = None) -> Tensor:
    """The vertical and horizontal Sobel gradients.

    Args:
        images: [batch, height, width, channels], a float dtype.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        The shape of `images` with two numbers at its end: the change downwards and to the right.

    Raises:
        ValueError: wrong number of axes.
    """
    tensor: Tensor = convert_to_tensor(images)
    if tensor.shape.rank != 4:
        raise ValueError(
            "keras.ops.image.sobel_edges: Invalid images rank: expected rank 4 (batch of images), "
            f"got shape {tensor.shape.text}"
        )
    x, first, _ = images_last("sobel_edges", tensor, data_format)
    edges = comparing.sobel_edges(x)
    return permutations.transpose(edges, [0, 3, 1, 2, 4]) if first else edges


@operation("image", "SSIM", *("max_val", "filter_size", "filter_sigma", "k1", "k2", "data_format"))
def ssim(
    image1: Any,
    image2: Any,
    max_val: float = 1.0,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    data_format: str | None = None,
) -> Tensor:
    """Structural similarity of images: 1 for equal ones.

    Args:
        image1: [batch, height, width, channels] or one image without `batch`; sides of at least
            `filter_size`.
        image2: as `image1`.
        max_val: the distance between the darkest and the brightest there can be.
        filter_size: rows and columns of the window, in pixels.
        filter_sigma: its standard deviation, in pixels.
        k1: how much the means are smoothed.
        k2: how much the variances are smoothed.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        [batch], or a scalar for one image; dtype of `image1`.

    Raises:
        ValueError: wrong number of axes, or images smaller than the window.
    """
    x, _, single = images_last("ssim", image1, data_format)
    y, _, _ = images_last("ssim", image2, data_format)
    kind = dtypes.as_dtype(result_type(x.dtype, float))
    found = comparing.ssim(
        casting.cast(x, kind), casting.cast(y, kind), max_val, filter_size, filter_sigma, k1, k2
    )
    alike = reshaping.squeeze(found, [0]) if single else found
    return casting.cast(alike, x.dtype)
