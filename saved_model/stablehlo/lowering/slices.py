"""Slices of tensors, and padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.elementwise import as_type
from pinnace.saved_model.stablehlo.lowering.last_rows import known_row
from pinnace.saved_model.stablehlo.lowering.operands import (
    Operand,
    Rows,
    Size,
    constant,
    dims_of,
    op,
    reshaped,
    shape_tensor,
)
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers
from pinnace.saved_model.stablehlo.lowering.row_products import ProductRows
from pinnace.saved_model.stablehlo.lowering.sizes import bounds_of, known_dims, with_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Dim
    from pinnace.saved_model.stablehlo.lowering.sizes import Sizes


@lowers("slice")
def lower_slice(call: Call) -> Tensor | Operand:
    """A slice from starts to limits with strides."""
    x = call.operand(0)
    starts = call.operation.integers("start_indices")
    limits = call.operation.integers("limit_indices")
    steps = call.operation.integers("strides")
    if not len(starts) == len(limits) == len(steps) == x.rank or any(n < 1 for n in steps):
        call.refuse("its starts, limits and strides do not match its operand")
    if x.known is not None and x.known.ndim == 1:
        return with_sizes(x, x.known[starts[0] : limits[0] : steps[0]])
    if x.is_uniform:
        shape = [n or 0 for n in call.result().shape]
        return Operand(x.small, shape, frozenset(range(x.rank)))
    others = zip(starts[1:], limits[1:], steps[1:], x.shape[1:], strict=True)
    if limits[:1] == (starts[0] + 1,) and all(one == (0, one[3], 1, one[3]) for one in others):
        row = row_of(x, starts[0])
        if row is not None:
            return row
    vectors = (constant(one, dtypes.int32) for one in (starts, limits, steps))
    return op("StridedSlice", x.full, *vectors)


@lowers("real_dynamic_slice")
def lower_real_dynamic_slice(call: Call) -> Tensor | Operand:
    """`slice` with the bounds as operands."""
    x = call.operand(0)
    places = [known_dims(one) for one in call.operands[1:]]
    if None in places or len(places) != 3:
        return op("StridedSlice", x.full, *(one.full for one in call.operands[1:]))
    starts, limits, steps = (one for one in places if one is not None)
    if not len(starts) == len(limits) == len(steps) == x.rank:
        call.refuse("its starts, limits and strides do not match its operand")
    if x.known is not None and x.known.ndim == 1:
        start, limit, step = starts[0], limits[0], steps[0]
        if isinstance(start, int) and isinstance(limit, int) and isinstance(step, int):
            return with_sizes(x, x.known[start:limit:step])
    return between(call, x, starts, limits, steps)


def between(
    call: Call, x: Operand, starts: Sequence[Dim], limits: Sequence[Dim], steps: Sequence[Dim]
) -> Operand:
    """A slice from starts to limits; axes that are taken whole keep their sizes."""
    sizes = call.translation.sizes
    whole = [
        start == 0 and step == 1 and limit == size
        for start, limit, step, size in zip(starts, limits, steps, x.shape, strict=True)
    ]
    width = sizes.combined("subtract", limits[0], starts[0]) if whole else None
    if width == 1 and steps[0] == 1 and all(whole[1:]):
        row = row_of(x, starts[0])
        if row is not None:
            return row
    mask = sum(1 << axis for axis, is_whole in enumerate(whole) if is_whole)
    vectors = [
        shape_tensor(
            [n if not all_of_it else plain for n, all_of_it in zip(one, whole, strict=True)]
        )
        for one, plain in ((starts, 0), (limits, 0), (steps, 1))
    ]
    tensor = op("StridedSlice", x.full, *vectors, begin_mask=mask, end_mask=mask)
    shape = [
        size if is_whole else n
        for n, size, is_whole in zip(dims_of(tensor), x.shape, whole, strict=True)
    ]
    return Operand(tensor, shape)


def row_of(x: Operand, place: Dim) -> Operand | None:
    """One row with its axis of size 1, if its index is known to be in bounds, else None.

    For an int as index, only a row that is also another tensor.
    """
    if isinstance(place, int) and not x.spread:
        known = known_row(x.small, place)
        return None if known is None else Operand(known, (1, *x.shape[1:]), frozenset([0]))
    count, bounds = x.shape[0], bounds_of(place)
    if isinstance(place, int) or not isinstance(count, int) or bounds is None or x.spread:
        return None
    if bounds[0] < 0 or bounds[1] >= count:
        return None
    number = place.tensor
    row = x.row_at(number) if isinstance(x, ProductRows) else x.full[number]
    return Operand(row, (1, *x.shape[1:]), frozenset([0]))


def _number(x: Operand) -> Dim | None:
    """A scalar as a size, if it is known, else None."""
    number: Dim | None = None if x.known is None or x.known.ndim else x.known.item()
    return number


def clamped(sizes: Sizes, start: Operand, most: Dim) -> Tensor:
    """A start as an int32 scalar, clamped so that the window is in bounds."""
    number = _number(start)
    if isinstance(most, int) and isinstance(number, int):
        return constant(max(0, min(number, most)), dtypes.int32)
    if isinstance(number, Size) and start.dtype is dtypes.int32:
        inside = sizes.combined("maximum", sizes.combined("minimum", number, most) or 0, 0)
        if inside is number:  # already in bounds
            return number.tensor
    place = _start(start)
    limit = constant(most, dtypes.int32) if isinstance(most, int) else most.tensor
    # XLA clamps this way: the lower bound takes precedence if the window exceeds the tensor.
    return op("Maximum", op("Minimum", place, limit), constant(0, dtypes.int32))


def _starts(call: Call, x: Operand, window: Sequence[Dim], starts: Sequence[Operand]) -> Tensor:
    if not len(window) == len(starts) == x.rank:
        call.refuse("its window does not match its operand")
    sizes = call.translation.sizes
    places = []
    for start, size, width in zip(starts, x.shape, window, strict=True):
        most = sizes.combined("subtract", size, width)
        places.append(clamped(sizes, start, 0 if most is None else most))
    return op("Pack", places)


@lowers("dynamic_slice")
def lower_dynamic_slice(call: Call) -> Tensor | Operand:
    """A window of a given size at a position from operands, clamped to be in bounds."""
    x, window = call.operand(0), call.operation.integers("slice_sizes")
    if not window or x.is_uniform:
        return Operand(x.small, window, x.spread)
    first = _number(call.operand(1)) if len(call.operands) == x.rank + 1 else None
    if first is not None and window == (1, *x.shape[1:]):
        row = row_of(x, first)
        if row is not None:
            return row
    places = _starts(call, x, window, call.operands[1:])
    return op("Slice", x.full, places, constant(window, dtypes.int32))


@lowers("dynamic_update_slice")
def lower_dynamic_update_slice(call: Call) -> Tensor | Operand:
    """A tensor with one window replaced; the window is clamped to be in bounds."""
    x, update = call.operand(0), call.operand(1)
    if x.rank == 0:
        return update
    if not len(call.operands) - 2 == update.rank == x.rank:
        call.refuse("its window does not match its operand")
    if isinstance(x, Rows):
        return x.with_row(update)
    if update.shape[0] == 1 and update.shape[1:] == x.shape[1:]:
        # One row, as a loop writes its results: use the op that other formats have, too.
        places = _starts(call, x, update.shape, call.operands[2:])
        place = op("Reshape", places[0], [1, 1])
        return op("TensorScatterUpdate", x.full, place, update.full)
    return op(
        "XlaDynamicUpdateSlice",
        x.full,
        update.full,
        op("Pack", [_start(one) for one in call.operands[2:]]),
    )


def _start(start: Operand) -> Tensor:
    """A start as an int32 scalar; values beyond int32 become ones out of bounds of every tensor."""
    place = start.full
    if place.dtype.is_unsigned or place.dtype is dtypes.int64:
        place = op("Minimum", place, constant((1 << 31) - 1, place.dtype))
        if not place.dtype.is_unsigned:
            place = op("Maximum", place, constant(-1, place.dtype))
    return as_type(place, dtypes.int32)


@lowers("pad")
def lower_pad(call: Call) -> Tensor | Operand:
    """Padding around and between elements; negative amounts remove elements."""
    x, low = call.operand(0), call.operation.integers("edge_padding_low")
    high = call.operation.integers("edge_padding_high")
    inner = call.operation.integers("interior_padding")
    if not len(low) == len(high) == len(inner) == x.rank or any(n < 0 for n in inner):
        call.refuse("its padding amounts do not match its operand")
    return padded(call.translation.sizes, x, call.operand(1), low, high, inner)


@lowers("dynamic_pad")
def lower_dynamic_pad(call: Call) -> Tensor | Operand:
    """`pad` with the amounts as operands."""
    x = call.operand(0)
    low, high, inner = (known_dims(one) for one in call.operands[2:5])
    if low is None or high is None or inner is None:
        call.refuse("padding amounts must be sizes")
    if any(isinstance(n, Size) for n in inner):
        call.refuse("computed padding between elements is not translated")
    between = [n for n in inner if isinstance(n, int)]
    return padded(call.translation.sizes, x, call.operand(1), low, high, between)


def padded(
    sizes: Sizes,
    x: Operand,
    value: Operand,
    low: Sequence[Dim],
    high: Sequence[Dim],
    inner: Sequence[int],
) -> Operand:
    """An operand padded around and between its elements."""
    shape = padded_shape(sizes, x.shape, low, high, inner)
    if x.is_uniform and value.is_uniform and x.small is value.small:
        return Operand(x.small, shape, frozenset(range(x.rank)))
    tensor = x.full
    if any(inner):
        tensor = _spaced(x, value.full, inner)
    outer = [(_part(n, "Maximum"), _part(m, "Maximum")) for n, m in zip(low, high, strict=True)]
    if any(n != 0 for pair in outer for n in pair):
        amounts = (
            constant(outer, dtypes.int32)
            if all(isinstance(n, int) for pair in outer for n in pair)
            else op("Pack", [shape_tensor(pair) for pair in outer])
        )
        tensor = op("PadV2", tensor, amounts, value.full)
    if all(isinstance(n, int) for n in (*low, *high)):
        cut = [
            slice(-int(n) if n < 0 else 0, int(m) if m < 0 else None)  # type: ignore[operator, arg-type]
            for n, m in zip(low, high, strict=True)
        ]
        if cut != [slice(0, None)] * len(cut):
            tensor = tensor[tuple(cut)]
    else:
        starts = [_negated(_part(n, "Minimum")) for n in low]
        tensor = op("Slice", tensor, shape_tensor(starts), shape_tensor(shape))
    return Operand(tensor, shape)


def padded_shape(
    sizes: Sizes,
    shape: Sequence[Dim],
    low: Sequence[Dim],
    high: Sequence[Dim],
    inner: Sequence[int],
) -> list[Dim]:
    """The shape that `padded` gives a tensor of this shape."""
    found: list[Dim] = []
    for n, before, after, between in zip(shape, low, high, inner, strict=True):
        wide = n
        if between:
            gaps = sizes.combined("maximum", sizes.combined("subtract", n, 1) or 0, 0) or 0
            wide = sizes.total("add", [n, sizes.combined("multiply", gaps, between) or 0], 0)
        found.append(sizes.total("add", [wide, before, after], 0))
    return found


def _part(amount: Dim, tensorflow_op: str) -> Dim:
    """The positive or negative part of an amount."""
    if isinstance(amount, int):
        return max(amount, 0) if tensorflow_op == "Maximum" else min(amount, 0)
    return Size(lambda: op(tensorflow_op, amount.tensor, constant(0, dtypes.int32)))


def _negated(amount: Dim) -> Dim:
    return -amount if isinstance(amount, int) else Size(lambda: op("Neg", amount.tensor))


def _spaced(x: Operand, value: Tensor, inner: Sequence[int]) -> Tensor:
    """Elements with padding between them: it is appended to each, then removed from the last."""
    tensor = x.full
    shape = list(x.shape)
    rank = x.rank
    for axis, between in enumerate(inner):
        if not between or shape[axis] == 0:
            continue
        amounts = [[0, 0] for _ in range(rank + 1)]
        amounts[axis + 1] = [0, between]
        wide = op("PadV2", op("ExpandDims", tensor, axis + 1), amounts, value)
        size = shape[axis]
        if isinstance(size, int):
            shape[axis] = size * (between + 1)
        else:
            shape[axis] = _times(size, between + 1)
        tensor = reshaped(wide, shape)
        cut = [slice(None)] * axis + [slice(None, -between)]
        tensor = tensor[tuple(cut)]
        last = shape[axis]
        shape[axis] = last - between if isinstance(last, int) else _less(last, between)
    return tensor


def _times(size: Size, factor: int) -> Size:
    return Size(lambda: op("Mul", size.tensor, constant(factor, dtypes.int32)))


def _less(size: Size, amount: int) -> Size:
    return Size(lambda: op("Sub", size.tensor, constant(amount, dtypes.int32)))
