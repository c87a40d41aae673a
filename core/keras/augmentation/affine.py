"""Rotation, shifting, shearing and zooming of images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.keras.augmentation import global_random
from pinnace.keras.augmentation.resampling import resampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array


def apply_affine_transform(
    x: Array,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> Array:
    """A picture read at turned, shifted, sheared and zoomed places.

    Args:
        x: three axes.
        theta: degrees.
        tx: pixels.
        ty: pixels.
        shear: degrees.
        zx: factor.
        zy: factor.
        row_axis: the axis of the rows; likewise for the next two.
        col_axis: likewise.
        channel_axis: likewise: the first or the last.
        fill_mode: values beyond the border: `nearest`, `constant`, `reflect` or `wrap`.
        cval: the value outside for `constant`.
        order: order of the spline: 0 for the nearest pixel, 1 for linear; 2 to 5 need SciPy.

    Returns:
        Shape and dtype of `x`; `x` itself if nothing is to be done.

    Raises:
        ValueError: other axes, another mode or order.
        ImportError: splines without SciPy.
    """
    axes = row_axis, col_axis, channel_axis
    if sorted(axes) != [0, 1, 2] or channel_axis == 1:
        raise ValueError(
            "apply_affine_transform: row_axis, col_axis and channel_axis must be 0, 1 and 2 in an "
            f"order that has the channels first or last, got {axes}"
        )
    if x.ndim != 3:
        raise ValueError(
            f"apply_affine_transform: x must have 3 axes, got shape {list(np.shape(x))}"
        )
    factors = _factors(theta, tx, ty, shear, zx, zy)
    if not factors:
        return x
    whole = factors[0]
    for factor in factors[1:]:
        whole = np.dot(whole, factor)
    whole = _around_the_middle(whole, x.shape[row_axis], x.shape[col_axis])
    if col_axis > row_axis:
        # Keras: the first coordinate of the formulas is then the second axis of a plane.
        whole = whole[[1, 0, 2]][:, [1, 0, 2]]
    planes = np.moveaxis(x, channel_axis, 0)
    found = resampled(planes, whole[:2, :2], whole[:2, 2], order, fill_mode, cval)
    return np.moveaxis(found, 0, channel_axis)


def _factors(theta: float, tx: float, ty: float, shear: float, zx: float, zy: float) -> list[Array]:
    """The matrices of the transformations, [3, 3] each."""
    found = []
    if theta != 0:
        angle = np.deg2rad(theta)
        cos, sin = np.cos(angle), np.sin(angle)
        found.append([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    if tx != 0 or ty != 0:
        found.append([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    if shear != 0:
        angle = np.deg2rad(shear)
        found.append([[1, -np.sin(angle), 0], [0, np.cos(angle), 0], [0, 0, 1]])
    if zx != 1 or zy != 1:
        found.append([[zx, 0, 0], [0, zy, 0], [0, 0, 1]])
    return [np.array(factor) for factor in found]


def _around_the_middle(matrix: Array, rows: int, columns: int) -> Array:
    y, x = rows / 2 - 0.5, columns / 2 - 0.5
    there = np.array([[1, 0, y], [0, 1, x], [0, 0, 1]])
    back = np.array([[1, 0, -y], [0, 1, -x], [0, 0, 1]])
    found: Array = np.dot(np.dot(there, matrix), back)
    return found


def random_rotation(
    x: Array,
    rg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """A picture turned by an angle from -rg to rg degrees.

    Args:
        x: see `apply_affine_transform`, and so for all below.
        rg: degrees.
        row_axis: likewise.
        col_axis: likewise.
        channel_axis: likewise.
        fill_mode: likewise.
        cval: likewise.
        interpolation_order: `order` there.
    """
    theta = global_random.uniform(-rg, rg)
    return apply_affine_transform(
        x, theta, 0, 0, 0, 1, 1, row_axis, col_axis, channel_axis, fill_mode, cval,
        interpolation_order,
    )  # fmt: skip


def random_shift(
    x: Array,
    wrg: float,
    hrg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """A picture shifted by up to `hrg` of its height and `wrg` of its width, either way.

    Args:
        x: see `apply_affine_transform`, and so for all below.
        wrg: share of the width.
        hrg: share of the height.
        row_axis: likewise.
        col_axis: likewise.
        channel_axis: likewise.
        fill_mode: likewise.
        cval: likewise.
        interpolation_order: `order` there.
    """
    tx = global_random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = global_random.uniform(-wrg, wrg) * x.shape[col_axis]
    return apply_affine_transform(
        x, 0, tx, ty, 0, 1, 1, row_axis, col_axis, channel_axis, fill_mode, cval,
        interpolation_order,
    )  # fmt: skip


def random_shear(
    x: Array,
    intensity: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """A picture sheared by an angle from -intensity to intensity degrees.

    Args:
        x: see `apply_affine_transform`, and so for all below.
        intensity: degrees.
        row_axis: likewise.
        col_axis: likewise.
        channel_axis: likewise.
        fill_mode: likewise.
        cval: likewise.
        interpolation_order: `order` there.
    """
    shear = global_random.uniform(-intensity, intensity)
    return apply_affine_transform(
        x, 0, 0, 0, shear, 1, 1, row_axis, col_axis, channel_axis, fill_mode, cval,
        interpolation_order,
    )  # fmt: skip


def random_zoom(
    x: Array,
    zoom_range: Sequence[float],
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """A picture zoomed by two factors, one for each direction.

    Args:
        x: see `apply_affine_transform`, and so for all below.
        zoom_range: the least and the largest factor.
        row_axis: likewise.
        col_axis: likewise.
        channel_axis: likewise.
        fill_mode: likewise.
        cval: likewise.
        interpolation_order: `order` there.

    Raises:
        ValueError: `zoom_range` is no pair.
    """
    if len(zoom_range) != 2:
        raise ValueError(f"random_zoom: zoom_range must be a pair of factors, got {zoom_range!r}")
    low, high = zoom_range
    zx, zy = (1, 1) if low == high == 1 else global_random.uniform(low, high, 2)
    return apply_affine_transform(
        x, 0, 0, 0, 0, zx, zy, row_axis, col_axis, channel_axis, fill_mode, cval,
        interpolation_order,
    )  # fmt: skip
