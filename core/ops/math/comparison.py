"""Comparisons of two values, and tests for finite, infinite and NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY_VALUE, FLOATS, NUMBERS, REAL
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, broadcast_shapes
from pinnace.ops import batch_rules
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import broadcast, comparison, define, register, same_as_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = [
    "approximate_equal",
    "equal",
    "greater",
    "greater_equal",
    "is_finite",
    "is_inf",
    "is_nan",
    "less",
    "less_equal",
    "not_equal",
]


def _by_operator(op: OpDef, x: Any, y: Any) -> Tensor:
    if state.tracer is None:
        try:
            return op.entry(x, y, None)
        except InvalidArgumentError:
            left, right = convert_to_tensor(x), convert_to_tensor(y)
            if left.dtype is not right.dtype or _broadcasts(left.shape, right.shape):
                raise
    elif _surely_broadcast(x, y):
        # The default attribute: the output shape is known, as it is not with the attribute off.
        return op.entry(x, y, None)
    return execute_one(op, x, y, incompatible_shape_error=False)


def _surely_broadcast(x: Any, y: Any) -> bool:
    """Whether the shapes broadcast for any values of unknown sizes."""
    if any(isinstance(part, (bool, int, float, complex, str, bytes)) for part in (x, y)):
        return True
    shapes = [convert_to_tensor(part).shape for part in (x, y)]
    if any(shape.rank == 0 for shape in shapes):
        return True
    return all(shape.is_fully_defined() for shape in shapes) and _broadcasts(*shapes)


def _broadcasts(x: Shape, y: Shape) -> bool:
    try:
        broadcast_shapes(x, y)
    except InvalidArgumentError:
        return False
    return True


def _infer_equal(call: InferCall) -> Shape:
    x, y = call.spec(0).shape, call.spec(1).shape
    if not call.attrs["incompatible_shape_error"]:
        if 0 in {x.rank, y.rank}:
            return broadcast(call)
        # TensorFlow: for shapes that do not broadcast the result is a scalar.
        return x if x.is_fully_defined() and x == y else Shape(None)
    return broadcast(call)


def _equality(ufunc: np.ufunc, otherwise: bool) -> Callable[..., Array]:
    """A comparison that returns `otherwise` for shapes that do not broadcast, where allowed."""

    def kernel(x: Array, y: Array, *, incompatible_shape_error: bool) -> Array:
        if not incompatible_shape_error:
            try:
                np.broadcast_shapes(x.shape, y.shape)
            except ValueError:
                return np.array(otherwise)
        # NumPy compares strings as objects and would return objects.
        return ufunc(x, y, dtype=bool) if x.dtype == object else ufunc(x, y)  # type: ignore[no-any-return]

    return kernel


def _equality_op(name: str, ufunc: np.ufunc, otherwise: bool, fuse: str) -> OpDef:
    return OpDef(
        name=name,
        signature="x: T, y: T -> z: bool",
        types={"T": ANY_VALUE},
        attrs={"incompatible_shape_error": attr("bool", default=True)},
        infer=_infer_equal,
        kernel=_equality(ufunc, otherwise),
        gradient=NOT_DIFFERENTIABLE,
        elementwise=True,
        fuse=fuse,
        batch=batch_rules.BROADCAST_EXACTLY,
    )


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x = y`, element by element, with broadcasting.

    Args:
        x: [...], a number type, bool or string.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, bool.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return EQUAL.entry(x, y, name)


def same(x: Any, y: Any) -> Tensor:
    """`x == y` between tensors; False for shapes that do not broadcast.

    Source:
        TensorFlow op `Equal` with `incompatible_shape_error` off (math_ops.cc).
    """
    return _by_operator(EQUAL, x, y)


EQUAL = register(_equality_op("Equal", np.equal, otherwise=False, fuse="{x} == {y}"))


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x ≠ y`, element by element, with broadcasting.

    Args:
        x: [...], any dtype.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, bool.
    """
    return NOT_EQUAL.entry(x, y, name)


def differs(x: Any, y: Any) -> Tensor:
    """`x != y` between tensors; True for shapes that do not broadcast.

    Source:
        TensorFlow op `NotEqual` with `incompatible_shape_error` off (math_ops.cc).
    """
    return _by_operator(NOT_EQUAL, x, y)


NOT_EQUAL = register(_equality_op("NotEqual", np.not_equal, otherwise=True, fuse="{x} != {y}"))


def approximate_equal(
    x: TensorLike, y: TensorLike, tolerance: float = 1e-05, name: str | None = None
) -> Tensor:
    """|x - y| < tolerance, element by element, for two tensors of one shape.

    Args:
        x: [...], a number type.
        y: the shape and dtype of `x`.
        tolerance: exclusive upper bound of the difference.
        name: name of the node while tracing.

    Returns:
        The shape of `x`, bool.
    """
    return execute_one(APPROXIMATE_EQUAL, x, y, tolerance=float(tolerance), name=name)


def _infer_approximate(call: InferCall) -> Shape:
    x, y = call.spec(0).shape, call.spec(1).shape
    if not x.is_compatible_with(y):
        call.fail("x and y must have one shape")
    return x.merge_with(y)


def _approximate_kernel(x: Array, y: Array, *, tolerance: float) -> Any:
    apart = np.abs(x - y)
    return apart < apart.dtype.type(tolerance)


APPROXIMATE_EQUAL = define(
    name="ApproximateEqual",
    signature="x: T, y: T -> z: bool",
    types={"T": NUMBERS},
    attrs={"tolerance": attr("float", default=1e-05)},
    infer=_infer_approximate,
    kernel=_approximate_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _question(name: str, ufunc: np.ufunc) -> OpDef:
    return OpDef(
        name=name,
        signature="x: T -> y: bool",
        types={"T": FLOATS},
        infer=same_as_input,
        kernel=ufunc,
        gradient=NOT_DIFFERENTIABLE,
        elementwise=True,
        out=True,
    )


def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether x is neither infinite nor NaN.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], bool.
    """
    return IS_FINITE.entry(x, name)


IS_FINITE = register(_question("IsFinite", np.isfinite))


def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether x is +∞ or -∞.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], bool.
    """
    return IS_INF.entry(x, name)


IS_INF = register(_question("IsInf", np.isinf))


def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether x is NaN.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], bool.
    """
    return IS_NAN.entry(x, name)


IS_NAN = register(_question("IsNan", np.isnan))


def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x < y`, element by element, with broadcasting.

    Args:
        x: [...], a real number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, bool.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return LESS.entry(x, y, name)


def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x ≤ y`, element by element, with broadcasting.

    Args:
        x: [...], a real number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, bool.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return LESS_EQUAL.entry(x, y, name)


def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x > y`, element by element, with broadcasting.

    Args:
        x: [...], a real number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, bool.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return GREATER.entry(x, y, name)


def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x ≥ y`, element by element, with broadcasting.

    Args:
        x: [...], a real number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, bool.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return GREATER_EQUAL.entry(x, y, name)


def _order(name: str, ufunc: np.ufunc, fuse: str) -> OpDef:
    return comparison(name, ufunc, NOT_DIFFERENTIABLE, types=REAL, fuse=fuse)


LESS = register(_order("Less", np.less, "{x} < {y}"))
LESS_EQUAL = register(_order("LessEqual", np.less_equal, "{x} <= {y}"))
GREATER = register(_order("Greater", np.greater, "{x} > {y}"))
GREATER_EQUAL = register(_order("GreaterEqual", np.greater_equal, "{x} >= {y}"))
