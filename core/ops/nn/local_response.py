"""LRN: channels divided by the energy of their neighbours."""

from typing import Any

import numpy as np

from pinnace.framework.dtypes import bfloat16, float16, float32
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.nn import layouts
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, OpCall, OpDef, attr, typed
from pinnace.ops.registry import define, same_as_input

__all__ = ["local_response_normalization"]

_LRN_ATTRS = {
    "depth_radius": attr("int", default=5),
    "bias": attr("float", default=1.0),
    "alpha": attr("float", default=1.0),
    "beta": attr("float", default=0.5),
}


def _window_sums(x: Array, radius: int) -> Array:
    """Sums over 2 radius + 1 neighbours along the last axis, fewer at its ends."""
    size = x.shape[-1]
    if not x.size:
        return x
    radius = min(radius, size - 1)
    around = np.zeros((x.size // size, size + 2 * radius), x.dtype)
    around[:, radius : radius + size] = x.reshape(-1, size)
    # Whole rows, with zeros between the pixels: NumPy starts no loop for each of them.
    flat = around.reshape(-1)
    total = flat[: flat.size - 2 * radius].copy()
    for shift in range(1, 2 * radius + 1):
        total += flat[shift : shift + total.size]
    return np.lib.stride_tricks.as_strided(
        total, around[:, :size].shape, around.strides, writeable=False
    ).reshape(x.shape)


def _power(norm: Array, beta: float) -> Array:
    """norm^-beta; NumPy's powers of float32 take ten times as long."""
    if beta == 0.5:
        return np.asarray(1 / np.sqrt(norm))
    return np.asarray(np.exp(norm.dtype.type(-beta) * np.log(norm)))


def local_response_normalization(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """input / (bias + alpha sum(input²))^beta, with the sum over neighbouring channels.

    Args:
        input: [batch, height, width, channels]; float16, bfloat16 or float32.
        depth_radius: how many channels on either side count.
        bias: keeps the divisor from 0.
        alpha: weight of the squares.
        beta: exponent.
        name: name of the node while tracing.

    Source:
        TensorFlow op `LRN` (nn_ops.cc); Krizhevsky, Sutskever and Hinton, 2012, section 3.3.
    """
    return execute_one(
        LRN,
        input,
        depth_radius=int(depth_radius),
        bias=float(bias),
        alpha=float(alpha),
        beta=float(beta),
        name=name,
    )


def _lrn_kernel(input: Array, *, depth_radius: int, bias: float, alpha: float, beta: float) -> Any:
    x = input.astype(computed_in(input.dtype), copy=False)
    number = x.dtype.type
    norm = number(bias) + number(alpha) * _window_sums(x * x, depth_radius)
    return (x * _power(norm, beta)).astype(input.dtype, copy=False)


def _infer_lrn(call: InferCall) -> Shape:
    return layouts.known_rank(call, 0, 4)


def _lrn_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    options = {name: call.attr(name) for name in _LRN_ATTRS}
    return (execute(LRN_GRAD, dy, call.inputs[0], call.outputs[0], **options),)


LRN: OpDef = define(
    name="LRN",
    signature="input: T -> output: T",
    types={"T": typed({float16, bfloat16, float32}, float32)},
    attrs=_LRN_ATTRS,
    infer=_infer_lrn,
    kernel=_lrn_kernel,
    gradient=_lrn_gradient,
)


def _lrn_grad_kernel(
    input_grads: Array,
    input_image: Array,
    output_image: Array,  # noqa: ARG001 (recomputed in full precision)
    *,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> Any:
    compute = computed_in(input_image.dtype)
    x, dy = input_image.astype(compute, copy=False), input_grads.astype(compute, copy=False)
    number = x.dtype.type
    norm = number(bias) + number(alpha) * _window_sums(x * x, depth_radius)
    power = _power(norm, beta)
    spread = _window_sums(dy * x * power / norm, depth_radius)
    return (dy * power - number(2 * alpha * beta) * x * spread).astype(
        input_image.dtype, copy=False
    )


LRN_GRAD: OpDef = define(
    name="LRNGrad",
    signature="input_grads: T, input_image: T, output_image: T -> output: T",
    types={"T": typed({float16, bfloat16, float32}, float32)},
    attrs=_LRN_ATTRS,
    infer=same_as_input,
    kernel=_lrn_grad_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
