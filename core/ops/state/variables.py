"""Reading and assigning variables through their handles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.conversions import converted
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY_VALUE, INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike, wrap
from pinnace.ops import flops
from pinnace.ops.array import casting
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels import recycling
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr, handed_on, typed
from pinnace.ops.registry import define, scalar

if TYPE_CHECKING:
    from pinnace.framework.storage import Resource
    from pinnace.framework.variable import Variable

__all__: list[str] = []

_NUMBERS = dtypes.NUMBERS


def resource_of(handle: Array) -> Any:
    """The resource behind a resource tensor."""
    return handle[()]


def read_variable(variable: Variable) -> Tensor:
    """The current value of a variable; tapes that watch accessed variables watch it from now on.

    A weight of a layer in mixed precision is read in the dtype that the layer computes in.
    """
    if variable._has_conversion:
        made = converted(variable, None, None)
        if made is not None:
            return made
    kind = state.autocast
    if kind is not None and variable._autocasts and variable.resource.dtype.is_floating:
        value = present_value(variable)
        return value if value.dtype is kind else casting.cast(value, kind)
    if variable._is_spread:
        return variable.read_value()
    return present_value(variable)


def present_value(variable: Variable) -> Tensor:
    """The value in the variable's own dtype; in a stateless scope, the scope's value."""
    if state.stateless is not None:
        held = state.stateless.value_of(variable)
        if held is not None:
            return held
    return _read(variable)


def _read(variable: Variable) -> Tensor:
    tapes = state.tapes
    if state.tracer is not None:
        for tape in tapes:
            tape.watch_variable(variable)
        return execute_one(READ_VARIABLE, variable.handle, dtype=variable.resource.dtype)
    resource = variable.resource
    value = wrap(resource.read(), resource.dtype)
    for tape in tapes:
        tape.watch_variable(variable)
        tape.record(READ_VARIABLE, (variable.handle,), {"dtype": resource.dtype}, (value,))
    return value


def _read_kernel(resource: Array) -> Array:
    return resource_of(resource).read()  # type: ignore[no-any-return]


def _infer_read(call: InferCall) -> Shape:
    spec = call.handle(0)
    return Shape(None) if spec is None else spec.shape


READ_VARIABLE = define(
    name="ReadVariableOp",
    signature="resource: resource -> value: dtype",
    types={"dtype": ANY_VALUE},
    infer=_infer_read,
    kernel=_read_kernel,
    # The gradient "of the handle" is that of the variable, since tapes watch handles.
    gradient=handed_on,
    effect="read",
    flops=flops.none,
)


def _fitting(variable: Variable, value: TensorLike, what: str) -> Tensor:
    tensor = convert_to_tensor(value, variable.resource.dtype)
    if not variable.shape.is_compatible_with(tensor.shape):
        raise ValueError(
            f"{what}: the value must fit variable {variable.name!r} of shape "
            f"{variable.shape.text}, got shape {tensor.shape.text}"
        )
    return tensor


def _infer_nothing(call: InferCall) -> tuple[Shape, ...]:
    spec = call.handle(0)
    if (
        spec is not None
        and len(call.inputs) > 1
        and not spec.shape.is_compatible_with(call.spec(1).shape)
    ):
        call.fail(f"the value must fit the variable of shape {spec.shape.text}")
    return ()


def assign(variable: Variable, value: TensorLike, name: str | None = None) -> None:
    """Replace the value of a variable.

    Raises:
        ValueError: the value does not have the variable's dtype or does not fit its shape.
    """
    tensor = _fitting(variable, value, "assign")
    if state.stateless is not None:
        state.stateless.put(variable, tensor)
        return
    execute(ASSIGN_VARIABLE, variable.handle, tensor, dtype=variable.resource.dtype, name=name)


def _kept(resource: Resource, value: Array) -> Array:
    """`value` in a form that a variable can store: of the right shape, and not a view."""
    array = np.asarray(value)
    # A value with the shape of the previous one fits as that did: a fast path.
    if not resource.has_shape(array.shape) and not resource.shape.is_compatible_with(array.shape):
        raise InvalidArgumentError(
            f"AssignVariableOp: variable {resource.name!r} has shape {resource.shape.text}, "
            f"got a value of shape {list(array.shape)}"
        )
    return array if recycling.is_whole(array) else array.copy()


def _assign_kernel(resource: Array, value: Array) -> None:
    target = resource_of(resource)
    target.write(_kept(target, value))


ASSIGN_VARIABLE = define(
    name="AssignVariableOp",
    signature="resource: resource, value: dtype ->",
    types={"dtype": ANY_VALUE},
    attrs={"validate_shape": attr("bool", default=False)},
    infer=_infer_nothing,
    kernel=_assign_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
    flops=flops.none,
)


def assign_add(variable: Variable, delta: TensorLike, name: str | None = None) -> None:
    """Add delta to the value."""
    tensor = _fitting(variable, delta, "assign_add")
    if state.stateless is not None:
        state.stateless.put(variable, present_value(variable) + tensor)
        return
    execute(ASSIGN_ADD_VARIABLE, variable.handle, tensor, dtype=variable.resource.dtype, name=name)


def _assign_add_kernel(resource: Array, value: Array) -> None:
    resource_of(resource).update(np.add, value)


ASSIGN_ADD_VARIABLE = define(
    name="AssignAddVariableOp",
    signature="resource: resource, value: dtype ->",
    types={"dtype": _NUMBERS},
    infer=_infer_nothing,
    kernel=_assign_add_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def assign_sub(variable: Variable, delta: TensorLike, name: str | None = None) -> None:
    """Subtract delta from the value."""
    tensor = _fitting(variable, delta, "assign_sub")
    if state.stateless is not None:
        state.stateless.put(variable, present_value(variable) - tensor)
        return
    execute(ASSIGN_SUB_VARIABLE, variable.handle, tensor, dtype=variable.resource.dtype, name=name)


def _assign_sub_kernel(resource: Array, value: Array) -> None:
    resource_of(resource).update(np.subtract, value)


ASSIGN_SUB_VARIABLE = define(
    name="AssignSubVariableOp",
    signature="resource: resource, value: dtype ->",
    types={"dtype": _NUMBERS},
    infer=_infer_nothing,
    kernel=_assign_sub_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)
VAR_HANDLE = define(
    name="VarHandleOp",
    signature="-> resource: resource",
    types={"dtype": ANY_VALUE},
    attrs={
        "container": attr("string", default=""),
        "shared_name": attr("string", default=""),
        "shape": attr("shape"),
        "debug_name": attr("string", default=""),
        "allowed_devices": attr("list(string)", default=()),
    },
    infer=scalar,
    kernel=None,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _is_initialized_kernel(resource: Array) -> Array:
    return np.asarray(resource_of(resource).is_initialized)


VAR_IS_INITIALIZED = define(
    name="VarIsInitializedOp",
    signature="resource: resource -> is_initialized: bool",
    infer=scalar,
    kernel=_is_initialized_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _shape_kernel(input: Array, *, out_type: dtypes.DType) -> Array:
    return np.array(resource_of(input).read().shape, out_type.numpy)


def _infer_shape(call: InferCall) -> Shape:
    spec = call.handle(0)
    return Shape([None if spec is None else spec.shape.rank])


VARIABLE_SHAPE = define(
    name="VariableShape",
    signature="input: resource -> output: out_type",
    types={"out_type": typed(INDEX, default=int32)},
    infer=_infer_shape,
    kernel=_shape_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)
DISABLE_COPY_ON_READ = define(
    name="DisableCopyOnRead",
    signature="resource: resource ->",
    infer=lambda _: (),
    kernel=lambda _: None,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
    traceless=True,
)
