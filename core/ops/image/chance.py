"""Random image augmentation: flips, crops, brightness, contrast, hue, saturation, JPEG noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import float32, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.array import (
    broadcasting,
    casting,
    permutations,
    reshaping,
    selecting,
    shapes,
    slicing,
)
from pinnace.ops.image import colour, cropping, jpeg
from pinnace.ops.math import comparison, division, rounding
from pinnace.ops.random import stateful, stateless

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = [
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_jpeg_quality",
    "random_saturation",
    "stateless_random_brightness",
    "stateless_random_contrast",
    "stateless_random_crop",
    "stateless_random_flip_left_right",
    "stateless_random_flip_up_down",
    "stateless_random_hue",
    "stateless_random_jpeg_quality",
    "stateless_random_saturation",
]


def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Images [..., height, width, channels], each flipped horizontally with probability 1/2.

    Args:
        image: [height, width, channels] or [batch, height, width, channels].
        seed: the op's seed; see `set_seed`.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: `image` has neither three nor four axes.
    """
    return _flipped(image, -2, _stream(seed))


def stateless_random_flip_left_right(image: TensorLike, seed: TensorLike) -> Tensor:
    """`random_flip_left_right` as a function of `seed` [2].

    Args:
        image: [height, width, channels] or [batch, height, width, channels].
        seed: [2], int32 or int64.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: `image` has neither three nor four axes.
    """
    return _flipped(image, -2, _of_seed(seed))


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Images [..., height, width, channels], each flipped vertically with probability 1/2.

    Args:
        image: [height, width, channels] or [batch, height, width, channels].
        seed: the op's seed; see `set_seed`.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: `image` has neither three nor four axes.
    """
    return _flipped(image, -3, _stream(seed))


def stateless_random_flip_up_down(image: TensorLike, seed: TensorLike) -> Tensor:
    """`random_flip_up_down` as a function of `seed` [2].

    Args:
        image: [height, width, channels] or [batch, height, width, channels].
        seed: [2], int32 or int64.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: `image` has neither three nor four axes.
    """
    return _flipped(image, -3, _of_seed(seed))


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a number in [-max_delta, max_delta).

    Args:
        image: [...], floats in [0, 1], or an integer type.
        max_delta: a number from 0.
        seed: the op's seed; see `set_seed`.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: `max_delta` is below 0.
    """
    return colour.adjust_brightness(image, _around_zero(max_delta, _stream(seed)))


def stateless_random_brightness(image: TensorLike, max_delta: float, seed: TensorLike) -> Tensor:
    """`random_brightness` as a function of `seed` [2].

    Args:
        image: [...], floats in [0, 1], or an integer type.
        max_delta: a number from 0.
        seed: [2], int32 or int64.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: `max_delta` is below 0.
    """
    return colour.adjust_brightness(image, _around_zero(max_delta, _of_seed(seed)))


def random_contrast(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """`adjust_contrast` by a factor in [lower, upper).

    Args:
        image: [..., height, width, channels].
        lower: the least factor.
        upper: the largest factor, excluded.
        seed: the op's seed; see `set_seed`.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: not 0 ≤ lower < upper.
    """
    return colour.adjust_contrast(image, _between("contrast", lower, upper, _stream(seed)))


def stateless_random_contrast(
    image: TensorLike, lower: float, upper: float, seed: TensorLike
) -> Tensor:
    """`random_contrast` as a function of `seed` [2].

    Args:
        image: [..., height, width, channels].
        lower: the least factor.
        upper: the largest factor, excluded.
        seed: [2], int32 or int64.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: not 0 ≤ lower < upper.
    """
    return colour.adjust_contrast(image, _between("contrast", lower, upper, _of_seed(seed)))


def random_saturation(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """`adjust_saturation` by a factor in [lower, upper).

    Args:
        image: [..., 3], RGB: floats in [0, 1], or an integer type.
        lower: the least factor.
        upper: the largest factor, excluded.
        seed: the op's seed; see `set_seed`.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: not 0 ≤ lower < upper.
    """
    return colour.adjust_saturation(image, _between("saturation", lower, upper, _stream(seed)))


def stateless_random_saturation(
    image: TensorLike, lower: float, upper: float, seed: Any = None
) -> Tensor:
    """`random_saturation` as a function of `seed` [2].

    Args:
        image: [..., 3], RGB: floats in [0, 1], or an integer type.
        lower: the least factor.
        upper: the largest factor, excluded.
        seed: [2], int32 or int64.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: not 0 ≤ lower < upper.
    """
    return colour.adjust_saturation(image, _between("saturation", lower, upper, _of_seed(seed)))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a number in [-max_delta, max_delta).

    Args:
        image: [..., 3], RGB: floats in [0, 1], or an integer type.
        max_delta: a number in [0, 0.5].
        seed: the op's seed; see `set_seed`.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: `max_delta` is not in [0, 0.5].
    """
    return colour.adjust_hue(image, _turn(max_delta, _stream(seed)))


def stateless_random_hue(image: TensorLike, max_delta: float, seed: TensorLike) -> Tensor:
    """`random_hue` as a function of `seed` [2].

    Args:
        image: [..., 3], RGB: floats in [0, 1], or an integer type.
        max_delta: a number in [0, 0.5].
        seed: [2], int32 or int64.

    Returns:
        The shape and dtype of `image`.

    Raises:
        ValueError: `max_delta` is not in [0, 0.5].
    """
    return colour.adjust_hue(image, _turn(max_delta, _of_seed(seed)))


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """`adjust_jpeg_quality` with a quality in [min_jpeg_quality, max_jpeg_quality).

    Args:
        image: [height, width, channels].
        min_jpeg_quality: from 0.
        max_jpeg_quality: up to 100, excluded.
        seed: the op's seed; see `set_seed`.

    Raises:
        ValueError: not 0 ≤ min_jpeg_quality < max_jpeg_quality ≤ 100.
    """
    _check_quality(min_jpeg_quality, max_jpeg_quality)
    quality = stateful.uniform([], min_jpeg_quality, max_jpeg_quality, int32, seed)
    return jpeg.adjust_jpeg_quality(image, quality)


def stateless_random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: TensorLike
) -> Tensor:
    """`random_jpeg_quality` as a function of `seed` [2].

    Args:
        image: [height, width, channels].
        min_jpeg_quality: from 0.
        max_jpeg_quality: up to 100, excluded.
        seed: [2], int32 or int64.

    Raises:
        ValueError: not 0 ≤ min_jpeg_quality < max_jpeg_quality ≤ 100.
    """
    _check_quality(min_jpeg_quality, max_jpeg_quality)
    quality = stateless.stateless_uniform([], seed, min_jpeg_quality, max_jpeg_quality, int32)
    return jpeg.adjust_jpeg_quality(image, quality)


def random_crop(
    value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """A random crop of `value` of that size, each position equally likely.

    Args:
        value: any shape.
        size: [rank], int32; none larger than the axis.
        seed: the op's seed; see `set_seed`.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: `size` is more than there is.
    """
    return _cropped(
        value, size, lambda count: stateful.uniform([count], 0, int32.max, int32, seed), name
    )


def stateless_random_crop(
    value: TensorLike, size: TensorLike, seed: TensorLike, name: str | None = None
) -> Tensor:
    """`random_crop` as a function of `seed` [2].

    Args:
        value: any shape.
        size: [rank], int32; none larger than the axis.
        seed: [2], int32 or int64.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: `size` is more than there is.
    """
    return _cropped(
        value,
        size,
        lambda count: stateless.stateless_uniform([count], seed, 0, int32.max, int32),
        name,
    )


def _stream(seed: int | None) -> Callable[..., Tensor]:
    return lambda shape, low, high: stateful.uniform(shape, low, high, float32, seed)


def _of_seed(seed: Any) -> Callable[..., Tensor]:
    return lambda shape, low, high: stateless.stateless_uniform(shape, seed, low, high)


def _flipped(image: TensorLike, axis: int, draw: Callable[..., Tensor]) -> Tensor:
    x = cropping.picture(image, "random_flip", one_if_unknown=True)
    mirrored = permutations.reverse(x, [axis])
    if x.shape.rank == 3:
        return selecting.where(comparison.less(draw([], 0, 1.0), 0.5), mirrored, x)
    count = shapes.axis_sizes(x)[0]
    # TensorFlow: the images of a batch whose random number rounds to 1 are flipped.
    chosen = rounding.round(reshaping.reshape(draw([count], 0, 1.0), [-1, 1, 1, 1]))
    flips = casting.cast(chosen, x.dtype)
    return flips * mirrored + (1 - flips) * x


def _around_zero(most: float, draw: Callable[..., Tensor]) -> Tensor:
    if most < 0:
        raise ValueError(f"random_brightness: max_delta must not be negative, got {most}")
    return draw([], -most, most)


def _turn(most: float, draw: Callable[..., Tensor]) -> Tensor:
    if not 0 <= most <= 0.5:
        raise ValueError(f"random_hue: max_delta must be in [0, 0.5], got {most}")
    return draw([], -most, most)


def _between(what: str, lower: float, upper: float, draw: Callable[..., Tensor]) -> Tensor:
    if not 0 <= lower < upper:
        raise ValueError(f"random_{what}: lower must be in [0, upper), got {lower} and {upper}")
    return draw([], lower, upper)


def _check_quality(least: int, most: int) -> None:
    if not 0 <= least < most <= 100:
        raise ValueError(
            "random_jpeg_quality: 0 <= min_jpeg_quality < max_jpeg_quality <= 100 must hold, got "
            f"{least} and {most}"
        )


def _cropped(
    value: TensorLike, size: TensorLike, draw: Callable[[Any], Tensor], name: str | None
) -> Tensor:
    x = convert_to_tensor(value)
    wanted = convert_to_tensor(size, int32)
    whole = shapes.shape(x)
    known = broadcasting.known_value(wanted)
    if known is not None and x.shape.is_fully_defined() and (known > x.shape.as_list()).any():
        raise InvalidArgumentError(
            f"random_crop: size must not exceed the shape of value, got {known} of {x.shape}"
        )
    places = division.floormod(draw(shapes.size(whole)), whole - wanted + 1)
    return slicing.slice(x, places, wanted, name)
