"""Smooth activations: Softplus, Softsign, Elu, Selu and their gradients; Gelu and Silu."""

import math
from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import constants, selecting
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.math import arithmetic, error_and_gamma, exponents, polar, trigonometry
from pinnace.ops.opdef import OpCall, OpDef
from pinnace.ops.registry import backward, register, unary

__all__ = ["elu", "gelu", "selu", "silu", "softplus", "softsign", "swish"]

_ACTIVATION = "features: T -> activations: T"
_OF_FEATURES = "gradients: T, features: T -> backprops: T"
_OF_OUTPUTS = "gradients: T, outputs: T -> backprops: T"


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """log(1 + exp(features)), element by element, without overflow.

    Args:
        features: [...], any float dtype.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `features`; no value is negative.

    Raises:
        InvalidArgumentError: `features` is not floating point.
    """
    return SOFTPLUS.entry(features, name)


def _softplus_kernel(features: Array) -> Any:
    # log1p(exp(x)) overflows above x = 88 in float32.
    return np.maximum(features, features.dtype.type(0)) + np.log1p(np.exp(-np.abs(features)))


def _softplus_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (softplus_grad(dy, call.inputs[0]),)


SOFTPLUS: OpDef = register(
    unary(
        "Softplus",
        _softplus_kernel,
        _softplus_gradient,
        signature=_ACTIVATION,
        fuse="max({features}, T(0)) + log1p(exp(-abs({features})))",
    )
)


def softplus_grad(gradients: Tensor, features: Tensor) -> Tensor:
    """gradients / (1 + exp(-features))."""
    return SOFTPLUS_GRAD.entry(gradients, features)


def _softplus_grad_kernel(gradients: Array, features: Array) -> Any:
    return gradients / (np.exp(-features) + features.dtype.type(1))


def _softplus_grad_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    gradients, x = call.inputs
    s = exponents.sigmoid(x)
    return softplus_grad(dy, x), dy * gradients * (s * (1.0 - s))


SOFTPLUS_GRAD: OpDef = register(
    backward(
        "SoftplusGrad",
        _softplus_grad_kernel,
        _softplus_grad_gradient,
        types=FLOATS,
        signature=_OF_FEATURES,
        fuse="{gradients} / (exp(-{features}) + T(1))",
    )
)


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """features / (1 + |features|).

    Args:
        features: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `features`.
    """
    return SOFTSIGN.entry(features, name)


def _softsign_kernel(features: Array) -> Any:
    return features / (np.abs(features) + features.dtype.type(1))


def _softsign_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (softsign_grad(dy, call.inputs[0]),)


SOFTSIGN: OpDef = register(
    unary(
        "Softsign",
        _softsign_kernel,
        _softsign_gradient,
        signature=_ACTIVATION,
        fuse="{features} / (abs({features}) + T(1))",
    )
)


def softsign_grad(gradients: Tensor, features: Tensor) -> Tensor:
    """gradients / (1 + |features|)²."""
    return SOFTSIGN_GRAD.entry(gradients, features)


def _softsign_grad_kernel(gradients: Array, features: Array) -> Any:
    return gradients / np.square(np.abs(features) + features.dtype.type(1))


def _softsign_grad_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    # TensorFlow defines no gradient here and raises; this is the derivative.
    gradients, x = call.inputs
    y = softsign(x)
    slope = arithmetic.reciprocal(1.0 + polar.abs(x))
    return softsign_grad(dy, x), dy * gradients * (-2.0 * polar.sign(y)) * slope * slope * slope


SOFTSIGN_GRAD: OpDef = register(
    backward(
        "SoftsignGrad",
        _softsign_grad_kernel,
        _softsign_grad_gradient,
        types=FLOATS,
        signature=_OF_FEATURES,
    )
)


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """`features` where positive, else exp(features) - 1.

    Args:
        features: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `features`.

    Source:
        TensorFlow op `Elu` (nn_ops.cc); Clevert, Unterthiner and Hochreiter, 2016.
    """
    return ELU.entry(features, name)


def _elu_kernel(features: Array) -> Any:
    zero = features.dtype.type(0)
    return np.maximum(features, zero) + np.expm1(np.minimum(features, zero))


def _elu_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (elu_grad(dy, call.outputs[0]),)


ELU: OpDef = register(
    unary(
        "Elu",
        _elu_kernel,
        _elu_gradient,
        signature=_ACTIVATION,
        fuse="max({features}, T(0)) + expm1(min({features}, T(0)))",
    )
)


def _below_zero(y: Tensor, value: Tensor) -> Tensor:
    zero = constants.zeros_like(y)
    return selecting.where(y < zero, value, zero)


def elu_grad(gradients: Tensor, outputs: Tensor) -> Tensor:
    """gradients (outputs + 1) where outputs < 0, else gradients."""
    return ELU_GRAD.entry(gradients, outputs)


def _elu_grad_kernel(gradients: Array, outputs: Array) -> Any:
    number = outputs.dtype.type
    # fmin: where the output is NaN, TensorFlow passes the gradient unchanged.
    return gradients * (np.fmin(outputs, number(0)) + number(1))


def _elu_grad_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    gradients, y = call.inputs
    return elu_grad(dy, y), _below_zero(y, dy * gradients)


ELU_GRAD: OpDef = register(
    backward(
        "EluGrad",
        _elu_grad_kernel,
        _elu_grad_gradient,
        types=FLOATS,
        signature=_OF_OUTPUTS,
        fuse="({gradients} * ({outputs} + T(1)) if {outputs} < T(0) else {gradients})",
    )
)


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Scaled `elu`: scale x, or scale alpha (exp(x) - 1) for negative x.

    Args:
        features: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `features`.

    Source:
        TensorFlow op `Selu` (nn_ops.cc); Klambauer et al., 2017, equation 2.
    """
    return SELU.entry(features, name)


# Klambauer et al., 2017, equation 2: the fixed point of mean 0 and variance 1.
_SCALE = 1.0507009873554804934193349852946
_SCALE_ALPHA = 1.7580993408473768599402175208123


def _selu_kernel(features: Array) -> Any:
    number = features.dtype.type
    above = np.maximum(features, number(0)) * number(_SCALE)
    return above + np.expm1(np.minimum(features, number(0))) * number(_SCALE_ALPHA)


def _selu_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (selu_grad(dy, call.outputs[0]),)


SELU: OpDef = register(
    unary(
        "Selu",
        _selu_kernel,
        _selu_gradient,
        signature=_ACTIVATION,
        fuse=f"max({{features}}, T(0)) * T({_SCALE!r})"
        f" + expm1(min({{features}}, T(0))) * T({_SCALE_ALPHA!r})",
    )
)


def selu_grad(gradients: Tensor, outputs: Tensor) -> Tensor:
    """gradients (outputs + scale alpha) where outputs < 0, else scale gradients."""
    return SELU_GRAD.entry(gradients, outputs)


def _selu_grad_kernel(gradients: Array, outputs: Array) -> Any:
    number = outputs.dtype.type
    slope = np.where(outputs < 0, outputs + number(_SCALE_ALPHA), number(_SCALE))
    return gradients * slope


def _selu_grad_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    gradients, y = call.inputs
    return selu_grad(dy, y), _below_zero(y, dy * gradients)


SELU_GRAD: OpDef = register(
    backward(
        "SeluGrad",
        _selu_grad_kernel,
        _selu_grad_gradient,
        types=FLOATS,
        signature=_OF_OUTPUTS,
        fuse=f"{{gradients}} * (({{outputs}} + T({_SCALE_ALPHA!r}))"
        f" if {{outputs}} < T(0) else T({_SCALE!r}))",
    )
)


@takes_composites(values=1)
def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """Features times the standard normal distribution function of them.

    Args:
        features: [...], any float dtype.
        approximate: use 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))).
        name: name of the node while tracing.

    Source:
        Hendrycks and Gimpel, 2016; TensorFlow `tf.nn.gelu`.
    """
    x = _floating("gelu", features)
    if approximate:
        cubic = exponents.pow(x, constants.constant(3, x.dtype))
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * cubic)
        return arithmetic.multiply(0.5 * x, 1.0 + trigonometry.tanh(inner), name)
    # Far below 0, erfc keeps the digits that 1 + erf loses.
    return arithmetic.multiply(0.5 * x, error_and_gamma.erfc(-x * math.sqrt(0.5)), name)


@takes_composites(values=1)
def silu(features: TensorLike, beta: TensorLike = 1.0, name: str | None = None) -> Tensor:
    """`features` times sigmoid(beta features).

    Args:
        features: [...], a float type.
        beta: a number or a tensor that broadcasts with `features`.
        name: name of the node while tracing.

    Returns:
        The broadcast shape, dtype of `features`.

    Source:
        Ramachandran, Zoph and Le, 2017; TensorFlow `tf.nn.silu`.
    """
    x = convert_to_tensor(features)
    inner = x if isinstance(beta, float) and beta == 1.0 else x * beta
    return arithmetic.multiply(x, exponents.sigmoid(inner), name)


swish = silu


def _floating(function: str, features: TensorLike) -> Tensor:
    x = convert_to_tensor(features)
    if not x.dtype.is_floating:
        raise InvalidArgumentError(
            f"{function}: features must be floating point, got {x.dtype.name}"
        )
    return x


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """log(1 / (1 + e⁻ˣ)), without underflow."""
    return arithmetic.negative(softplus(arithmetic.negative(x)), name)
