"""Windows of sums and maxima as pools of TensorFlow, and sums over their counts as means."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.saved_model.stablehlo.lowering.operands import constant, op
from pinnace.saved_model.stablehlo.lowering.origins import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Operand
    from pinnace.saved_model.stablehlo.lowering.windows import Windows

_FLOATS = frozenset({dtypes.float32, dtypes.float64})
_SHORT = frozenset({dtypes.float16, dtypes.bfloat16})
# Sums of float16 and bfloat16 are left out: a mean rounds once more than a sum.
_POOLED = {
    ("maximum", 2): _FLOATS | _SHORT,
    ("maximum", 3): _SHORT | {dtypes.float32},
    ("add", 2): _FLOATS,
    ("add", 3): _FLOATS,
}
_NAMES = {
    ("maximum", 2): "MaxPool",
    ("maximum", 3): "MaxPool3D",
    ("add", 2): "AvgPool",
    ("add", 3): "AvgPool3D",
}


class _Places(NamedTuple):
    """The mapping of a tensor's axes to those of images with channels last.

    Attributes:
        order: the order of the tensor's axes.
        new: the positions of axes of size 1 that are added.
        axes: the tensor's axis for each axis of the images; None for one of size 1.
    """

    order: list[int]
    new: list[int]
    axes: list[int | None]

    @staticmethod
    def of(rank: int, moving: Sequence[int]) -> _Places | None:
        """Places for windows along these axes; None if there are too many axes."""
        rest = [axis for axis in range(rank) if axis not in moving]
        space: list[int | None] = [*moving, *rest[2:]]
        if not 0 < len(space) <= 3:
            return None
        order = sorted(axis for axis in space if axis is not None)
        space = [*order] if len(order) > 1 else [None, *order]
        batch = rest[0] if len(rest) > 1 or (rest and rest[0] < order[0]) else None
        last = rest[1] if len(rest) > 1 else rest[0] if rest and batch is None else None
        axes = [batch, *space, last]
        new = [place for place, axis in enumerate(axes) if axis is None]
        return _Places([axis for axis in axes if axis is not None], new, axes)


class _Sum(NamedTuple):
    """A sum over windows.

    Attributes:
        x: the tensor under the windows, without padding.
        windows: the geometry of the windows.
        places: the mapping of the axes.
        mean: the pool of which the sum is a multiple.
    """

    x: Operand
    windows: Windows
    places: _Places
    mean: Tensor


_sums: weakref.WeakKeyDictionary[Any, dict[Any, _Sum]] = weakref.WeakKeyDictionary()


def pooled(x: Operand, windows: Windows, kind: str, padded: Callable[[], Operand]) -> Tensor | None:
    """A pool over one to three axes; None if TensorFlow has none.

    Args:
        x: the tensor under the windows.
        windows: the geometry of the windows.
        kind: `add`, `maximum` or another reducer.
        padded: returns `x` padded with the neutral element.
    """
    places = _Places.of(x.rank, windows.moving) if windows.plain else None
    if places is None or min(min(pair) for pair in windows.padding) < 0:
        return None
    key = kind, len(places.axes) - 2
    if x.dtype not in _POOLED.get(key, ()):
        return None
    named, source = _named(x, windows, places, kind), x
    if named is None:
        named, source = {"padding": "VALID"}, padded()
    found = _pool(_NAMES[key], source, windows, places, named)
    if kind != "add":
        return found
    total = op("Mul", found, constant(math.prod(windows.size), x.dtype))
    if state.tracer is not None:
        made = _sums.setdefault(state.tracer, {})
        made[getattr(total, "value", None)] = _Sum(x, windows, places, found)
    return total


def _named(x: Operand, windows: Windows, places: _Places, kind: str) -> dict[str, object] | None:
    """The padding as attributes of a pool; None if a pool cannot have it."""
    if all(pair == (0, 0) for pair in windows.padding):
        return {"padding": "VALID"}
    if kind == "maximum" and _is_same(x.shape, windows):
        return {"padding": "SAME"}
    # A window has an element that is not padding.
    whole = all(max(pair) < k for pair, k in zip(windows.padding, windows.size, strict=True))
    if kind != "maximum" or len(places.axes) != 4 or not whole:
        return None
    flat = [n for axis in places.axes for n in ((0, 0) if axis is None else windows.padding[axis])]
    return {"padding": "EXPLICIT", "explicit_paddings": tuple(flat)}


def _pool(
    name: str, x: Operand, windows: Windows, places: _Places, named: Mapping[str, object]
) -> Tensor:
    is_turned = places.order != list(range(x.rank))
    tensor = op("Transpose", x.full, places.order) if is_turned else x.full
    for axis in places.new:
        tensor = op("ExpandDims", tensor, axis)
    size, stride = (
        tuple(1 if axis is None else one[axis] for axis in places.axes)
        for one in (windows.size, windows.stride)
    )
    found = op(name, tensor, ksize=size, strides=stride, **named)
    if places.new:
        found = op("Squeeze", found, squeeze_dims=tuple(places.new))
    return op("Transpose", found, np.argsort(places.order).tolist()) if is_turned else found


def mean_of(total: Tensor, count: Tensor) -> Tensor | None:
    """A sum over windows divided by the number of elements in each, with or without padding."""
    made = {} if state.tracer is None else _sums.get(state.tracer, {})
    found = made.get(getattr(total, "value", None))
    if found is None:
        return None
    if number_of(count) == math.prod(found.windows.size):
        return found.mean
    counted = made.get(getattr(count, "value", None))
    if counted is None or counted.windows != found.windows:
        return None
    ones, x = counted.x, found.x
    if not ones.is_uniform or number_of(ones.small) != 1 or not _is_same(x.shape, found.windows):
        return None
    if any(ones.shape[axis] != x.shape[axis] for axis in found.windows.moving):
        return None
    name = _NAMES["add", len(found.places.axes) - 2]
    return _pool(name, x, found.windows, found.places, {"padding": "SAME"})


def _is_same(shape: Sequence[object], windows: Windows) -> bool:
    """Whether the padding is TensorFlow's SAME."""
    for n, k, s, pair in zip(shape, windows.size, windows.stride, windows.padding, strict=True):
        if k == s == 1 and pair == (0, 0):
            continue
        if not isinstance(n, int):
            return False
        more = max(0, (-(-n // s) - 1) * s + k - n)
        if pair != (more // 2, more - more // 2):
            return False
    return True
