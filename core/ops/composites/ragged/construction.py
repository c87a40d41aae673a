"""Ragged tensors from Python lists, tensors, sparse tensors and ranges."""

from __future__ import annotations

from builtins import range as _python_range
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.ops.array import casting, constants, gathering, joining, masking, reshaping, shapes
from pinnace.ops.composites.checks import agree, require
from pinnace.ops.composites.ragged.partitions import splits_from_rowids
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, comparison, logic, ranges, reduction
from pinnace.ops.ragged import ranges as range_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "constant",
    "from_sparse",
    "from_tensor",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
]


def constant(  # noqa: C901 (one case per line)
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """The ragged tensor with the values of nested lists.

    Args:
        pylist: nested lists, tuples or arrays; all scalars at one depth.
        dtype: dtype of the values.
        ragged_rank: how many axes are stored as row splits; by default all but the innermost, or
            as many as `inner_shape` leaves.
        inner_shape: sizes of the axes that are the same in every row.
        name: name of the node of the values while tracing.
        row_splits_dtype: int32 or int64.

    Returns:
        A ragged tensor; a tensor where ragged_rank is 0.

    Raises:
        ValueError: scalars at different depths, or lists that do not have the inner shape.
        TypeError: `pylist` is no list.
    """
    kind = dtypes.as_dtype(row_splits_dtype).numpy
    rows = _plain(pylist)
    if not isinstance(rows, list):
        if inner_shape is not None or ragged_rank:
            why = "dim(inner_shape)" if ragged_rank is None else "ragged_rank"
            given = ragged_rank if inner_shape is None else Shape(inner_shape).rank
            raise ValueError(
                f"ragged.constant: Invalid pylist={pylist!r}: incompatible with {why}={given}; a "
                "list is needed"
            )
        return constants.constant(pylist, dtype, name=name)
    depth, full = _depths(rows)
    if full is not None and depth is not None and depth > full:
        raise ValueError(
            f"ragged.constant: Invalid pylist={pylist!r}: empty list nesting is greater than "
            "scalar value nesting"
        )
    inner = (
        None if inner_shape is None else [n for n in Shape(inner_shape).as_list() if n is not None]
    )
    most = depth if depth is not None else 1
    if full is not None:
        most = full
    if inner is not None and ragged_rank is not None:
        wanted = ragged_rank + 1 + len(inner)
        if depth is not None and ((full is not None and wanted != full) or wanted < depth):
            raise ValueError(
                f"ragged.constant: Invalid pylist={pylist!r}: incompatible with "
                f"ragged_rank={ragged_rank} and dim(inner_shape)={len(inner)}"
            )
    elif inner is not None:
        ragged_rank = max(0, most - 1 - len(inner))
        if not ragged_rank:  # no ragged axis remains
            return constants.constant(rows, dtype, shape=inner, name=name)
    if ragged_rank is None:
        ragged_rank = max(0, most - 1)
    if ragged_rank < 0:
        raise ValueError(f"ragged.constant: Invalid ragged_rank={ragged_rank}: must be nonnegative")
    if full is not None and ragged_rank >= max(full, 1):
        raise ValueError(
            f"ragged.constant: pylist has scalar values depth {full}, but "
            f"ragged_rank={ragged_rank} requires scalar value depth greater than {ragged_rank}"
        )
    nested: list[Any] = []
    level = rows
    for _ in _python_range(ragged_rank):
        splits = [0]
        below: list[Any] = []
        for row in level:
            below.extend(row)
            splits.append(len(below))
        nested.append(np.array(splits, kind))
        level = below
    if inner is None:
        inner = _inner_shape(level, most - 1 - ragged_rank)
    values = _values(level, inner, dtype, name)
    return RaggedTensor.from_nested_row_splits(values, nested, validate=False)


def _plain(x: Any) -> Any:
    """Nested lists only; a leaf is a scalar."""
    if isinstance(x, Tensor) and not isinstance(x, SymbolicTensor):
        x = np.asarray(x._array)
    if isinstance(x, np.ndarray):
        return [_plain(row) for row in x] if x.ndim else x[()]
    if isinstance(x, (list, tuple)):
        return [_plain(row) for row in x]
    if isinstance(x, (dict, set, frozenset)):
        raise TypeError(f"ragged.constant: pylist must be a list, got {type(x).__name__}: {x!r}")
    return x


def _depths(x: Any) -> tuple[int, int | None]:
    """The nesting depth of lists, and the depth of scalars (None without scalars)."""
    if not isinstance(x, list):
        return 0, 0
    found = [_depths(row) for row in x]
    deepest = max((depth for depth, _ in found), default=0)
    full = {depth for _, depth in found if depth is not None}
    if len(full) > 1:
        raise ValueError(
            f"ragged.constant: all scalar values must have the same nesting depth, got {x!r}"
        )
    return deepest + 1, (full.pop() + 1 if full else None)


def _inner_shape(items: list[Any], depth: int) -> list[int]:
    found: list[int] = []
    level: Any = items
    for _ in _python_range(depth):
        sizes = {len(row) for row in level}
        if len(sizes) > 1:
            raise ValueError(
                "ragged.constant: inner values have inconsistent shape: the lists within ragged "
                "rows must have equal lengths, got "
                f"{sorted(sizes)}\n  Try: a higher ragged_rank"
            )
        found.append(sizes.pop() if sizes else 0)
        level = [item for row in level for item in row]
    return found


def _values(items: list[Any], inner: Sequence[int], dtype: Any, name: str | None) -> Tensor:
    if not items:
        kind = dtypes.float32 if dtype is None else dtypes.as_dtype(dtype)
        return constants.constant(np.zeros((0, *inner), kind.numpy), kind, name=name)
    found = constants.constant(items, dtype, name=name)
    wanted = [len(items), *inner]
    if found.shape.as_list() != wanted:
        raise ValueError(
            f"ragged.constant: the values must have shape {wanted}, got {found.shape.text}"
        )
    return found


def range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> RaggedTensor:
    """Row i is `range(starts[i], limits[i], deltas[i])`.

    Args:
        starts: scalar or [rows]; the limits if `limits` is None, and they start at 0.
        limits: scalar or [rows].
        deltas: scalar or [rows], not 0.
        dtype: dtype of the values.
        name: name of the node while tracing.
        row_splits_dtype: int32 or int64.

    Raises:
        InvalidArgumentError: a delta is 0, or lengths differ.

    Source:
        TensorFlow op `RaggedRange` (ragged_math_ops.cc).
    """
    if limits is None:
        starts, limits = 0, starts
    parts = [convert_to_tensor(x, dtype_hint=dtypes.int32) for x in (starts, limits, deltas)]
    if dtype is None:
        order = [dtypes.int32, dtypes.int64, dtypes.bfloat16, dtypes.float32, dtypes.float64]
        unknown = [x.dtype.name for x in parts if x.dtype not in order]
        if unknown:
            raise ValueError(f"ragged.range: numbers are needed, got {unknown[0]}")
        kind = max((x.dtype for x in parts), key=order.index)
    else:
        kind = dtypes.as_dtype(dtype)
    splits, values = execute(
        range_ops.RAGGED_RANGE,
        *[casting.cast(x, kind) for x in parts],
        Tsplits=dtypes.as_dtype(row_splits_dtype),
        name=name,
    )
    return RaggedTensor(values, splits, internal=True)


def from_tensor(
    tensor: Any,
    lengths: Any = None,
    padding: Any = None,
    ragged_rank: int = 1,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """The rows of a tensor, without padding.

    Args:
        tensor: [rows, n, ...], rank above `ragged_rank`.
        lengths: [rows]: how much of each row to keep; for several ragged axes a list of them, the
            outermost first.
        padding: the value that rows end with where they are short; a row of it for inner axes.
        ragged_rank: how many axes become ragged.
        name: accepted for TensorFlow's sake.
        row_splits_dtype: int32 or int64.

    Raises:
        ValueError: both lengths and padding, or a ragged rank that the tensor has not.
    """
    del name
    if isinstance(tensor, RaggedTensor):
        return tensor
    if lengths is not None and padding is not None:
        raise ValueError(
            "RaggedTensor.from_tensor: Specify argument `lengths` or `padding`, but not both."
        )
    if not isinstance(ragged_rank, int):
        raise TypeError(
            "RaggedTensor.from_tensor: Argument `ragged_rank` must be an int. Received "
            f"{ragged_rank}."
        )
    if ragged_rank < 1:
        raise ValueError(
            "RaggedTensor.from_tensor: Argument `ragged_rank` must be greater than 0. Received "
            f"{ragged_rank}."
        )
    x = convert_to_tensor(tensor)
    kind = dtypes.as_dtype(row_splits_dtype)
    rank = x.shape.rank
    if rank is not None and ragged_rank >= rank:
        raise ValueError(
            f"RaggedTensor.from_tensor: ragged_rank must be from 1 to the rank - 1 "
            f"({rank and rank - 1}), got {ragged_rank}"
        )
    if lengths is not None:
        return _by_lengths(x, lengths, ragged_rank, kind)
    sizes = shapes.shape(x, out_type=kind)
    if padding is not None and ragged_rank > 1:
        flat = folded(x, sizes, ragged_rank)
        inner = _from_padding(flat, padding, kind)
        # In outer axes, rows of padding alone become empty rows.
        return _wrapped(inner, x, sizes, ragged_rank - 1)
    if padding is not None:
        return _from_padding(x, padding, kind)
    return _wrapped(folded(x, sizes, ragged_rank + 1), x, sizes, ragged_rank)


def _by_lengths(x: Tensor, lengths: Any, ragged_rank: int, kind: Any) -> Any:
    """The rows of x, each as long as `lengths` says."""
    if not isinstance(lengths, (list, tuple)) or not lengths or np.isscalar(lengths[0]):
        return _cut(x, casting.cast(_whole(lengths), kind))
    if ragged_rank not in {1, len(lengths)}:
        raise ValueError(
            "RaggedTensor.from_tensor: If Argument `lengths` is a tuple of row_lengths, argument "
            f"`ragged_rank` must be len(lengths): {len(lengths)}. Received ragged_rank: "
            f"{ragged_rank}."
        )
    return _with_lengths(x, list(map(_whole, lengths)), kind)


def _whole(lengths: Any) -> Tensor:
    found = convert_to_tensor(lengths)
    if not found.dtype.is_integer and found.shape.num_elements() != 0:
        raise TypeError(
            "RaggedTensor.from_tensor: Argument `lengths` must be of type integer. Received "
            f"{found.dtype.name}."
        )
    return found


def folded(x: Tensor, sizes: Tensor, axes: int) -> Tensor:
    """The first axes as one."""
    if axes <= 1:
        return x
    first = reshaping.reshape(reduction.reduce_prod(sizes[:axes]), [1])
    folded = reshaping.reshape(x, joining.concat([first, sizes[axes:]], 0))
    if isinstance(folded, SymbolicTensor) and x.shape.rank is not None:
        known = x.shape[:axes].num_elements() if x.shape[:axes].is_fully_defined() else None
        folded.set_shape([known, *x.shape[axes:]])
    return folded


def _wrapped(inner: Any, x: Tensor, sizes: Tensor, ragged_rank: int) -> Any:
    """Uniform ragged axes for the leading axes of x that were folded."""
    result = inner
    for axis in reversed(_python_range(1, ragged_rank + 1)):
        count = reduction.reduce_prod(sizes[:axis])
        length = x.shape[axis] if x.shape.rank is not None else None
        one = casting.cast(1, sizes.dtype)
        splits = arithmetic.multiply(ranges.range(arithmetic.add(count, one)), sizes[axis])
        if isinstance(splits, SymbolicTensor) and axis == 1 and x.shape.rank:
            splits.set_shape([None if x.shape[0] is None else x.shape[0] + 1])
        result = RaggedTensor(
            result, splits, internal=True, uniform=sizes[axis] if length is None else length
        )
    return result


def _cut(x: Tensor, lengths: Tensor) -> RaggedTensor:
    """The beginning of each row; as in TensorFlow, lengths beyond the row are truncated."""
    width = shapes.shape(x, out_type=lengths.dtype)[1]
    zero = casting.cast(0, lengths.dtype)
    kept = arithmetic.maximum(arithmetic.minimum(lengths, width), zero)
    columns = ranges.range(width)
    mask = comparison.less(reshaping.expand_dims(columns, 0), reshaping.expand_dims(kept, 1))
    values = masking.boolean_mask(x, mask)
    return RaggedTensor.from_row_lengths(values, kept, validate=False)


def _with_lengths(x: Tensor, nested: list[Any], kind: Any) -> Any:
    lengths = [casting.cast(convert_to_tensor(part), kind) for part in nested]
    outer = _cut(x, lengths[0])
    if len(lengths) == 1:
        return outer
    return outer.with_values(_with_lengths(outer.values, lengths[1:], kind))


def _from_padding(x: Tensor, padding: Any, kind: Any) -> RaggedTensor:
    empty = convert_to_tensor(padding, x.dtype)
    same = comparison.equal(x, empty)
    if empty.shape.rank:
        axes = list(_python_range(2, 2 + empty.shape.rank))
        same = reduction.reduce_all(same, axes)
    # A row ends with its last value that is not padding.
    width = shapes.shape(x, out_type=kind)[1]
    places = arithmetic.add(ranges.range(width), casting.cast(1, kind))
    marks = arithmetic.multiply(casting.cast(logic.logical_not(same), kind), places)
    zero = constants.zeros(shapes.shape(marks)[:1], kind)

    lengths = reduction.reduce_max(joining.concat([reshaping.expand_dims(zero, 1), marks], 1), 1)
    return _cut(x, lengths)


def from_sparse(
    st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.int64
) -> RaggedTensor:
    """The rows of a sparse matrix whose values begin at column 0 without gaps.

    Raises:
        TypeError: `st_input` is no SparseTensor.
        ValueError: the tensor is no matrix.
        InvalidArgumentError: a row has a gap, or the indices are out of order.
    """
    from pinnace.ops.composites.sparse.tensor import SparseTensor

    del name
    if not isinstance(st_input, SparseTensor):
        raise TypeError(f"RaggedTensor.from_sparse: a SparseTensor is needed, got {st_input!r}")
    if st_input.shape.rank not in {2, None}:
        raise ValueError(
            f"RaggedTensor.from_sparse: rank(st_input) must be 2, got {st_input.shape.text}"
        )
    kind = dtypes.as_dtype(row_splits_dtype)
    indices = st_input.indices
    rows, columns = indices[:, 0], indices[:, 1]
    splits = splits_from_rowids(casting.cast(rows, kind), st_input.dense_shape[0], validate=False)
    # Rows must be sorted, and columns must be 0, 1, … within each row.
    counted = arithmetic.subtract(
        ranges.range(shapes.size(rows, kind)), gathering.gather(splits, casting.cast(rows, kind))
    )
    in_order = reduction.reduce_all(comparison.less_equal(rows[:-1], rows[1:]))
    require(
        logic.logical_and(in_order, agree(casting.cast(columns, kind), counted)),
        "RaggedTensor.from_sparse: SparseTensor is not right-ragged: rows must come in order, "
        "their values from column 0 on without "
        "gaps",
        indices,
    )
    return RaggedTensor(st_input.values, splits, internal=True)


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The row that each value is in, by row splits: `[0, 3, 3, 5]` gives `[0, 0, 0, 2, 2]`.

    Args:
        splits: [rows + 1], int32 or int64, ascending from 0.
        name: name of the node while tracing.
        out_type: int32 or int64; dtype of `splits` if None.

    Returns:
        [values].

    Raises:
        ValueError: `splits` is no vector of indices.
    """
    del name
    given = convert_to_tensor(splits, dtype_hint=dtypes.int64)
    if given.dtype not in dtypes.INDEX:
        raise ValueError(
            f"row_splits_to_segment_ids: splits must be int32 or int64, got {given.dtype.name}"
        )
    if given.shape.rank not in {1, None}:
        raise ValueError(
            f"row_splits_to_segment_ids: splits must be a vector, got shape {given.shape.text}"
        )
    if given.shape.rank and given.shape[0] == 0:
        raise ValueError("row_splits_to_segment_ids: splits must have at least one element")
    lone = RaggedTensor(ranges.range(given[-1]), given, internal=True)
    found = lone.value_rowids()
    return found if out_type is None else casting.cast(found, out_type)


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Tensor:
    """The row splits of values with these sorted row ids: the inverse of the above.

    Args:
        segment_ids: [values], int32 or int64, ascending.
        num_segments: number of rows; the last id + 1 if None.
        out_type: int32 or int64; dtype of `segment_ids` if None.
        name: name of the node while tracing.

    Returns:
        [rows + 1].

    Raises:
        ValueError: `segment_ids` is no vector of indices.
    """
    del name
    ids = convert_to_tensor(segment_ids, dtype_hint=dtypes.int32)
    if ids.dtype not in dtypes.INDEX:
        raise ValueError(
            f"segment_ids_to_row_splits: segment_ids must be int32 or int64, got {ids.dtype.name}"
        )
    if ids.shape.rank not in {1, None}:
        raise ValueError(
            f"segment_ids_to_row_splits: segment_ids must be a vector, got {ids.shape.text}"
        )
    kind = ids.dtype if out_type is None else dtypes.as_dtype(out_type)
    if out_type is None and not isinstance(segment_ids, Tensor):
        kind = dtypes.int64
    return splits_from_rowids(casting.cast(ids, kind), num_segments, validate=True)
