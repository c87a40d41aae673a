"""An optimizer step on a variable as a single op, which updates state atomically."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework import dtypes
from pinnace.ops.kernels import descents
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define
from pinnace.ops.state.variables import resource_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinnace.framework.shapes import Shape
    from pinnace.framework.storage import Resource
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
    variable = resource_of(var)
    if descents.step("descent", [variable], delta, (alpha,)):
        return
    variable.update(np.subtract, alpha * delta)


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
    velocity, variable = resource_of(accum), resource_of(var)
    name = "nesterov momentum" if use_nesterov else "momentum"
    if descents.step(name, (variable, velocity), grad, (lr, momentum)):
        return
    step = lr * grad
    moved = momentum * velocity.read() - step
    velocity.write(moved)
    variable.update(np.add, momentum * moved - step if use_nesterov else moved)


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
    """Kingma and Ba, algorithm 1, with the step size from the end of section 2; epsilon after √."""
    scalars = (beta1_power, beta2_power, lr, beta1, beta2, epsilon)
    numbers = _adam_numbers(grad.dtype, *scalars)
    _adam_step((var, m, v), numbers, grad, use_nesterov=use_nesterov)


def _adam_together(steps: Iterable[tuple[Array, ...]], *, use_nesterov: bool) -> None:
    """`_adam_kernel` for several variables, which share most scalars."""
    before: tuple[Any, ...] = ()
    numbers: _AdamNumbers | None = None
    for var, m, v, *scalars, grad in steps:
        given: tuple[Any, ...] = (grad.dtype, *scalars)
        if numbers is None or any(
            one is not other for one, other in zip(given, before, strict=True)
        ):
            before, numbers = given, _adam_numbers(*given)
        _adam_step((var, m, v), numbers, grad, use_nesterov=use_nesterov)


class _AdamNumbers(NamedTuple):
    """The scalars of the rule, in the gradient's dtype: those that the kernel takes, in its order.

    Attributes:
        rate: the step size.
        beta1: the given value.
        gain: 1 - beta1.
        growth: 1 - beta2.
        epsilon: the given value.
    """

    rate: Any
    beta1: Any
    gain: Any
    growth: Any
    epsilon: Any


def _adam_numbers(
    dtype: np.dtype[Any],
    beta1_power: Array,
    beta2_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
) -> _AdamNumbers:
    one = dtype.type(1)
    # NumPy handles scalars in a tenth of the time of arrays with one element.
    rate = lr[()] * np.sqrt(one - beta2_power[()]) / (one - beta1_power[()])
    return _AdamNumbers(rate, beta1[()], one - beta1[()], one - beta2[()], epsilon[()])


def _adam_step(
    handles: tuple[Array, Array, Array],
    numbers: _AdamNumbers,
    grad: Array,
    *,
    use_nesterov: bool,
) -> None:
    variable, first, second = resources = tuple([resource_of(one) for one in handles])
    if descents.step("nesterov adam" if use_nesterov else "adam", resources, grad, numbers):
        return
    _adam_by_numpy(variable, first, second, numbers, grad, use_nesterov=use_nesterov)


def _adam_by_numpy(
    variable: Resource,
    first: Resource,
    second: Resource,
    numbers: _AdamNumbers,
    grad: Array,
    *,
    use_nesterov: bool,
) -> None:
    rate, beta1, gain, growth, epsilon = numbers
    mean = first.read()
    moved = grad - mean
    moved *= gain
    moved += mean
    square = np.square(grad)
    spread = second.read()
    square -= spread
    square *= growth
    square += spread
    first.write(moved)
    second.write(square)
    root = np.sqrt(square)
    root += epsilon
    direction = moved * beta1 + gain * grad if use_nesterov else moved
    root = direction / root  # NumPy scalars cannot be written into
    root *= rate
    variable.update(np.subtract, root)


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
    together=_adam_together,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)
