"""Steps of further optimizers as ops, on whole variables and on rows.

An optimizer is a rule from a variable's value, its slots' values and a gradient to the new values.
The dense op applies it to whole arrays, the sparse one to the indexed rows: for a repeated row the
steps are applied one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import FLOATS, INDEX
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import define
from pinnace.ops.state.variables import resource_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array

    # (value, *slots, gradient, numbers by name, attributes by name) -> (value, *slots)
    Rule = Callable[..., tuple[Array, ...]]

__all__: list[str] = []

_NUMBERS = dict[str, Any]

_ROWS = "grad, indices: Tindices"
_ONE = "var: resource, accum: resource"
_FTRL = "var: resource, accum: resource, linear: resource"
_RMS = "var: resource, ms: resource, mom: resource, lr, rho, momentum, epsilon"
_CENTERED = "var: resource, mg: resource, ms: resource, mom: resource, lr, rho, momentum, epsilon"
_DELTA = "var: resource, accum: resource, accum_update: resource, lr, rho, epsilon"
_DA = "var: resource, gradient_accumulator: resource, gradient_squared_accumulator: resource"
_SIGN = "var: resource, m: resource, lr"

_NESTEROV = {"use_nesterov": False}

_SLOTS = {"update_slots": True}

_LINEAR = {"multiply_linear_by_lr": False}


def _momentum(var: Array, accum: Array, grad: Array, n: _NUMBERS) -> tuple[Array, ...]:
    accum = accum * n["momentum"] + grad
    step = grad + accum * n["momentum"] if n["use_nesterov"] else accum
    return var - step * n["lr"], accum


def _infer(call: InferCall) -> tuple[Shape, ...]:
    """Infer shapes: numbers are scalars; gradient rows fit the variable and the indices."""
    names = [arg.name for arg in call.op.inputs]
    for index, arg in enumerate(call.op.inputs):
        single = arg.name not in {"grad", "delta", "indices"} and not _is_resource(arg)
        if single and call.spec(index).shape.rank not in {None, 0}:
            call.fail(f"{arg.name} must be a scalar")
    gradient = call.spec(names.index("grad" if "grad" in names else "delta")).shape
    spec = call.handle(0)
    if "indices" in names:
        rows = call.spec(names.index("indices")).shape
        if rows.rank not in {None, 1}:
            call.fail("indices must be a vector")
        if gradient.rank is not None and not rows.is_compatible_with(gradient[:1]):
            call.fail("the gradient must have one row per number in indices")
    elif spec is not None and not spec.shape.is_compatible_with(gradient):
        call.fail(f"the gradient must have the variable's shape {spec.shape.text}")
    return ()


def _is_resource(arg: Any) -> bool:
    return arg.dtype is not None and arg.dtype.name == "resource"


def _values(name: str, resources: list[Any]) -> list[Array]:
    values = [one.read() for one in resources]
    if any(value.shape != values[0].shape for value in values):
        shapes = [list(value.shape) for value in values]
        raise InvalidArgumentError(f"{name}: the variable and its slots must agree, got {shapes}")
    return values


def _dense(op: str, rule: Rule, slots: int, names: list[str]) -> Callable[..., None]:
    def step(*arrays: Array, attrs: _NUMBERS) -> None:
        resources = [resource_of(one) for one in arrays[: slots + 1]]
        values = _values(op, resources)
        given = dict(zip(names, arrays[slots + 1 :], strict=True))
        grad = given.pop("grad") if "grad" in given else given.pop("delta")
        if grad.shape != values[0].shape:
            raise InvalidArgumentError(
                f"{op}: the gradient must have the variable's shape {list(values[0].shape)}, "
                f"got {list(grad.shape)}"
            )
        for one, new in zip(resources, rule(*values, grad, given | attrs), strict=True):
            one.write(np.asarray(new, values[0].dtype))

    return step


def _sparse(op: str, rule: Rule, slots: int, names: list[str]) -> Callable[..., None]:
    def step(*arrays: Array, attrs: _NUMBERS) -> None:
        resources = [resource_of(one) for one in arrays[: slots + 1]]
        values = _values(op, resources)
        given = dict(zip(names, arrays[slots + 1 :], strict=True))
        grad, rows = given.pop("grad"), given.pop("indices")
        if values[0].ndim < 1 or grad.shape != (rows.size, *values[0].shape[1:]):
            raise InvalidArgumentError(
                f"{op}: the gradient must have a row of the variable {list(values[0].shape)} per "
                f"number in indices, got {list(grad.shape)} and {list(rows.shape)}"
            )
        if rows.size and not 0 <= rows.min() <= rows.max() < len(values[0]):
            raise InvalidArgumentError(
                f"{op}: indices must be in [0, {len(values[0])}), got {rows.tolist()}"
            )
        numbers, changed = given | attrs, [value.copy() for value in values]
        once = len(np.unique(rows)) == rows.size
        for part in [slice(None)] if once else [slice(i, i + 1) for i in range(rows.size)]:
            at = rows[part]
            found = rule(*(value[at] for value in changed), grad[part], numbers)
            for value, new in zip(changed, found, strict=True):
                value[at] = new
        for one, value in zip(resources, changed, strict=True):
            one.write(value)

    return step


def _kernel(step: Callable[..., None], attrs: tuple[str, ...]) -> Callable[..., None]:
    """A kernel that passes only attributes that the step has as parameters."""
    if attrs == ("use_nesterov",):
        return lambda *arrays, use_nesterov: step(*arrays, attrs={"use_nesterov": use_nesterov})
    if attrs == ("update_slots",):
        return lambda *arrays, update_slots: step(*arrays, attrs={"update_slots": update_slots})
    if attrs:
        return lambda *arrays, multiply_linear_by_lr: step(
            *arrays, attrs={"multiply_linear_by_lr": multiply_linear_by_lr}
        )
    return lambda *arrays: step(*arrays, attrs={})


def _step(name: str, arguments: str, rule: Rule, **attrs: bool) -> OpDef:
    """A dense or sparse op; `arguments` are resources, then numbers, grad and indices."""
    parts = [part.strip() for part in arguments.split(",")]
    slots = sum(part.endswith("resource") for part in parts) - 1
    names = [part.partition(":")[0] for part in parts[slots + 1 :]]
    whole = [part if ":" in part else f"{part}: T" for part in parts]
    sparse = "indices" in names
    made = (_sparse if sparse else _dense)(name, rule, slots, names)
    return define(
        name=name,
        signature=f"{', '.join(whole)} ->",
        types={"T": FLOATS, **({"Tindices": INDEX} if sparse else {})},
        attrs={
            "use_locking": attr("bool", default=False),
            **{key: attr("bool", default=value) for key, value in attrs.items()},
        },
        infer=_infer,
        kernel=_kernel(made, tuple(attrs)),
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )


_step("ResourceApplyMomentum", f"{_ONE}, lr, grad, momentum", _momentum, **_NESTEROV)
_step("ResourceSparseApplyMomentum", f"{_ONE}, lr, {_ROWS}, momentum", _momentum, **_NESTEROV)


def _keras_momentum(var: Array, accum: Array, grad: Array, n: _NUMBERS) -> tuple[Array, ...]:
    step = grad * n["lr"]
    accum = accum * n["momentum"] - step
    return var + (accum * n["momentum"] - step if n["use_nesterov"] else accum), accum


_step(
    "ResourceSparseApplyKerasMomentum",
    f"{_ONE}, lr, {_ROWS}, momentum",
    _keras_momentum,
    **_NESTEROV,
)


def _adagrad(var: Array, accum: Array, grad: Array, n: _NUMBERS) -> tuple[Array, ...]:
    accum = accum + np.square(grad) if n["update_slots"] else accum
    return var - grad * n["lr"] / np.sqrt(accum), accum


_step("ResourceApplyAdagrad", f"{_ONE}, lr, grad", _adagrad, **_SLOTS)
_step("ResourceSparseApplyAdagrad", f"{_ONE}, lr, {_ROWS}", _adagrad, **_SLOTS)


def _adagrad_v2(var: Array, accum: Array, grad: Array, n: _NUMBERS) -> tuple[Array, ...]:
    accum = accum + np.square(grad) if n["update_slots"] else accum
    return var - grad * n["lr"] / (np.sqrt(accum) + n["epsilon"]), accum


_step("ResourceApplyAdagradV2", f"{_ONE}, lr, epsilon, grad", _adagrad_v2, **_SLOTS)
_step("ResourceSparseApplyAdagradV2", f"{_ONE}, lr, epsilon, {_ROWS}", _adagrad_v2, **_SLOTS)


def _adadelta(
    var: Array, accum: Array, accum_update: Array, grad: Array, n: _NUMBERS
) -> tuple[Array, ...]:
    rho = n["rho"]
    accum = accum * rho + np.square(grad) * (1 - rho)
    update = np.sqrt(accum_update + n["epsilon"]) / np.sqrt(accum + n["epsilon"]) * grad
    return var - update * n["lr"], accum, accum_update * rho + np.square(update) * (1 - rho)


_step("ResourceApplyAdadelta", f"{_DELTA}, grad", _adadelta)
_step("ResourceSparseApplyAdadelta", f"{_DELTA}, {_ROWS}", _adadelta)


def _rms_prop(var: Array, ms: Array, mom: Array, grad: Array, n: _NUMBERS) -> tuple[Array, ...]:
    ms = ms + (np.square(grad) - ms) * (1 - n["rho"])
    mom = mom * n["momentum"] + grad * n["lr"] / np.sqrt(ms + n["epsilon"])
    return var - mom, ms, mom


_step("ResourceApplyRMSProp", f"{_RMS}, grad", _rms_prop)
_step("ResourceSparseApplyRMSProp", f"{_RMS}, {_ROWS}", _rms_prop)


def _centered_rms_prop(
    var: Array, mg: Array, ms: Array, mom: Array, grad: Array, n: _NUMBERS
) -> tuple[Array, ...]:
    ms = ms + (np.square(grad) - ms) * (1 - n["rho"])
    mg = mg + (grad - mg) * (1 - n["rho"])
    spread = ms - np.square(mg) + n["epsilon"]
    mom = mom * n["momentum"] + grad * n["lr"] / np.sqrt(spread)
    return var - mom, mg, ms, mom


_step("ResourceApplyCenteredRMSProp", f"{_CENTERED}, grad", _centered_rms_prop)
_step("ResourceSparseApplyCenteredRMSProp", f"{_CENTERED}, {_ROWS}", _centered_rms_prop)


def _ada_max(var: Array, m: Array, v: Array, grad: Array, n: _NUMBERS) -> tuple[Array, ...]:
    m = m + (grad - m) * (1 - n["beta1"])
    v = np.maximum(n["beta2"] * v, np.abs(grad))
    return var - n["lr"] / (1 - n["beta1_power"]) * (m / (v + n["epsilon"])), m, v


_step(
    "ResourceApplyAdaMax",
    "var: resource, m: resource, v: resource, beta1_power, lr, beta1, beta2, epsilon, grad",
    _ada_max,
)


def _amsgrad(
    var: Array, m: Array, v: Array, vhat: Array, grad: Array, n: _NUMBERS
) -> tuple[Array, ...]:
    m = m + (grad - m) * (1 - n["beta1"])
    v = v + (np.square(grad) - v) * (1 - n["beta2"])
    vhat = np.maximum(vhat, v)
    rate = n["lr"] * np.sqrt(1 - n["beta2_power"]) / (1 - n["beta1_power"])
    return var - m * rate / (np.sqrt(vhat) + n["epsilon"]), m, v, vhat


_step(
    "ResourceApplyAdamWithAmsgrad",
    "var: resource, m: resource, v: resource, vhat: resource, beta1_power, beta2_power, lr, "
    "beta1, beta2, epsilon, grad",
    _amsgrad,
)


def _add_sign(var: Array, m: Array, grad: Array, n: _NUMBERS) -> tuple[Array, ...]:
    m = m * n["beta"] + grad * (1 - n["beta"])
    agree = np.sign(grad) * np.sign(m)
    return var - n["lr"] * (n["alpha"] + n["sign_decay"] * agree) * grad, m


_step("ResourceApplyAddSign", f"{_SIGN}, alpha, sign_decay, beta, grad", _add_sign)


def _power_sign(var: Array, m: Array, grad: Array, n: _NUMBERS) -> tuple[Array, ...]:
    m = m * n["beta"] + grad * (1 - n["beta"])
    agree = np.sign(grad) * np.sign(m)
    return var - n["lr"] * np.exp(n["logbase"] * n["sign_decay"] * agree) * grad, m


_step("ResourceApplyPowerSign", f"{_SIGN}, logbase, sign_decay, beta, grad", _power_sign)


def _shrunk(x: Array, by: Array, l1: Array) -> Array:
    """Values moved towards 0 by an amount where l1 is positive, without passing 0."""
    return np.sign(x) * np.maximum(np.abs(x) - by, 0) if l1 > 0 else x


def _proximal_descent(var: Array, grad: Array, n: _NUMBERS) -> tuple[Array, ...]:
    rate, l1 = n["alpha"], n["l1"]
    return (_shrunk(var - grad * rate, rate * l1, l1) / (1 + n["l2"] * rate),)


_step(
    "ResourceApplyProximalGradientDescent", "var: resource, alpha, l1, l2, delta", _proximal_descent
)
_step(
    "ResourceSparseApplyProximalGradientDescent",
    f"var: resource, alpha, l1, l2, {_ROWS}",
    _proximal_descent,
)


def _proximal_adagrad(var: Array, accum: Array, grad: Array, n: _NUMBERS) -> tuple[Array, ...]:
    accum = accum + np.square(grad)
    rate, l1 = n["lr"] / np.sqrt(accum), n["l1"]
    return _shrunk(var - grad * rate, rate * l1, l1) / (1 + n["l2"] * rate), accum


_step("ResourceApplyProximalAdagrad", f"{_ONE}, lr, l1, l2, grad", _proximal_adagrad)
_step("ResourceSparseApplyProximalAdagrad", f"{_ONE}, lr, l1, l2, {_ROWS}", _proximal_adagrad)


def _adagrad_da(
    var: Array, total: Array, squares: Array, grad: Array, n: _NUMBERS
) -> tuple[Array, ...]:
    total, squares = total + grad, squares + np.square(grad)
    step = n["global_step"].astype(var.dtype)
    pulled = _shrunk(total, n["l1"] * step, n["l1"])
    new = -n["lr"] * pulled / (n["l2"] * step * n["lr"] + np.sqrt(squares))
    return new, total, squares


_step("ResourceApplyAdagradDA", f"{_DA}, grad, lr, l1, l2, global_step: int64", _adagrad_da)
_step(
    "ResourceSparseApplyAdagradDA", f"{_DA}, {_ROWS}, lr, l1, l2, global_step: int64", _adagrad_da
)


def _ftrl(var: Array, accum: Array, linear: Array, grad: Array, n: _NUMBERS) -> tuple[Array, ...]:
    """McMahan et al. 2013, algorithm 1; `multiply_linear_by_lr` stores `linear` times the rate."""
    rate, l1, l2 = n["lr"], n["l1"], n["l2"]
    inner, outer = (rate, 1) if n["multiply_linear_by_lr"] else (1, rate)
    power = -n["lr_power"]
    larger = accum + np.square(grad)
    high, low = (np.sqrt(a) if power == 0.5 else np.power(a, power) for a in (larger, accum))
    pulled = grad + 2 * n.get("l2_shrinkage", 0) * var
    linear = linear + pulled * inner - (high - low) / outer * var
    bound = l1 * inner
    moved = (np.sign(linear) * bound - linear) / (high / outer + 2 * l2 * inner)
    return np.where(np.abs(linear) > bound, moved, 0).astype(var.dtype), larger, linear


_step("ResourceApplyFtrl", f"{_FTRL}, grad, lr, l1, l2, lr_power", _ftrl, **_LINEAR)
_step("ResourceSparseApplyFtrl", f"{_FTRL}, {_ROWS}, lr, l1, l2, lr_power", _ftrl, **_LINEAR)
_step("ResourceApplyFtrlV2", f"{_FTRL}, grad, lr, l1, l2, l2_shrinkage, lr_power", _ftrl, **_LINEAR)
_step(
    "ResourceSparseApplyFtrlV2",
    f"{_FTRL}, {_ROWS}, lr, l1, l2, l2_shrinkage, lr_power",
    _ftrl,
    **_LINEAR,
)
