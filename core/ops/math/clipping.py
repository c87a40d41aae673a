"""Clipping: of values to an interval, of vectors to a length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import NUMBERS
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.ops.array import broadcasting, constants, selecting
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.math import arithmetic, comparison, division, exponents, logic, reduction
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.ops.opdef import InferCall, OpCall

__all__ = ["clip_by_global_norm", "clip_by_norm", "clip_by_value", "global_norm"]


@takes_composites(values=1)
def clip_by_value(
    t: Any, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Any:
    """min(max(t, clip_value_min), clip_value_max).

    Args:
        t: [...], a number type; of IndexedSlices the values are clipped.
        clip_value_min: a scalar, or broadcastable to `t`.
        clip_value_max: a scalar, or broadcastable to `t`.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `t`.

    Raises:
        InvalidArgumentError: the bounds do not broadcast to `t`.

    Source:
        TensorFlow's function of that name: `Minimum`, then `Maximum` (clip_ops.py).
    """
    if isinstance(t, IndexedSlices):
        return _of_slices(t, clip_by_value(t.values, clip_value_min, clip_value_max, name))
    value = convert_to_tensor(t)
    low_enough = arithmetic.minimum(value, clip_value_max)
    clipped = arithmetic.maximum(low_enough, clip_value_min, name)
    if not value.shape.is_compatible_with(clipped.shape):
        raise InvalidArgumentError(
            "clip_by_value: the bounds must broadcast to t, "
            f"got {clipped.shape} for t of {value.shape}"
        )
    return clipped


def clip_by_norm(t: Any, clip_norm: TensorLike, axes: Any = None, name: str | None = None) -> Any:
    """t, scaled to at most the Euclidean norm `clip_norm` over `axes`.

    Args:
        t: [...], floating point; of IndexedSlices the values are scaled.
        clip_norm: a scalar above 0, or what broadcasts to the shape of `t`.
        axes: the axes of the lengths; None is all.
        name: name of the node while tracing.

    Raises:
        ValueError: `clip_norm` has more axes or larger ones than `t`.
    """
    if isinstance(t, IndexedSlices):
        return _of_slices(t, clip_by_norm(t.values, clip_norm, axes, name))
    values = convert_to_tensor(t)
    scaled = values * clip_norm
    if not scaled.shape.is_compatible_with(values.shape):
        raise ValueError(
            f"clip_by_norm: clip_norm must broadcast to the shape of t, {values.shape.text}; "
            f"the product has shape {scaled.shape.text}"
        )
    squares = reduction.reduce_sum(arithmetic.square(values), axes, keepdims=True)
    # √ has an infinite slope at 0: replace 0 there.
    there = comparison.greater(squares, constants.zeros_like(squares))
    safe = selecting.where(there, squares, constants.ones_like(squares))
    length = selecting.where(there, exponents.sqrt(safe), squares)
    return division.divide(scaled, arithmetic.maximum(length, clip_norm), name)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """√Σ|t|² over all tensors, without those that are None.

    Args:
        t_list: tensors or IndexedSlices of one float type, or None.
        name: name of the node while tracing.

    Returns:
        [], dtype of the tensors; float32 if there are none.

    Raises:
        TypeError: `t_list` is a tensor, not a list of them.
    """
    _check_list("global_norm", t_list)
    squares = [_half_square(_values(t)) for t in t_list if t is not None]
    if not squares:
        return constants.constant(0.0)
    total = arithmetic.add_n(squares)
    return exponents.sqrt(arithmetic.multiply(total, 2), name)


def _half_square(t: Tensor) -> Tensor:
    return reduction.reduce_sum(arithmetic.square(t)) * 0.5


def clip_by_global_norm(
    t_list: Sequence[Any],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Any], Tensor]:
    """Tensors scaled by a common factor, so that √Σ|t|² is at most `clip_norm`.

    Args:
        t_list: floating point tensors; None stays None.
        clip_norm: a scalar above 0.
        use_norm: their norm, if it is known already.
        name: name of the nodes while tracing.

    Returns:
        The tensors, and the norm that they had. All are NaN if that is infinite or NaN.
    """
    _check_list("clip_by_global_norm", t_list)
    norm = global_norm(t_list, name) if use_norm is None else convert_to_tensor(use_norm)
    one = constants.ones_like(norm)
    scale = clip_norm * arithmetic.minimum(one / norm, one / clip_norm)
    # An infinite norm must give NaN, and not be hidden by a scale of 0.
    scale = selecting.where(
        comparison.is_finite(norm), scale, constants.zeros_like(norm) * norm / norm
    )
    return [None if t is None else _of_slices(t, _values(t) * scale) for t in t_list], norm


def _values(t: Any) -> Tensor:
    """The values of a tensor; as in TensorFlow, duplicate slices are not summed."""
    return t.values if isinstance(t, IndexedSlices) else convert_to_tensor(t)


def _of_slices(t: Any, values: Tensor) -> Any:
    """Values in the form of `t`: slices if it was slices."""
    if isinstance(t, IndexedSlices):
        return IndexedSlices(values, t.indices, t.dense_shape)
    return values


def _check_list(name: str, t_list: Any) -> None:
    if isinstance(t_list, (str, bytes, Operands)) or not isinstance(t_list, Sequence):
        raise TypeError(f"{name}: t_list must be a list of tensors, got {t_list!r}")


def _kernel(t: Array, clip_value_min: Array, clip_value_max: Array) -> Array:
    if t.dtype.kind == "c":  # complex numbers have no order: clip both parts
        out = np.empty_like(t)
        out.real = _kernel(t.real, clip_value_min.real, clip_value_max.real)
        out.imag = _kernel(t.imag, clip_value_min.imag, clip_value_max.imag)
        return out
    return np.maximum(np.minimum(t, clip_value_max), clip_value_min)


def _infer(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    for index, name in ((1, "clip_value_min"), (2, "clip_value_max")):
        bound = call.spec(index).shape
        if bound.rank != 0 and not shape.is_compatible_with(bound):
            call.fail(f"{name} must be a scalar or have the shape of t")
    return shape


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    t, low, high = call.inputs
    zero = constants.zeros_like(dy)
    below, above = comparison.less(t, low), comparison.greater(t, high)
    inside = selecting.where(logic.logical_or(below, above), zero, dy)
    return (
        inside,
        broadcasting.reduced_to(selecting.where(below, dy, zero), low, t),
        broadcasting.reduced_to(selecting.where(above, dy, zero), high, t),
    )


CLIP_BY_VALUE = define(
    name="ClipByValue",
    signature="t: T, clip_value_min: T, clip_value_max: T -> output: T",
    types={"T": NUMBERS},
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
    fuse="max(min({t}, {clip_value_max}), {clip_value_min})",
)
