"""Scattering by index: ScatterNd and the TensorScatter family."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE, INDEX, NUMBERS, REAL, bool_, int16, uint16
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import casting, constants, gathering, shapes
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels import segments
from pinnace.ops.kernels.segments import Scatter
from pinnace.ops.kernels.sole import is_sole
from pinnace.ops.math import arithmetic, comparison
from pinnace.ops.opdef import Gradient, InferCall, OpCall, OpDef, attr
from pinnace.ops.registry import define, register

__all__ = [
    "scatter_nd",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
]

_Result = TypeVar("_Result")


def _good_rows(
    op: str, indices: Array, updates: Array, shape: Any, policy: str
) -> tuple[Array, Array]:
    """Indices and updates, without those outside of `shape` if the policy says so.

    Raises:
        InvalidArgumentError: there are indices, but `shape` has no elements; for any policy.
    """
    if 0 in shape and (indices.size or updates.size):
        raise InvalidArgumentError(
            f"{op}: Indices and updates specified for empty output shape {list(shape)}: "
            f"indices of shape {list(indices.shape)}, updates of shape {list(updates.shape)}"
        )
    if policy != "IGNORE":
        return indices, updates
    limits = np.array(shape[: indices.shape[-1]], np.int64)
    good = ((indices >= 0) & (indices < limits)).all(axis=-1)
    return indices[good], updates[good]


def _named(op: str, kernel: Callable[..., _Result], *arguments: Any) -> _Result:
    try:
        return kernel(*arguments)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{op}: {error}") from None


def _check_updates(call: InferCall, indices: Shape, updates: Shape, shape: Shape) -> None:
    if indices.rank == 0:
        call.fail("indices must have at least one axis")
    if indices.rank is None or shape.rank is None or indices[-1] is None:
        return
    depth = int(indices[-1])
    if depth > shape.rank:
        call.fail(
            f"the rows of indices must not be longer than the rank, got {depth} and {shape.rank}"
        )
    expected = indices[:-1].concatenate(shape[depth:])
    if not expected.is_compatible_with(updates):
        lead = (indices.rank or 1) - 1
        count = updates.rank or 0
        call.fail(
            f"updates must have shape {expected.text}, that of the rows of indices and of the "
            f"parts: Dimensions [0,{lead}) of indices[shape={indices}] must match dimensions "
            f"[0,{lead}) of updates[shape={updates}], and Dimensions [{depth},{shape.rank}) of "
            f"input[shape={shape}] dimensions [{lead},{count}) of updates"
        )


def _taken(call: OpCall, dy: Tensor, indices: Tensor) -> Tensor:
    policy = call.attr("bad_indices_policy")
    return gathering.gather_nd(dy, indices, bad_indices_policy=policy)


def scatter_nd(
    indices: TensorLike,
    updates: TensorLike,
    shape: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Zeros of `shape` with `updates` added at the indices in the rows of `indices`.

    Args:
        indices: [..., k], int16, int32 or int64.
        updates: [..., q], where `shape` is [p, q] and p are k axes.
        shape: [rank], dtype of `indices`.
        bad_indices_policy: "" or "ERROR" refuses places outside, "IGNORE" leaves their updates out.
        name: name of the node while tracing.

    Returns:
        The shape `shape`, dtype of `updates`.

    Raises:
        InvalidArgumentError: a place is outside of `shape`, or the shapes do not fit.
    """
    return execute_one(
        SCATTER_ND, indices, updates, shape, bad_indices_policy=bad_indices_policy, name=name
    )


_POLICIES = ("", "DEFAULT", "ERROR", "IGNORE")


def _scatter_nd_kernel(
    indices: Array, updates: Array, shape: Array, *, bad_indices_policy: str
) -> Array:
    sizes = shape.tolist()
    if min(sizes, default=0) < 0:
        raise InvalidArgumentError(f"ScatterNd: sizes must be at least 0, got {sizes}")
    rows, values = _good_rows("ScatterNd", indices, updates, sizes, bad_indices_policy)
    if updates.dtype.kind in "bO":
        # Sum of strings is their concatenation, of bools their disjunction.
        blank = np.full(sizes, b"" if updates.dtype == object else False, updates.dtype)
        return _named("ScatterNd", segments.scattered, blank, rows, values, "add")
    return _named("ScatterNd", segments.scatter_nd, rows, values, sizes)


def _infer_scatter_nd(call: InferCall) -> Shape:
    if call.spec(2).shape.rank not in {None, 1}:
        call.fail("shape must be a vector of sizes")
    shape = call.shape_constant(2)
    _check_updates(call, call.spec(0).shape, call.spec(1).shape, shape)
    return shape


def _scatter_nd_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return None, _taken(call, dy, call.inputs[0]), None


SCATTER_ND = define(
    name="ScatterNd",
    signature="indices: Tindices, updates: T, shape: Tindices -> output: T",
    types={"T": ANY_VALUE, "Tindices": INDEX | {int16}},
    attrs={"bad_indices_policy": attr("string", default="", allowed=_POLICIES)},
    infer=_infer_scatter_nd,
    kernel=_scatter_nd_kernel,
    gradient=_scatter_nd_gradient,
)


def _scattered(
    op: OpDef, tensor: Any, indices: Any, updates: Any, name: str | None, policy: str
) -> Tensor:
    return execute_one(op, tensor, indices, updates, bad_indices_policy=policy, name=name)


def _kernel_of(op: str, how: Scatter) -> Callable[..., Array]:
    def kernel(tensor: Array, indices: Array, updates: Array, *, bad_indices_policy: str) -> Array:
        rows, values = _good_rows(op, indices, updates, tensor.shape, bad_indices_policy)
        return _named(op, segments.scattered, tensor, rows, values, how)

    return kernel


def _in_place_of(op: str, how: Scatter) -> Callable[..., Array]:
    copying = _kernel_of(op, how)

    def kernel(
        own: list[Array], indices: Array, updates: Array, *, bad_indices_policy: str
    ) -> Array:
        if not is_sole(own) or not segments.may_be_into(own[0], how):
            return copying(own[0], indices, updates, bad_indices_policy=bad_indices_policy)
        tensor = own[0]
        rows, values = _good_rows(op, indices, updates, tensor.shape, bad_indices_policy)
        _named(op, segments.scatter_into, tensor, rows, values, how)
        return tensor

    return kernel


def _infer_scattered(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    _check_updates(call, call.spec(1).shape, call.spec(2).shape, shape)
    return shape


def _tensor_scatter(
    name: str, how: Scatter, gradient: Gradient, types: Any, index_types: Any
) -> OpDef:
    return OpDef(
        name=name,
        signature="tensor: T, indices: Tindices, updates: T -> output: T",
        types={"T": types, "Tindices": index_types},
        attrs={"bad_indices_policy": attr("string", default="", allowed=_POLICIES)},
        infer=_infer_scattered,
        kernel=_kernel_of(name, how),
        gradient=gradient,
        in_place=_in_place_of(name, how),
    )


def tensor_scatter_nd_update(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Tensor:
    """`tensor` with `updates` at the rows of `indices`; of duplicates the last one stays.

    Args:
        tensor: [p, q], groups of axes.
        indices: [..., k]; a row names a place in the k axes `p`.
        updates: [..., q], dtype of `tensor`.
        name: name of the node while tracing.
        bad_indices_policy: "" or "ERROR" refuses places outside, "IGNORE" leaves their updates out.

    Raises:
        InvalidArgumentError: a place is outside of `tensor`, or the shapes do not fit.
    """
    return _scattered(TENSOR_SCATTER_UPDATE, tensor, indices, updates, name, bad_indices_policy)


def _update_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    _, indices, updates = call.inputs
    policy = call.attr("bad_indices_policy")
    cleared = tensor_scatter_nd_update(
        dy, indices, constants.zeros_like(updates), bad_indices_policy=policy
    )
    return cleared, None, _taken(call, dy, indices)


TENSOR_SCATTER_UPDATE = register(
    _tensor_scatter(
        "TensorScatterUpdate", "update", _update_gradient, ANY_VALUE, INDEX | {int16, uint16}
    )
)


def tensor_scatter_nd_add(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """`tensor` with `updates` added at the indices in the rows of `indices`.

    Args:
        tensor: [p, q], groups of axes; a number type.
        indices: [..., k], int32 or int64; a row names a place in the k axes `p`.
        updates: [..., q], dtype of `tensor`.
        bad_indices_policy: "" or "ERROR" refuses places outside, "IGNORE" leaves their updates out.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `tensor`.

    Raises:
        InvalidArgumentError: a place is outside of `tensor`, or the shapes do not fit.
    """
    return _scattered(TENSOR_SCATTER_ADD, tensor, indices, updates, name, bad_indices_policy)


def _add_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return dy, None, _taken(call, dy, call.inputs[1])


TENSOR_SCATTER_ADD = register(
    _tensor_scatter("TensorScatterAdd", "add", _add_gradient, NUMBERS, INDEX)
)


def _non_aliasing_kernel(
    input: Array, indices: Array, updates: Array, *, bad_indices_policy: str
) -> Array:
    kernel = _kernel_of("ScatterNdNonAliasingAdd", "add")
    return kernel(input, indices, updates, bad_indices_policy=bad_indices_policy)


# The same op under an older name; for bools the sum is a disjunction.
SCATTER_ND_NON_ALIASING_ADD = register(
    OpDef(
        name="ScatterNdNonAliasingAdd",
        signature="input: T, indices: Tindices, updates: T -> output: T",
        types={"T": NUMBERS | {bool_}, "Tindices": INDEX},
        attrs={"bad_indices_policy": attr("string", default="", allowed=_POLICIES)},
        infer=_infer_scattered,
        kernel=_non_aliasing_kernel,
        gradient=_add_gradient,
    )
)


def tensor_scatter_nd_sub(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """`tensor` with `updates` subtracted at the indices in the rows of `indices`.

    Args:
        tensor: [p, q], groups of axes; a number type.
        indices: [..., k], int32 or int64; a row names a place in the k axes `p`.
        updates: [..., q], dtype of `tensor`.
        bad_indices_policy: "" or "ERROR" refuses places outside, "IGNORE" leaves their updates out.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `tensor`.

    Raises:
        InvalidArgumentError: a place is outside of `tensor`, or the shapes do not fit.
    """
    return _scattered(TENSOR_SCATTER_SUB, tensor, indices, updates, name, bad_indices_policy)


def _sub_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return dy, None, arithmetic.negative(_taken(call, dy, call.inputs[1]))


TENSOR_SCATTER_SUB = register(
    _tensor_scatter("TensorScatterSub", "sub", _sub_gradient, NUMBERS, INDEX)
)


def _extreme_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """Elements equal to the result share dy, as in TensorFlow."""
    tensor, indices, updates = call.inputs
    y = call.outputs[0]
    kept = casting.cast(comparison.equal(tensor, y), dy.dtype)
    won = casting.cast(comparison.equal(updates, _taken(call, y, indices)), dy.dtype)
    policy = call.attr("bad_indices_policy")
    sizes = shapes.shape(tensor, indices.dtype)
    count = kept + scatter_nd(indices, won, sizes, bad_indices_policy=policy)
    return dy * kept / count, None, _taken(call, dy / count, indices) * won


def tensor_scatter_nd_max(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """The larger of `tensor` and `updates` at the indices in the rows of `indices`.

    Args:
        tensor: [p, q], groups of axes; a real number type.
        indices: [..., k], int32 or int64; a row names a place in the k axes `p`.
        updates: [..., q], dtype of `tensor`.
        bad_indices_policy: "" or "ERROR" refuses places outside, "IGNORE" leaves their updates out.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `tensor`.

    Raises:
        InvalidArgumentError: a place is outside of `tensor`, or the shapes do not fit.
    """
    return _scattered(TENSOR_SCATTER_MAX, tensor, indices, updates, name, bad_indices_policy)


TENSOR_SCATTER_MAX = register(
    _tensor_scatter("TensorScatterMax", "max", _extreme_gradient, REAL, INDEX)
)


def tensor_scatter_nd_min(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """The smaller of `tensor` and `updates` at the indices in the rows of `indices`.

    Args:
        tensor: [p, q], groups of axes; a real number type.
        indices: [..., k], int32 or int64; a row names a place in the k axes `p`.
        updates: [..., q], dtype of `tensor`.
        bad_indices_policy: "" or "ERROR" refuses places outside, "IGNORE" leaves their updates out.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `tensor`.

    Raises:
        InvalidArgumentError: a place is outside of `tensor`, or the shapes do not fit.
    """
    return _scattered(TENSOR_SCATTER_MIN, tensor, indices, updates, name, bad_indices_policy)


TENSOR_SCATTER_MIN = register(
    _tensor_scatter("TensorScatterMin", "min", _extreme_gradient, REAL, INDEX)
)
