"""Image warping: affine, perspective and elastic transformations, and arbitrary coordinates."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.keras.ops.formats import images_last, images_restored
from pinnace.keras.ops.image_windows import blurred
from pinnace.keras.ops.operation import operation
from pinnace.keras.random import drawn_seed
from pinnace.ops.array import (
    casting,
    constants,
    gathering,
    joining,
    reshaping,
    selecting,
    shapes,
)
from pinnace.ops.execute import execute
from pinnace.ops.image import projecting
from pinnace.ops.linalg import solving
from pinnace.ops.math import (
    arithmetic,
    clipping,
    comparison,
    division,
    logic,
    polar,
    ranges,
    rounding,
)
from pinnace.ops.random import stateless

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERPOLATIONS = ("nearest", "bilinear")
FILL_MODES = ("constant", "nearest", "wrap", "reflect")
_PLACE_FILL_MODES = (*FILL_MODES, "mirror")


def _one_of(name: str, argument: str, given: Any, known: Sequence[str]) -> None:
    if given not in known:
        raise ValueError(
            f"keras.ops.image.{name}: Invalid value for argument `{argument}`: it must be one of "
            f"{', '.join(known)}, got {given!r}"
        )


def _projected(
    x: Tensor, transforms: Tensor, interpolation: str, fill_mode: str, fill_value: float
) -> Tensor:
    found: Tensor = execute(
        projecting.PROJECTIVE_TRANSFORM_V3,
        x,
        casting.cast(transforms, dtypes.float32),
        joining.stack(shapes.axis_sizes(x)[1:3]),
        convert_to_tensor(fill_value, dtypes.float32),
        interpolation=interpolation.upper(),
        fill_mode=fill_mode.upper(),
    )
    found.set_shape(x.shape)
    return found


@operation("image", "AffineTransform", *("interpolation", "fill_mode", "fill_value", "data_format"))
def affine_transform(
    images: Any,
    transform: Any,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: float = 0,
    data_format: str | None = None,
) -> Tensor:
    """Images rotated, moved, scaled or sheared.

    Args:
        images: [batch, height, width, channels] or one image without `batch`.
        transform: [8], [1, 8] or [batch, 8], a0 to a2, b0 to b2, c0, c1: the pixel (x, y) of the
            result comes from ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) of the image, where
            k = c0 x + c1 y + 1.
        interpolation: "nearest" or "bilinear".
        fill_mode: values outside of an image: "constant", "nearest" (the edge pixel), "wrap" (the
            image again) or "reflect" (its mirror image).
        fill_value: the value for "constant".
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        Shape and dtype of `images`.

    Raises:
        ValueError: unknown interpolation, fill mode or number of axes.
    """
    _one_of("affine_transform", "interpolation", interpolation, INTERPOLATIONS)
    _one_of("affine_transform", "fill_mode", fill_mode, FILL_MODES)
    x, first, single = images_last("affine_transform", images, data_format)
    matrices: Tensor = convert_to_tensor(transform)
    if matrices.shape.rank not in {1, 2}:
        raise ValueError(
            "keras.ops.image.affine_transform: Invalid transform rank: expected rank 1 (single "
            f"transform) or rank 2 (batch of transforms), got shape {matrices.shape.text}"
        )
    if matrices.shape.rank == 1:
        matrices = reshaping.expand_dims(matrices, 0)
    y = _projected(x, matrices, interpolation, fill_mode, fill_value)
    return images_restored(y, first, single)


@operation("image", "PerspectiveTransform", "interpolation", "fill_value", "data_format")
def perspective_transform(
    images: Any,
    start_points: Any,
    end_points: Any,
    interpolation: str = "bilinear",
    fill_value: float = 0,
    data_format: str | None = None,
) -> Tensor:
    """Images transformed so that four points move to four others.

    Args:
        images: [batch, height, width, channels] or one image without `batch`.
        start_points: [4, 2] or [batch, 4, 2], x and y of points in `images`, in pixels.
        end_points: as `start_points`: where they are in the result.
        interpolation: "nearest" or "bilinear".
        fill_value: the value outside of an image.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        Shape and dtype of `images`.

    Raises:
        ValueError: unknown interpolation or number of axes; points of another or of two shapes.
    """
    name = "perspective_transform"
    _one_of(name, "interpolation", interpolation, INTERPOLATIONS)
    x, first, single = images_last(name, images, data_format)
    points = []
    for argument, given in (("start_points", start_points), ("end_points", end_points)):
        tensor: Tensor = casting.cast(given, dtypes.float32)
        if tensor.shape.rank not in {2, 3} or tensor.shape.as_list()[-2:] != [4, 2]:
            raise ValueError(
                f"keras.ops.image.{name}: Invalid {argument} shape: expected (4,2) for a single "
                f"image or (N,4,2) for a batch, got shape {tensor.shape.text}"
            )
        points.append(tensor)
    start, end = points
    if start.shape.rank != end.shape.rank or not start.shape.is_compatible_with(end.shape):
        raise ValueError(
            f"keras.ops.image.{name}: start_points and end_points must have the same shape, got "
            f"{start.shape.text} and {end.shape.text}"
        )
    if start.shape.rank == 2:
        start, end = reshaping.expand_dims(start, 0), reshaping.expand_dims(end, 0)
    matrices = homography(start, end)
    y = _projected(x, matrices, interpolation, "constant", fill_value)
    return images_restored(y, first, single)


def homography(start: Tensor, end: Tensor) -> Tensor:
    """The projections that map the end points back to the start points.

    Args:
        start: [batch, 4, 2], x and y of points.
        end: [batch, 4, 2].

    Returns:
        [batch, 8], as `affine_transform` takes them.
    """
    ones = constants.ones_like(end[..., :1])
    zeros = constants.zeros_like(joining.concat([end, ones], -1))
    place = joining.concat([end, ones], -1)
    # A point (x, y) comes from (u, v): u = a·(x, y, 1) - u c·(x, y), and likewise v.
    across = joining.concat([place, zeros, -start[..., :1] * end], -1)
    down = joining.concat([zeros, place, -start[..., 1:] * end], -1)
    rows = reshaping.reshape(joining.stack([across, down], 2), [-1, 8, 8])
    wanted = reshaping.reshape(start, [-1, 8, 1])
    return reshaping.reshape(solving.solve(rows, wanted), [-1, 8])


@operation("image", "MapCoordinates", "order", "fill_mode", "fill_value")
def map_coordinates(
    inputs: Any, coordinates: Any, order: int, fill_mode: str = "constant", fill_value: float = 0
) -> Tensor:
    """An array sampled at positions between its elements.

    Args:
        inputs: [*sizes], of n known axes, any real dtype.
        coordinates: [n, ...], the places; the middle of the first element is 0.
        order: 0 takes the nearest element, 1 interpolates linearly.
        fill_mode: values outside: "constant", "nearest" (the last element), "wrap" (the array
            again), "mirror" (c b | a b c) or "reflect" (b a | a b c).
        fill_value: the value for "constant".

    Returns:
        [...], dtype of `inputs`; integers are rounded.

    Raises:
        NotImplementedError: unknown order.
        ValueError: unknown fill mode, or other numbers of axes.

    Source:
        Keras `map_coordinates` with TensorFlow: before the array, "reflect" is as "mirror".
    """
    x: Tensor = convert_to_tensor(inputs)
    places: Tensor = convert_to_tensor(coordinates)
    who = "keras.ops.image.map_coordinates"
    if (places.shape.rank or 0) < 2:
        raise ValueError(
            f"{who}: Invalid coordinates rank: expected at least rank 2, got shape "
            f"{places.shape.text}"
        )
    if places.shape[0] != x.shape.rank:
        raise ValueError(
            f"{who}: First dim of `coordinates` must be the same as the rank of `inputs`, got "
            f"{places.shape.text} and {x.shape.text}"
        )
    _one_of("map_coordinates", "fill_mode", fill_mode, _PLACE_FILL_MODES)
    if order not in {0, 1}:
        raise NotImplementedError(f"{who}: order must be 0 or 1, got {order!r}")
    each = [places[axis] for axis in range(len(x.shape))]
    return interpolated(x, each, order, fill_mode, fill_value)


def interpolated(
    x: Tensor,
    places: Sequence[Tensor],
    order: int,
    fill_mode: str,
    fill_value: float,
    batch_dims: int = 0,
) -> Tensor:
    """`x` at positions between its elements, along as many axes as there are coordinates.

    Args:
        x: [*batch, *sizes, *rest].
        places: coordinates along each of the sizes, [*batch, ...].
        order: 0 or 1.
        fill_mode: see `map_coordinates`.
        fill_value: the value for "constant".
        batch_dims: how many axes `batch` has.

    Returns:
        [*batch, ..., *rest], dtype of `x`.
    """
    sizes = shapes.axis_sizes(x)[batch_dims : batch_dims + len(places)]
    rest = (x.shape.rank or 0) - batch_dims - len(places)
    ends = [_neighbours(place, order) for place in places]
    parts = []
    for corner in itertools.product(*ends):
        mapped = [
            _inside(index, size, fill_mode) for (index, _), size in zip(corner, sizes, strict=True)
        ]
        at = joining.stack([index for index, _ in mapped], -1)
        found = gathering.gather_nd(x, at, batch_dims)
        if fill_mode == "constant":
            there = functools.reduce(logic.logical_and, [valid for _, valid in mapped])
            there = _widened(there, rest)
            found = selecting.where(there, found, casting.cast(fill_value, x.dtype))
        if order == 0:
            return found
        weight = functools.reduce(arithmetic.multiply, [part for _, part in corner])
        parts.append(casting.cast(found, weight.dtype) * _widened(weight, rest))
    total = functools.reduce(arithmetic.add, parts)
    return casting.cast(rounding.round(total) if x.dtype.is_integer else total, x.dtype)


def _widened(x: Tensor, axes: int) -> Tensor:
    for _ in range(axes):
        x = reshaping.expand_dims(x, -1)
    return x


def _neighbours(place: Tensor, order: int) -> list[tuple[Tensor, Any]]:
    """The neighbouring elements of a position, and their weights."""
    if order == 0:
        whole = rounding.round(place) if place.dtype.is_floating else place
        return [(casting.cast(whole, dtypes.int32), None)]
    floats = place if place.dtype.is_floating else casting.cast(place, dtypes.float32)
    below = rounding.floor(floats)
    share = floats - below
    index = casting.cast(below, dtypes.int32)
    return [(index, 1.0 - share), (index + 1, share)]


def _inside(index: Tensor, size: Any, fill_mode: str) -> tuple[Tensor, Tensor]:
    """The index inside the array for each position, and whether the position was inside."""
    kept = clipping.clip_by_value(index, 0, size - 1)
    valid = comparison.equal(index, kept)
    if fill_mode == "wrap":
        return division.floormod(index, size), valid
    if fill_mode == "reflect":
        around = division.floormod(polar.abs(index), 2 * size)
        return arithmetic.minimum(around, 2 * size - 1 - around), valid
    if fill_mode == "mirror":
        period = 2 * (size - 1)
        # An array of one element has period 1.
        period = arithmetic.maximum(period, 1) if isinstance(size, Tensor) else max(period, 1)
        around = division.floormod(index, period)
        return arithmetic.minimum(around, polar.abs(period - around)), valid
    return kept, valid


@operation(
    "image",
    "ElasticTransform",
    *("alpha", "sigma", "interpolation", "fill_mode", "fill_value", "seed", "data_format"),
)
def elastic_transform(
    images: Any,
    alpha: float = 20.0,
    sigma: float = 5.0,
    interpolation: str = "bilinear",
    fill_mode: str = "reflect",
    fill_value: float = 0.0,
    seed: Any = None,
    data_format: str | None = None,
) -> Tensor:
    """Images whose pixels are displaced by smooth random offsets.

    Args:
        images: [batch, height, width, channels] or one image without `batch`, a float dtype.
        alpha: how far pixels are moved.
        sigma: in how wide a neighbourhood they are moved alike, in pixels.
        interpolation: "nearest" or "bilinear".
        fill_mode: values outside of an image: "constant", "nearest", "wrap" or "reflect".
        fill_value: the value for "constant".
        seed: a number, for which all draws are the same; a `SeedGenerator`; None takes a new one.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        Shape and dtype of `images`.

    Raises:
        ValueError: unsupported dtype, interpolation, fill mode or number of axes.

    Source:
        Keras `elastic_transform`: with a seed, a pixel moves as far down as it moves right.
    """
    name = "elastic_transform"
    _one_of(name, "interpolation", interpolation, INTERPOLATIONS)
    _one_of(name, "fill_mode", fill_mode, FILL_MODES)
    x, first, single = images_last(name, images, data_format)
    if not x.dtype.is_floating:
        raise ValueError(f"keras.ops.image.{name}: images must be floats, got {x.dtype.name}")
    batch, height, width, _ = shapes.axis_sizes(x)
    kind = x.dtype
    shape: Any = [batch, height, width]
    if any(isinstance(n, Tensor) for n in shape):
        shape = joining.stack(shape)
    # Keras: both directions are drawn from one seed.
    noise = stateless.stateless_normal(shape, drawn_seed(name, seed), 0.0, 1.0, kind)
    spread = convert_to_tensor(sigma, kind)
    taps = _taps(sigma)
    moved = blurred(reshaping.expand_dims(noise * spread, -1), (taps, taps), (spread, spread))
    distance = reshaping.squeeze(moved, [-1]) * convert_to_tensor(alpha, kind)
    rows = reshaping.reshape(ranges.range(casting.cast(height, kind), dtype=kind), [1, -1, 1])
    columns = reshaping.reshape(ranges.range(casting.cast(width, kind), dtype=kind), [1, 1, -1])
    order = INTERPOLATIONS.index(interpolation)
    places = [rows + distance, columns + distance]
    y = interpolated(x, places, order, fill_mode, fill_value, batch_dims=1)
    return images_restored(y, first, single)


def _taps(sigma: Any) -> Any:
    """The taps of a Gaussian: three standard deviations on each side, and one."""
    if isinstance(sigma, Tensor):
        return casting.cast(sigma, dtypes.int32) * 6 + 1
    return 6 * int(sigma) + 1
