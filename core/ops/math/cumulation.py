"""Cumulative sums and products along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS, INDEX, NUMBERS, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops import batch_rules
from pinnace.ops.array import constants, selecting
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.math import arithmetic, comparison, complexes, division, exponents
from pinnace.ops.opdef import InferCall, OpCall, OpDef, attr, typed
from pinnace.ops.registry import normal_axes, register

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework import dtypes
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["cumprod", "cumsum", "cumulative_logsumexp"]


def _accumulated(
    op: OpDef, x: TensorLike, axis: TensorLike, exclusive: bool, reverse: bool, name: str | None
) -> Tensor:
    return execute_one(
        op, convert_to_tensor(x), axis, exclusive=bool(exclusive), reverse=bool(reverse), name=name
    )


def _running(
    name: str, ufunc: np.ufunc, first: Callable[[np.dtype[Any]], Any]
) -> Callable[..., Array]:
    """A kernel that accumulates by `ufunc`; exclusive scans begin with `first`."""

    def kernel(x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Array:
        at = int(axis)
        if not -x.ndim <= at < x.ndim:
            raise InvalidArgumentError(
                f"{name}: axis must be in [{-x.ndim}, {x.ndim}), got {at}\n  x: rank {x.ndim}"
            )
        lines = np.moveaxis(x, at, 0)
        if reverse:
            lines = lines[::-1]
        wide = computed_in(x.dtype)
        if exclusive:
            out = np.empty(lines.shape, wide)
            out[:1] = first(wide)
            ufunc.accumulate(lines[:-1], axis=0, dtype=wide, out=out[1:])
        else:
            out = ufunc.accumulate(lines, axis=0, dtype=wide)
        if reverse:
            out = out[::-1]
        return np.moveaxis(out, 0, at).astype(x.dtype, copy=False)

    return kernel


def _infer(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if call.spec(1).shape.rank not in {None, 0}:
        call.fail("axis must be a scalar")
    axis = call.constant(1)
    if axis is not None and shape.rank is not None:
        normal_axes(call, axis, shape.rank)
    return shape


def _flags(call: OpCall) -> dict[str, Any]:
    """The attributes of the scan in the opposite direction."""
    return {"exclusive": call.attr("exclusive"), "reverse": not call.attr("reverse")}


def _cumulative(name: str, kernel: Any, gradient: Any, types: frozenset[dtypes.DType]) -> OpDef:
    return OpDef(
        name=name,
        signature="x: T, axis: Tidx -> out: T",
        types={"T": types, "Tidx": typed(INDEX, default=int32)},
        attrs={"exclusive": attr("bool", default=False), "reverse": attr("bool", default=False)},
        infer=_infer,
        kernel=kernel,
        gradient=gradient,
        batch=batch_rules.ALONG_AXES,
    )


@takes_composites(ragged="reduction:cumsum")
def cumsum(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The cumulative sums along `axis`.

    Args:
        x: [...], a number type.
        axis: the axis; negative ones count from the end.
        exclusive: up to but not including each place.
        reverse: from the end to each place.
        name: name of the node while tracing.
    """
    return _accumulated(CUMSUM, x, axis, exclusive, reverse, name)


def _cumsum_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return cumsum(dy, call.inputs[1], **_flags(call)), None


CUMSUM = register(
    _cumulative("Cumsum", _running("Cumsum", np.add, lambda _: 0), _cumsum_gradient, NUMBERS)
)


def cumprod(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The cumulative products along `axis`; arguments as for `cumsum`.

    Args:
        x: [...], a number type.
        axis: one axis; a negative one counts from the end.
        exclusive: leave each place's own value out; the first result is 1.
        reverse: begin at the end of the axis.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `x`.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    return _accumulated(CUMPROD, x, axis, exclusive, reverse, name)


def _cumprod_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, axis = call.inputs
    # TensorFlow: the gradient of a factor that is 0 is 0.
    total = cumsum(complexes.conj(call.outputs[0]) * dy, axis, **_flags(call))
    return division.divide_no_nan(total, complexes.conj(x)), None


CUMPROD = register(
    _cumulative(
        "Cumprod", _running("Cumprod", np.multiply, lambda _: 1), _cumprod_gradient, NUMBERS
    )
)


def cumulative_logsumexp(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Cumulative log Σ exp along `axis`; arguments as for `cumsum`.

    Args:
        x: [...], a float type.
        axis: one axis; a negative one counts from the end.
        exclusive: leave each place's own value out; the first result is -inf.
        reverse: begin at the end of the axis.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `x`.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    return _accumulated(CUMULATIVE_LOGSUMEXP, x, axis, exclusive, reverse, name)


def _logsumexp_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The gradient: positive and negative parts of dy are propagated separately, as logarithms."""
    x, axis = call.inputs
    zero = constants.zeros_like(dy)
    nothing = zero + constants.constant(float(dy.dtype.min), dy.dtype)

    def part(values: Tensor) -> Tensor:
        there = comparison.greater(values, zero)
        safe = selecting.where(there, values, constants.ones_like(values))
        logs = selecting.where(there, exponents.log(safe), nothing)
        walked = cumulative_logsumexp(logs - call.outputs[0], axis, **_flags(call))
        return exponents.exp(walked + x)

    return part(dy) - part(arithmetic.negative(dy)), None


CUMULATIVE_LOGSUMEXP = register(
    _cumulative(
        "CumulativeLogsumexp",
        _running("CumulativeLogsumexp", np.logaddexp, lambda _: -np.inf),
        _logsumexp_gradient,
        FLOATS,
    )
)
