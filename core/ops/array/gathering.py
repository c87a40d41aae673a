"""Selection by index: GatherV2, GatherNd, OneHot, UnravelIndex, meshgrid, sequence_mask."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY, ANY_VALUE, INDEX, int16
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops import flops
from pinnace.ops.array import broadcasting, joining, reshaping, shapes
from pinnace.ops.array.axes import known_axis, normal_axis, require_rank
from pinnace.ops.array.direct import finish
from pinnace.ops.batch_rules import BatchCall, BatchRule
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.math import ranges
from pinnace.ops.opdef import GRADIENT_ABOVE, InferCall, attr
from pinnace.ops.registry import define

__all__ = ["gather", "gather_nd"]

_INDICES = INDEX | {int16}


def _check_indices(indices: Array, limit: int, axis: int, op: str = "GatherV2") -> None:
    """Raise InvalidArgumentError for the first index outside of [0, limit)."""
    if not indices.size or (indices.min() >= 0 and indices.max() < limit):
        return
    bad = (indices < 0) | (indices >= limit)
    at = (
        [int(i) for i in np.unravel_index(int(bad.argmax()), indices.shape)] if indices.ndim else []
    )
    value = int(indices[tuple(at)])
    where = ", ".join(map(str, at))
    raise InvalidArgumentError(
        f"{op}: indices[{where}] = {value} is not in [0, {limit}), the range of axis {axis}"
    )


def _taken(params: Array, indices: Array, axis: int) -> Array:
    at = axis % params.ndim
    if not indices.size:
        return _nothing(params, indices, at)
    try:
        # NumPy itself refuses indices that are too large.
        if indices.min() >= 0:
            return params.take(indices, at)
    except IndexError:
        pass
    _check_indices(indices, params.shape[at], at)
    raise AssertionError


def _nothing(params: Array, indices: Array, axis: int) -> Array:
    return np.empty((*params.shape[:axis], *indices.shape, *params.shape[axis + 1 :]), params.dtype)


@takes_composites(ragged="gathering:gather")
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """The slices of `params` along `axis` at `indices`.

    Args:
        params: [b, p, n, q], groups of axes.
        indices: [b, i], int16, int32 or int64, from 0 to n - 1.
        validate_indices: not used.
        axis: the axis of size n; None is `batch_dims`.
        batch_dims: how many leading axes, `b`, both have in common.
        name: name of the node while tracing.

    Returns:
        [b, p, i, q], dtype of `params`.

    Raises:
        InvalidArgumentError: an index is out of range, or there is no such axis.
    """
    if validate_indices is not None:
        ignored("gather", "indices are checked always", validate_indices=validate_indices)
    if axis is None:
        axis = batch_dims
    if (
        type(params) is Tensor
        and type(indices) is Tensor
        and type(axis) is int
        and axis in _AXES
        and not batch_dims
        and state.tracer is None
    ):
        a, i = np.asarray(params._array), indices._array
        if i.dtype.kind == "i" and -a.ndim <= axis < a.ndim and a.dtype is not _OBJECT:
            out = _taken(a, i, axis)
            return finish(GATHER_V2, (params, indices, _axis_tensor(axis)), _NO_ATTRS, out)
    return execute_one(GATHER_V2, params, indices, axis, batch_dims=int(batch_dims), name=name)


_OBJECT = np.dtype(object)

# Common axes as tensors for the op's third input.
_AXES = {axis: np.array(axis, np.int32) for axis in range(-4, 5)}

_NO_ATTRS: dict[str, Any] = {}


def _axis_tensor(axis: int) -> Tensor:
    return convert_to_tensor(_AXES[axis])


def _gather_v2_kernel(params: Array, indices: Array, axis: Array, *, batch_dims: int) -> Array:
    if params.ndim == 0:
        raise InvalidArgumentError("GatherV2: params must have at least one axis, got a scalar")
    at = normal_axis("GatherV2", int(axis.reshape(-1)[0]), params.ndim)
    if not batch_dims:
        return np.asarray(_taken(params, indices, at))
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if not 0 <= batch <= min(indices.ndim, at) or params.shape[:batch] != indices.shape[:batch]:
        raise InvalidArgumentError(
            f"GatherV2: the first {batch} axes of params and indices must be equal, and axis not "
            f"less, got axis {at}\n"
            f"  params: shape {list(params.shape)}   indices: shape {list(indices.shape)}"
        )
    return _taken_in_batches(params, indices, at, batch)


def _taken_in_batches(params: Array, indices: Array, axis: int, batch: int) -> Array:
    limit = params.shape[axis]
    _check_indices(indices, limit, axis)
    lead, outer, inner = params.shape[:batch], params.shape[batch:axis], params.shape[axis + 1 :]
    count = int(np.prod(lead, dtype=np.int64))
    rows = params.reshape(count, *outer, limit, *inner)
    places = indices.reshape(count, -1) if indices.size else indices.reshape(count, 0)
    flat = np.moveaxis(rows, axis - batch + 1, 1)[np.arange(count)[:, None], places]
    out = np.moveaxis(flat, 1, 1 + len(outer))
    return out.reshape(*lead, *outer, *indices.shape[batch:], *inner)


def _infer_gather_v2(call: InferCall) -> Shape:
    params, indices = call.spec(0).shape, call.spec(1).shape
    batch = call.attrs["batch_dims"]
    require_rank(call, 2, 0, "axis must be a scalar")
    if params.rank == 0:
        call.fail("params must have at least one axis")
    if batch < 0:
        if indices.rank is None:
            return Shape(None)
        batch += indices.rank
    if indices.rank is not None and not 0 <= batch <= indices.rank:
        call.fail(f"batch_dims must be at most the rank of indices, got {batch}")
    if params.rank is not None and batch >= params.rank:
        call.fail(f"batch_dims must be less than the rank of params, got {batch}")
    if params.rank is None or indices.rank is None:
        return Shape(None)
    lead, more = params[:batch], indices[:batch]
    if not lead.is_compatible_with(more):
        call.fail(f"the first {batch} axes of params and indices must be equal")
    lead = lead.merge_with(more)
    axis = known_axis(call, 2, params.rank)
    if axis is None:
        rest = unknown_shape(params.rank - 1 + indices.rank - 2 * batch)
        return lead.concatenate(rest)
    if axis < batch:
        call.fail(f"axis must be at least batch_dims, got {axis} and {batch}")
    parts = [*lead, *list(params)[batch:axis], *list(indices)[batch:], *list(params)[axis + 1 :]]
    return Shape(parts)


def _gather_rows(call: BatchCall) -> Sequence[Tensor]:
    params, indices = call.tensors[:2]
    axis = int(call.fixed(2).reshape(-1)[0])
    axis += call.rank(0) * (axis < 0)
    batch = call.attrs.get("batch_dims", 0)
    batch += call.rank(1) * (batch < 0)
    if not call.batched[0] and axis == 0 and batch == 0:
        return [gather(params, indices)]
    if not call.batched[1] and not batch:
        return [gather(params, indices, axis=axis + 1)]
    return [gather(call.tiled(0), call.tiled(1), axis=axis + 1, batch_dims=batch + 1)]


GATHER_V2 = define(
    name="GatherV2",
    signature="params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams",
    types={"Tparams": ANY, "Tindices": _INDICES, "Taxis": INDEX},
    attrs={"batch_dims": attr("int", default=0)},
    infer=_infer_gather_v2,
    kernel=_gather_v2_kernel,
    gradient=GRADIENT_ABOVE,  # gathered_slices.py
    static=True,
    batch=BatchRule(_gather_rows),
    flops=flops.none,
)


@takes_composites(ragged="gathering:gather_nd")
def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    batch_dims: int | Tensor = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Tensor:
    """The slices of `params` at the indices in the rows of `indices`.

    Args:
        params: [b, p, q], groups of axes.
        indices: [b, ..., k], int16, int32 or int64; a row names a place in the k axes `p`.
        batch_dims: how many leading axes, `b`, both have in common.
        name: name of the node while tracing.
        bad_indices_policy: "" or "ERROR" refuses places outside, "IGNORE" gives zeros for them.

    Returns:
        [b, ..., q], dtype of `params`.

    Raises:
        InvalidArgumentError: a place is outside of `params`.
    """
    x, places = convert_to_tensor(params), convert_to_tensor(indices)
    if count := _batch_count(batch_dims):
        places = with_batch_places(places, count)
    return execute_one(GATHER_ND, x, places, bad_indices_policy=bad_indices_policy, name=name)


def with_batch_places(indices: Tensor, count: int) -> Tensor:
    """`indices` with positions along the first `count` axes prepended to each row."""
    rank = indices.shape.rank
    if rank is None:
        raise ValueError("gather_nd: the rank of indices must be known where batch_dims is not 0")
    if not 0 <= count < rank:
        raise ValueError(f"gather_nd: batch_dims must be in [0, {rank - 1}], got {count}")
    sizes = shapes.axis_sizes(indices)
    columns = []
    for axis in range(count):
        steps = ranges.range(0, sizes[axis], 1, dtype=indices.dtype)
        column = reshaping.reshape(steps, [-1 if i == axis else 1 for i in range(rank)])
        columns.append(broadcasting.broadcast_to(column, [*sizes[:-1], 1]))
    return joining.concat([*columns, indices], -1)


def _batch_count(batch_dims: Any) -> int:
    """The number of batch axes, from an int or a known scalar tensor."""
    if not isinstance(batch_dims, Tensor):
        return int(batch_dims)
    value = broadcasting.known_value(batch_dims)
    if value is None or value.size != 1:
        raise ValueError(f"gather_nd: batch_dims must be a known integer, got {batch_dims!r}")
    return int(value.reshape(-1)[0])


_POLICIES = ("", "DEFAULT", "ERROR", "IGNORE")


def _gather_nd_kernel(params: Array, indices: Array, *, bad_indices_policy: str) -> Array:
    if indices.ndim == 0:
        raise InvalidArgumentError("GatherNd: indices must have at least one axis, got a scalar")
    depth = indices.shape[-1]
    if depth > params.ndim:
        raise InvalidArgumentError(
            "GatherNd: the rows of indices must not be longer than the rank of params, got "
            f"{depth} and {params.ndim}"
        )
    lead, rest = indices.shape[:-1], params.shape[depth:]
    if not params.size and 0 not in lead:
        # TensorFlow refuses any indices in this case, also of rows of length 0.
        raise InvalidArgumentError(
            f"GatherNd: Requested more than 0 entries, but params is empty: shape "
            f"{list(params.shape)}, and indices of shape {list(indices.shape)}"
        )
    if depth == 0:
        return np.broadcast_to(params, (*lead, *rest))
    limits = np.array(params.shape[:depth], np.int64)
    bad = (indices < 0) | (indices >= limits)
    if not bad.any():
        return (
            np.asarray(params[tuple(np.moveaxis(indices, -1, 0))])
            if rest or lead
            else params[(*indices, ...)]
        )
    wrong = bad.any(axis=-1)
    if bad_indices_policy != "IGNORE":
        at = np.unravel_index(int(wrong.argmax()), lead) if lead else ()
        where = ",".join(str(int(i)) for i in at)
        raise InvalidArgumentError(
            f"GatherNd: indices[{where}] = {indices[at].tolist()} does not index into param shape "
            f"{list(params.shape)}"
        )
    out = np.zeros((*lead, *rest), params.dtype)
    good = ~wrong
    if good.any():
        out[good] = params[tuple(indices[good].T)]
    return out


def _infer_gather_nd(call: InferCall) -> Shape:
    params, indices = call.spec(0).shape, call.spec(1).shape
    if indices.rank == 0:
        call.fail("indices must have at least one axis")
    if indices.rank is None or params.rank is None or indices[-1] is None:
        return Shape(None)
    depth = int(indices[-1])
    if depth > params.rank:
        call.fail(
            f"the rows of indices must not be longer than the rank of params, got {depth} and "
            f"{params.rank}"
        )
    return Shape([*list(indices)[:-1], *list(params)[depth:]])


GATHER_ND = define(
    name="GatherNd",
    signature="params: Tparams, indices: Tindices -> output: Tparams",
    types={"Tparams": ANY_VALUE, "Tindices": _INDICES},
    attrs={"bad_indices_policy": attr("string", default="", allowed=_POLICIES)},
    infer=_infer_gather_nd,
    kernel=_gather_nd_kernel,
    gradient=GRADIENT_ABOVE,  # gathered_slices.py
    flops=flops.none,
)


def _gather_kernel(params: Array, indices: Array) -> Array:
    if params.ndim == 0:
        raise InvalidArgumentError("Gather: params must have at least one axis, got a scalar")
    return np.asarray(_taken(params, indices, 0))


def _infer_gather(call: InferCall) -> Shape:
    params, indices = call.spec(0).shape, call.spec(1).shape
    if params.rank == 0:
        call.fail("params must have at least one axis")
    return indices.concatenate(params[1:]) if params.rank is not None else Shape(None)


GATHER = define(
    name="Gather",
    signature="params: Tparams, indices: Tindices -> output: Tparams",
    types={"Tparams": ANY, "Tindices": INDEX},
    attrs={"validate_indices": attr("bool", default=True)},
    infer=_infer_gather,
    kernel=_gather_kernel,
    gradient=GRADIENT_ABOVE,  # gathered_slices.py
    flops=flops.none,
)
