"""Powers, roots, exponentials, logarithms and functions composed of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import COMPLEX, FLOATS, SIGNED
from pinnace.ops.array import broadcasting, casting, constants, selecting
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, comparison, complexes
from pinnace.ops.math.widening import widened
from pinnace.ops.registry import backward, binary, define, register, same_as_input, unary

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import OpCall

__all__ = [
    "exp",
    "expm1",
    "log",
    "log1p",
    "pow",
    "rsqrt",
    "sigmoid",
    "sqrt",
    "xdivy",
    "xlog1py",
    "xlogy",
]

_ANALYTIC = FLOATS | COMPLEX


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """The exponential function, eˣ.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return EXP.entry(x, name)


def _exp_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * complexes.conj(call.outputs[0]),)


EXP = register(unary("Exp", np.exp, _exp_gradient, types=_ANALYTIC, fuse="exp({x})"))


def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """eˣ - 1, exact near 0.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return EXPM1.entry(x, name)


def _expm1_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * exp(complexes.conj(call.inputs[0])),)


EXPM1 = register(unary("Expm1", np.expm1, _expm1_gradient, types=_ANALYTIC, fuse="expm1({x})"))


def log(x: TensorLike, name: str | None = None) -> Tensor:
    """The natural logarithm; -inf at 0, NaN below.

    Args:
        x: [...], a float or complex type; Python numbers count as float32.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return LOG.entry(x, name)


def _log_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * arithmetic.reciprocal(complexes.conj(call.inputs[0])),)


LOG = register(unary("Log", np.log, _log_gradient, types=_ANALYTIC, fuse="log({x})"))


def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """log(1 + x), exact near 0.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return LOG1P.entry(x, name)


def _log1p_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * arithmetic.reciprocal(1 + complexes.conj(call.inputs[0])),)


LOG1P = register(unary("Log1p", np.log1p, _log1p_gradient, types=_ANALYTIC, fuse="log1p({x})"))


def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """The square root, √x.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return SQRT.entry(x, name)


def _sqrt_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (execute(SQRT_GRAD, call.outputs[0], dy),)


SQRT = register(unary("Sqrt", np.sqrt, _sqrt_gradient, types=_ANALYTIC, fuse="sqrt({x})"))


@widened
def _sqrt_grad_kernel(y: Array, dy: Array) -> Array:
    return dy * y.dtype.type(0.5) / arithmetic.conjugate(y)  # type: ignore[no-any-return]


def _sqrt_grad_gradient(call: OpCall, dz: Tensor) -> tuple[Tensor, Tensor]:
    scaled = dz / call.inputs[0]
    return arithmetic.negative(complexes.conj(scaled)) * call.outputs[0], scaled * 0.5


SQRT_GRAD = register(
    backward(
        "SqrtGrad",
        _sqrt_grad_kernel,
        _sqrt_grad_gradient,
        types=_ANALYTIC,
        fuse="{dy} * T(0.5) / {y}",
    )
)


def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / √x.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return RSQRT.entry(x, name)


@widened
def _rsqrt_kernel(x: Array) -> Array:
    return np.reciprocal(np.sqrt(x))


def _rsqrt_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (execute(RSQRT_GRAD, call.outputs[0], dy),)


RSQRT = register(
    unary("Rsqrt", _rsqrt_kernel, _rsqrt_gradient, types=_ANALYTIC, fuse="T(1) / sqrt({x})")
)


@widened
def _rsqrt_grad_kernel(y: Array, dy: Array) -> Array:
    y = arithmetic.conjugate(y)
    return dy * (y.dtype.type(-0.5) * y * y * y)  # type: ignore[no-any-return]


def _rsqrt_grad_gradient(call: OpCall, dz: Tensor) -> tuple[Tensor, Tensor]:
    y = complexes.conj(call.inputs[0])
    through = complexes.conj(dz) * call.inputs[1]
    return through * arithmetic.square(y) * -1.5, execute(RSQRT_GRAD, y, dz)


RSQRT_GRAD = register(
    backward(
        "RsqrtGrad",
        _rsqrt_grad_kernel,
        _rsqrt_grad_gradient,
        types=_ANALYTIC,
        fuse="{dy} * (T(-0.5) * {y} * {y} * {y})",
    )
)


def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x to the power y`, element by element, with broadcasting.

    Args:
        x: [...], a signed number type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: an integer to a negative power.
    """
    return POW.entry(x, y, name)


def _pow_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = complexes.conj(call.inputs[0]), complexes.conj(call.inputs[1])
    z = complexes.conj(call.outputs[0])
    dx = dy * y * pow(x, y - 1)
    zero = constants.zeros_like(x)
    # TensorFlow: where log x is not real, y gets the gradient 0.
    positive = comparison.not_equal(x, zero) if x.dtype.is_complex else comparison.greater(x, zero)
    safe = selecting.where(positive, x, constants.ones_like(x))
    log_x = selecting.where(positive, log(safe), zero)
    return (
        broadcasting.reduced_to(dx, call.inputs[0], call.inputs[1]),
        broadcasting.reduced_to(dy * z * log_x, call.inputs[1], call.inputs[0]),
    )


POW = register(binary("Pow", np.power, _pow_gradient, types=SIGNED | COMPLEX))


def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / (1 + e⁻ˣ).

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return SIGMOID.entry(x, name)


@widened
def _plain_sigmoid(x: Array) -> Array:
    # Overflow is harmless: 1 / (1 + inf) is 0, the correct value.
    y = np.exp(-x)
    y += 1
    return np.reciprocal(y)


# Python's 1 would be converted for each call, which costs as much as a small array's addition.
_ONE = {np.dtype(kind): np.ones((), kind) for kind in ("f4", "f8", "c8", "c16")}


def _sigmoid_kernel(x: Array, *, out: Array | None = None) -> Array:
    one = _ONE.get(x.dtype)
    if one is None or not x.ndim:
        y = _plain_sigmoid(x)
        if out is None:
            return y
        out[...] = y
        return out
    out = np.negative(x, out=out)
    np.exp(out, out)
    np.add(out, one, out)
    return np.reciprocal(out, out)


def _sigmoid_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (SIGMOID_GRAD.entry(complexes.conj(call.outputs[0]), dy),)


SIGMOID = define(
    name="Sigmoid",
    signature="x: T -> y: T",
    types={"T": _ANALYTIC},
    infer=same_as_input,
    kernel=_sigmoid_kernel,
    gradient=_sigmoid_gradient,
    elementwise=True,
    out=True,
    fuse="sigmoid({x})",
)


@widened
def _sigmoid_grad_kernel(y: Array, dy: Array) -> Array:
    return dy * y * (y.dtype.type(1) - y)  # type: ignore[no-any-return]


def _sigmoid_grad_gradient(call: OpCall, dz: Tensor) -> tuple[Tensor, Tensor]:
    y, dy = complexes.conj(call.inputs[0]), complexes.conj(call.inputs[1])
    through = dz * dy
    return through - 2 * through * y, SIGMOID_GRAD.entry(y, dz)


SIGMOID_GRAD = register(
    backward(
        "SigmoidGrad",
        _sigmoid_grad_kernel,
        _sigmoid_grad_gradient,
        types=_ANALYTIC,
        fuse="{dy} * {y} * (T(1) - {y})",
    )
)


def _where_x(x: Array, value: Array) -> Array:
    """`value`, but 0 where x is 0, whatever y is."""
    return np.where(x == 0, value.dtype.type(0), value)


def _not_zero(x: Tensor) -> Tensor:
    """1 where x is not 0, else 0."""
    return casting.cast(comparison.not_equal(x, constants.zeros_like(x)), x.dtype)


def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x log y`, but 0 where x is 0.

    Args:
        x: [...], a float or complex type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return XLOGY.entry(x, y, name)


@widened
def _xlogy_kernel(x: Array, y: Array) -> Array:
    return _where_x(x, x * np.log(y))


def _xlogy_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    dx = dy * complexes.conj(xlogy(_not_zero(x), y))
    return broadcasting.reduced_to(dx, x, y), broadcasting.reduced_to(
        dy * complexes.conj(xdivy(x, y)), y, x
    )


XLOGY = register(binary("Xlogy", _xlogy_kernel, _xlogy_gradient, types=_ANALYTIC))


def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x log(1 + y)`, but 0 where x is 0.

    Args:
        x: [...], a float or complex type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return XLOG1PY.entry(x, y, name)


@widened
def _xlog1py_kernel(x: Array, y: Array) -> Array:
    return _where_x(x, x * np.log1p(y))


def _xlog1py_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    dx = dy * complexes.conj(xlog1py(_not_zero(x), y))
    along_y = dy * complexes.conj(xdivy(x, y + 1))
    return broadcasting.reduced_to(dx, x, y), broadcasting.reduced_to(along_y, y, x)


XLOG1PY = register(binary("Xlog1py", _xlog1py_kernel, _xlog1py_gradient, types=_ANALYTIC))


def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y`, but 0 where x is 0.

    Args:
        x: [...], a float or complex type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return XDIVY.entry(x, y, name)


def _xdivy_kernel(x: Array, y: Array) -> Array:
    return _where_x(x, x / y)


def _xdivy_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    dx = dy * complexes.conj(xdivy(_not_zero(x), y))
    along_y = dy * complexes.conj(xdivy(arithmetic.negative(x), arithmetic.square(y)))
    return broadcasting.reduced_to(dx, x, y), broadcasting.reduced_to(along_y, y, x)


XDIVY = register(binary("Xdivy", _xdivy_kernel, _xdivy_gradient, types=_ANALYTIC))
