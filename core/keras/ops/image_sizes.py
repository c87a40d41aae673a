"""Images of other sizes: resized, padded, cropped, scaled along chosen axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.keras.ops.arrays import moveaxis
from pinnace.keras.ops.formats import images_last, images_restored
from pinnace.keras.ops.numeric import saturate_cast
from pinnace.keras.ops.operation import operation
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting, constants, joining, padding, selecting, shapes
from pinnace.ops.image import resizing
from pinnace.ops.math import (
    arithmetic,
    clipping,
    comparison,
    logic,
    polar,
    products,
    ranges,
    reduction,
    rounding,
    trigonometry,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INTERPOLATIONS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic", "area")


@operation(
    "image",
    "Resize",
    *("size", "interpolation", "antialias", "crop_to_aspect_ratio", "pad_to_aspect_ratio"),
    *("fill_mode", "fill_value", "data_format"),
)
def resize(
    images: Any,
    size: Any,
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    data_format: str | None = None,
) -> Tensor:
    """Images resized to another height and width.

    Args:
        images: [batch, height, width, channels] or one image without `batch`, any real dtype.
        size: the new height and width, in pixels.
        interpolation: "bilinear", "nearest", "bicubic", "area", "lanczos3" or "lanczos5".
        antialias: whether to smooth before shrinking.
        crop_to_aspect_ratio: whether the middle in the new ratio is cut out first, so that nothing
            is distorted.
        pad_to_aspect_ratio: whether the whole image is kept in its ratio instead, with `fill_value`
            beside it.
        fill_mode: must be "constant".
        fill_value: see above.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        The shape with the new height and width, dtype of `images`; integers are rounded.

    Raises:
        ValueError: unknown interpolation, fill mode or number of axes, or both ways to keep the
            ratio.
    """
    who = "keras.ops.image.resize"
    if len(size) != 2 or min(size) <= 0:
        raise ValueError(
            f"{who}: `size` must have positive height and width. Expected `size` to be a tuple of "
            f"2 integers, got {size!r}"
        )
    if interpolation not in INTERPOLATIONS:
        raise ValueError(
            f"{who}: Invalid value for argument `interpolation`: it must be one of "
            f"{', '.join(INTERPOLATIONS)}, got {interpolation!r}"
        )
    if fill_mode != "constant":
        raise ValueError(
            f"{who}: Invalid value for argument `fill_mode`: it must be constant, got {fill_mode!r}"
        )
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError(
            f"{who}: Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`."
        )
    x, first, single = images_last("resize", images, data_format)
    height, width = (int(n) for n in size)
    if crop_to_aspect_ratio:
        x = cropped_to_ratio(x, height, width)
    elif pad_to_aspect_ratio:
        x = padded_to_ratio(x, height, width, fill_value)
    y = resizing.resize(x, [height, width], method=interpolation, antialias=antialias)
    if y.dtype is not x.dtype:
        y = saturate_cast(rounding.round(y) if x.dtype.is_integer else y, x.dtype)
    return images_restored(y, first, single)


def _scaled(length: Any, factor: int, divisor: int) -> Any:
    """length · factor / divisor, truncated."""
    if isinstance(length, int):
        return length * factor // divisor
    whole = casting.cast(length * factor, "float32") / float(divisor)
    return casting.cast(whole, "int32")


def _least(a: Any, b: Any) -> Any:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return arithmetic.minimum(a, b)
    return min(a, b)


def _most(a: Any, b: Any) -> Any:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return arithmetic.maximum(a, b)
    return max(a, b)


def cropped_to_ratio(x: Tensor, height: int, width: int) -> Tensor:
    """The largest centred part of images that has the aspect ratio of a size.

    Args:
        x: [batch, height, width, channels].
        height: height in the ratio.
        width: width in the ratio.
    """
    _, tall, broad, _ = shapes.axis_sizes(x)
    rows = _most(_least(tall, _scaled(broad, height, width)), 1)
    columns = _most(_least(broad, _scaled(tall, width, height)), 1)
    top, left = (tall - rows) // 2, (broad - columns) // 2
    return x[:, top : top + rows, left : left + columns]


def padded_to_ratio(x: Tensor, height: int, width: int, fill_value: float) -> Tensor:
    """Images padded to the aspect ratio of a size.

    Args:
        x: [batch, height, width, channels].
        height: height in the ratio.
        width: width in the ratio.
        fill_value: value of the border.
    """
    _, tall, broad, _ = shapes.axis_sizes(x)
    rows = _most(tall, _scaled(broad, height, width))
    columns = _most(broad, _scaled(tall, width, height))
    # Keras: both sides are cropped equally, so that an odd row or column is lost.
    top, left = (rows - tall) // 2, (columns - broad) // 2
    return _padded(x, [[0, 0], [top, top], [left, left], [0, 0]], fill_value)


def _padded(x: Tensor, sides: list[list[Any]], fill_value: float = 0.0) -> Tensor:
    widths: Any = sides
    if any(isinstance(n, Tensor) for pair in sides for n in pair):
        widths = joining.stack([joining.stack(pair) for pair in sides])
    y = padding.pad(x, widths, constant_values=casting.cast(fill_value, x.dtype))
    # Static sizes of axes that are not padded, which a tensor of widths hides.
    unpadded = [all(isinstance(n, int) and n == 0 for n in pair) for pair in sides]
    y.set_shape([n if kept else None for n, kept in zip(x.shape, unpadded, strict=True)])
    return y


def _two_of_three(name: str, given: dict[str, Any]) -> None:
    """Raise unless two of three sizes are given and none is negative."""
    told = ", ".join(f"{key}={value}" for key, value in given.items())
    if [*given.values()].count(None) != 1:
        raise ValueError(
            f"keras.ops.image.{name}: Must specify exactly two of {', '.join(given)}, got {told}"
        )
    _not_negative(name, given)


def _not_negative(name: str, given: dict[str, Any]) -> None:
    for key, value in given.items():
        if isinstance(value, int) and value < 0:
            raise ValueError(f"keras.ops.image.{name}: {key} must be >= 0, got {key}={value}")


@operation(
    "image",
    "PadImages",
    *("top_padding", "left_padding", "bottom_padding", "right_padding"),
    *("target_height", "target_width", "data_format"),
)
def pad_images(
    images: Any,
    top_padding: int | None = None,
    left_padding: int | None = None,
    bottom_padding: int | None = None,
    right_padding: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Images padded with zeros. Two of three sizes are needed for each direction.

    Args:
        images: [batch, height, width, channels] or one image without `batch`.
        top_padding: rows of zeros above.
        left_padding: columns of zeros on the left.
        bottom_padding: rows of zeros below.
        right_padding: columns of zeros on the right.
        target_height: height of the result.
        target_width: width of the result.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        The shape with the new height and width, dtype of `images`.

    Raises:
        ValueError: not two of three sizes, or one that would be below 0.
    """
    x, first, single = images_last("pad_images", images, data_format)
    _, height, width, _ = shapes.axis_sizes(x)
    upright = {"top_padding": top_padding, "bottom_padding": bottom_padding}
    across = {"left_padding": left_padding, "right_padding": right_padding}
    _two_of_three("pad_images", {**upright, "target_height": target_height})
    _two_of_three("pad_images", {**across, "target_width": target_width})
    sides: list[list[Any]] = [[0, 0]]
    for have, wanted, ends in ((height, target_height, upright), (width, target_width, across)):
        filled: dict[str, Any] = dict(ends)
        for key, value in ends.items():
            if value is None:
                filled[key] = wanted - have - sum(n for n in ends.values() if n is not None)
        _not_negative("pad_images", filled)
        sides.append([*filled.values()])
    y = _padded(x, [*sides, [0, 0]])
    known = y.shape.as_list()
    y.set_shape([known[0], target_height or known[1], target_width or known[2], known[3]])
    return images_restored(y, first, single)


@operation(
    "image",
    "CropImages",
    *("top_cropping", "left_cropping", "bottom_cropping", "right_cropping"),
    *("target_height", "target_width", "data_format"),
)
def crop_images(
    images: Any,
    top_cropping: int | None = None,
    left_cropping: int | None = None,
    bottom_cropping: int | None = None,
    right_cropping: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Images cropped. Two of three sizes are needed for each direction.

    Args:
        images: [batch, height, width, channels] or one image without `batch`.
        top_cropping: rows that are left out above.
        left_cropping: columns that are left out on the left.
        bottom_cropping: rows that are left out below.
        right_cropping: columns that are left out on the right.
        target_height: height of the result.
        target_width: width of the result.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        The shape with the new height and width, dtype of `images`.

    Raises:
        ValueError: not two of three sizes, or one that would be below 0.
    """
    x, first, single = images_last("crop_images", images, data_format)
    _, height, width, _ = shapes.axis_sizes(x)
    parts: list[slice] = []
    for have, names, given in (
        (
            height,
            ("top_cropping", "bottom_cropping", "target_height"),
            (top_cropping, bottom_cropping, target_height),
        ),
        (
            width,
            ("left_cropping", "right_cropping", "target_width"),
            (left_cropping, right_cropping, target_width),
        ),
    ):
        _two_of_three("crop_images", dict(zip(names, given, strict=True)))
        begin, behind, wanted = given
        start: Any = have - wanted - behind if begin is None else begin
        length: Any = have - start - behind if wanted is None else wanted
        _not_negative("crop_images", {names[0]: start, names[2]: length})
        if isinstance(have, int) and start + length > have:
            raise ValueError(
                f"keras.ops.image.crop_images: {names[0]} and {names[2]} must be inside of the "
                f"{have} pixels there are, got {start} and {length}"
            )
        parts.append(slice(start, start + length))
    y = x[:, parts[0], parts[1]]
    known = y.shape.as_list()
    y.set_shape([known[0], target_height or known[1], target_width or known[2], known[3]])
    return images_restored(y, first, single)


def _triangle(x: Tensor) -> Tensor:
    return arithmetic.maximum(1 - polar.abs(x), constants.zeros_like(x))


def _cubic(x: Tensor) -> Tensor:
    """The kernel of Keys with a = -1/2."""
    near = ((1.5 * x - 2.5) * x) * x + 1.0
    far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    zeros = constants.zeros_like(x)
    return selecting.where(x < 1.0, near, selecting.where(x < 2.0, far, zeros))


def _lanczos(radius: float) -> Callable[[Tensor], Tensor]:
    def kernel(x: Tensor) -> Tensor:
        waves = trigonometry.sin(math.pi * x) * trigonometry.sin(math.pi * x / radius) * radius
        ones = constants.ones_like(x)
        # Near 0 the quotient loses all its digits.
        squares = selecting.where(x > 1e-3, math.pi**2 * x * x, ones)
        inner = selecting.where(x > 1e-3, waves / squares, ones)
        return selecting.where(x > radius, constants.zeros_like(x), inner)

    return kernel


_KERNELS: dict[str, Callable[[Tensor], Tensor]] = {
    **dict.fromkeys(("linear", "bilinear", "trilinear"), _triangle),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), _cubic),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
}


@operation("image", "ScaleAndTranslate", "spatial_dims", "method", "antialias")
def scale_and_translate(
    images: Any,
    output_shape: Any,
    scale: Any,
    translation: Any,
    spatial_dims: Sequence[int],
    method: str,
    antialias: bool = True,
) -> Tensor:
    """Images scaled and translated along chosen axes.

    A place x of the input lands at scale · x + translation, both counted from the edge.

    Args:
        images: [...], any real dtype.
        output_shape: shape of the result; other axes than `spatial_dims` must stay as they are.
        scale: a factor for each of `spatial_dims`, floats.
        translation: translation of each of them, in pixels of the result, floats.
        spatial_dims: the axes.
        method: "linear", "bilinear", "trilinear", "cubic", "bicubic", "tricubic", "lanczos3" or
            "lanczos5".
        antialias: whether the kernel is widened where an axis becomes shorter.

    Returns:
        [*output_shape], dtype of `images`; integers are rounded, and stay between the least and the
        largest of `images`.

    Raises:
        ValueError: the method is unknown.
    """
    if method not in _KERNELS:
        raise ValueError(
            "keras.ops.image.scale_and_translate: Invalid value for argument `method`: it must be "
            f"one of {', '.join(_KERNELS)}, got {method!r}"
        )
    x: Tensor = convert_to_tensor(images)
    factors, offsets = convert_to_tensor(scale), convert_to_tensor(translation)
    kind = result_type(factors.dtype, offsets.dtype)
    factors, offsets = casting.cast(factors, kind), casting.cast(offsets, kind)
    y = casting.cast(x, "float32") if x.dtype.is_integer else x
    for place, dim in enumerate(spatial_dims):
        axis = dim % len(x.shape)
        have, wanted = shapes.axis_sizes(x)[axis], output_shape[axis]
        weights = _weights(
            have, wanted, factors[place], offsets[place], _KERNELS[method], antialias
        )
        weights = casting.cast(weights, y.dtype)
        y = moveaxis(products.tensordot(y, weights, [[axis], [0]]), -1, axis)
    if not (x.dtype.is_integer and spatial_dims):
        return y
    whole = clipping.clip_by_value(
        rounding.round(y),
        casting.cast(reduction.reduce_min(x), y.dtype),
        casting.cast(reduction.reduce_max(x), y.dtype),
    )
    return casting.cast(whole, x.dtype)


def _weights(
    have: Any,
    wanted: Any,
    scale: Tensor,
    translation: Tensor,
    kernel: Callable[[Tensor], Tensor],
    antialias: bool,
) -> Tensor:
    """The weight of each input position for each output position, [have, wanted]."""
    kind = scale.dtype
    back = 1.0 / scale
    widened = arithmetic.maximum(back, constants.ones_like(back)) if antialias else 1.0
    places = (ranges.range(casting.cast(wanted, kind), dtype=kind) + 0.5) * back
    places = places - translation * back - 0.5
    own = ranges.range(casting.cast(have, kind), dtype=kind)
    found = kernel(polar.abs(places[None, :] - own[:, None]) / widened)
    total = reduction.reduce_sum(found, 0, keepdims=True)
    zeros = constants.zeros_like(found)
    # If the kernel's negative lobes cancel the sum, it must not be divided by.
    enough = polar.abs(total) > 1000.0 * float(np.finfo(np.float32).eps)
    safe = selecting.where(enough, total, constants.ones_like(total))
    found = selecting.where(enough, found / safe, zeros)
    end = casting.cast(have, kind) - 0.5
    inside = logic.logical_and(
        comparison.greater_equal(places, -0.5), comparison.less_equal(places, end)
    )
    return selecting.where(inside[None, :], found, zeros)
