"""Cases of core/ops/image/colour.py: colorsys, pixel by pixel."""

import colorsys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]
LOOSE: dict[str, Any] = {"slack": 64, "reason": "hues are quotients of small differences"}


def pixels(function: Callable[..., tuple[float, float, float]]) -> Callable[..., Array]:
    def mapped(x: Array, *more: Any) -> Array:
        flat = [function(*colour, *map(float, more)) for colour in x.reshape(-1, 3).tolist()]
        return np.array(flat, np.float64).reshape(x.shape)

    return mapped


def colours() -> st.SearchStrategy[tuple[Array, ...]]:
    """Colours with well separated channels: where two are equal, the hue has no derivative."""

    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        shape = tuple(rng.integers(0, 3, int(rng.integers(0, 3))))
        steps = np.array([0.2, 0.5, 0.8]) + rng.random((*shape, 3)) * 0.1
        return (np.round(rng.permuted(steps, axis=-1) * 256) / 256,)

    return random_arrays(build)


def turned(r: float, g: float, b: float, delta: float) -> tuple[float, float, float]:
    hue, saturation, value = colorsys.rgb_to_hsv(r, g, b)
    return colorsys.hsv_to_rgb((hue + delta) % 1, saturation, value)


def saturated(r: float, g: float, b: float, scale: float) -> tuple[float, float, float]:
    hue, saturation, value = colorsys.rgb_to_hsv(r, g, b)
    return colorsys.hsv_to_rgb(hue, min(max(saturation * scale, 0), 1), value)


def with_factor() -> st.SearchStrategy[tuple[Array, ...]]:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        shape = (*rng.integers(1, 3, int(rng.integers(2, 4))), 3)
        return rng.random(shape), np.array(rng.random() * 1.6, np.float32)

    return random_arrays(build)


def contrasted(x: Array, factor: Array) -> Array:
    mean = x.sum((-3, -2), keepdims=True) / (x.shape[-3] * x.shape[-2])
    return mean + float(factor) * (x - mean)


FLOAT32: dict[str, Any] = {**LOOSE, "dtypes": (dtypes.float32,)}
CASES = [
    OpCase("RGBToHSV", colours(), pixels(colorsys.rgb_to_hsv), smooth=10, **LOOSE),
    OpCase("HSVToRGB", colours(), pixels(colorsys.hsv_to_rgb), **LOOSE),
    OpCase("AdjustHue", with_factor(), pixels(turned), **FLOAT32),
    OpCase("AdjustSaturation", with_factor(), pixels(saturated), **FLOAT32),
    OpCase("AdjustContrastv2", with_factor(), contrasted, **FLOAT32),
]
