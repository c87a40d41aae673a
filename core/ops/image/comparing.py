"""Comparison of images: PSNR, SSIM; also gradients, edges, total variation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import float32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.array import casting, constants, joining, padding, reshaping, shapes, tiling
from pinnace.ops.image import pixels
from pinnace.ops.math import arithmetic, exponents, polar, reduction
from pinnace.ops.nn import depthwise, pooling, rectifiers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["image_gradients", "psnr", "sobel_edges", "ssim", "ssim_multiscale", "total_variation"]

# Wang, Simoncelli and Bovik, "Multiscale structural similarity", 2003, table of exponents.
_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def psnr(a: TensorLike, b: TensorLike, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio in dB: 10 log10(max_val² / mean (a - b)²), one per image.

    Args:
        a: [..., height, width, channels].
        b: the same shape.
        max_val: the largest value that a pixel can have.
        name: name of the node while tracing.

    Returns:
        [...], float32.
    """
    x, y, most = _pair(a, b, max_val, "psnr")
    noise = reduction.reduce_mean(arithmetic.squared_difference(x, y), [-3, -2, -1])
    peak = exponents.log(most) * (20 / math.log(10))
    return arithmetic.subtract(peak, exponents.log(noise) * (10 / math.log(10)), name)


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """Structural similarity: 1 for equal images.

    Args:
        img1: [..., height, width, channels], sides of at least `filter_size`.
        img2: the same shape.
        max_val: the largest value that a pixel can have.
        filter_size: side of the Gaussian window.
        filter_sigma: its standard deviation, in pixels.
        k1: steadies the comparison of means.
        k2: steadies that of variances.
        return_index_map: the similarity at each place, not the mean.

    Returns:
        [...], float32, or [..., height - filter_size + 1, width - filter_size + 1].

    Raises:
        InvalidArgumentError: shapes differ, or a side is smaller than the window.

    Source:
        Wang, Bovik, Sheikh and Simoncelli, 2004.
    """
    x, y, most = _pair(img1, img2, max_val, "ssim")
    window = _gauss(int(filter_size), float(filter_sigma))
    light, structure = _similarity(x, y, most, window, k1, k2, "ssim")
    each = reduction.reduce_mean(light * structure, [-1] if return_index_map else [-3, -2])
    return each if return_index_map else reduction.reduce_mean(each, [-1])


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: Any,
    power_factors: Sequence[float] = _SCALES,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Structural similarity over scales, each half the size of the previous; arguments as `ssim`.

    Args:
        img1: [..., height, width, channels]; the smallest scale must hold the window.
        img2: the same shape.
        max_val: the largest value that a pixel can have.
        power_factors: the exponent of each scale.
        filter_size: side of the Gaussian window.
        filter_sigma: its standard deviation, in pixels.
        k1: steadies the comparison of means.
        k2: steadies that of variances.

    Returns:
        [...], float32.
    """
    x, y, most = _pair(img1, img2, max_val, "ssim_multiscale")
    window = _gauss(int(filter_size), float(filter_sigma))
    factors = list(power_factors)
    parts = []
    for scale in range(len(factors)):
        if scale:
            x, y = _halved(x), _halved(y)
        light, structure = _similarity(x, y, most, window, k1, k2, "ssim_multiscale")
        last = scale == len(factors) - 1
        part = reduction.reduce_mean(light * structure if last else structure, [-3, -2])
        parts.append(rectifiers.relu(part))
    powers = convert_to_tensor(factors, float32)
    product = reduction.reduce_prod(exponents.pow(joining.stack(parts, -1), powers), [-1])
    return reduction.reduce_mean(product, [-1])


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """The sum of absolute differences of neighbours: [] for one image, [batch] for several.

    Args:
        images: [height, width, channels] or [batch, height, width, channels], a real number type.
        name: name of the node while tracing.

    Returns:
        [] or [batch], dtype of `images`.

    Raises:
        ValueError: neither 3 nor 4 axes.
    """
    x = convert_to_tensor(images)
    if x.shape.rank not in (3, 4):
        raise ValueError(f"total_variation: images must have 3 or 4 axes, got shape {x.shape}")
    down = polar.abs(x[..., 1:, :, :] - x[..., :-1, :, :])
    right = polar.abs(x[..., 1:, :] - x[..., :-1, :])
    axes = None if x.shape.rank == 3 else [1, 2, 3]
    return arithmetic.add(reduction.reduce_sum(down, axes), reduction.reduce_sum(right, axes), name)


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """(dy, dx) of [batch, height, width, channels]: differences to the next pixel, 0 at the end.

    Raises:
        ValueError: not 4 axes.
    """
    x = convert_to_tensor(image)
    if x.shape.rank != 4:
        raise ValueError(f"image_gradients: image must have 4 axes, got shape {x.shape}")
    down = padding.pad(x[:, 1:] - x[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    right = padding.pad(x[:, :, 1:] - x[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
    return down, right


def sobel_edges(image: TensorLike) -> Tensor:
    """Sobel's two filters, with reflected borders.

    Args:
        image: [batch, height, width, channels], a float type.

    Returns:
        [batch, height, width, channels, 2]: changes downwards and to the right.
    """
    x = convert_to_tensor(image)
    mirrored = padding.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    # Each filter is a product of two: a mean of three lines, and a difference.
    across = mirrored[:, :, :-2] + 2 * mirrored[:, :, 1:-1] + mirrored[:, :, 2:]
    along = mirrored[:, :-2] + 2 * mirrored[:, 1:-1] + mirrored[:, 2:]
    edges = [across[:, 2:] - across[:, :-2], along[:, :, 2:] - along[:, :, :-2]]
    return joining.stack(edges, -1)


def _pair(a: TensorLike, b: TensorLike, most: Any, who: str) -> tuple[Tensor, Tensor, Tensor]:
    x = convert_to_tensor(a)
    y = convert_to_tensor(b, x.dtype)
    for one in (x, y):
        if one.shape.rank is not None and one.shape.rank < 3:
            raise InvalidArgumentError(
                f"{who}: pictures have at least 3 axes, got shape {one.shape}"
            )
    if x.shape.rank and y.shape.rank and not x.shape[-3:].is_compatible_with(y.shape[-3:]):
        raise InvalidArgumentError(
            f"{who}: pictures must be of one size, got {x.shape} and {y.shape}"
        )
    limit = pixels.convert_image_dtype(casting.cast(most, x.dtype), float32)
    return (pixels.convert_image_dtype(x, float32), pixels.convert_image_dtype(y, float32), limit)


def _gauss(size: int, sigma: float) -> Array:
    places = np.arange(size) - (size - 1) / 2
    one = np.exp(-0.5 * places**2 / sigma**2)
    return (one / one.sum()).astype(np.float32)  # type: ignore[no-any-return]


def _similarity(
    x: Tensor, y: Tensor, most: Tensor, window: Array, k1: float, k2: float, who: str
) -> tuple[Tensor, Tensor]:
    """The similarity of means, and of local contrast and structure, at each pixel."""
    for side in (*x.shape[-3:-1], *y.shape[-3:-1]) if x.shape.rank and y.shape.rank else ():
        if side is not None and side < len(window):
            raise InvalidArgumentError(
                f"{who}: sides must be at least filter_size = {len(window)}, got {x.shape} and "
                f"{y.shape}"
            )
    c1, c2 = arithmetic.square(most * k1), arithmetic.square(most * k2)
    mean_x, mean_y = _blurred(x, window), _blurred(y, window)
    product = mean_x * mean_y * 2.0
    squares = arithmetic.square(mean_x) + arithmetic.square(mean_y)
    both = _blurred(x * y, window) * 2.0
    each = _blurred(arithmetic.square(x) + arithmetic.square(y), window)
    return (product + c1) / (squares + c1), (both - product + c2) / (each - squares + c2)


def _blurred(x: Tensor, window: Array) -> Tensor:
    sizes = shapes.axis_sizes(x)
    flat = reshaping.reshape(x, joining.stack([-1, *sizes[-3:]]))
    # A Gaussian window is the product of two lines: 22 products instead of 121 for each pixel.
    y = flat
    for shape in ((-1, 1, 1, 1), (1, -1, 1, 1)):
        filters = tiling.tile(constants.constant(window.reshape(shape)), [1, 1, sizes[-1], 1])
        y = depthwise.depthwise_conv2d(y, filters, [1, 1, 1, 1], "VALID")
    return reshaping.reshape(y, joining.stack([*sizes[:-3], *shapes.axis_sizes(y)[1:]]))


def _halved(x: Tensor) -> Tensor:
    """Means of two by two pixels; the last row or column of an odd size is duplicated first."""
    sizes = shapes.axis_sizes(x)
    flat = reshaping.reshape(x, joining.stack([-1, *sizes[-3:]]))
    odd = [[0, 0], [0, sizes[-3] % 2], [0, sizes[-2] % 2], [0, 0]]
    whole = padding.pad(flat, convert_to_tensor(odd), "SYMMETRIC")
    small = pooling.avg_pool(whole, 2, 2, "VALID")
    return reshaping.reshape(small, joining.stack([*sizes[:-3], *shapes.axis_sizes(small)[1:]]))
