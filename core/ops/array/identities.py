"""Ops that return their input: Identity, IdentityN, StopGradient, CheckNumerics and others."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from pinnace.framework.dtypes import ANY, FLOATS
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_all, execute_one
from pinnace.ops.opdef import (
    NO_GRADIENT_DEFINED,
    NOT_DIFFERENTIABLE,
    InferCall,
    OpCall,
    attr,
    handed_on,
)
from pinnace.ops.registry import define, same_as_input

__all__ = [
    "check_numerics",
    "guarantee_const",
    "identity",
    "identity_n",
    "prevent_gradient",
    "stop_gradient",
]


def _same(input: Array) -> Array:
    return input


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """A new tensor with the value of `input`.

    Args:
        input: [...], any dtype.
        name: name of the node while tracing.
    """
    return IDENTITY.entry(input, name=name)


IDENTITY = define(
    name="Identity",
    signature="input: T -> output: T",
    types={"T": ANY},
    infer=same_as_input,
    kernel=_same,
    gradient=handed_on,
    elementwise=True,
    alias=True,
)


def identity_n(input: Sequence[TensorLike], name: str | None = None) -> tuple[Tensor, ...]:
    """New tensors with the values of `input`, of any shapes and dtypes.

    Args:
        input: tensors of any shapes and dtypes.
        name: name of the node while tracing.

    Returns:
        A list of as many tensors.
    """
    return execute_all(IDENTITY_N, input, name=name)


def _same_n(input: tuple[Array, ...]) -> tuple[Array, ...]:
    return input


def _infer_same_n(call: InferCall) -> tuple[Shape, ...]:
    return tuple(spec.shape for spec in call.specs(0))


def _handed_on_n(call: OpCall, *dys: Tensor | None) -> tuple[Any, ...]:  # noqa: ARG001 (the protocol)
    return (dys,)


IDENTITY_N = define(
    name="IdentityN",
    signature="input: (T) -> output: (T)",
    infer=_infer_same_n,
    kernel=_same_n,
    gradient=_handed_on_n,
    alias=True,
)


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """`input`, treated as a constant by gradients.

    Args:
        input: [...], any dtype.
        name: name of the node while tracing.
    """
    return STOP_GRADIENT.entry(input, name=name)


STOP_GRADIENT = define(
    name="StopGradient",
    signature="input: T -> output: T",
    types={"T": ANY},
    infer=same_as_input,
    kernel=_same,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
    alias=True,
)


def prevent_gradient(input: TensorLike, message: str = "", name: str | None = None) -> Tensor:
    """`input`; raises an error with `message` if a gradient is taken through it.

    Raises:
        LookupError: not here, but when a gradient is taken.
    """
    return execute_one(PREVENT_GRADIENT, input, message=message, name=name)


def _refused(call: OpCall, dy: Tensor) -> NoReturn:  # noqa: ARG001 (the protocol)
    raise LookupError(f"gradient explicitly disabled. Reason: {call.attr('message')!r}")


PREVENT_GRADIENT = define(
    name="PreventGradient",
    signature="input: T -> output: T",
    types={"T": ANY},
    attrs={"message": attr("string", default="")},
    infer=same_as_input,
    kernel=_same,
    gradient=_refused,
    elementwise=True,
    alias=True,
)


@takes_composites(values=1)
def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """`tensor`, checked to be finite.

    Args:
        tensor: [...], floating point.
        message: the beginning of the error.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: a value is NaN or infinite.
    """
    return execute_one(CHECK_NUMERICS, tensor, message=message, name=name)


def _check_kernel(tensor: Array, *, message: str) -> Array:
    if np.isfinite(tensor).all():
        return tensor
    found = [text for text, test in (("NaN", np.isnan), ("Inf", np.isinf)) if test(tensor).any()]
    raise InvalidArgumentError(
        f"CheckNumerics: {message} : Tensor had {' and '.join(found)} values"
    )


def non_finite(array: Array) -> str:
    """The kinds of non-finite values in an array, in TensorFlow's wording."""
    tests = (("-Inf", np.isneginf), ("+Inf", np.isposinf), ("NaN", np.isnan))
    found = [text for text, test in tests if test(array).any()]
    listed = " and ".join(found) if len(found) < len(tests) else f"{', '.join(found[:2])}, and NaN"
    return f"Tensor had {listed} values"


def _check_signs_kernel(tensor: Array, *, message: str) -> Array:
    if np.isfinite(tensor).all():
        return tensor
    raise InvalidArgumentError(f"CheckNumericsV2: {message} : {non_finite(tensor)}")


def _check_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    text = call.attr("message")
    return (
        check_numerics(
            dy, f"Not a number (NaN) or infinity (Inf) values detected in gradient. {text}"
        ),
    )


CHECK_NUMERICS = define(
    name="CheckNumerics",
    signature="tensor: T -> output: T",
    types={"T": FLOATS},
    attrs={"message": attr("string")},
    infer=same_as_input,
    kernel=_check_kernel,
    gradient=_check_gradient,
    effect="io",
    elementwise=True,
)


# The same check, whose error tells the signs.
CHECK_NUMERICS_V2 = define(
    name="CheckNumericsV2",
    signature="tensor: T -> output: T",
    types={"T": FLOATS},
    attrs={"message": attr("string")},
    infer=same_as_input,
    kernel=_check_signs_kernel,
    gradient=_check_gradient,
    effect="io",
    elementwise=True,
)


SNAPSHOT = define(
    name="Snapshot",
    signature="input: T -> output: T",
    types={"T": ANY},
    infer=same_as_input,
    kernel=_same,
    gradient=handed_on,
    elementwise=True,
    alias=True,
)


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """`input`, which the program guarantees to be constant; the guarantee is not needed here.

    Args:
        input: [...], any dtype.
        name: name of the node while tracing.
    """
    return execute_one(GUARANTEE_CONST, input, name=name)


GUARANTEE_CONST = define(
    name="GuaranteeConst",
    signature="input: T -> output: T",
    types={"T": ANY},
    infer=same_as_input,
    kernel=_same,
    gradient=NO_GRADIENT_DEFINED,
    effect="read",  # TensorFlow calls it stateful
    elementwise=True,
    alias=True,
)
