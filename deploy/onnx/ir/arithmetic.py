"""Constant folding at export: operators on sizes, paddings and weights."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.tensor import Array

_BY_ONNX = {dtype.onnx: dtype for dtype in dtypes.ANY if dtype.onnx is not None}


def compute(kind: str, arrays: Sequence[Array | None], attrs: dict[str, Any]) -> Array | None:
    """The operator's result for these constants; None if it is not folded."""
    rule = _RULES.get(kind)
    if rule is None:
        return None
    with np.errstate(all="ignore"):
        result = rule(attrs, *arrays)
    return None if result is None else np.asarray(result)


def split(count: int, arrays: Sequence[Array | None], attrs: dict[str, Any]) -> list[Array] | None:
    """The pieces of a split constant; None if their sizes are unknown."""
    whole = arrays[0]
    sizes = arrays[1] if len(arrays) > 1 else None
    if whole is None or whole.dtype == object:
        return None
    axis = attrs.get("axis", 0)
    if sizes is not None:
        return np.split(whole, np.cumsum(sizes)[:-1], axis)
    return np.split(whole, count, axis) if whole.shape[axis] % count == 0 else None


def _cast(attrs: dict[str, Any], x: Array) -> Array | None:
    target = _BY_ONNX[attrs["to"]]
    if x.dtype == object or target is dtypes.string:
        return None
    return x.astype(target.numpy)


def _axes(axes: Array, rank: int) -> tuple[int, ...]:
    return tuple(int(axis) % rank for axis in axes)


def _unsqueeze(attrs: dict[str, Any], x: Array, axes: Array) -> Array:
    del attrs
    return np.expand_dims(x, _axes(axes, x.ndim + axes.size))


def _squeeze(attrs: dict[str, Any], x: Array, axes: Array | None = None) -> Array:
    del attrs
    return np.squeeze(x) if axes is None else np.squeeze(x, _axes(axes, x.ndim))


def _reshape(attrs: dict[str, Any], x: Array, sizes: Array) -> Array:
    kept = [
        x.shape[axis] if size == 0 and not attrs.get("allowzero") else int(size)
        for axis, size in enumerate(sizes)
    ]
    return x.reshape(kept)


def _slice(
    attrs: dict[str, Any],
    x: Array,
    starts: Array,
    ends: Array,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Array:
    del attrs
    axes = np.arange(len(starts)) if axes is None else axes
    steps = np.ones(len(starts), np.int64) if steps is None else steps
    parts = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        last: int | None = int(end)
        if step < 0 and end < -x.shape[axis]:
            last = None
        parts[axis] = slice(int(start), last, int(step))
    return x[tuple(parts)]


def _expand(attrs: dict[str, Any], x: Array, sizes: Array) -> Array:
    del attrs
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(sizes.tolist())))


def _divide(attrs: dict[str, Any], x: Array, y: Array) -> Array | None:
    del attrs
    if x.dtype.kind not in "iu":
        return np.asarray(x / y)
    if not np.all(y):
        return None
    return np.asarray(np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))).astype(x.dtype)


def _plain(function: Callable[..., Any]) -> Callable[..., Array]:
    return lambda attrs, *arrays: function(*arrays)  # noqa: ARG005 (all rules have this signature)


_RULES: dict[str, Callable[..., Array | None]] = {
    "Add": _plain(np.add),
    "And": _plain(np.logical_and),
    "Cast": _cast,
    "Ceil": _plain(np.ceil),
    "Concat": lambda attrs, *arrays: np.concatenate(arrays, attrs["axis"]),
    "Div": _divide,
    "Equal": _plain(np.equal),
    "Expand": _expand,
    "Floor": _plain(np.floor),
    "Gather": lambda attrs, x, indices: np.take(x, indices, attrs.get("axis", 0)),
    "Greater": _plain(np.greater),
    "GreaterOrEqual": _plain(np.greater_equal),
    "Identity": _plain(np.asarray),
    "Less": _plain(np.less),
    "LessOrEqual": _plain(np.less_equal),
    "Max": _plain(lambda *xs: functools.reduce(np.maximum, xs)),
    "Min": _plain(lambda *xs: functools.reduce(np.minimum, xs)),
    "Mul": _plain(np.multiply),
    "Neg": _plain(np.negative),
    "Not": _plain(np.logical_not),
    "Or": _plain(np.logical_or),
    "Reshape": _reshape,
    "Slice": _slice,
    "Sqrt": _plain(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": _plain(np.subtract),
    "Transpose": lambda attrs, x: np.transpose(x, attrs.get("perm")),
    "Unsqueeze": _unsqueeze,
    "Where": _plain(np.where),
    "Xor": _plain(np.logical_xor),
}
