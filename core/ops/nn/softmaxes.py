"""Softmax and its logarithm."""

from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops import batch_rules, flops
from pinnace.ops.array import joining, permutations, shapes
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.kernels import extremes
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.kernels.row_sums import is_short, reduce_short
from pinnace.ops.math import exponents, ranges, reduction
from pinnace.ops.opdef import InferCall, OpCall, OpDef
from pinnace.ops.registry import define

__all__ = ["log_softmax", "softmax"]


def _along(op: OpDef, logits: TensorLike, axis: int | None, name: str | None) -> Tensor:
    """The op along any axis, which is swapped with the last one before and after."""
    if axis is None or axis == -1:
        return op.entry(logits, name)
    x = convert_to_tensor(logits)
    rank = x.shape.rank
    if rank is None:
        order = _swapping_order(x, axis)
        return permutations.transpose(op.entry(permutations.transpose(x, order)), order, name=name)
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            f"{op.name}: axis must be in [{-rank}, {rank}), got {axis}\n  logits: {x.shape.text}"
        )
    axis %= rank
    if axis == rank - 1:
        return op.entry(x, name)
    swapped = [*range(axis), rank - 1, *range(axis + 1, rank - 1), axis]
    return permutations.transpose(op.entry(permutations.transpose(x, swapped)), swapped, name=name)


def _swapping_order(x: Tensor, axis: int) -> Tensor:
    """The axis order of the swap, if the rank is known only at run time."""
    rank = shapes.rank(x)
    place = axis if axis >= 0 else rank + axis
    middle = ranges.range(place + 1, rank - 1)
    return joining.concat([ranges.range(0, place), [rank - 1], middle, [place]], 0)


def _shifted(logits: Array) -> Array:
    """Logits minus their maximum along the last axis, a new array."""
    x = logits.astype(computed_in(logits.dtype), copy=False)
    return x - extremes.reduce(np.maximum, x, (x.ndim - 1,), True)


def _totals(x: Array) -> Array:
    if is_short(x, (x.ndim - 1,)):
        return reduce_short(np.add, x, True)
    return np.asarray(np.add.reduce(x, axis=-1, keepdims=True))


def _infer(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank == 0:
        call.fail("logits must have at least one axis, got a scalar")
    return shape


@takes_composites(ragged="reduction:softmax")
def softmax(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """exp(logits) / sum(exp(logits)) along `axis`, without overflow.

    Args:
        logits: [..., n, ...], any float dtype.
        axis: the axis whose values add up to 1; the last if None.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `logits`.

    Raises:
        InvalidArgumentError: a scalar, or there is no such axis.
    """
    return _along(SOFTMAX, logits, axis, name)


def _softmax_kernel(logits: Array) -> Array:
    if not logits.size:
        return np.empty(logits.shape, logits.dtype)
    y = _shifted(logits)
    np.exp(y, out=y)
    y /= _totals(y)
    return y.astype(logits.dtype, copy=False)


def _softmax_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    y = call.outputs[0]
    return ((dy - reduction.reduce_sum(dy * y, -1, keepdims=True)) * y,)


SOFTMAX: OpDef = define(
    name="Softmax",
    signature="logits: T -> softmax: T",
    types={"T": FLOATS},
    infer=_infer,
    kernel=_softmax_kernel,
    gradient=_softmax_gradient,
    fresh=True,
    shared=True,
    batch=batch_rules.AS_IT_IS,
    flops=flops.each(flops.SOFTMAX),
)


def log_softmax(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """logits - log(sum(exp(logits))) along `axis`, without overflow.

    Args:
        logits: [..., n, ...], any float dtype.
        axis: the axis that is summed over; the last if None.
        name: name of the node while tracing.
    """
    return _along(LOG_SOFTMAX, logits, axis, name)


def _log_softmax_kernel(logits: Array) -> Array:
    if not logits.size:
        return np.empty(logits.shape, logits.dtype)
    y = _shifted(logits)
    y -= np.log(_totals(np.exp(y)))
    return y.astype(logits.dtype, copy=False)


def _log_softmax_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    y = exponents.exp(call.outputs[0])
    return (dy - reduction.reduce_sum(dy, -1, keepdims=True) * y,)


LOG_SOFTMAX: OpDef = define(
    name="LogSoftmax",
    signature="logits: T -> logsoftmax: T",
    types={"T": FLOATS},
    infer=_infer,
    kernel=_log_softmax_kernel,
    gradient=_log_softmax_gradient,
    shared=True,
    batch=batch_rules.AS_IT_IS,
    flops=flops.each(flops.SOFTMAX),
)
