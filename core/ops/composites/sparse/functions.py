"""Creation, reshaping and conversion of sparse tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.ops.array import casting, constants, gathering, joining, reshaping, selecting, shapes
from pinnace.ops.array.broadcasting import known_value
from pinnace.ops.composites.checks import require_equal
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, comparison, ranges, reduction
from pinnace.ops.sparse import density, filling, order, slicing
from pinnace.ops.sparse import joining as joining_ops

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "as_sparse",
    "concat",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "map_values",
    "mask",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "slice",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]


def as_sparse(value: Any, who: str) -> SparseTensor:
    """A sparse tensor, or a tuple of its arrays as one.

    Raises:
        TypeError: the argument is neither.
    """
    if isinstance(value, SparseTensor):
        return value
    if isinstance(value, tuple) and len(value) == 3 and hasattr(value, "dense_shape"):
        return SparseTensor(*value)
    raise TypeError(f"{who}: a SparseTensor is needed, got {type(value).__name__}: {value!r}")


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The values of a tensor that are not 0 (or not empty), and their indices.

    Args:
        tensor: [...], any dtype but variant.
        name: name of the node while tracing.

    Returns:
        A SparseTensor in row-major order.
    """
    del name
    x = convert_to_tensor(tensor)
    zero = b"" if x.dtype is dtypes.string else np.zeros((), x.dtype.numpy)
    places = selecting.where(comparison.not_equal(x, convert_to_tensor(zero, x.dtype)))
    sizes = shapes.shape(x, out_type=dtypes.int64)
    made = SparseTensor(places, gathering.gather_nd(x, places), sizes)
    if made.shape.is_compatible_with(x.shape):
        made.set_shape(x.shape)
    return made


def to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """A sparse tensor as a dense one.

    Args:
        sp_input: SparseTensor.
        default_value: the value where it has none; 0 or an empty string if None.
        validate_indices: whether indices must be sorted and not repeat.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: an index is outside, or under validate_indices out of order.

    Source:
        TensorFlow op `SparseToDense` (sparse_ops.cc).
    """
    x = as_sparse(sp_input, "sparse.to_dense")
    default = default_value
    if default is None:
        default = b"" if x.dtype is dtypes.string else np.zeros((), x.dtype.numpy)
    dense: Tensor = execute(
        density.SPARSE_TO_DENSE,
        x.indices,
        x.dense_shape,
        x.values,
        convert_to_tensor(default, x.dtype),
        validate_indices=bool(validate_indices),
        name=name,
    )
    if isinstance(dense, SymbolicTensor):
        dense.set_shape(x.shape)
    return dense


def eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """The sparse matrix with ones on its diagonal.

    Args:
        num_rows: number of rows.
        num_columns: number of columns; as many as rows if None.
        dtype: dtype of the values.
        name: name of the node while tracing.

    Returns:
        A SparseTensor.
    """
    del name
    rows = casting.cast(convert_to_tensor(num_rows), dtypes.int64)
    columns = rows if num_columns is None else casting.cast(convert_to_tensor(num_columns), "int64")
    count = arithmetic.minimum(rows, columns)
    numbers = ranges.range(count)
    return SparseTensor(
        joining.stack([numbers, numbers], 1),
        constants.ones(reshaping.reshape(count, [1]), dtype),
        joining.stack([rows, columns]),
    )


def reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same tensor with indices in row-major order.

    Args:
        sp_input: a SparseTensor.
        name: name of the node while tracing.

    Returns:
        A SparseTensor.

    Source:
        TensorFlow op `SparseReorder` (sparse_ops.cc).
    """
    x = as_sparse(sp_input, "sparse.reorder")
    indices, values = execute(order.SPARSE_REORDER, x.indices, x.values, x.dense_shape, name=name)
    return _with_shape(SparseTensor(indices, values, x.dense_shape), x.shape)


def _with_shape(x: SparseTensor, shape: Shape) -> SparseTensor:
    if x.shape.is_compatible_with(shape):
        x.set_shape(shape)
    return x


def reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The values, in their order, in another shape.

    Args:
        sp_input: SparseTensor.
        shape: [rank], integers; one may be -1.
        name: name of the node while tracing.

    Source:
        TensorFlow op `SparseReshape` (sparse_ops.cc).
    """
    x = as_sparse(sp_input, "sparse.reshape")
    if isinstance(shape, Shape):
        shape = shape.as_list()
    wanted = casting.cast(convert_to_tensor(shape, dtype_hint=dtypes.int64), dtypes.int64)
    indices, sizes = execute(order.SPARSE_RESHAPE, x.indices, x.dense_shape, wanted, name=name)
    made = SparseTensor(indices, x.values, sizes)
    known = known_value(wanted)
    if known is not None and isinstance(sizes, SymbolicTensor):
        made.set_shape([None if n == -1 else int(n) for n in known])
    return made


def transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The tensor with its axes in another order; reversed if `perm` is None.

    Args:
        sp_input: a SparseTensor.
        perm: the old axis of each new one.
        name: name of the node while tracing.

    Returns:
        A SparseTensor in row-major order.
    """
    x = as_sparse(sp_input, "sparse.transpose")
    rank = x.shape.rank
    if perm is None:
        if rank is None:
            raise ValueError("sparse.transpose: perm must be given where the rank is unknown")
        perm = list(range(rank))[::-1]
    axes = convert_to_tensor(perm)
    moved = SparseTensor(
        gathering.gather(x.indices, axes, axis=1), x.values, gathering.gather(x.dense_shape, axes)
    )
    known = known_value(axes)
    if rank is not None and known is not None:
        moved = _with_shape(moved, Shape([x.shape[int(axis)] for axis in known]))
    return reorder(moved, name)


def expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """The tensor with an axis of size 1 more; the last if `axis` is None.

    Args:
        sp_input: a SparseTensor.
        axis: position of the new axis in the result.
        name: name of the node while tracing.

    Returns:
        A SparseTensor.

    Raises:
        ValueError: the rank is not known.
    """
    x = as_sparse(sp_input, "sparse.expand_dims")
    rank = x.shape.rank
    if rank is None:
        raise ValueError("sparse.expand_dims: the rank must be known")
    at = -1 if axis is None else int(axis)
    if not -rank - 1 <= at <= rank:
        raise ValueError(f"sparse.expand_dims: axis must be in [{-rank - 1}, {rank}], got {at}")
    at %= rank + 1
    sizes = joining.concat([x.dense_shape[:at], np.ones(1, np.int64), x.dense_shape[at:]], 0)
    column = constants.zeros_like(x.indices[:, :1])
    indices = joining.concat([x.indices[:, :at], column, x.indices[:, at:]], 1)
    del name
    return _with_shape(
        SparseTensor(indices, x.values, sizes), Shape([*x.shape[:at], 1, *x.shape[at:]])
    )


def concat(
    axis: Any, sp_inputs: Any, expand_nonconcat_dims: bool = False, name: str | None = None
) -> SparseTensor:
    """Sparse tensors concatenated along an axis.

    Args:
        axis: the axis.
        sp_inputs: SparseTensors of one rank and dtype.
        expand_nonconcat_dims: whether other axes may differ, and grow to the largest.
        name: name of the node while tracing.

    Source:
        TensorFlow op `SparseConcat` (sparse_ops.cc).
    """
    given = sp_inputs if isinstance(sp_inputs, (list, tuple)) else [sp_inputs]
    items = [as_sparse(x, "sparse.concat") for x in given]
    if len(items) == 1:
        return items[0]
    at = int(axis)
    sizes = [x.dense_shape for x in items]
    if expand_nonconcat_dims:
        rank = next((x.shape.rank for x in items if x.shape.rank is not None), None)
        if rank is None:
            raise ValueError("sparse.concat: expand_nonconcat_dims needs a known rank")
        largest = reduction.reduce_max(joining.stack(sizes), 0)
        own = at % rank
        sizes = [
            joining.concat([largest[:own], s[own : own + 1], largest[own + 1 :]], 0) for s in sizes
        ]
    parts = execute(
        joining_ops.SPARSE_CONCAT,
        [x.indices for x in items],
        [x.values for x in items],
        sizes,
        concat_dim=at,
        name=name,
    )
    return SparseTensor(*parts)


def slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The part from `start` of `size`, cut at the end of the tensor.

    Args:
        sp_input: a SparseTensor.
        start: [rank], the first place along each axis.
        size: [rank], sizes of the part.
        name: name of the node while tracing.

    Returns:
        A SparseTensor.

    Source:
        TensorFlow op `SparseSlice` (sparse_ops.cc).
    """
    x = as_sparse(sp_input, "sparse.slice")
    begin = casting.cast(convert_to_tensor(start, dtype_hint=dtypes.int64), dtypes.int64)
    sizes = casting.cast(convert_to_tensor(size, dtype_hint=dtypes.int64), dtypes.int64)
    parts = execute(
        slicing.SPARSE_SLICE, x.indices, x.values, x.dense_shape, begin, sizes, name=name
    )
    return SparseTensor(*parts)


def split(
    sp_input: Any = None, num_split: Any = None, axis: Any = None, name: str | None = None
) -> list[SparseTensor]:
    """The tensor cut into `num_split` parts along an axis; the first are longer if some must be.

    Args:
        sp_input: a SparseTensor.
        num_split: number of parts.
        axis: an axis; negative ones count from the end.
        name: name of the node while tracing.

    Returns:
        A list of SparseTensors.

    Raises:
        ValueError: an argument is not given.

    Source:
        TensorFlow op `SparseSplit` (sparse_ops.cc).
    """
    if sp_input is None or num_split is None or axis is None:
        raise ValueError("sparse.split: sp_input, num_split and axis must be given")
    x = as_sparse(sp_input, "sparse.split")
    indices, values, sizes = execute(
        slicing.SPARSE_SPLIT,
        np.int64(int(axis)),
        x.indices,
        x.values,
        x.dense_shape,
        num_split=int(num_split),
        name=name,
    )
    return [SparseTensor(*parts) for parts in zip(indices, values, sizes, strict=True)]


def retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The values for which `to_retain` ([n], bool) is true.

    Args:
        sp_input: a SparseTensor of n values.
        to_retain: [n], bool.

    Returns:
        A SparseTensor of the same shape.

    Raises:
        ValueError: `to_retain` has another size.
    """
    x = as_sparse(sp_input, "sparse.retain")
    keep = convert_to_tensor(to_retain)
    if not keep.shape.is_compatible_with(x.values.shape):
        raise ValueError(
            f"sparse.retain: to_retain must have one entry per value ({x.values.shape.text}), got "
            f"{keep.shape.text}"
        )
    places = reshaping.reshape(selecting.where(keep), [-1])
    return SparseTensor(
        gathering.gather(x.indices, places), gathering.gather(x.values, places), x.dense_shape
    )


def mask(a: Any, mask_indices: Any, name: str | None = None) -> Any:
    """IndexedSlices without the slices of some indices.

    Args:
        a: IndexedSlices.
        mask_indices: [m]: the indices whose slices go.
        name: name of the node while tracing.

    Returns:
        IndexedSlices.
    """
    from pinnace.framework.indexed_slices import IndexedSlices

    del name
    wanted = convert_to_tensor(mask_indices)
    same = comparison.equal(
        reshaping.expand_dims(a.indices, 1),
        reshaping.expand_dims(casting.cast(wanted, a.indices.dtype), 0),
    )
    left = reshaping.reshape(
        selecting.where(comparison.equal(reduction.reduce_any(same, 1), False)), [-1]
    )
    return IndexedSlices(
        gathering.gather(a.values, left), gathering.gather(a.indices, left), a.dense_shape
    )


def fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """The tensor with `default_value` at column 0 of every row without values.

    Args:
        sp_input: a SparseTensor of two axes.
        default_value: [], converted to its dtype.
        name: name of the node while tracing.

    Returns:
        The tensor, and [rows], bool: whether each row was empty.

    Source:
        TensorFlow op `SparseFillEmptyRows` (sparse_ops.cc).
    """
    x = as_sparse(sp_input, "sparse.fill_empty_rows")
    default = convert_to_tensor(default_value, x.dtype)
    indices, values, empty, _ = execute(
        filling.SPARSE_FILL_EMPTY_ROWS, x.indices, x.values, x.dense_shape, default, name=name
    )
    return _with_shape(SparseTensor(indices, values, x.dense_shape), x.shape), empty


def reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same values within other sizes: the smallest that hold them, or `new_shape`.

    Args:
        sp_input: a SparseTensor.
        new_shape: [rank], sizes; None is the smallest that hold the values.

    Returns:
        A SparseTensor.

    Raises:
        ValueError: `new_shape` is of another rank.
        InvalidArgumentError: `new_shape` is smaller than the tensor.
    """
    x = as_sparse(sp_input, "sparse.reset_shape")
    if new_shape is None:
        if x.shape.rank is None:
            raise ValueError("sparse.reset_shape: the rank must be known")
        zero = np.full((1, x.shape.rank), -1, np.int64)
        largest = reduction.reduce_max(joining.concat([zero, x.indices], 0), 0)
        return SparseTensor(x.indices, x.values, arithmetic.add(largest, np.int64(1)))
    sizes = casting.cast(convert_to_tensor(new_shape, dtype_hint=dtypes.int64), dtypes.int64)
    if sizes.shape.rank and x.shape.rank is not None and sizes.shape[0] != x.shape.rank:
        raise ValueError(
            f"sparse.reset_shape: new_shape must have rank {x.shape.rank}, got {sizes.shape[0]}"
        )
    old, new = known_value(x.dense_shape), known_value(sizes)
    if old is not None and new is not None and (new < old).any():
        raise InvalidArgumentError(
            f"sparse.reset_shape: new_shape must not be below {old.tolist()}, got {new.tolist()}"
        )
    return SparseTensor(x.indices, x.values, sizes)


def to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """[..., vocab_size], bool: which indices occur among the values of the last axis.

    Args:
        sp_input: a SparseTensor of int32 or int64.
        vocab_size: size of the last axis of the result.
        name: name of the node while tracing.
    """
    del name
    x = as_sparse(sp_input, "sparse.to_indicator")
    values = casting.cast(x.values, dtypes.int64)
    indices = joining.concat([x.indices[:, :-1], reshaping.expand_dims(values, 1)], 1)
    size = reshaping.reshape(casting.cast(convert_to_tensor(vocab_size), dtypes.int64), [1])
    sizes = joining.concat([x.dense_shape[:-1], size], 0)
    marked = SparseTensor(indices, constants.ones(shapes.shape(values), dtypes.bool), sizes)
    if x.shape.rank is not None:
        marked.set_shape([*x.shape[:-1], None])
    return to_dense(reorder(marked), False, validate_indices=False)


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """An op applied to the values of all sparse arguments, at unchanged indices.

    Args:
        op: keeps the number of values.
        *args: sparse tensors, all with equal indices; anything else is passed on.
        **kwargs: likewise.

    Raises:
        ValueError: no argument is sparse.
        InvalidArgumentError: indices differ.
    """
    found = [x for x in (*args, *kwargs.values()) if isinstance(x, SparseTensor)]
    if not found:
        raise ValueError("sparse.map_values: at least one argument must be a SparseTensor")
    first = found[0]
    for x in found[1:]:
        claim = "sparse.map_values: all sparse arguments must have the same indices"
        require_equal(first.indices, x.indices, claim)

    def values(x: Any) -> Any:
        return x.values if isinstance(x, SparseTensor) else x

    result = op(*map(values, args), **{key: values(x) for key, x in kwargs.items()})
    return first.with_values(result)
