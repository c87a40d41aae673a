"""Rectifiers: Relu, Relu6, LeakyRelu and their gradients."""

from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS, REAL, float32
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import casting, constants, joining
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels.masking import kept
from pinnace.ops.math import arithmetic
from pinnace.ops.opdef import OpCall, OpDef, attr, typed
from pinnace.ops.registry import define, one_shape, register, same_as_input, unary

__all__ = ["crelu", "leaky_relu", "relu", "relu6"]


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """max(features, 0); NaN is preserved.

    Args:
        features: [...], a real type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `features`.
    """
    return RELU.entry(features, name)


def _relu_kernel(features: Array, *, out: Array | None = None) -> Any:
    return np.maximum(features, features.dtype.type(0), out=out)  # maximum passes NaN on


# Gradients: TensorFlow hands the output to ReluGrad, so that the input can be forgotten.


def _relu_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (relu_grad(dy, call.outputs[0]),)


RELU: OpDef = define(
    name="Relu",
    signature="features: T -> activations: T",
    types={"T": REAL},
    infer=same_as_input,
    kernel=_relu_kernel,
    gradient=_relu_gradient,
    elementwise=True,
    out=True,
    fuse="max({features}, T(0))",
)


def relu_grad(gradients: Tensor, features: Tensor) -> Tensor:
    """Gradients where features > 0, else 0."""
    return RELU_GRAD.entry(gradients, features)


def _relu_grad_kernel(gradients: Array, features: Array, *, out: Array | None = None) -> Any:
    return kept(gradients, features > 0, out)


def _relu_grad_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return relu_grad(dy, call.inputs[1]), constants.zeros_like(call.inputs[1])


RELU_GRAD: OpDef = define(
    name="ReluGrad",
    signature="gradients: T, features: T -> backprops: T",
    types={"T": REAL},
    infer=one_shape,
    kernel=_relu_grad_kernel,
    gradient=_relu_grad_gradient,
    out=True,
    fuse="({gradients} if {features} > T(0) else T(0))",
)


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """min(max(features, 0), 6).

    Args:
        features: [...], a real number type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `features`.

    Source:
        TensorFlow op `Relu6` (nn_ops.cc); Krizhevsky, 2010.
    """
    return RELU6.entry(features, name)


def _relu6_kernel(features: Array) -> Any:
    number = features.dtype.type
    return np.minimum(np.maximum(features, number(0)), number(6))


def _relu6_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (relu6_grad(dy, call.outputs[0]),)


RELU6: OpDef = register(
    unary(
        "Relu6",
        _relu6_kernel,
        _relu6_gradient,
        types=REAL,
        signature="features: T -> activations: T",
        fuse="min(max({features}, T(0)), T(6))",
    )
)


def relu6_grad(gradients: Tensor, features: Tensor) -> Tensor:
    """Gradients where 0 < features < 6, else 0."""
    return RELU6_GRAD.entry(gradients, features)


def _relu6_grad_kernel(gradients: Array, features: Array) -> Any:
    return kept(gradients, (features > 0) & (features < 6))


def _relu6_grad_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return relu6_grad(dy, call.inputs[1]), constants.zeros_like(call.inputs[1])


RELU6_GRAD: OpDef = define(
    name="Relu6Grad",
    signature="gradients: T, features: T -> backprops: T",
    types={"T": REAL},
    infer=one_shape,
    kernel=_relu6_grad_kernel,
    gradient=_relu6_grad_gradient,
    fuse="({gradients} if {features} > T(0) and {features} < T(6) else T(0))",
)


def _slope(x: Array, alpha: float) -> Any:
    # Attributes are saved as float32: a model gives the same numbers before and after.
    return x.dtype.type(np.float32(alpha))


@takes_composites(values=1, keeps_zero=True)
def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """Features where positive, else alpha features.

    Args:
        features: [...], a float type; integers become float32.
        alpha: slope for negative values.
        name: name of the node while tracing.

    Source:
        TensorFlow op `LeakyRelu` (nn_ops.cc); Maas, Hannun and Ng, 2013.
    """
    features = convert_to_tensor(features)
    if features.dtype.is_integer:
        features = casting.cast(features, float32)
    return execute_one(LEAKY_RELU, features, alpha=float(alpha), name=name)


def _leaky_relu_kernel(features: Array, *, alpha: float) -> Any:
    scaled = features * _slope(features, alpha)
    if alpha <= 1:
        return np.maximum(features, scaled)
    return np.where(features > 0, features, scaled)


def _leaky_relu_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (leaky_relu_grad(dy, call.inputs[0], call.attr("alpha")),)


LEAKY_RELU: OpDef = define(
    name="LeakyRelu",
    signature="features: T -> activations: T",
    types={"T": typed(FLOATS, float32)},
    attrs={"alpha": attr("float", default=0.2)},
    infer=same_as_input,
    kernel=_leaky_relu_kernel,
    gradient=_leaky_relu_gradient,
    elementwise=True,
    fuse="({features} if {features} > T(0) else {features} * {alpha})",
)


def leaky_relu_grad(gradients: Tensor, features: Tensor, alpha: float) -> Tensor:
    """Gradients where features > 0, else alpha gradients."""
    return execute_one(LEAKY_RELU_GRAD, gradients, features, alpha=alpha)


def _leaky_relu_grad_kernel(gradients: Array, features: Array, *, alpha: float) -> Any:
    return np.where(features > 0, gradients, gradients * _slope(gradients, alpha))


def _leaky_relu_grad_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x = call.inputs[1]
    return leaky_relu_grad(dy, x, call.attr("alpha")), constants.zeros_like(x)


LEAKY_RELU_GRAD: OpDef = define(
    name="LeakyReluGrad",
    signature="gradients: T, features: T -> backprops: T",
    types={"T": typed(FLOATS, float32)},
    attrs={"alpha": attr("float", default=0.2)},
    infer=one_shape,
    kernel=_leaky_relu_grad_kernel,
    gradient=_leaky_relu_grad_gradient,
    fuse="({gradients} if {features} > T(0) else {gradients} * {alpha})",
)


def crelu(features: TensorLike, axis: int = -1, name: str | None = None) -> Tensor:
    """relu(features) and relu(-features), concatenated along `axis`.

    Args:
        features: [...], a float type.
        axis: the axis of concatenation.
        name: name of the node while tracing.

    Returns:
        Twice as many along `axis`, dtype of `features`.

    Source:
        Shang et al., 2016; TensorFlow `tf.nn.crelu`.
    """
    features = convert_to_tensor(features)
    return relu(joining.concat([features, arithmetic.negative(features)], axis), name=name)
