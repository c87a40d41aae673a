"""Resized images and their colours by compiled code, if the installation has it.

Every function returns None where NumPy must do the work: without machine code, for other dtypes
than float32, and for few numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels import compiled, recycling
from pinnace.ops.kernels.image_shares import readable, share_calls

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array

    # The old places before and after each new one, and the weights of the second.
    Places = tuple[Array, Array, Array]

# Kinds of changes of colours.
TO_HSV, TO_RGB, HUE, SATURATION = range(4)
# Numbers below which NumPy is as fast, and sizes of images whose places a float32 can hold.
_FEWEST, _MOST = 1 << 10, 1 << 24


def resized_linearly(x: Array, rows: Places, columns: Places) -> Array | None:
    """Bilinear interpolation along the row first, then between rows.

    Args:
        x: [batch, height, width, channels].
        rows: of the new rows.
        columns: of the new columns.

    Returns:
        [batch, new height, new width, channels].
    """
    kernel = compiled.made("resized_linearly") if _fits(x) else None
    if kernel is None:
        return None
    batch, height, width, channels = x.shape
    along, down = (np.concatenate(one).astype(np.float32) for one in (columns, rows))
    y = recycling.empty((batch, len(rows[0]), len(columns[0]), channels), np.float32)
    given = (height, width, channels, along, down, x.reshape(-1), y.reshape(-1))
    share_calls(kernel, batch * len(rows[0]), max(x.size, y.size), given)
    return y


def resampled(x: Array, rows: Array, columns: Array) -> Array | None:
    """Weighted sums of rows, then of pixels of a row.

    Args:
        x: [batch, height, width, channels].
        rows: [new height, height], weights that are 0 except for adjacent ones.
        columns: [new width, width], weights likewise.

    Returns:
        [batch, new height, new width, channels].
    """
    kernel = compiled.made("resampled") if _fits(x) else None
    if kernel is None or 0 in rows.shape or 0 in columns.shape:
        return None
    batch, height, width, channels = x.shape
    down, along = _band(rows), _band(columns)
    taps = along.shape[1] - 1, down.shape[1] - 1
    y = recycling.empty((batch, len(rows), len(columns), channels), np.float32)
    tables = along.reshape(-1), down.reshape(-1), x.reshape(-1), y.reshape(-1)
    size = max(x.size, y.size) * max(taps)
    share_calls(kernel, batch * len(rows), size, (height, width, channels, *taps, *tables))
    return y


def _band(weights: Array) -> Array:
    """[new, 1 + taps]: the first place with a weight, and the weights from there on."""
    is_used = weights != 0
    first = is_used.argmax(axis=1)
    end = weights.shape[1] - is_used[:, ::-1].argmax(axis=1)
    taps = int(np.where(is_used.any(axis=1), end - first, 1).max())
    first = np.minimum(first, weights.shape[1] - taps)
    kept = np.take_along_axis(weights, first[:, None] + np.arange(taps), axis=1)
    return np.concatenate([first[:, None], kept], axis=1).astype(np.float32)


def coloured(x: Array, kind: int, number: float = 0.0) -> Array | None:
    """Pixels in another space, or of another hue or saturation.

    Args:
        x: [..., 3].
        kind: `TO_HSV`, `TO_RGB`, `HUE` or `SATURATION`.
        number: what the hue is moved by, or the factor of the saturation.

    Returns:
        The shape of `x`.
    """
    kernel = compiled.made("colours") if _fits(x) else None
    if kernel is None:
        return None
    y = recycling.empty(x.shape, np.float32)
    change = np.array([number], np.float32)
    share_calls(kernel, x.size // 3, 4 * x.size, (kind, change, x.reshape(-1), y.reshape(-1)))
    return y


def _fits(x: Array) -> bool:
    return x.size >= _FEWEST and max(x.shape) < _MOST and readable(x)
