"""Colours: RGB, HSV, YIQ, YUV and grey; hue, saturation, contrast, brightness, gamma."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS, float16, float32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Tensor
from pinnace.ops.array import casting, indicators, joining, permutations, reshaping, shapes
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.image import pixels
from pinnace.ops.kernels import pictures
from pinnace.ops.kernels.row_sums import sum_rows
from pinnace.ops.math import (
    arithmetic,
    division,
    exponents,
    extremes,
    products,
    reduction,
    statistics,
)
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, OpCall, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, TensorLike

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "per_image_standardization",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "yiq_to_rgb",
    "yuv_to_rgb",
]

_NARROW = frozenset({float16, float32})
# A column holds the weights of red, green and blue in a channel of the other space. The
# coefficients are TensorFlow's to the last digit, so that images agree.
_GREY = [0.2989, 0.5870, 0.1140]
_YIQ = np.array(
    [
        [0.299, 0.59590059, 0.2115],
        [0.587, -0.27455667, -0.52273617],
        [0.114, -0.32134392, 0.31119955],
    ]
)
_FROM_YIQ = np.array(
    [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
)
_YUV = np.array(
    [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ]
)
_FROM_YUV = np.array([[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]])


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """[..., 3] to [..., 1] in the same dtype: 0.2989 red + 0.587 green + 0.114 blue.

    Args:
        images: [..., 3], a real number type; integers stand for their range, floats for [0, 1].
        name: name of the node while tracing.

    Returns:
        [..., 1], dtype of `images`.
    """
    x = convert_to_tensor(images)
    wide = pixels.convert_image_dtype(x, float32)
    weights = convert_to_tensor(_GREY, wide.dtype)
    if x.shape.rank is None:
        rows = shapes.shape(x)[:-1]
        grey = reshaping.reshape(
            products.tensordot(reshaping.reshape(wide, [-1, 3]), weights, 1), rows
        )
    else:
        grey = products.tensordot(wide, weights, [[-1], [-1]])
    return pixels.convert_image_dtype(reshaping.expand_dims(grey, -1), x.dtype, name=name)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """[..., 1] to [..., 3], with equal channels.

    Args:
        images: [..., 1], any dtype.
        name: name of the node while tracing.

    Returns:
        [..., 3], dtype of `images`.

    Raises:
        ValueError: the last axis is not 1.
    """
    x = convert_to_tensor(images)
    _check_last(x, 1, "grayscale_to_rgb")
    return joining.concat([x, x, x], -1, name)


def _infer_colours(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    least = 1 if call.op.name in {"RGBToHSV", "HSVToRGB"} else 3
    name = call.op.inputs[0].name
    if shape.rank is not None and shape.rank < least:
        call.fail(f"{name} must have at least {least} axes, got {shape.rank}")
    if shape.rank is not None and call.op.name != "AdjustContrastv2" and shape[-1] not in (None, 3):
        call.fail(f"{name} must have 3 channels on the last axis, got {shape[-1]}")
    for arg, spec in zip(call.op.inputs[1:], call.inputs[1:], strict=True):
        if spec.shape.rank not in (None, 0):  # type: ignore[union-attr]
            call.fail(f"{arg.name} must be a scalar")
    if shape.rank and call.op.name != "AdjustContrastv2":
        return shape[:-1].concatenate(Shape([3]))
    return shape


def _hsv(x: Array) -> tuple[Array, Array, Array]:
    """Hue, saturation, value of [..., 3], computed in its dtype."""
    red, green, blue = x[..., 0], x[..., 1], x[..., 2]
    value = x.max(-1)
    spread = value - x.min(-1)
    saturation = np.where(value > 0, spread / np.where(value > 0, value, 1), 0)
    sixth = 1 / (6 * np.where(spread > 0, spread, 1))
    hue = np.where(
        red == value,
        sixth * (green - blue),
        np.where(green == value, sixth * (blue - red) + 2 / 6, sixth * (red - green) + 4 / 6),
    )
    hue = np.where(spread > 0, hue, 0)
    return np.where(hue < 0, hue + 1, hue), saturation, value


def _check_channels(x: Array) -> None:
    """Run-time checks of sizes that were unknown to inference."""
    if not x.ndim or x.shape[-1] != 3:
        raise InvalidArgumentError(
            f"images must have 3 channels on the last axis, got {list(x.shape)}"
        )


def _wide(x: Array) -> Array:
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """[..., 3]: hue, saturation and value, all in [0, 1] for colours in [0, 1].

    Args:
        images: [..., 3], a float type.
        name: name of the node while tracing.

    Returns:
        [..., 3], dtype of `images`.
    """
    return execute_one(RGB_TO_HSV, convert_to_tensor(images), name=name)


def _rgb_to_hsv_kernel(images: Array) -> Array:
    wide = _wide(images)
    _check_channels(wide)
    found = pictures.coloured(wide, pictures.TO_HSV)
    if found is None:
        found = np.stack(_hsv(wide), -1)
    return found.astype(images.dtype, copy=False)


def _rgb_to_hsv_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    """The derivative of hue and saturation; red has precedence in ties."""
    x = call.inputs[0]
    top = indicators.one_hot(extremes.argmax(x, -1), 3, dtype=x.dtype)
    last = extremes.argmin(permutations.reverse(x, [-1]), -1)
    bottom = indicators.one_hot(2 - last, 3, dtype=x.dtype)
    value = reduction.reduce_max(x, -1, keepdims=True)
    least = reduction.reduce_min(x, -1, keepdims=True)
    # The hue is the channel after the maximum minus the one before it, over six times the range.
    after = permutations.roll(top, 1, -1) - permutations.roll(top, 2, -1)
    ahead = reduction.reduce_sum(after * x, -1, keepdims=True)
    spread = value - least
    share = division.divide_no_nan(ahead, spread)
    d_hue = division.divide_no_nan(after - share * (top - bottom), spread * 6)
    d_saturation = division.divide_no_nan(
        top * division.divide_no_nan(least, value) - bottom, value
    )
    return (dy[..., :1] * d_hue + dy[..., 1:2] * d_saturation + dy[..., 2:] * top,)


RGB_TO_HSV = define(
    name="RGBToHSV",
    signature="images: T -> output: T",
    types={"T": typed(FLOATS, default=float32)},
    infer=_infer_colours,
    kernel=_rgb_to_hsv_kernel,
    gradient=_rgb_to_hsv_gradient,
)


def _rgb(hue: Array, saturation: Array, value: Array) -> Array:
    turned = hue * 6
    shares = [
        np.clip(np.abs(turned - 3) - 1, 0, 1),
        np.clip(2 - np.abs(turned - 2), 0, 1),
        np.clip(2 - np.abs(turned - 4), 0, 1),
    ]
    return np.stack([(1 - saturation + saturation * share) * value for share in shares], -1)


def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """[..., 3]: the inverse of `rgb_to_hsv`.

    Args:
        images: [..., 3], a float type, in [0, 1].
        name: name of the node while tracing.

    Returns:
        [..., 3], dtype of `images`.
    """
    return execute_one(HSV_TO_RGB, convert_to_tensor(images), name=name)


def _hsv_to_rgb_kernel(images: Array) -> Array:
    x = _wide(images)
    _check_channels(x)
    found = pictures.coloured(x, pictures.TO_RGB)
    if found is None:
        found = _rgb(x[..., 0], x[..., 1], x[..., 2])
    return found.astype(images.dtype, copy=False)


HSV_TO_RGB = define(
    name="HSVToRGB",
    signature="images: T -> output: T",
    types={"T": typed(FLOATS, default=float32)},
    infer=_infer_colours,
    kernel=_hsv_to_rgb_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _as_floats(x: Tensor) -> Tensor:
    return x if x.dtype in _NARROW else pixels.convert_image_dtype(x, float32)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """(x - mean) contrast_factor + mean, with the mean of each channel of each image.

    Args:
        images: [..., height, width, channels].
        contrast_factor: a float; 1 changes nothing.
    """
    x = convert_to_tensor(images)
    changed = execute(ADJUST_CONTRAST_V2, _as_floats(x), contrast_factor)
    return pixels.convert_image_dtype(changed, x.dtype, saturate=True)


def _contrast_kernel(images: Array, contrast_factor: Array) -> Array:
    x = _wide(images)
    if not x.size:
        return images
    height, width, channels = x.shape[-3:]
    blocks = x.reshape(-1, height * width, channels)
    totals = [sum_rows(np.ascontiguousarray(one, np.float64)) for one in blocks]
    mean = (np.asarray(totals) / (height * width)).astype(x.dtype)
    # One row of the mean for each image: NumPy starts a loop for each pixel's channels.
    row = np.tile(mean, width)[:, None]
    y = x.reshape(-1, height, width * channels) - row
    y *= contrast_factor
    y += row
    return y.reshape(x.shape).astype(images.dtype, copy=False)  # type: ignore[no-any-return]


ADJUST_CONTRAST_V2 = define(
    name="AdjustContrastv2",
    signature="images: T, contrast_factor: float32 -> output: T",
    types={"T": typed(_NARROW, default=float32)},
    infer=_infer_colours,
    kernel=_contrast_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """RGB images [..., 3] with the hue rotated by `delta`, where 1 is the whole circle.

    Args:
        image: [..., 3], RGB: floats in [0, 1], or an integer type.
        delta: a scalar in [-1, 1].
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: `delta` is a number outside of [-1, 1].
    """
    if not isinstance(delta, Tensor) and not -1 <= delta <= 1:  # type: ignore[operator]
        raise ValueError(f"adjust_hue: delta must be in [-1, 1], got {delta!r}")
    x = convert_to_tensor(image)
    turned = execute(ADJUST_HUE, _as_floats(x), casting.cast(delta, float32))
    return pixels.convert_image_dtype(turned, x.dtype, saturate=True, name=name)


def _hue_kernel(images: Array, delta: Array) -> Array:
    wide = _wide(images)
    _check_channels(wide)
    found = pictures.coloured(wide, pictures.HUE, float(delta))
    if found is None:
        hue, saturation, value = _hsv(wide)
        found = _rgb(np.mod(hue + delta, 1), saturation, value)
    return found.astype(images.dtype, copy=False)


ADJUST_HUE = define(
    name="AdjustHue",
    signature="images: T, delta: float32 -> output: T",
    types={"T": typed(_NARROW, default=float32)},
    infer=_infer_colours,
    kernel=_hue_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """RGB images [..., 3] with the saturation multiplied by `saturation_factor`, at most 1.

    Args:
        image: [..., 3], RGB: floats in [0, 1], or an integer type.
        saturation_factor: a scalar.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `image`.
    """
    x = convert_to_tensor(image)
    changed = execute(ADJUST_SATURATION, _as_floats(x), casting.cast(saturation_factor, float32))
    return pixels.convert_image_dtype(changed, x.dtype, saturate=True, name=name)


def _saturation_kernel(images: Array, scale: Array) -> Array:
    wide = _wide(images)
    _check_channels(wide)
    found = pictures.coloured(wide, pictures.SATURATION, float(scale))
    if found is None:
        hue, saturation, value = _hsv(wide)
        found = _rgb(hue, np.clip(saturation * scale, 0, 1), value)
    return found.astype(images.dtype, copy=False)


ADJUST_SATURATION = define(
    name="AdjustSaturation",
    signature="images: T, scale: float32 -> output: T",
    types={"T": typed(_NARROW, default=float32)},
    infer=_infer_colours,
    kernel=_saturation_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def rgb_to_yiq(images: TensorLike) -> Tensor:
    """[..., 3], floats in [0, 1]: luma and two chromas of NTSC."""
    return _mixed(images, _YIQ)


def yiq_to_rgb(images: TensorLike) -> Tensor:
    """[..., 3]: the inverse of `rgb_to_yiq`."""
    return _mixed(images, _FROM_YIQ)


def rgb_to_yuv(images: TensorLike) -> Tensor:
    """[..., 3], floats in [0, 1]: luma and two chromas of PAL."""
    return _mixed(images, _YUV)


def yuv_to_rgb(images: TensorLike) -> Tensor:
    """[..., 3]: the inverse of `rgb_to_yuv`."""
    return _mixed(images, _FROM_YUV)


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """`image` + delta in [0, 1] floats; integers are converted back, saturated to their range.

    Args:
        image: [...], floats in [0, 1], or an integer type.
        delta: a scalar, in the scale of floats.

    Returns:
        The shape and dtype of `image`.
    """
    x = convert_to_tensor(image)
    wide = _as_floats(x)
    moved = arithmetic.add(wide, casting.cast(delta, wide.dtype))
    return pixels.convert_image_dtype(moved, x.dtype, saturate=True)


def adjust_gamma(image: TensorLike, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """`gain * image ** gamma`, in [0, 1] floats.

    Args:
        image: [...], floats in [0, 1], or an integer type.
        gamma: the exponent, a scalar from 0.
        gain: the factor, a scalar.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: `gamma` is below 0.
    """
    x = convert_to_tensor(image)
    if not isinstance(gamma, Tensor) and gamma < 0:
        raise ValueError(f"adjust_gamma: gamma must not be negative, got {gamma}")
    wide = _as_floats(x)
    changed = arithmetic.multiply(convert_to_tensor(gain, wide.dtype), exponents.pow(wide, gamma))
    return pixels.convert_image_dtype(changed, x.dtype, saturate=True)


def per_image_standardization(image: TensorLike) -> Tensor:
    """Each image normalized to mean 0 and deviation 1, in float32.

    Args:
        image: [..., height, width, channels]. The deviation counts as at least 1/√count, so that a
            picture of one colour gives zeros.
    """
    x = casting.cast(image, float32)
    axes = [-1, -2, -3]
    count = casting.cast(reduction.reduce_prod(shapes.shape(x)[-3:]), float32)
    spread = arithmetic.maximum(statistics.reduce_std(x, axes, True), exponents.rsqrt(count))
    return division.divide(x - reduction.reduce_mean(x, axes, True), spread)


def _mixed(images: TensorLike, matrix: Array) -> Tensor:
    x = convert_to_tensor(images)
    _check_last(x, 3, "images")
    return products.tensordot(x, convert_to_tensor(matrix, x.dtype), [[-1], [0]])


def _check_last(x: Tensor, size: int, who: str) -> None:
    if x.shape.rank is not None and (x.shape.rank < 1 or x.shape[-1] not in (None, size)):
        raise ValueError(f"{who}: the last axis must be {size}, got shape {x.shape}")
