"""Complex numbers: their parts, modulus, angle and conjugate."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import COMPLEX, complex64, complex128, float32, float64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.ops.array import constants, selecting
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, comparison, division
from pinnace.ops.opdef import OpCall, OpDef, typed
from pinnace.ops.registry import broadcast, register, same_as_input

__all__ = ["angle", "complex", "conj", "imag", "real"]

_PARTS = frozenset({float32, float64})


def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """`real + i imag`, with broadcasting.

    Args:
        real: [...], float32 or float64.
        imag: [...], dtype of `real`.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, complex64 or complex128.

    Raises:
        TypeError: the parts are not both float32 or both float64.

    Source:
        TensorFlow op `Complex` (math_ops.cc).
    """
    x = convert_to_tensor(real)
    y = convert_to_tensor(imag, dtype_hint=x.dtype)
    if x.dtype is not y.dtype or x.dtype not in _PARTS:
        message = (
            "complex: real and imag must both be float32 or float64, "
            f"got {x.dtype.name} and {y.dtype.name}"
        )
        raise TypeError(message)
    return execute(COMPLEX_OF_PARTS, x, y, Tout=_complex_of(x.dtype), name=name)  # type: ignore[no-any-return]


def real(input: TensorLike, name: str | None = None) -> Tensor:
    """The real part; a real number is its own.

    Source:
        TensorFlow op `Real` (math_ops.cc).
    """
    x = convert_to_tensor(input)
    if not x.dtype.is_complex:
        return x
    return execute(REAL_PART, x, Tout=x.dtype.real_dtype, name=name)  # type: ignore[no-any-return]


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """The imaginary part; 0 for a real number.

    Source:
        TensorFlow op `Imag` (math_ops.cc).
    """
    x = convert_to_tensor(input)
    if not x.dtype.is_complex:
        return constants.zeros_like(x, name=name)
    return execute(IMAGINARY_PART, x, Tout=x.dtype.real_dtype, name=name)  # type: ignore[no-any-return]


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The angle in the complex plane, in (-π, π]; for a real number 0, or π where it is negative.

    Source:
        TensorFlow op `Angle` (math_ops.cc).
    """
    x = convert_to_tensor(input)
    if x.dtype.is_complex:
        return execute(ANGLE, x, Tout=x.dtype.real_dtype, name=name)  # type: ignore[no-any-return]
    half_turn = constants.constant(np.pi, x.dtype) * constants.ones_like(x)
    negative = comparison.less(x, constants.constant(0, x.dtype))
    return selecting.where(negative, half_turn, constants.zeros_like(x))


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """The conjugate; a real number is its own.

    Raises:
        TypeError: `x` is not a number.

    Source:
        TensorFlow op `Conj` (math_ops.cc).
    """
    if type(x) is Tensor and x._array.dtype.kind == "f":
        return x
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x)
    kind = tensor.dtype
    if kind.is_complex or kind is dtypes.variant:
        return execute(CONJ, tensor, name=name)  # type: ignore[no-any-return]
    if not (kind.is_numeric or isinstance(x, Operands)):
        message = f"conj: x must be a number, got {kind.name}"
        raise TypeError(message)
    return tensor


def _complex_of(dtype: dtypes.DType) -> dtypes.DType:
    return complex64 if dtype is float32 else complex128


def _check_kinds(name: str, x: Array, made: dtypes.DType, wanted: np.dtype[Any]) -> None:
    if made.numpy != wanted:
        message = (
            f"{name}: Tout must be {dtypes.from_numpy(wanted).name} for {x.dtype}, got {made.name}"
        )
        raise InvalidArgumentError(message)


def _complex_kernel(real: Array, imag: Array, *, Tout: dtypes.DType) -> Array:  # noqa: N803 (TensorFlow's name)
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), Tout.numpy)
    out.real = real
    out.imag = imag
    return out


def _real_kernel(x: Array, *, Tout: dtypes.DType) -> Array:  # noqa: N803 (TensorFlow's name)
    _check_kinds("Real", x, Tout, x.real.dtype)
    return x.real


def _imag_kernel(x: Array, *, Tout: dtypes.DType) -> Array:  # noqa: N803 (TensorFlow's name)
    _check_kinds("Imag", x, Tout, x.real.dtype)
    return x.imag


def _angle_kernel(x: Array, *, Tout: dtypes.DType) -> Array:  # noqa: N803 (TensorFlow's name)
    _check_kinds("Angle", x, Tout, x.real.dtype)
    return np.arctan2(x.imag, x.real)  # type: ignore[no-any-return]


def _abs_kernel(x: Array, *, Tout: dtypes.DType) -> Array:  # noqa: N803 (TensorFlow's name)
    _check_kinds("ComplexAbs", x, Tout, x.real.dtype)
    return np.abs(x)


def _of(real_part: Tensor) -> Tensor:
    """A complex number with that real part."""
    return complex(real_part, constants.zeros_like(real_part))


def _complex_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    from pinnace.ops.math import broadcasting

    x, y = call.inputs
    return broadcasting.reduced_to(real(dy), x, y), broadcasting.reduced_to(imag(dy), y, x)


def _real_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:  # noqa: ARG001 (the protocol)
    return (_of(dy),)


def _imag_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:  # noqa: ARG001 (the protocol)
    # TensorFlow: the gradient of Im z is i dy, that of Re z is dy.
    return (complex(constants.zeros_like(dy), dy),)


def _angle_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x = call.inputs[0]
    turned = complex(imag(x), real(x))
    return (arithmetic.negative(_of(dy)) * arithmetic.reciprocal(turned),)


def _abs_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (_of(dy) * division.divide_no_nan(call.inputs[0], _of(call.outputs[0])),)


def _conj_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:  # noqa: ARG001 (the protocol)
    return (conj(dy),)


COMPLEX_OF_PARTS = register(
    OpDef(
        name="Complex",
        signature="real: T, imag: T -> out: Tout",
        types={"T": typed(_PARTS, default=float32), "Tout": typed(COMPLEX, default=complex64)},
        infer=broadcast,
        kernel=_complex_kernel,
        gradient=_complex_gradient,
        elementwise=True,
    )
)


def _part(
    name: str, kernel: Any, gradient: Any, signature: str = "input: T -> output: Tout"
) -> OpDef:
    """An op from a complex number to a real one."""
    return OpDef(
        name=name,
        signature=signature,
        types={"T": typed(COMPLEX, default=complex64), "Tout": typed(_PARTS, default=float32)},
        infer=same_as_input,
        kernel=kernel,
        gradient=gradient,
        elementwise=True,
    )


REAL_PART = register(_part("Real", _real_kernel, _real_gradient))
IMAGINARY_PART = register(_part("Imag", _imag_kernel, _imag_gradient))
ANGLE = register(_part("Angle", _angle_kernel, _angle_gradient))
COMPLEX_ABS = register(_part("ComplexAbs", _abs_kernel, _abs_gradient, "x: T -> y: Tout"))
CONJ = register(
    OpDef(
        name="Conj",
        signature="input: T -> output: T",
        types={"T": typed(COMPLEX, default=complex64)},
        infer=same_as_input,
        kernel=np.conjugate,
        gradient=_conj_gradient,
        elementwise=True,
        out=True,
    )
)
