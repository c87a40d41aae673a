"""Slices of variables: ResourceGather, the ResourceScatter families, slice assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pinnace.framework.context import state, tapes_hidden
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY_VALUE, INDEX, NUMBERS, REAL
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.indexing import is_mask, parse_key
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import SymbolicTensor
from pinnace.framework.variable_parts import SymbolicVariableSlice, VariableSlice
from pinnace.ops import flops
from pinnace.ops.array import (
    gathered_slices,
    gathering,
    masking,
    reshaping,
    scattering,
    shapes,
    slicing,
)
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels import segments
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, OpDef, attr
from pinnace.ops.registry import define, register
from pinnace.ops.state.variables import (
    READ_VARIABLE,
    VARIABLE_SHAPE,
    present_value,
    resource_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.framework.variable import Variable

__all__: list[str] = []

How = Literal["update", "add", "sub", "mul", "div", "max", "min"]
_POLICIES = ("", "DEFAULT", "ERROR", "IGNORE")


def _watch(variable: Variable) -> None:
    for tape in state.tapes:
        tape.watch_variable(variable)


def sparse_read(variable: Variable, indices: TensorLike, name: str | None = None) -> Tensor:
    """The rows of a variable at `indices`.

    Args:
        variable: [n, ...].
        indices: [...], int32 or int64, from 0 to n - 1.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: an index is out of range.
    """
    if state.stateless is not None:
        return gathering.gather(present_value(variable), indices, axis=0, name=name)
    _watch(variable)
    return execute_one(
        RESOURCE_GATHER, variable.handle, indices, dtype=variable.resource.dtype, name=name
    )


def _held(resource: Array) -> Array:
    """The value behind a handle; in frozen programs the handle is the value."""
    found = resource_of(resource)
    value: Array = found.read() if hasattr(found, "read") else resource
    return value


def _gather_kernel(resource: Array, indices: Array, *, batch_dims: int) -> Array:
    value = _held(resource)
    if value.ndim == 0:
        raise InvalidArgumentError(
            "ResourceGather: the variable must have at least one axis, it is a scalar"
        )
    if batch_dims:
        axis = np.array(batch_dims, np.int32)
        return gathering._gather_v2_kernel(value, indices, axis, batch_dims=batch_dims)
    gathering._check_indices(indices, value.shape[0], 0, "ResourceGather")
    return np.asarray(value.take(indices, 0))


def _infer_gather(call: InferCall) -> Shape:
    spec, indices = call.handle(0), call.spec(1).shape
    batch = call.attrs["batch_dims"]
    if spec is None or spec.shape.rank is None or indices.rank is None:
        return Shape(None)
    if spec.shape.rank == 0:
        call.fail("the variable must have at least one axis, it is a scalar")
    if not 0 <= batch <= indices.rank or batch >= spec.shape.rank:
        call.fail(
            "batch_dims must be less than the rank of the variable and at most that of indices, "
            f"got {batch}"
        )
    return Shape(
        [*list(spec.shape)[:batch], *list(indices)[batch:], *list(spec.shape)[batch + 1 :]]
    )


def _gather_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    handle, indices = call.inputs
    batch = call.attr("batch_dims")
    if batch:
        value = execute(READ_VARIABLE, handle, dtype=dy.dtype)
        return gathered_slices.gather_axis_gradient(value, indices, dy, batch, batch), None
    sizes = execute(VARIABLE_SHAPE, handle)
    return gathered_slices.slices_of_rows(sizes, indices, dy), None


RESOURCE_GATHER = define(
    name="ResourceGather",
    signature="resource: resource, indices: Tindices -> output: dtype",
    types={"dtype": ANY_VALUE, "Tindices": INDEX},
    attrs={"batch_dims": attr("int", default=0), "validate_indices": attr("bool", default=True)},
    infer=_infer_gather,
    kernel=_gather_kernel,
    gradient=_gather_gradient,
    effect="read",
    flops=flops.none,
)


def gather_nd_of(variable: Variable, indices: TensorLike, name: str | None = None) -> Tensor:
    """The parts of a variable at the index vectors in the rows of `indices`."""
    if state.stateless is not None:
        return gathering.gather_nd(present_value(variable), indices, name=name)
    _watch(variable)
    return execute_one(
        RESOURCE_GATHER_ND, variable.handle, indices, dtype=variable.resource.dtype, name=name
    )


def _gather_nd_kernel(resource: Array, indices: Array) -> Array:
    value = _held(resource)
    return gathering._gather_nd_kernel(value, indices, bad_indices_policy="")


def _infer_gather_nd(call: InferCall) -> Shape:
    spec, indices = call.handle(0), call.spec(1).shape
    if indices.rank == 0:
        call.fail("indices must have at least one axis")
    if spec is None or spec.shape.rank is None or indices.rank is None:
        return Shape(None)
    depth = indices[-1]
    if depth is None:
        return Shape(None)
    if depth > spec.shape.rank:
        call.fail(
            "the rows of indices must not be longer than the rank of the variable, got "
            f"{depth} and {spec.shape.rank}"
        )
    return indices[:-1].concatenate(spec.shape[depth:])


def _gather_nd_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    handle, indices = call.inputs
    value = execute(READ_VARIABLE, handle, dtype=dy.dtype)
    return scattering.scatter_nd(indices, dy, shapes.shape(value, indices.dtype)), None


RESOURCE_GATHER_ND = define(
    name="ResourceGatherNd",
    signature="resource: resource, indices: Tindices -> output: dtype",
    types={"dtype": ANY_VALUE, "Tindices": INDEX},
    infer=_infer_gather_nd,
    kernel=_gather_nd_kernel,
    gradient=_gather_nd_gradient,
    effect="read",
)


def assign_slice(variable: Variable, key: Any, value: TensorLike, name: str | None = None) -> None:
    """Replace variable[key]; the value is broadcast to it."""
    if state.stateless is not None:
        raise _not_stateless(variable, "assign to a slice")
    arguments = parse_key(key)
    execute(
        STRIDED_SLICE_ASSIGN,
        variable.handle,
        *slicing._vectors(arguments),
        value,
        T=variable.resource.dtype,
        name=name,
        **arguments.masks,
    )


def _slice_assign_kernel(
    ref: Array,
    begin: Array,
    end: Array,
    strides: Array,
    value: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> None:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    vectors = (begin.tolist(), end.tolist(), strides.tolist())

    def changed(old: Array, new: Array) -> Array:
        return slicing.replaced("ResourceStridedSliceAssign", old, vectors, masks, new)

    resource_of(ref).update(changed, value)


def _infer_slice_assign(call: InferCall) -> tuple[Shape, ...]:
    slicing._entry_count(call, 1)
    return ()


STRIDED_SLICE_ASSIGN = define(
    name="ResourceStridedSliceAssign",
    signature="ref: resource, begin: Index, end: Index, strides: Index, value: T ->",
    types={"T": ANY_VALUE, "Index": INDEX},
    attrs=slicing.MASKS,
    infer=_infer_slice_assign,
    kernel=_slice_assign_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def scatter(
    how: How, variable: Variable, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> None:
    """Apply `updates` to the rows of a variable given by `indices`.

    Args:
        how: how a row and its update are combined; "update" puts the update there.
        variable: [n, ...].
        indices: [...], int32 or int64, from 0 to n - 1; rows named twice are worked on twice.
        updates: [*indices.shape, ...], or a scalar.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: an index is out of range, or the shapes do not fit.

    Source:
        TensorFlow ops `ResourceScatterUpdate`, `ResourceScatterAdd` and so on.
    """
    if state.stateless is not None:
        places = reshaping.expand_dims(indices, -1)
        state.stateless.put(variable, _scattered(how, variable, places, updates))
        return
    execute(ROWS[how], variable.handle, indices, updates, dtype=variable.resource.dtype, name=name)


def scatter_nd(
    how: How, variable: Variable, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> None:
    """Apply `updates` to a variable at the indices in the rows of `indices`.

    Source:
        TensorFlow ops `ResourceScatterNdUpdate`, `ResourceScatterNdAdd` and so on.
    """
    if state.stateless is not None:
        state.stateless.put(variable, _scattered(how, variable, indices, updates))
        return
    execute(PLACES[how], variable.handle, indices, updates, T=variable.resource.dtype, name=name)


def scatter_batches(
    variable: Variable, indices: Tensor, values: TensorLike, name: str | None = None
) -> None:
    """Replace rows by slices, separately for each batch.

    Args:
        variable: the variable to write.
        indices: [*batch, n], places along the axis after the batch axes.
        values: [*batch, n, ...].
        name: name of the node while tracing.
    """
    rank = indices.shape.rank
    if not rank:
        raise InvalidArgumentError(
            f"batch_scatter_update: indices must have axes, got shape {indices.shape}"
        )
    places = gathering.with_batch_places(indices[..., None], rank - 1)
    scatter_nd("update", variable, places, values, name)


def _scattered(how: How, variable: Variable, places: TensorLike, updates: TensorLike) -> Tensor:
    """The value that holds in a stateless scope, with `updates` applied.

    Raises:
        NotImplementedError: no op on tensors does the same.
    """
    functions: dict[str, Callable[..., Tensor]] = {
        "update": scattering.tensor_scatter_nd_update,
        "add": scattering.tensor_scatter_nd_add,
        "sub": scattering.tensor_scatter_nd_sub,
        "max": scattering.tensor_scatter_nd_max,
        "min": scattering.tensor_scatter_nd_min,
    }
    if how not in functions:
        raise _not_stateless(variable, f"scatter_{how}")
    value = present_value(variable)
    tensor = convert_to_tensor(updates, variable.resource.dtype)
    if tensor.shape.rank == 0:  # one update for all rows
        like = gathering.gather_nd(value, places)
        tensor = like * 0 + tensor
    return functions[how](value, places, tensor)


def _not_stateless(variable: Variable, what: str) -> NotImplementedError:
    return NotImplementedError(
        f"{what}: variable {variable.name!r} must not be changed like this in a StatelessScope, "
        "where values are tensors\n  Try: assign the whole value"
    )


def getitem_of(variable: Variable, key: Any) -> Tensor:
    """variable[key], a tensor that can be assigned to.

    Args:
        variable: the variable to take the slice of.
        key: as for a tensor; a mask of bools gives a plain tensor.
    """
    value = variable.value()
    if is_mask(key):
        return masking.boolean_mask(value, key)
    arguments = parse_key(key)
    vectors = slicing._vectors(arguments)
    masks: dict[str, Any] = arguments.masks
    with tapes_hidden():
        read: Tensor = execute(slicing.STRIDED_SLICE, value, *vectors, **masks)
    part: VariableSlice | SymbolicVariableSlice
    if isinstance(read, SymbolicTensor):
        # From now on this object represents the graph's value.
        part = read.value.tensor = SymbolicVariableSlice(read.value, read.graph)
    else:
        part = VariableSlice.__new__(VariableSlice)
        part._array = read._array
    part._origin = (variable, key)
    for tape in state.tapes:
        tape.record(slicing.STRIDED_SLICE, (value, *vectors), masks, (part,))
    return part


# Writing: always a new array, since the old one may be referenced elsewhere.


def _rows_kernel(name: str, how: How) -> Callable[[Array, Array, Array], None]:
    def kernel(resource: Array, indices: Array, updates: Array) -> None:
        def changed(value: Array, new: Array) -> Array:
            if value.ndim == 0:
                raise InvalidArgumentError(
                    f"{name}: the variable must have at least one axis, it is a scalar"
                )
            gathering._check_indices(indices, value.shape[0], 0, name)
            expected = (*indices.shape, *value.shape[1:])
            if new.shape != expected:
                if new.ndim:
                    _refuse_updates(name, expected, new)
                new = np.broadcast_to(new, expected)
            return _worked_in(name, value, indices[..., np.newaxis], new, how)

        resource_of(resource).update(changed, updates)

    return kernel


def _places_kernel(name: str, how: How) -> Callable[..., None]:
    def kernel(ref: Array, indices: Array, updates: Array, *, bad_indices_policy: str) -> None:
        def changed(value: Array, new: Array) -> Array:
            rows, kept = scattering._good_rows(name, indices, new, value.shape, bad_indices_policy)
            return _worked_in(name, value, rows, kept, how)

        if indices.ndim == 0:
            raise InvalidArgumentError(f"{name}: indices must have at least one axis, got a scalar")
        resource_of(ref).update(changed, updates)

    return kernel


def _refuse_updates(name: str, expected: tuple[int, ...], updates: Array) -> None:
    raise InvalidArgumentError(
        f"{name}: updates must have shape {list(expected)}, that of the indices and of the rows, "
        f"got {list(updates.shape)}"
    )


def _worked_in(name: str, value: Array, indices: Array, updates: Array, how: How) -> Array:
    if how == "mul" or how == "div":
        return _scaled(name, value, indices, updates, how)
    try:
        return segments.scattered(value, indices, updates, how)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{name}: {error.message}") from None


def _scaled(name: str, value: Array, indices: Array, updates: Array, how: How) -> Array:
    """Rows multiplied or divided by the updates, one after the other."""
    out = value.astype(computed_in(value.dtype), order="C")
    places = indices[..., 0].reshape(-1)
    rows = updates.reshape(len(places), *value.shape[1:]).astype(out.dtype, copy=False)
    if how == "mul":
        np.multiply.at(out, places, rows)
    elif value.dtype.kind in "iu":
        if (rows == 0).any():
            raise InvalidArgumentError(f"{name}: integers cannot be divided by 0")
        for place, row in zip(places, rows, strict=True):
            # TensorFlow divides integers towards 0, as in C.
            quotient = np.abs(out[place]) // np.abs(row)
            out[place] = np.where((out[place] < 0) == (row < 0), quotient, -quotient)
    else:
        np.divide.at(out, places, rows)
    return out.astype(value.dtype, copy=False)


def _infer_rows(call: InferCall) -> tuple[Shape, ...]:
    spec, indices, updates = call.handle(0), call.spec(1).shape, call.spec(2).shape
    if spec is None or spec.shape.rank is None or updates.rank == 0:
        return ()
    if spec.shape.rank == 0:
        call.fail("the variable must have at least one axis, it is a scalar")
    if indices.rank is None:
        return ()
    expected = indices.concatenate(spec.shape[1:])
    if not expected.is_compatible_with(updates):
        call.fail(f"updates must have shape {expected.text}, that of the indices and of the rows")
    return ()


def _infer_places(call: InferCall) -> tuple[Shape, ...]:
    spec = call.handle(0)
    shape = unknown_shape() if spec is None else spec.shape
    scattering._check_updates(call, call.spec(1).shape, call.spec(2).shape, shape)
    return ()


def _rows_op(name: str, how: How, types: frozenset[DType]) -> OpDef:
    return OpDef(
        name=name,
        signature="resource: resource, indices: Tindices, updates: dtype ->",
        types={"dtype": types, "Tindices": INDEX},
        infer=_infer_rows,
        kernel=_rows_kernel(name, how),
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )


def _places_op(name: str, how: How, types: frozenset[DType]) -> OpDef:
    return OpDef(
        name=name,
        signature="ref: resource, indices: Tindices, updates: T ->",
        types={"T": types, "Tindices": INDEX},
        attrs={
            "use_locking": attr("bool", default=True),
            "bad_indices_policy": attr("string", default="", allowed=_POLICIES),
        },
        infer=_infer_places,
        kernel=_places_kernel(name, how),
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )


ROWS: dict[How, OpDef] = {
    "update": register(_rows_op("ResourceScatterUpdate", "update", ANY_VALUE)),
    "add": register(_rows_op("ResourceScatterAdd", "add", NUMBERS)),
    "sub": register(_rows_op("ResourceScatterSub", "sub", NUMBERS)),
    "mul": register(_rows_op("ResourceScatterMul", "mul", NUMBERS)),
    "div": register(_rows_op("ResourceScatterDiv", "div", NUMBERS)),
    "max": register(_rows_op("ResourceScatterMax", "max", REAL)),
    "min": register(_rows_op("ResourceScatterMin", "min", REAL)),
}
PLACES: dict[How, OpDef] = {
    "update": register(_places_op("ResourceScatterNdUpdate", "update", ANY_VALUE)),
    "add": register(_places_op("ResourceScatterNdAdd", "add", NUMBERS)),
    "sub": register(_places_op("ResourceScatterNdSub", "sub", NUMBERS)),
    "max": register(_places_op("ResourceScatterNdMax", "max", REAL)),
    "min": register(_places_op("ResourceScatterNdMin", "min", REAL)),
}
