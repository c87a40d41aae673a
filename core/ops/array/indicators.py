"""OneHot, and masks and grids from comparisons with indices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY_VALUE, INDEX, int8, int32, int64, uint8
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.ops import batch_rules, flops
from pinnace.ops.array import broadcasting, casting, constants, reshaping, shapes
from pinnace.ops.array.axes import require_rank
from pinnace.ops.batch_rules import BatchCall, BatchRule
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.math import arithmetic, comparison, ranges, reduction
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr, typed
from pinnace.ops.registry import define

__all__ = ["meshgrid", "one_hot", "sequence_mask", "unravel_index"]


@takes_composites(ragged="gathering:one_hot")
def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """`on_value` at each index along a new axis, `off_value` elsewhere.

    Args:
        indices: [...], uint8, int8, int32 or int64; one out of range names no place.
        depth: the size of the new axis, a scalar.
        on_value: a scalar; None is 1.
        off_value: a scalar; None is 0.
        axis: position of the new axis in the result; None is -1, the end.
        dtype: dtype of the result; if None, that of the given values, else float32.
        name: name of the node while tracing.

    Raises:
        TypeError: `on_value`, `off_value` and `dtype` do not agree; or one of bool is missing.
        InvalidArgumentError: depth is negative.
    """
    # TensorFlow: a number is converted to `dtype`, not to the dtype of the other value.
    wanted = kind = None if dtype is None else dtypes.as_dtype(dtype)
    for given in (on_value, off_value):
        if given is None:
            continue
        mine = convert_to_tensor(given, None if isinstance(given, Operands) else wanted).dtype
        if kind is not None and mine is not kind:
            raise TypeError(
                f"one_hot: on_value, off_value and dtype must agree, got {mine.name} and "
                f"{kind.name}"
            )
        kind = mine
    kind = dtypes.float32 if kind is None else kind
    # TensorFlow: of other types than numbers, bool among them, both values must be given.
    on = convert_to_tensor(1 if on_value is None else on_value, kind)
    off = convert_to_tensor(0 if off_value is None else off_value, kind)
    place = -1 if axis is None else int(axis)
    return execute_one(ONE_HOT, indices, depth, on, off, axis=place, name=name)


def _one_hot_kernel(
    indices: Array, depth: Array, on_value: Array, off_value: Array, *, axis: int
) -> Array:
    size = int(depth.reshape(-1)[0])
    if size < 0:
        raise InvalidArgumentError(f"OneHot: depth must be at least 0, got {size}")
    at = indices.ndim if axis == -1 else axis
    if not 0 <= at <= indices.ndim:
        raise InvalidArgumentError(f"OneHot: axis must be in [-1, {indices.ndim}], got {axis}")
    flat = indices.reshape(-1)
    out = np.full((flat.size, size), off_value.reshape(-1)[0], on_value.dtype)
    rows = np.flatnonzero((flat >= 0) & (flat < size))
    out[rows, flat[rows]] = on_value.reshape(-1)[0]
    spread = out.reshape(*indices.shape, size)
    return spread if at == indices.ndim else np.moveaxis(spread, -1, at)


def _infer_one_hot(call: InferCall) -> Shape:
    shape, axis = call.spec(0).shape, call.attrs["axis"]
    for index in (1, 2, 3):
        require_rank(call, index, 0, "depth, on_value and off_value must be scalars")
    if shape.rank is None:
        return Shape(None)
    at = shape.rank if axis == -1 else axis
    if not 0 <= at <= shape.rank:
        call.fail(f"axis must be in [-1, {shape.rank}], got {axis}")
    depth = call.constant(1)
    if depth is not None and depth < 0:
        call.fail(f"depth must be at least 0, got {int(depth)}")
    sizes = list(shape)
    return Shape([*sizes[:at], None if depth is None else int(depth), *sizes[at:]])


def _one_hot_rows(call: BatchCall) -> Sequence[Tensor]:
    if call.attrs.get("axis", -1) != -1:
        call.refuse("has its new axis before others")
    return batch_rules.AS_IT_IS.apply(call)


ONE_HOT = define(
    name="OneHot",
    signature="indices: TI, depth: int32, on_value: T, off_value: T -> output: T",
    types={"T": ANY_VALUE, "TI": typed({uint8, int8, int32, int64}, default=int64)},
    attrs={"axis": attr("int", default=-1)},
    infer=_infer_one_hot,
    kernel=_one_hot_kernel,
    gradient=NOT_DIFFERENTIABLE,
    batch=BatchRule(_one_hot_rows, exact=True),
    flops=flops.none,
)


def unravel_index(indices: TensorLike, dims: TensorLike, name: str | None = None) -> Tensor:
    """The coordinates of places in an array of sizes `dims`, counted in row-major order.

    Args:
        indices: [] or [n], int32 or int64.
        dims: [rank], dtype of `indices`.
        name: name of the node while tracing.

    Returns:
        [rank] or [rank, n], dtype of `indices`.

    Raises:
        InvalidArgumentError: an index is out of range.
    """
    return execute_one(UNRAVEL_INDEX, indices, dims, name=name)


def _unravel_index_kernel(indices: Array, dims: Array) -> Array:
    sizes = dims.tolist()
    limit = int(np.prod(sizes, dtype=np.int64))
    if indices.size and (indices.min() < 0 or indices.max() >= limit):
        bad = indices[(indices < 0) | (indices >= limit)].reshape(-1)[0]
        raise InvalidArgumentError(
            f"UnravelIndex: indices must be in [0, {limit}), the number of places in {sizes}, got "
            f"{int(bad)}"
        )
    return np.array(np.unravel_index(indices, sizes), indices.dtype)


def _infer_unravel_index(call: InferCall) -> Shape:
    indices, dims = call.spec(0).shape, call.spec(1).shape
    if dims.rank not in {None, 1}:
        call.fail("dims must be a vector of sizes")
    rows = dims[0] if dims.rank == 1 else None
    if indices.rank is not None and indices.rank > 1:
        call.fail("indices must be a scalar or a vector")
    if indices.rank is None:
        return Shape(None)
    return Shape([rows]).concatenate(indices)


UNRAVEL_INDEX = define(
    name="UnravelIndex",
    signature="indices: Tidx, dims: Tidx -> output: Tidx",
    types={"Tidx": typed(INDEX, default=int32)},
    infer=_infer_unravel_index,
    kernel=_unravel_index_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def sequence_mask(
    lengths: TensorLike,
    maxlen: TensorLike | None = None,
    dtype: Any = dtypes.bool,
    name: str | None = None,
) -> Tensor:
    """A row for each length whose first `length` elements are True.

    Args:
        lengths: [...], integer.
        maxlen: the size of the rows, a scalar; None is the largest length.
        dtype: dtype of the result.
        name: name of the node while tracing.

    Returns:
        [..., maxlen], `dtype`.
    """
    counts = convert_to_tensor(lengths)
    if maxlen is None:
        most = reduction.reduce_max(reshaping.reshape(counts, [-1]))
        # The greatest of no lengths is the least integer.
        most = arithmetic.maximum(most, constants.constant(0, most.dtype))
    else:
        most = convert_to_tensor(maxlen)
    if most.shape.rank not in {None, 0}:
        raise ValueError(f"sequence_mask: maxlen must be a scalar, got shape {most.shape.text}")
    steps = ranges.range(constants.constant(0, most.dtype), most, constants.constant(1, most.dtype))
    column = casting.cast(reshaping.expand_dims(counts, -1), most.dtype)
    return casting.cast(comparison.less(steps, column), dtype, name)


def meshgrid(*args: TensorLike, indexing: str = "xy", name: str | None = None) -> list[Tensor]:  # noqa: ARG001
    """The coordinate tensors, of rank n, of the grid of n vectors.

    Args:
        *args: vectors (or scalars) of one dtype.
        indexing: "ij" puts vector i along axis i, "xy" swaps the first two.
        name: not used.

    Raises:
        ValueError: `indexing` is something else.
    """
    if indexing not in {"xy", "ij"}:
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    vectors = [reshaping.reshape(convert_to_tensor(x), [-1]) for x in args]
    count = len(vectors)
    order = list(range(count))
    if indexing == "xy" and count > 1:
        order[:2] = [1, 0]
    sizes: list[Any] = [0] * count
    for place, vector in zip(order, vectors, strict=True):
        sizes[place] = shapes.axis_sizes(vector)[0]
    return [
        broadcasting.broadcast_to(
            reshaping.reshape(vector, [-1 if axis == place else 1 for axis in range(count)]), sizes
        )
        for place, vector in zip(order, vectors, strict=True)
    ]
