"""Pictures turned, enlarged and moved at random while training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework import dtypes
from pinnace.keras.layers.augmentation import PictureLayer, interval
from pinnace.ops.array import casting, constants, gathering, joining, reshaping, selecting, shapes
from pinnace.ops.math import (
    arithmetic,
    clipping,
    comparison,
    division,
    logic,
    ranges,
    rounding,
)

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layer import LayerOptions

_FILLS = ("reflect", "wrap", "constant", "nearest")


class _Warp(PictureLayer):
    """Each pixel of the result is taken from somewhere in the picture."""

    def __init__(
        self,
        fill_mode: str,
        interpolation: str,
        fill_value: float,
        data_format: str | None,
        seed: int | None,
        options: Any,
    ) -> None:
        super().__init__(data_format=data_format, seed=seed, **options)
        who = type(self).__name__
        if fill_mode not in _FILLS:
            raise ValueError(
                f"{who}: fill_mode must be one of {', '.join(_FILLS)}, got {fill_mode!r}"
            )
        if interpolation not in {"nearest", "bilinear"}:
            raise ValueError(
                f"{who}: interpolation must be nearest or bilinear, got {interpolation!r}"
            )
        self.fill_mode = fill_mode
        self.interpolation = interpolation
        self.fill_value = fill_value

    def _changed(self, x: Tensor) -> Tensor:
        sizes = shapes.shape(x)
        height, width = (casting.cast(sizes[axis], x.dtype) for axis in (1, 2))
        rows = reshaping.reshape(ranges.range(height, dtype=x.dtype), [1, -1, 1])
        columns = reshaping.reshape(ranges.range(width, dtype=x.dtype), [1, 1, -1])
        y, z = self._origin(x, rows, columns, height, width)
        return sampled(x, y, z, self.interpolation, self.fill_mode, self.fill_value)

    def _origin(
        self, x: Tensor, rows: Tensor, columns: Tensor, height: Tensor, width: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Rows and columns, [b, rows, columns], that the pixels are taken from."""
        raise NotImplementedError


class RandomZoom(_Warp):
    """While training, each picture is enlarged, or made smaller, about its middle.

    Args:
        height_factor: the share of rows that is added, between -factor and factor, or between two;
            below 0 enlarges.
        width_factor: likewise of columns; None keeps the ratio.
        fill_mode: what is outside of a picture: `reflect`, `wrap`, `constant` or `nearest`.
        interpolation: `bilinear` or `nearest`.
        seed: of the draws.
        fill_value: for `constant`.
        data_format: `channels_last` or `channels_first`.
        **options: see Layer.
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any = None,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(fill_mode, interpolation, fill_value, data_format, seed, options)
        self.height_factor = height_factor
        self.width_factor = width_factor
        self._ends = (
            interval("RandomZoom", "height_factor", height_factor, -1.0),
            None if width_factor is None else interval("RandomZoom", "width_factor", width_factor),
        )

    def _origin(
        self, x: Tensor, rows: Tensor, columns: Tensor, height: Tensor, width: Tensor
    ) -> tuple[Tensor, Tensor]:
        ends, others = self._ends
        tall = self.drawn(x, 1.0 + ends[0], 1.0 + ends[1], 3)
        wide = tall if others is None else self.drawn(x, 1.0 + others[0], 1.0 + others[1], 3)
        middle, centre = (height - 1.0) / 2.0, (width - 1.0) / 2.0
        y = middle + (rows - middle) * tall
        z = centre + (columns - centre) * wide
        return y + constants.zeros_like(z), z + constants.zeros_like(y)


def sampled(
    x: Tensor, rows: Tensor, columns: Tensor, interpolation: str, fill: str, value: float
) -> Tensor:
    """Pictures at places between their pixels.

    Args:
        x: [b, height, width, c].
        rows: [b, h, w], where the middle of the first pixel is 0.
        columns: [b, h, w].
        interpolation: `nearest` or `bilinear`.
        fill: what is outside: `reflect` (the edge pixel twice), `wrap`, `nearest` or `constant`.
        value: for `constant`.
    """
    if interpolation == "nearest":
        return _pixels(x, rounding.round(rows), rounding.round(columns), fill, value)
    top, left = rounding.floor(rows), rounding.floor(columns)
    below, right = (reshaping.expand_dims(a - b, -1) for a, b in ((rows, top), (columns, left)))
    upper = _pixels(x, top, left, fill, value) * (1.0 - right)
    upper = upper + _pixels(x, top, left + 1.0, fill, value) * right
    lower = _pixels(x, top + 1.0, left, fill, value) * (1.0 - right)
    lower = lower + _pixels(x, top + 1.0, left + 1.0, fill, value) * right
    return upper * (1.0 - below) + lower * below


def _pixels(x: Tensor, rows: Tensor, columns: Tensor, fill: str, value: float) -> Tensor:
    sizes = shapes.shape(x)
    height, width = (casting.cast(sizes[axis], x.dtype) for axis in (1, 2))
    places = [_inside(rows, height, fill), _inside(columns, width, fill)]
    batch = reshaping.reshape(ranges.range(sizes[0]), [-1, 1, 1])
    batch = batch + constants.zeros_like(casting.cast(rows, dtypes.int32))
    indices = joining.stack([batch, *(casting.cast(p, dtypes.int32) for p in places)], axis=-1)
    found = gathering.gather_nd(x, indices)
    if fill != "constant":
        return found
    beside, below = comparison.equal(rows, places[0]), comparison.equal(columns, places[1])
    inside = reshaping.expand_dims(logic.logical_and(beside, below), -1)
    return selecting.where(inside, found, constants.ones_like(found) * value)


def _inside(places: Tensor, size: Tensor, fill: str) -> Tensor:
    if fill == "wrap":
        return division.floormod(places, size)
    if fill == "reflect":
        around = division.floormod(places, 2.0 * size)
        return arithmetic.minimum(around, 2.0 * size - 1.0 - around)
    kept: Tensor = clipping.clip_by_value(places, 0.0, size - 1.0)
    return kept
