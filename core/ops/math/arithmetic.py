"""Elementwise arithmetic: sums, products, extremes, inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import COMPLEX, FLOATS, INDEX, NUMBERS, REAL, SIGNED, variant
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.no_effect import ignored
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.framework.variable import Variable
from pinnace.ops import batch_rules
from pinnace.ops.array import broadcasting, constants, selecting
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.math import complexes
from pinnace.ops.opdef import InferCall, OpCall, OpDef, typed
from pinnace.ops.registry import backward, binary, broadcast, define, register, unary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.shapes import Shape

__all__ = [
    "accumulate_n",
    "add",
    "add_n",
    "maximum",
    "minimum",
    "multiply",
    "multiply_no_nan",
    "negative",
    "nextafter",
    "polyval",
    "reciprocal",
    "scalar_mul",
    "square",
    "squared_difference",
    "subtract",
]


def _add_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    return broadcasting.reduced_to(dy, x, y), broadcasting.reduced_to(dy, y, x)


def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x + y`, element by element, with broadcasting; strings are joined.

    Args:
        x: [...], a number type or string.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.

    Source:
        TensorFlow op `AddV2` (math_ops.cc); `Add` for strings.
    """
    if type(y) is Variable:
        y = y._as_tensor()
    if (
        type(x) is Tensor
        and type(y) is Tensor
        and x._array.dtype is y._array.dtype
        and x._array.dtype.kind != "O"
    ):
        return ADD_V2.entry(x, y, name)
    if _is_text(x) or _is_text(y):
        return execute_one(ADD, x, y, name=name)
    return ADD_V2.entry(x, y, name)


def _is_text(x: object) -> bool:
    # Covers ragged tensors of strings.
    return isinstance(x, (str, bytes)) or getattr(x, "dtype", None) is dtypes.string


ADD_V2 = register(binary("AddV2", np.add, _add_gradient, fuse="{x} + {y}", static=True, sums=True))


def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x - y`, element by element, with broadcasting.

    Args:
        x: [...], a number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return SUB.entry(x, y, name)


def _sub_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    return broadcasting.reduced_to(dy, x, y), broadcasting.reduced_to(negative(dy), y, x)


SUB = register(binary("Sub", np.subtract, _sub_gradient, fuse="{x} - {y}", static=True))


def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x y`, element by element, with broadcasting.

    Args:
        x: [...], a number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return MUL.entry(x, y, name)


def _mul_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    return broadcasting.reduced_to(dy * complexes.conj(y), x, y), broadcasting.reduced_to(
        dy * complexes.conj(x), y, x
    )


MUL = register(binary("Mul", np.multiply, _mul_gradient, fuse="{x} * {y}", static=True))


def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x y`, but 0 where y is 0, whatever x is.

    Args:
        x: [...], a float or complex type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return MUL_NO_NAN.entry(x, y, name)


def _mul_no_nan_kernel(x: Array, y: Array) -> Array:
    return np.where(y == 0, x.dtype.type(0), x * y)


def _mul_no_nan_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    return (
        broadcasting.reduced_to(multiply_no_nan(dy, complexes.conj(y)), x, y),
        broadcasting.reduced_to(multiply_no_nan(complexes.conj(x), dy), y, x),
    )


MUL_NO_NAN = register(
    binary("MulNoNan", _mul_no_nan_kernel, _mul_no_nan_gradient, types=FLOATS | COMPLEX)
)


def _extreme_gradient(wins: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., tuple[Any, ...]]:
    """The gradient: dy goes to x where it wins or ties, else to y, as in TensorFlow."""

    def gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
        x, y = call.inputs
        to_x = wins(x, y)
        zero = constants.zeros_like(dy)
        return (
            broadcasting.reduced_to(selecting.where(to_x, dy, zero), x, y),
            broadcasting.reduced_to(selecting.where(to_x, zero, dy), y, x),
        )

    return gradient


def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The larger of both, element by element; NaN if either is.

    Args:
        x: [...], a real number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return MAXIMUM.entry(x, y, name)


MAXIMUM = register(
    binary(
        "Maximum",
        np.maximum,
        _extreme_gradient(lambda x, y: x >= y),
        types=REAL,
        fuse="max({x}, {y})",
        static=True,
    )
)


def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The smaller of both, element by element; NaN if either is.

    Args:
        x: [...], a real number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return MINIMUM.entry(x, y, name)


MINIMUM = register(
    binary(
        "Minimum",
        np.minimum,
        _extreme_gradient(lambda x, y: x <= y),
        types=REAL,
        fuse="min({x}, {y})",
        static=True,
    )
)


def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """|x - y|², element by element, with broadcasting.

    Args:
        x: [...], a float or complex type, int32 or int64.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return SQUARED_DIFFERENCE.entry(x, y, name)


_ANALYTIC = FLOATS | COMPLEX


def _squared_difference_kernel(x: Array, y: Array) -> Array:
    d = x - y
    return d * np.conj(d) if d.dtype.kind == "c" else d * d  # type: ignore[no-any-return]


def _squared_difference_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    dx = dy * (x - y) * constants.constant(2, x.dtype)
    return broadcasting.reduced_to(dx, x, y), broadcasting.reduced_to(negative(dx), y, x)


SQUARED_DIFFERENCE = register(
    binary(
        "SquaredDifference",
        _squared_difference_kernel,
        _squared_difference_gradient,
        types=_ANALYTIC | INDEX,
        fuse="({x} - {y}) * ({x} - {y})",
    )
)


def negative(x: TensorLike, name: str | None = None) -> Tensor:
    """The negation, -x.

    Args:
        x: [...], a signed number type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return NEG.entry(x, name)


def _neg_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:  # noqa: ARG001 (the protocol)
    return (negative(dy),)


NEG = register(
    unary("Neg", np.negative, _neg_gradient, types=SIGNED | COMPLEX, fuse="-{x}", static=True)
)


def square(x: TensorLike, name: str | None = None) -> Tensor:
    """The square, x².

    Args:
        x: [...], a number type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return SQUARE.entry(x, name)


def _square_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x = complexes.conj(call.inputs[0])
    return (dy * (x * constants.constant(2, x.dtype)),)


SQUARE = register(unary("Square", np.square, _square_gradient, types=NUMBERS, fuse="{x} * {x}"))


def _reciprocal_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (RECIPROCAL_GRAD.entry(call.outputs[0], dy),)


def _reciprocal_grad_kernel(y: Array, dy: Array) -> Array:
    y = conjugate(y)
    return -dy * y * y


def _reciprocal_grad_gradient(call: OpCall, dz: Tensor) -> tuple[Tensor, Tensor]:
    y = complexes.conj(call.inputs[0])
    return complexes.conj(dz) * -2 * call.inputs[1] * y, RECIPROCAL_GRAD.entry(y, dz)


def _inverse_gradient(name: str) -> OpDef:
    """The gradient of 1 / x, from y = 1 / x."""
    return backward(
        name,
        _reciprocal_grad_kernel,
        _reciprocal_grad_gradient,
        types=FLOATS | COMPLEX,
        fuse="-{dy} * {y} * {y}",
    )


def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return RECIPROCAL.entry(x, name)


RECIPROCAL = register(
    unary(
        "Reciprocal",
        lambda x: x.dtype.type(1) / x,
        _reciprocal_gradient,
        types=FLOATS | COMPLEX,
        fuse="T(1) / {x}",
    )
)


@takes_composites(ragged="elementwise:add_n")
def add_n(inputs: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """The sum of several tensors of one shape and dtype, without broadcasting.

    Args:
        inputs: tensors of one shape and dtype; a single tensor is given back.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of each input.

    Raises:
        ValueError: `inputs` is empty.
        InvalidArgumentError: shapes or dtypes differ.
    """
    if isinstance(inputs, Operands):
        return convert_to_tensor(inputs)
    if not inputs:
        raise ValueError("add_n: inputs must hold at least one tensor, got none")
    return execute_one(ADD_N, inputs, name=name)


def _add_n_kernel(inputs: tuple[Array, ...]) -> Array:
    total = inputs[0]
    for x in inputs[1:]:
        total = total + x
    # NumPy returns the sum of two tensor lists (variants) without an array around it.
    return total if type(total) is np.ndarray else np.asarray(total)


def _add_n_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return ((dy,) * len(call.inputs[0]),)


def _infer_add_n(call: InferCall) -> Shape:
    shape = call.specs(0)[0].shape
    for spec in call.specs(0)[1:]:
        if not shape.is_compatible_with(spec.shape):
            call.fail("all inputs must have one shape")
        shape = shape.merge_with(spec.shape)
    return shape


ADD_N = define(
    name="AddN",
    signature="inputs: N*T -> sum: T",
    types={"T": NUMBERS | {variant}},
    infer=_infer_add_n,
    kernel=_add_n_kernel,
    gradient=_add_n_gradient,
    fuse="{inputs: + }",
    sums=True,
    batch=batch_rules.ALL_TILED,
)


def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """The next number after x1 in the direction of x2.

    Args:
        x1: [...], float32 or float64.
        x2: [...], dtype of `x1`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x1`.
    """
    return NEXT_AFTER.entry(x1, x2, name)


def _next_after_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    return broadcasting.reduced_to(dy, x, y), constants.zeros_like(y)


NEXT_AFTER = define(
    name="NextAfter",
    signature="x1: T, x2: T -> output: T",
    types={"T": typed({dtypes.float32, dtypes.float64}, default=dtypes.float32)},
    infer=broadcast,
    kernel=np.nextafter,
    gradient=_next_after_gradient,
    elementwise=True,
    out=True,
)


# TensorFlow: the older op of sums lacks the wide unsigned integers and has strings.
_ADDED = NUMBERS - {dtypes.uint16, dtypes.uint32, dtypes.uint64} | {dtypes.string}


def _add_kernel(x: Array, y: Array) -> Array:
    if x.dtype.kind == "O":  # for two scalars NumPy returns bytes, not an array
        return np.asarray(np.add(x, y), object)
    return np.add(x, y)


ADD = register(
    binary(
        "Add", _add_kernel, _add_gradient, types=_ADDED, fuse="{x} + {y}", static=True, sums=True
    )
)


INV = register(
    unary(
        "Inv",
        lambda x: x.dtype.type(1) / x,
        _reciprocal_gradient,
        types=FLOATS | COMPLEX,
        fuse="T(1) / {x}",
    )
)


def accumulate_n(
    inputs: Sequence[TensorLike],
    shape: Any = None,
    tensor_dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """The sum of several tensors of one shape and dtype: an older name of `add_n`.

    Args:
        inputs: tensors of one shape and dtype.
        shape: accepted.
        tensor_dtype: accepted.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of each input.
    """
    ignored("accumulate_n", "the inputs tell it", shape=shape, tensor_dtype=tensor_dtype)
    return add_n(inputs, name)


@takes_composites(ragged="elementwise:scalar_mul")
def scalar_mul(scalar: TensorLike, x: Any, name: str | None = None) -> Any:
    """`x` times a number; IndexedSlices stay slices.

    Args:
        scalar: [], a number; converted to the dtype of `x`.
        x: a tensor or IndexedSlices of a number type.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `x`.

    Raises:
        ValueError: `scalar` has axes.
    """
    if isinstance(x, IndexedSlices):
        return IndexedSlices(scalar_mul(scalar, x.values, name), x.indices, x.dense_shape)
    tensor = convert_to_tensor(x)
    factor = convert_to_tensor(scalar, dtype_hint=tensor.dtype)
    if factor.shape.rank not in {None, 0}:
        raise ValueError(f"scalar_mul: scalar must have no axes, got shape {factor.shape}")
    return multiply(factor, tensor, name)


def polyval(coeffs: Sequence[TensorLike], x: TensorLike, name: str | None = None) -> Tensor:
    """`coeffs[0] xⁿ + … + coeffs[n]`, by Horner's rule; 0 without coefficients.

    Args:
        coeffs: tensors that broadcast with `x`, of the highest power first.
        x: [...], a number type.
        name: name of the node while tracing.

    Returns:
        The broadcast shape, dtype of `x`.

    Raises:
        ValueError: `coeffs` is no list.
    """
    if not isinstance(coeffs, (list, tuple)):
        raise ValueError(f"polyval: coeffs must be a list of tensors, got {type(coeffs).__name__}")  # noqa: TRY004 (TensorFlow's class)
    point = convert_to_tensor(x)
    if not coeffs:
        return constants.zeros_like(point, name=name)
    total = convert_to_tensor(coeffs[0], dtype_hint=point.dtype)
    for c in coeffs[1:]:
        total = add(c, multiply(total, point))
    return total


def as_pair(x: TensorLike, y: TensorLike) -> tuple[Tensor, Tensor]:
    """Both as tensors; Python values adopt the other's dtype if possible."""
    if isinstance(x, Operands) or not isinstance(y, Operands):
        x = convert_to_tensor(x)
        y = convert_to_tensor(y, dtype_hint=x.dtype)
        return x, y
    y = convert_to_tensor(y)
    return convert_to_tensor(x, dtype_hint=y.dtype), y


def conjugate(y: Array) -> Array:
    """The conjugates of complex numbers; real arrays unchanged, without a copy."""
    return y.conj() if y.dtype.kind == "c" else y


RECIPROCAL_GRAD = register(_inverse_gradient("ReciprocalGrad"))
INV_GRAD = register(_inverse_gradient("InvGrad"))
