"""TopKV2, sort, argsort, LowerBound and UpperBound."""

from typing import Any, NamedTuple

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY_VALUE, INDEX, REAL, DType, int16, int32
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import (
    casting,
    constants,
    gathering,
    identities,
    joining,
    permutations,
    reshaping,
    scattering,
    shapes,
)
from pinnace.ops.array.axes import normal_axis
from pinnace.ops.execute import execute
from pinnace.ops.kernels import sorting
from pinnace.ops.math import arithmetic, ranges, reduction
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, attr, typed
from pinnace.ops.registry import define

__all__ = ["argsort", "searchsorted", "sort", "top_k"]


class TopK(NamedTuple):
    """The result of `top_k`."""

    values: Tensor
    indices: Tensor


def top_k(
    input: TensorLike,
    k: TensorLike = 1,
    sorted: bool = True,
    index_type: Any = int32,
    name: str | None = None,
) -> TopK:
    """The `k` greatest values along the last axis, greatest first; of equal ones the first.

    Args:
        input: [..., n], a real type.
        k: a scalar from 0 to n.
        sorted: the order does not matter if False; it is the same here.
        index_type: int16, int32 or int64.
        name: name of the node while tracing.

    Returns:
        values: [..., k], dtype of `input`, and indices: [..., k].

    Raises:
        InvalidArgumentError: `k` is negative or more than n.
    """
    kind = dtypes.as_dtype(index_type)
    return TopK(*execute(TOP_K_V2, input, k, sorted=bool(sorted), index_type=kind, name=name))


_SMALL_INDEX = INDEX | {int16}


def _top_k_kernel(input: Array, k: Array, *, index_type: DType) -> tuple[Array, Array]:
    return sorting.top_k(input, int(k.reshape(-1)[0]), index_type.numpy)


def _infer_top_k(call: InferCall) -> tuple[Shape, Shape]:
    shape = call.spec(0).shape
    if call.spec(1).shape.rank not in {None, 0}:
        call.fail("k must be a scalar")
    if shape.rank is None:
        return shape, shape
    if shape.rank == 0:
        call.fail("input must have at least one axis")
    k, size = call.constant(1), shape[-1]
    if k is not None and (k < 0 or (size is not None and k > size)):
        call.fail(f"k must be from 0 to the size of the last axis, {size}, got {int(k)}")
    out = shape[:-1].concatenate([None if k is None else int(k)])
    return out, out


def top_k_gradient(call: OpCall, dy: Tensor | None, _: Any) -> tuple[Any, ...]:
    """dy scattered to the positions of the selected values."""
    if dy is None:
        return None, None
    x = call.inputs[0]
    indices = casting.cast(call.outputs[1], int32)
    sizes, count = shapes.shape(x), shapes.shape(indices)[-1]
    last = sizes[-1]
    if x.shape.rank == 1:
        places = indices
    else:
        # With k = 0, -1 could not be inferred.
        rows = reduction.reduce_prod(sizes[:-1])
        flat = reshaping.reshape(indices, joining.stack([rows, count]))
        starts = ranges.range(0, rows, 1) * last
        places = reshaping.reshape(flat + reshaping.expand_dims(starts, 1), [-1])
    total = reshaping.reshape(shapes.size(x), [1])
    spread = scattering.scatter_nd(
        reshaping.expand_dims(places, 1), reshaping.reshape(dy, [-1]), total
    )
    return reshaping.reshape(spread, shapes.sizes(x)), None


TOP_K_V2 = define(
    name="TopKV2",
    signature="input: T, k: Tk -> values: T, indices: index_type",
    types={
        "T": REAL,
        "Tk": typed(_SMALL_INDEX, default=int32),
        "index_type": typed(_SMALL_INDEX, default=int32),
    },
    attrs={"sorted": attr("bool", default=True)},
    infer=_infer_top_k,
    kernel=_top_k_kernel,
    gradient=top_k_gradient,
)


def _infer_bound(call: InferCall) -> Shape:
    rows, values = call.spec(0).shape, call.spec(1).shape
    for shape in (rows, values):
        if shape.rank not in {None, 2}:
            call.fail("sorted_inputs and values must be matrices")
    if (
        rows.rank is not None
        and values.rank is not None
        and not rows[:1].is_compatible_with(values[:1])
    ):
        call.fail("sorted_inputs and values must have the same number of rows")
    return values


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: Any = int32,
    name: str | None = None,
) -> Tensor:
    """The insertion index of each of `values` in its row of `sorted_sequence`.

    Args:
        sorted_sequence: [..., n], ascending along the last axis.
        values: [..., m], dtype of `sorted_sequence`, same leading axes.
        side: "left" is before equal values, "right" after them.
        out_type: int32 or int64.
        name: name of the node while tracing.

    Returns:
        [..., m], `out_type`, from 0 to n.

    Raises:
        ValueError: the side is unknown.
        InvalidArgumentError: the leading axes differ.

    Source:
        TensorFlow ops `LowerBound`, `UpperBound` (array_ops.cc).
    """
    if side not in {"left", "right"}:
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    op = LOWER_BOUND if side == "left" else UPPER_BOUND
    wanted = convert_to_tensor(values)
    rows = convert_to_tensor(sorted_sequence, wanted.dtype)
    kind = dtypes.as_dtype(out_type)
    flat = [_as_matrix(x) for x in (rows, wanted)]
    found = execute(op, *flat, out_type=kind, name=name)
    return reshaping.reshape(found, shapes.sizes(wanted))


def _as_matrix(x: Tensor) -> Tensor:
    """The leading axes as one."""
    if x.shape.rank is not None and x.shape.rank < 1:
        raise ValueError(f"searchsorted: arguments must have at least one axis, got {x!r}")
    last = x.shape[-1] if x.shape.rank is not None else None
    if last:
        return reshaping.reshape(x, [-1, last])
    sizes = shapes.shape(x)
    lead = gathering.gather(sizes, ranges.range(0, shapes.size(sizes) - 1, 1))
    return reshaping.reshape(x, joining.stack([reduction.reduce_prod(lead), sizes[-1]]))


def _lower_bound_kernel(sorted_inputs: Array, values: Array, *, out_type: DType) -> Array:
    return sorting.searchsorted(sorted_inputs, values, "left", out_type.numpy)


LOWER_BOUND = define(
    name="LowerBound",
    signature="sorted_inputs: T, values: T -> output: out_type",
    types={"T": ANY_VALUE, "out_type": typed(INDEX, default=int32)},
    infer=_infer_bound,
    kernel=_lower_bound_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _upper_bound_kernel(sorted_inputs: Array, values: Array, *, out_type: DType) -> Array:
    return sorting.searchsorted(sorted_inputs, values, "right", out_type.numpy)


UPPER_BOUND = define(
    name="UpperBound",
    signature="sorted_inputs: T, values: T -> output: out_type",
    types={"T": ANY_VALUE, "out_type": typed(INDEX, default=int32)},
    infer=_infer_bound,
    kernel=_upper_bound_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def sort(
    values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """`values` sorted along `axis`.

    Args:
        values: [...], a real type, rank at least 1.
        axis: the axis; negative ones count from the end.
        direction: "ASCENDING" or "DESCENDING".
        name: name of the node while tracing.

    Raises:
        ValueError: the direction is unknown.
        InvalidArgumentError: there is no such axis.
    """
    found, _ = _ordered(values, axis, direction, "sort")
    return found if name is None else _named(found, name)


def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,  # noqa: ARG001 (TensorFlow's argument; the order is always stable)
    name: str | None = None,
) -> Tensor:
    """The indices that put `values` in order along `axis`, int32; equal values stay in order.

    Args:
        values: [...], a real type, rank at least 1.
        axis: the axis; negative ones count from the end.
        direction: "ASCENDING" or "DESCENDING".
        stable: not used: the order is always stable.
        name: name of the node while tracing.

    Raises:
        ValueError: the direction is unknown.
        InvalidArgumentError: there is no such axis.
    """
    _, found = _ordered(values, axis, direction, "argsort")
    return found if name is None else _named(found, name)


def _named(x: Tensor, name: str) -> Tensor:
    return identities.identity(x, name)


def _ordered(values: TensorLike, axis: int, direction: str, who: str) -> tuple[Tensor, Tensor]:
    """Sorted values and indices by TopKV2 on the last axis, with mirrored values to ascend."""
    if direction not in {"ASCENDING", "DESCENDING"}:
        raise ValueError(f"{who}: direction must be 'ASCENDING' or 'DESCENDING', got {direction!r}")
    x = convert_to_tensor(values)
    rank = x.shape.rank
    if rank is None:
        if axis != -1:
            raise ValueError(
                f"{who}: the rank of values must be known where axis is not -1, got axis {axis}"
            )
        order = None
    else:
        at = normal_axis(who, int(axis), rank)
        # Swapping two axes is its own inverse.
        order = None if at == rank - 1 else list(range(rank))
        if order is not None:
            order[at], order[-1] = order[-1], order[at]
    if order is not None:
        x = permutations.transpose(x, order)
    count = shapes.shape(x)[-1] if x.shape.rank is None or x.shape[-1] is None else x.shape[-1]
    ascending = direction == "ASCENDING"
    top, indices = top_k(_mirrored(x) if ascending else x, count)
    if ascending:
        top = _mirrored(top)
    if order is not None:
        top, indices = permutations.transpose(top, order), permutations.transpose(indices, order)
    return top, indices


def _mirrored(x: Tensor) -> Tensor:
    """The values in reverse order, without overflow; its own inverse."""
    if x.dtype.is_unsigned:
        return constants.constant(x.dtype.max, x.dtype) - x
    if x.dtype.is_integer:
        return constants.constant(-1, x.dtype) - x
    return arithmetic.negative(x)
