"""Division: quotients, true, floored and truncated, and remainders."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.composite import CompositeTensor
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtype_advice import to_one_dtype
from pinnace.framework.dtypes import COMPLEX, FLOATS, INDEX, REAL
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.ops.array import broadcasting, casting, constants
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.math import arithmetic, complexes, rounding
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, OpCall
from pinnace.ops.registry import binary, register

__all__ = [
    "divide",
    "divide_no_nan",
    "floordiv",
    "floormod",
    "mod",
    "reciprocal_no_nan",
    "truediv",
    "truncatediv",
    "truncatemod",
]


# Integers from which vector code for quotients pays off.
_MANY = 1 << 10


def _div_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = complexes.conj(call.inputs[0]), complexes.conj(call.inputs[1])
    return (
        broadcasting.reduced_to(dy / y, call.inputs[0], call.inputs[1]),
        broadcasting.reduced_to(
            dy * (arithmetic.negative(x) / y / y), call.inputs[1], call.inputs[0]
        ),
    )


@takes_composites(values=2, sparse="products:truediv")
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y` as real numbers: integers become float64 first (float32 for 8 and 16 bits).

    Args:
        x: [...], a number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both; dtype of `x`, or the float type it becomes.

    Raises:
        TypeError: their dtypes differ.

    Source:
        Python's `/`; TensorFlow op `RealDiv` (math_ops.cc).
    """
    if (
        type(x) is Tensor
        and x._array.dtype.kind == "f"
        and (type(y) is not Tensor or y._array.dtype == x._array.dtype)
    ):
        return REAL_DIV.entry(x, y, name)
    return REAL_DIV.entry(*_real_pair("truediv", x, y), name)


def _real_pair(op: str, x: TensorLike, y: TensorLike) -> tuple[Tensor, Tensor]:
    x, y = arithmetic.as_pair(x, y)
    if x.dtype is not y.dtype:
        raise TypeError(
            f"{op}: `x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}\n"
            f"  Try: {to_one_dtype(('x', x.dtype), ('y', y.dtype))}"
        )
    if x.dtype.is_bool:
        raise TypeError(f"{op}: `x` and `y` must be numbers, got {x.dtype!r}")
    if x.dtype.is_integer:
        wide = dtypes.float32 if x.dtype.size < 4 else dtypes.float64
        x, y = casting.cast(x, wide), casting.cast(y, wide)
    return x, y


def realdiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y` for floating or complex numbers; integers are refused."""
    return REAL_DIV.entry(x, y, name)


REAL_DIV = register(
    binary(
        "RealDiv",
        np.true_divide,
        _div_gradient,
        types=FLOATS | COMPLEX,
        fuse="{x} / {y}",
        static=True,
    )
)


def _no_zero(name: str, x: Array, y: Array) -> None:
    if x.size and y.dtype.kind in "iu" and not y.all():  # y may be 0 if x is empty
        raise InvalidArgumentError(
            f"{name}: Integer division by zero\n  y: {y.dtype}{list(y.shape)}"
        )


def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """floor(x / y), towards minus infinity for integers too.

    Args:
        x: [...], a real number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: an integer is divided by zero.
    """
    return FLOOR_DIV.entry(x, y, name)


def _floored(x: Array, y: Array) -> Array:
    """floor(x / y) of integers.

    NumPy has vector code for one divisor. Quotients of integers of 32 bits are exact enough as
    float64: they differ from the next integer by 2^-31 of it or more.
    """
    if y.size == 1 or x.size < _MANY or x.dtype.itemsize > 4:
        return np.floor_divide(x, y)
    quotient = np.divide(x, y, dtype=np.float64)
    # -2^31 / -1 wraps around, for which there is an integer of 64 bits in between.
    return np.floor(quotient, out=quotient).astype(np.int64).astype(x.dtype)


def _floor_div_kernel(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu":
        _no_zero("FloorDiv", x, y)
        return _floored(x, y)
    # TensorFlow: the floor of the rounded quotient: 1 / 0.1 is 10, though 1 holds 0.1 nine times.
    return np.floor(np.divide(x, y))


FLOOR_DIV = register(
    binary(
        "FloorDiv",
        _floor_div_kernel,
        NOT_DIFFERENTIABLE,
        types=REAL,
        static=True,
        divides=("quotient", "floor"),
    )
)


def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x - floor(x / y) y`: the remainder with the sign of y, as Python's `%`.

    Args:
        x: [...], a real number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: an integer is divided by zero.
    """
    return FLOOR_MOD.entry(x, y, name)


def _floor_mod_kernel(x: Array, y: Array) -> Array:
    _no_zero("FloorMod", x, y)
    if x.dtype.kind in "iu" and x.size >= _MANY:
        quotient = _floored(x, y)
        quotient *= y
        return np.subtract(x, quotient, out=quotient)
    return np.mod(x, y)


def _floor_mod_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    return broadcasting.reduced_to(dy, x, y), broadcasting.reduced_to(
        dy * arithmetic.negative(rounding.floor(x / y)), y, x
    )


FLOOR_MOD = register(
    binary(
        "FloorMod",
        _floor_mod_kernel,
        _floor_mod_gradient,
        types=REAL,
        static=True,
        divides=("remainder", "floor"),
    )
)


def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y` rounded towards zero, for integers.

    Args:
        x: [...], a real number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return TRUNCATE_DIV.entry(x, y, name)


def _truncate_div_kernel(x: Array, y: Array) -> Array:
    _no_zero("TruncateDiv", x, y)
    if x.dtype.kind not in "iu":
        return np.trunc(x / y)
    quotient = np.floor_divide(x, y)
    # Floor and truncation differ by one where the signs differ and there is a remainder.
    return np.asarray(quotient + ((quotient < 0) & (quotient * y != x)), x.dtype)


TRUNCATE_DIV = register(
    binary(
        "TruncateDiv",
        _truncate_div_kernel,
        NOT_DIFFERENTIABLE,
        types=REAL,
        divides=("quotient", "truncate"),
    )
)


def _truncate_mod_kernel(x: Array, y: Array) -> Array:
    _no_zero("TruncateMod", x, y)
    return np.fmod(x, y)


def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The remainder with the sign of x, as C's `%` and `fmod`.

    Args:
        x: [...], a float type, int32 or int64.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return TRUNCATE_MOD.entry(x, y, name)


def _truncate_mod_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    return broadcasting.reduced_to(dy, x, y), broadcasting.reduced_to(
        dy * arithmetic.negative((x - call.outputs[0]) / y), y, x
    )


TRUNCATE_MOD = register(
    binary(
        "TruncateMod",
        _truncate_mod_kernel,
        _truncate_mod_gradient,
        types=FLOATS | INDEX,
        divides=("remainder", "truncate"),
    )
)


def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y` as `truediv` computes it, but 0 where y is 0.

    Args:
        x: [...], a number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both; dtype of `x`, or the float type it becomes.

    Raises:
        TypeError: their dtypes differ.
    """
    if isinstance(x, CompositeTensor) or isinstance(y, CompositeTensor):
        return DIV_NO_NAN.entry(x, y, name)
    return DIV_NO_NAN.entry(*_real_pair("divide_no_nan", x, y), name)


def _div_no_nan_kernel(x: Array, y: Array) -> Array:
    zero = y == 0
    with np.errstate(all="ignore"):
        quotient = np.asarray(x / y)
    np.copyto(quotient, x.dtype.type(0), where=zero)
    return quotient


def _div_no_nan_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = complexes.conj(call.inputs[0]), complexes.conj(call.inputs[1])
    return (
        broadcasting.reduced_to(divide_no_nan(dy, y), call.inputs[0], call.inputs[1]),
        broadcasting.reduced_to(
            dy * divide_no_nan(divide_no_nan(arithmetic.negative(x), y), y),
            call.inputs[1],
            call.inputs[0],
        ),
    )


DIV_NO_NAN = register(
    binary("DivNoNan", _div_no_nan_kernel, _div_no_nan_gradient, types=FLOATS | COMPLEX)
)


DIV = register(
    binary(
        "Div",
        lambda x, y: _truncate_div_kernel(x, y) if x.dtype.kind in "iu" else x / y,
        _div_gradient,
        divides=("quotient", "exact"),
    )
)


MOD = register(
    binary(
        "Mod",
        _truncate_mod_kernel,
        NO_GRADIENT_DEFINED,
        types=FLOATS | INDEX,
        divides=("remainder", "truncate"),
    )
)


def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y` as Python computes it.

    Args:
        x: [...], a number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both; dtype of `x`, or the float type it becomes.
    """
    if name is None and (isinstance(x, Operands) or isinstance(y, Operands)):
        return x / y  # type: ignore[operator,return-value] # what y's class makes of it, too
    return truediv(x, y, name)


mod = floormod


@takes_composites(values=1)
def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x, but 0 where x is 0.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `x`.
    """
    x = convert_to_tensor(x)
    return divide_no_nan(constants.ones_like(x), x, name)
