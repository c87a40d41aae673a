"""Complex numbers: their parts and their conjugates."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import COMPLEX, complex64, complex128, float32, float64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import broadcasting, constants
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import OpCall, OpDef, typed
from pinnace.ops.registry import broadcast, define, register, same_as_input

__all__ = ["complex", "conj", "imag", "real"]


@takes_composites(values=2)
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
    """
    x = convert_to_tensor(real)
    y = convert_to_tensor(imag, dtype_hint=x.dtype)
    if x.dtype is not y.dtype or x.dtype not in _PARTS:
        raise TypeError(
            "complex: real and imag must both be float32 or float64, "
            f"got {x.dtype.name} and {y.dtype.name}"
        )
    return execute_one(COMPLEX_OF_PARTS, x, y, Tout=_complex_of(x.dtype), name=name)


_PARTS = frozenset({float32, float64})


def _complex_of(dtype: dtypes.DType) -> dtypes.DType:
    return complex64 if dtype is float32 else complex128


def _complex_kernel(real: Array, imag: Array, *, Tout: dtypes.DType) -> Array:  # noqa: N803 (TensorFlow's name)
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), Tout.numpy)
    out.real = real
    out.imag = imag
    return out


def _complex_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, y = call.inputs
    return broadcasting.reduced_to(real(dy), x, y), broadcasting.reduced_to(imag(dy), y, x)


COMPLEX_OF_PARTS = define(
    name="Complex",
    signature="real: T, imag: T -> out: Tout",
    types={"T": typed(_PARTS, default=float32), "Tout": typed(COMPLEX, default=complex64)},
    infer=broadcast,
    kernel=_complex_kernel,
    gradient=_complex_gradient,
    elementwise=True,
)


def check_kinds(name: str, x: Array, made: dtypes.DType, wanted: np.dtype[Any]) -> None:
    if made.numpy != wanted:
        raise InvalidArgumentError(
            f"{name}: Tout must be {dtypes.from_numpy(wanted).name} for {x.dtype}, got {made.name}"
        )


def of_real(real_part: Tensor) -> Tensor:
    """A complex number with the given real part."""
    return complex(real_part, constants.zeros_like(real_part))


def part(
    name: str, kernel: Any, gradient: Any, signature: str = "input: T -> output: Tout"
) -> OpDef:
    """An op from complex to real numbers."""
    return OpDef(
        name=name,
        signature=signature,
        types={"T": typed(COMPLEX, default=complex64), "Tout": typed(_PARTS, default=float32)},
        infer=same_as_input,
        kernel=kernel,
        gradient=gradient,
        elementwise=True,
    )


@takes_composites(values=1)
def real(input: TensorLike, name: str | None = None) -> Tensor:
    """The real part; a real number itself.

    Args:
        input: [...], a number type.
        name: name of the node while tracing.

    Returns:
        [...], float32 or float64 for a complex type, else dtype of `input`.

    Raises:
        TypeError: `input` is not a number.
    """
    x = convert_to_tensor(input)
    if not x.dtype.is_complex:
        if not x.dtype.is_numeric:
            raise TypeError(f"real: input must be a number, got {x.dtype.name}")
        return x
    return execute_one(REAL_PART, x, Tout=x.dtype.real_dtype, name=name)


def _real_kernel(x: Array, *, Tout: dtypes.DType) -> Array:  # noqa: N803 (TensorFlow's name)
    check_kinds("Real", x, Tout, x.real.dtype)
    return x.real


def _real_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:  # noqa: ARG001 (the protocol)
    return (of_real(dy),)


REAL_PART = register(part("Real", _real_kernel, _real_gradient))


@takes_composites(values=1)
def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """The imaginary part; 0 for a real number.

    Args:
        input: [...], a number type.
        name: name of the node while tracing.

    Returns:
        [...], float32 or float64 for a complex type, else dtype of `input`.
    """
    x = convert_to_tensor(input)
    if not x.dtype.is_complex:
        return constants.zeros_like(x, name=name)
    return execute_one(IMAGINARY_PART, x, Tout=x.dtype.real_dtype, name=name)


def _imag_kernel(x: Array, *, Tout: dtypes.DType) -> Array:  # noqa: N803 (TensorFlow's name)
    check_kinds("Imag", x, Tout, x.real.dtype)
    return x.imag


def _imag_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:  # noqa: ARG001 (the protocol)
    # TensorFlow: the gradient of Im z is i dy, that of Re z is dy.
    return (complex(constants.zeros_like(dy), dy),)


IMAGINARY_PART = register(part("Imag", _imag_kernel, _imag_gradient))


@takes_composites(values=1)
def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """The complex conjugate; a real number itself.

    Args:
        x: [...], a number type.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `x`.

    Raises:
        TypeError: `x` is not a number.
    """
    if type(x) is Tensor and x._array.dtype.kind == "f":
        return x
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x)
    kind = tensor.dtype
    if kind.is_complex or kind is dtypes.variant:
        return execute_one(CONJ, tensor, name=name)
    if not kind.is_numeric:
        raise TypeError(f"conj: x must be a number, got {kind.name}")
    return tensor


def _conj_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:  # noqa: ARG001 (the protocol)
    return (conj(dy),)


CONJ = define(
    name="Conj",
    signature="input: T -> output: T",
    types={"T": typed(COMPLEX, default=complex64)},
    infer=same_as_input,
    kernel=np.conjugate,
    gradient=_conj_gradient,
    elementwise=True,
    out=True,
)
