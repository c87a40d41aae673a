"""One optimizer step on one variable as a single op: state is read, changed and written at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define
from pinnace.ops.state.variables import resource_of

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array

__all__: list[str] = []

_TYPES = dtypes.FLOATS | dtypes.COMPLEX


def _infer_update(call: InferCall) -> tuple[Shape, ...]:
    spec = call.handle(0)
    gradient = call.inputs[-1]
    if (
        spec is not None
        and not isinstance(gradient, tuple)
        and not spec.shape.is_compatible_with(gradient.shape)
    ):
        call.fail(f"the gradient must have the variable's shape {spec.shape.text}")
    return ()


def _descent_kernel(var: Array, alpha: Array, delta: Array) -> None:
    resource_of(var).update(np.subtract, alpha * delta)


APPLY_GRADIENT_DESCENT = define(
    name="ResourceApplyGradientDescent",
    signature="var: resource, alpha: T, delta: T ->",
    types={"T": _TYPES},
    attrs={"use_locking": attr("bool", default=False)},
    infer=_infer_update,
    kernel=_descent_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _momentum_kernel(
    var: Array, accum: Array, lr: Array, grad: Array, momentum: Array, *, use_nesterov: bool
) -> None:
    """accum = momentum accum - lr grad; var += accum, or momentum accum - lr grad for Nesterov."""
    velocity = resource_of(accum)
    step = lr * grad
    moved = momentum * velocity.read() - step
    velocity.write(moved)
    resource_of(var).update(np.add, momentum * moved - step if use_nesterov else moved)


APPLY_KERAS_MOMENTUM = define(
    name="ResourceApplyKerasMomentum",
    signature="var: resource, accum: resource, lr: T, grad: T, momentum: T ->",
    types={"T": _TYPES},
    attrs={"use_locking": attr("bool", default=False), "use_nesterov": attr("bool", default=False)},
    infer=lambda _: (),
    kernel=_momentum_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _adam_kernel(
    var: Array,
    m: Array,
    v: Array,
    beta1_power: Array,
    beta2_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    grad: Array,
    *,
    use_nesterov: bool,
) -> None:
    """Kingma and Ba, algorithm 1, step size as in the end of section 2; epsilon after the root."""
    first, second = resource_of(m), resource_of(v)
    one = grad.dtype.type(1)
    rate = lr * np.sqrt(one - beta2_power) / (one - beta1_power)
    mean = first.read()
    moved = grad - mean
    moved *= one - beta1
    moved += mean
    square = np.square(grad)
    spread = second.read()
    square -= spread
    square *= one - beta2
    square += spread
    first.write(moved)
    second.write(square)
    root = np.sqrt(square)
    root += epsilon
    direction = moved * beta1 + (one - beta1) * grad if use_nesterov else moved
    np.divide(direction, root, out=root)
    root *= rate
    resource_of(var).update(np.subtract, root)


APPLY_ADAM = define(
    name="ResourceApplyAdam",
    signature=(
        "var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: T, "
        "beta1: T, beta2: T, epsilon: T, grad: T ->"
    ),
    types={"T": _TYPES},
    attrs={"use_locking": attr("bool", default=False), "use_nesterov": attr("bool", default=False)},
    infer=_infer_update,
    kernel=_adam_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)
