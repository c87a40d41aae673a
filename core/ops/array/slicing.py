"""Slices of a tensor: StridedSlice and its gradient, Slice, x[...]."""

import builtins
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY, ANY_VALUE, INDEX, DType, int16, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.indexing import SliceArguments, is_mask, is_plain, parse_key
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike, wrap
from pinnace.ops import flops
from pinnace.ops.array import casting, constants, joining, masking, shapes
from pinnace.ops.array.axes import require_rank
from pinnace.ops.array.direct import finish
from pinnace.ops.batch_rules import BatchCall, BatchRule
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.opdef import GRADIENT_ABOVE, InferCall, OpCall, attr
from pinnace.ops.registry import define

__all__ = ["slice", "strided_slice"]

MASKS = {
    name: attr("int", default=0)
    for name in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
}


def slice(
    input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None
) -> Tensor:
    """The part of `input_` that begins at `begin` and has `size`.

    Args:
        input_: [...], any dtype.
        begin: [rank], int32 or int64.
        size: [rank], dtype of `begin`; -1 is up to the end.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the part is not inside of `input_`.
    """
    return execute_one(SLICE, input_, begin, size, name=name)


class _Entry(NamedTuple):
    """An axis of the input or result, and the index of its entry in the vectors."""

    kind: str  # "slice", "index", "new" or "whole"
    place: int
    axis: int


@functools.lru_cache(maxsize=4096)
def _entries(
    count: int, rank: int, ellipsis: int, new_axis: int, shrink: int
) -> tuple[_Entry, ...]:
    """The entries in order, with the ellipsis expanded; ValueError if they exceed the rank."""
    used = sum(1 for i in range(count) if not (ellipsis | new_axis) >> i & 1)
    dots = bin(ellipsis & ((1 << count) - 1)).count("1")
    if dots > 1:
        raise ValueError("ellipsis_mask may have only one bit")
    if used > rank:
        raise ValueError(f"{used} axes are indexed, input has {rank}")
    found: list[_Entry] = []
    axis = 0
    for i in range(count):
        if ellipsis >> i & 1:
            for _ in range(rank - used):
                found.append(_Entry("whole", i, axis))
                axis += 1
        elif new_axis >> i & 1:
            found.append(_Entry("new", i, axis))
        else:
            found.append(_Entry("index" if shrink >> i & 1 else "slice", i, axis))
            axis += 1
    found.extend(_Entry("whole", count, rest) for rest in range(axis, rank))
    return tuple(found)


def replaced(
    op: str,
    array: Array,
    vectors: tuple[list[int], list[int], list[int]],
    masks: tuple[int, int, int, int, int],
    value: Array,
) -> Array:
    """A copy of an array, with a value in the slice that StridedSlice selects.

    Args:
        op: the op to run.
        array: the array to copy.
        vectors: begin, end and strides.
        masks: bit masks of begin, end, ellipsis, new axes and axes that vanish.
        value: broadcast to the place; of any shape where the place has no elements, as in
            TensorFlow, which then looks at none.

    Raises:
        InvalidArgumentError: the value does not broadcast to the slice.
    """
    out = array.copy()
    index = index_of(op, out.shape, vectors, masks)
    # With an Ellipsis, a single element is a view too and not a copied scalar.
    place = out[index if Ellipsis in index else (*index, Ellipsis)]
    if not place.size:
        return out
    try:
        place[...] = value
    except ValueError:
        raise InvalidArgumentError(
            f"{op}: value must broadcast to the shape of the slice, {list(place.shape)}, got "
            f"{list(value.shape)}"
        ) from None
    return out


def index_of(
    op: str,
    shape: tuple[int, ...],
    vectors: tuple[list[int], list[int], list[int]],
    masks: tuple[int, int, int, int, int],
) -> tuple[Any, ...]:
    """The NumPy index equivalent to StridedSlice."""
    begin, end, strides = vectors
    begin_mask, end_mask, ellipsis, new_axis, shrink = masks
    try:
        entries = _entries(len(begin), len(shape), ellipsis, new_axis, shrink)
    except ValueError as error:
        raise InvalidArgumentError(f"{op}: {error}\n  input: shape {list(shape)}") from None
    key: list[Any] = []
    for kind, i, axis in entries:
        if kind == "slice":
            if strides[i] == 0:
                raise InvalidArgumentError(f"{op}: strides[{i}] must not be 0")
            key.append(
                builtins.slice(
                    None if begin_mask >> i & 1 else begin[i],
                    None if end_mask >> i & 1 else end[i],
                    strides[i],
                )
            )
        elif kind == "index":
            if not -shape[axis] <= begin[i] < shape[axis]:
                raise InvalidArgumentError(
                    f"{op}: slice index {begin[i]} of dimension {axis} out of bounds: its size is "
                    f"{shape[axis]}\n  input: shape {list(shape)}"
                )
            if strides[i] <= 0:
                raise InvalidArgumentError(
                    f"{op}: strides[{i}] must be 1 where an axis is dropped, got {strides[i]}"
                )
            key.append(begin[i])
        else:
            key.append(None if kind == "new" else builtins.slice(None))
    # The Ellipsis keeps a single element an array.
    return (*key, ...)


def _entry_count(call: InferCall, first: int) -> int | None:
    count: int | None = None
    for index in range(first, first + 3):
        require_rank(call, index, 1, "begin, end and strides must be vectors")
        shape = call.spec(index).shape
        length = shape[0] if shape.rank == 1 else None
        if length is None:
            continue
        if count not in {None, length}:
            call.fail("begin, end and strides must have one length")
        count = length
    return count


def getitem(x: Any, key: Any) -> Tensor:
    """The indexing operator, x[key].

    Args:
        x: a tensor or variable.
        key: integers, slices, integer scalar tensors, `...`, None, or a tuple of these; or a mask
            of bools.

    Returns:
        The part; a view of the same memory while ops run eagerly.

    Raises:
        InvalidArgumentError: an integer is out of range, or there are more items than axes.
        TypeError: an item cannot be an index.
    """
    if type(x) is Tensor and state.tracer is None and is_plain(key):
        array = x._array
        try:
            part = array[key]
            if type(part) is bytes or array.dtype is _OBJECT:
                part = np.asarray(array)[(*key, ...) if type(key) is tuple else (key, ...)]
        except (IndexError, ValueError):  # `strided_slice` raises an error that explains it
            pass
        else:
            if not state.tapes:
                return wrap(part)
            arguments = parse_key(key)
            return finish(STRIDED_SLICE, (x, *_vectors(arguments)), arguments.masks, part)
    if is_mask(key):
        return masking.boolean_mask(x, key)
    arguments = parse_key(key)
    masks: dict[str, Any] = arguments.masks
    return execute_one(STRIDED_SLICE, x, *_vectors(arguments), **masks)


def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: TensorLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """The part of `input_` from `begin` to `end` by `strides`; bit i of a mask speaks of entry i.

    Args:
        input_: [...], any dtype.
        begin: [n], int32 or int64, the first index of each axis.
        end: [n], the index before which each axis ends.
        strides: [n], the steps, not 0; None is 1 everywhere.
        begin_mask: the axis begins at its start.
        end_mask: the axis ends at its end.
        ellipsis_mask: the entry stands for as many whole axes as are not spoken of; at most one
            bit.
        new_axis_mask: the entry is a new axis of size 1.
        shrink_axis_mask: the axis is dropped, `begin` chooses.
        var: not used.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: a stride of 0, an index out of range, more entries than axes.
    """
    ignored("strided_slice", "the result cannot be assigned to", var=var)
    first = convert_to_tensor(begin)
    if strides is None:
        strides = constants.ones_like(first)
    return execute_one(
        STRIDED_SLICE,
        input_,
        first,
        end,
        strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


_OBJECT = np.dtype(object)
_INT32 = np.iinfo(np.int32)


def _vectors(arguments: SliceArguments) -> tuple[Tensor, Tensor, Tensor]:
    parts = (arguments.begin, arguments.end, arguments.strides)
    if arguments.is_constant:
        numbers = [n for part in parts for n in part]
        fits = _INT32.min <= min(numbers, default=0) and max(numbers, default=0) <= _INT32.max
        dtype = np.int32 if fits else np.int64
        begin, end, strides = (constants.constant(np.array(part, dtype)) for part in parts)
        return begin, end, strides
    kinds = [n.dtype for part in parts for n in part if isinstance(n, Operands)]
    wide = int64 if any(kind.size > 4 for kind in kinds) else int32
    begin, end, strides = (_vector(part, wide) for part in parts)
    return begin, end, strides


def _vector(numbers: list[Any], dtype: DType) -> Tensor:
    if all(type(n) is int for n in numbers):
        return constants.constant(np.array(numbers, dtype.numpy))
    return joining.stack(
        [
            casting.cast(n, dtype) if isinstance(n, Operands) else constants.constant(n, dtype)
            for n in numbers
        ]
    )


def _strided_slice_kernel(
    input: Array,
    begin: Array,
    end: Array,
    strides: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    vectors = (begin.tolist(), end.tolist(), strides.tolist())
    return np.asarray(input[index_of("StridedSlice", input.shape, vectors, masks)])


def _infer_strided_slice(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    count = _entry_count(call, 1)
    if shape.rank is None or count is None:
        return Shape(None)
    masks = call.attrs
    try:
        entries = _entries(
            count,
            shape.rank,
            masks["ellipsis_mask"],
            masks["new_axis_mask"],
            masks["shrink_axis_mask"],
        )
    except ValueError as error:
        call.fail(str(error))
    begin, end, strides = (call.constant(i) for i in (1, 2, 3))
    sizes: list[int | None] = []
    for kind, i, axis in entries:
        size = shape[axis] if kind != "new" else 1
        if kind == "index":
            if begin is not None and size is not None and not -size <= begin[i] < size:
                call.fail(
                    f"slice index {begin[i]} of dimension {axis} out of bounds: its size is {size}"
                )
        elif kind == "slice":
            first = _bound(begin, i, masks["begin_mask"])
            last = _bound(end, i, masks["end_mask"])
            step = None if strides is None else int(strides[i])
            if step == 0:
                call.fail(f"strides[{i}] must not be 0")
            sizes.append(_length(size, first, last, step))
        else:
            sizes.append(size)
    return Shape(sizes)


def _bound(values: Array | None, i: int, mask: int) -> int | str | None:
    """The bound of entry i: a number, "open", or None if unknown."""
    if mask >> i & 1:
        return "open"
    return None if values is None else int(values[i])


def _length(size: int | None, first: Any, last: Any, step: int | None) -> int | None:
    if first == last == "open" and step == 1:
        return size
    if size is None or first is None or last is None or step is None:
        return None
    bounds = builtins.slice(
        None if first == "open" else first, None if last == "open" else last, step
    )
    return len(range(*bounds.indices(size)))


def _strided_slice_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, begin, end, strides = call.inputs
    if begin.dtype is int16:  # which StridedSliceGrad does not take
        begin, end, strides = (casting.cast(v, int32) for v in (begin, end, strides))
    masks = {name: call.attr(name) for name in MASKS}
    sizes = shapes.shape(x, begin.dtype)
    return execute(STRIDED_SLICE_GRAD, sizes, begin, end, strides, dy, **masks), None, None, None


def _strided_slice_rows(call: BatchCall) -> Sequence[Tensor]:
    if any(call.batched[1:]):
        call.refuse("takes another part of every row")
    x, *vectors = call.tensors
    bounds = [call.extended(one, first) for one, first in zip(vectors, (0, 0, 1), strict=True)]
    masks = {name: (call.attrs[name] << 1) | (name in {"begin_mask", "end_mask"}) for name in MASKS}
    return call.apply([x, *bounds], **masks)


STRIDED_SLICE = define(
    name="StridedSlice",
    signature="input: T, begin: Index, end: Index, strides: Index -> output: T",
    types={"T": ANY, "Index": INDEX | {int16}},
    attrs=MASKS,
    infer=_infer_strided_slice,
    kernel=_strided_slice_kernel,
    gradient=_strided_slice_gradient,
    static=True,
    batch=BatchRule(_strided_slice_rows),
    moves="slice",
    flops=flops.none,
)


def _strided_slice_grad_kernel(
    shape: Array,
    begin: Array,
    end: Array,
    strides: Array,
    dy: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    vectors = (begin.tolist(), end.tolist(), strides.tolist())
    out = np.full(shape.tolist(), b"" if dy.dtype == object else 0, dy.dtype)
    place = out[index_of("StridedSliceGrad", out.shape, vectors, masks)]
    if place.shape != dy.shape:
        raise InvalidArgumentError(
            f"StridedSliceGrad: dy must have the shape of the slice, {list(place.shape)}, got "
            f"{list(dy.shape)}"
        )
    place[...] = dy
    return out


def _infer_strided_slice_grad(call: InferCall) -> Shape:
    _entry_count(call, 1)
    return call.shape_constant(0)


def _strided_slice_grad_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    _, begin, end, strides, _ = call.inputs
    masks = {name: call.attr(name) for name in MASKS}
    return None, None, None, None, execute(STRIDED_SLICE, dy, begin, end, strides, **masks)


STRIDED_SLICE_GRAD = define(
    name="StridedSliceGrad",
    signature="shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T",
    types={"T": ANY_VALUE, "Index": INDEX},
    attrs=MASKS,
    infer=_infer_strided_slice_grad,
    kernel=_strided_slice_grad_kernel,
    gradient=_strided_slice_grad_gradient,
)


def _slice_kernel(input: Array, begin: Array, size: Array) -> Array:
    starts, lengths = begin.tolist(), size.tolist()
    if not len(starts) == len(lengths) == input.ndim:
        raise InvalidArgumentError(
            f"Slice: begin and size must have one entry per axis, got {starts} and {lengths}\n"
            f"  input: shape {list(input.shape)}"
        )
    key: list[Any] = []
    for axis, (start, length, n) in enumerate(zip(starts, lengths, input.shape, strict=True)):
        stop = n if length == -1 else start + length
        if not 0 <= start <= stop <= n:
            raise InvalidArgumentError(
                f"Slice: begin and size of axis {axis} must lie in [0, {n}], got begin {start} "
                f"and size {length}\n"
                f"  input: shape {list(input.shape)}"
            )
        key.append(builtins.slice(start, stop))
    return input[(*key, ...)]


def _infer_slice(call: InferCall) -> Shape:
    shape, begin = call.spec(0).shape, call.constant(1)
    require_rank(call, 1, 1, "begin must be a vector")
    require_rank(call, 2, 1, "size must be a vector")
    lengths = call.constant(2)
    rank = shape.rank
    for index in (1, 2):
        entries = call.spec(index).shape
        count = entries[0] if entries.rank == 1 else None
        if rank is None:
            rank = count
        elif count not in {None, rank}:
            call.fail("begin and size must have one entry per axis of input")
    if rank is None:
        return Shape(None)
    if lengths is None:
        # Those that are known among others that are not.
        known = call.shape_constant(2)
        return unknown_shape(rank) if known.rank is None else known
    sizes: list[int | None] = []
    for axis, length in enumerate(lengths.tolist()):
        whole = shape[axis] if shape.rank is not None else None
        start = None if begin is None else int(begin[axis])
        if length >= 0:
            if whole is not None and (
                length > whole or (start is not None and start + length > whole)
            ):
                call.fail(
                    f"begin and size of axis {axis} must lie in [0, {whole}], got begin {start} "
                    f"and size {length}"
                )
            sizes.append(length)
        else:
            sizes.append(None if whole is None or start is None else whole - start)
    return Shape(sizes)


SLICE = define(
    name="Slice",
    signature="input: T, begin: Index, size: Index -> output: T",
    types={"T": ANY, "Index": INDEX},
    infer=_infer_slice,
    kernel=_slice_kernel,
    gradient=GRADIENT_ABOVE,  # padding.py
    static=True,
    flops=flops.none,
)
