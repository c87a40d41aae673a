"""Eight- and 32-bit integers that stand for floats of a range: one by one, and whole arrays.

A range [low, high] is cut into as many levels as the integer type has values; 0 is a level. In
float32 or float64, and in the order in which TensorFlow computes: it decides where a value between
two levels goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import float32, qint8, qint16, qint32, quint8, quint16
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

NARROW = frozenset({qint8, quint8})
WIDE = frozenset({qint32})
ALL = frozenset({qint8, quint8, qint16, quint16, qint32})
SCALAR = Shape(())

__all__ = ["ALL", "NARROW", "SCALAR", "WIDE", "float32"]


def number(op: str, name: str, value: Array) -> np.float32:
    """One float of an input.

    Raises:
        InvalidArgumentError: it is not one.
    """
    if value.size != 1:
        raise InvalidArgumentError(
            f"{op}: {name} must be a scalar, got an array of shape {list(value.shape)}"
        )
    return np.float32(value.reshape(-1)[0])


def rounded(x: Any) -> Any:
    """Halves away from 0; in float64, where half can be added to every whole float32."""
    wide = np.asarray(x, np.float64)
    found = np.trunc(wide + np.copysign(0.5, wide)).astype(np.asarray(x).dtype)
    return found[()]


def ends(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the greatest integer."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def value_of(x: Array, low: np.float32, high: np.float32) -> Array:
    """What integers stand for, computed in float64, in float32."""
    if low == high:
        return np.full(x.shape, low, np.float32)
    least, most = ends(x.dtype)
    steps = float(most - least + 1)
    size = (float(high) - float(low)) * (steps / (steps - 1)) / steps
    coarse = np.float32(size)
    start = float(rounded(np.float32(low / coarse)) * coarse)
    return np.asarray(start + (x.astype(np.float64) - least) * size, np.float32)


def unbounded_level(x: Any, low: np.float32, high: np.float32, dtype: np.dtype[Any]) -> Any:
    """The levels of floats, also those that the integer type does not reach; int64."""
    least, most = ends(dtype)
    if low == high:
        return np.full(np.shape(x), least, np.int64)
    steps = float(most - least + 1)
    scale = steps / ((float(high) - float(low)) * (steps / (steps - 1)))
    start = np.float64(float(low) * scale)
    found = rounded(np.asarray(x, np.float64) * scale)
    return (found - rounded(start)).astype(np.int64) + least


def level_of(x: Any, low: np.float32, high: np.float32, dtype: np.dtype[Any]) -> Array:
    """The levels of floats; those beyond the ends are the ends."""
    found = np.clip(unbounded_level(x, low, high, dtype), *ends(dtype))
    return np.asarray(found, dtype)


def in_other_range(
    x: Array,
    old: tuple[np.float32, np.float32],
    new: tuple[np.float32, np.float32],
    dtype: np.dtype[Any],
) -> Array:
    """Integers of one range as those of another."""
    if x.dtype == np.int32 and dtype == np.uint8:
        return _narrowed(x, old, new)
    return level_of(value_of(x, *old), *new, dtype)


def _narrowed(
    x: Array, old: tuple[np.float32, np.float32], new: tuple[np.float32, np.float32]
) -> Array:
    """32-bit integers as bytes, in fixed point with 16 bits after it, as TensorFlow does it."""
    one = 1 << 16
    width, reach = np.float32(old[1] - old[0]), np.float32(new[1] - new[0])
    if reach == 0:
        return np.zeros(x.shape, np.uint8)
    middle = float(np.float32(old[0] + old[1])) / 2.0
    per_unit = np.float32(255.0 / float(reach))
    # What no number of 64 bits can hold is beyond the ends anyway.
    scale = int(np.clip(255.0 * one * float(width) / float(reach), -(2.0**62), 2.0**62))
    shift = int(np.float32(np.float32(middle) * per_unit * np.float32(one)))
    start = int(rounded(np.float64(one * (float(new[0]) * 255.0) / float(reach))))
    found = ((x.astype(np.int64) * scale) >> 32) + (shift - start + (one >> 1))
    return np.asarray(np.clip(found >> 16, 0, 255), np.uint8)


def product_range(
    a: tuple[np.float32, np.float32],
    b: tuple[np.float32, np.float32],
    kinds: tuple[np.dtype[Any], np.dtype[Any]],
    dtype: np.dtype[Any],
) -> tuple[np.float32, np.float32]:
    """What 32-bit sums of products stand for."""
    sizes = []
    for (low, high), kind in zip((a, b), kinds, strict=True):
        least, most = ends(kind)
        sizes.append(np.float32((high - low) / np.float32(most - least)))
    unit = np.float32(sizes[0] * sizes[1])
    least, most = ends(dtype)
    return np.float32(unit * np.float32(least)), np.float32(unit * np.float32(most))


def scalars(call: InferCall, *places: int) -> None:
    """Refuse ends of ranges that are no scalars."""
    for place in places:
        if call.spec(place).shape.rank not in {None, 0}:
            call.fail(f"{call.op.inputs[place].name} must be a scalar")


def ranges(op: str, *pairs: tuple[str, Array]) -> list[np.float32]:
    """The ends of ranges, by the names of the inputs."""
    return [number(op, name, value) for name, value in pairs]
