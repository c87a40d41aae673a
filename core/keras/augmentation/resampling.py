"""Resampled planes: `scipy.ndimage.affine_transform`, equal to the last bit.

Nearest and linear are computed here, for all planes of a picture at once; splines by SciPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.extras import install_command

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

MODES = ("nearest", "constant", "reflect", "wrap")
_MOST_ORDER = 5
# SciPy: coordinates less than this below 0 count as 0.
_NEAR = 1e-15


def resampled(
    planes: Array, matrix: Array, offset: Array, order: int, mode: str, cval: float
) -> Array:
    """Planes whose pixel p is read at matrix · p + offset.

    Args:
        planes: [n, rows, columns].
        matrix: [2, 2].
        offset: [2].
        order: order of the spline: 0 for the nearest pixel, 1 for linear, up to 5.
        mode: values beyond the border: `nearest`, `constant`, `reflect` or `wrap`.
        cval: the value outside for `constant`.

    Returns:
        [n, rows, columns], dtype of `planes`.

    Raises:
        ValueError: unknown order or mode.
        ImportError: splines without SciPy.
    """
    if mode not in MODES:
        raise ValueError(f"fill_mode must be one of {', '.join(MODES)}, got {mode!r}")
    if order not in range(_MOST_ORDER + 1):
        raise ValueError(f"interpolation_order must be 0 to {_MOST_ORDER}, got {order!r}")
    if order > 1:
        return _splines(planes, matrix, offset, order, mode, cval)
    rows, columns = planes.shape[1:]
    i, j = np.arange(rows)[:, None], np.arange(columns)[None, :]
    places = [(offset[n] + matrix[n, 0] * i) + matrix[n, 1] * j for n in (0, 1)]
    outside = np.zeros((rows, columns), bool)
    if mode == "constant":
        for place, size in zip(places, (rows, columns), strict=True):
            outside |= (place < 0) | (place > size - 1)
    (y, x) = (_mapped(p, n, mode) for p, n in zip(places, (rows, columns), strict=True))
    found = _nearest(planes, y, x, mode) if order == 0 else _linear(planes, y, x, mode)
    found[:, outside] = cval
    return _cast(found, planes.dtype)


def _mapped(place: Array, size: int, mode: str) -> Array:
    """Coordinates beyond the border mapped inside, or to at most one pixel before."""
    if mode in {"nearest", "constant"} or size == 1:
        return np.clip(place, 0, size - 1) if mode in {"nearest", "constant"} else place * 0
    below, above = place < 0, place > size - 1
    if mode == "wrap":
        # SciPy: the last pixel is the first one again.
        period = size - 1
        place = np.where(below, place + period * (np.trunc(-place / period) + 1), place)
        return np.where(above, place - period * np.trunc(place / period), place)
    period = 2 * size
    far = np.where(place < -period, period * np.trunc(-place / period) + place, place)
    mirrored = np.where(far > -_NEAR, _NEAR, -far) - 1
    place = np.where(below, np.where(far < -size, far + period, mirrored), place)
    beyond = place - period * np.trunc(place / period)
    return np.where(above, np.where(beyond >= size, period - beyond - 1, beyond), place)


def _index(place: Array, size: int, mode: str) -> Array:
    """Pixel indices; those one before the first and one after the last are mirrored."""
    found = place.astype(np.int64)
    if mode == "reflect":
        found = np.where(found < 0, -found - 1, found)
        return np.where(found >= size, 2 * size - 1 - found, found)
    return np.clip(found, 0, size - 1)


def _nearest(planes: Array, y: Array, x: Array, mode: str) -> Array:
    rows, columns = planes.shape[1:]
    i = _index(np.floor(y + 0.5), rows, mode)
    j = _index(np.floor(x + 0.5), columns, mode)
    found: Array = planes[:, i, j].astype(np.float64)
    return found


def _linear(planes: Array, y: Array, x: Array, mode: str) -> Array:
    rows, columns = planes.shape[1:]
    top, left = np.floor(y), np.floor(x)
    down, right = y - top, x - left
    total = np.zeros((len(planes), *y.shape))
    for i, share in ((top, 1 - down), (top + 1, down)):
        for j, part in ((left, 1 - right), (left + 1, right)):
            read = planes[:, _index(i, rows, mode), _index(j, columns, mode)]
            total += read.astype(np.float64) * share * part
    return total


def _cast(found: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        found = np.trunc(found + np.where(found > 0, 0.5, -0.5 if dtype.kind == "i" else 0.0))
        found = np.clip(found, float(bounds.min), float(bounds.max))
    return found.astype(dtype)


def _splines(
    planes: Array, matrix: Array, offset: Array, order: int, mode: str, cval: float
) -> Array:
    try:
        from scipy import ndimage
    except ImportError:
        raise ImportError(
            f"interpolation_order={order} needs SciPy; 0 and 1 do not\n"
            f"  Try: {install_command('scipy')}"
        ) from None
    return np.stack(
        [
            ndimage.affine_transform(plane, matrix, offset, order=order, mode=mode, cval=cval)
            for plane in planes
        ]
    )
