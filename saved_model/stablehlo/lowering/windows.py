"""Sliding windows: pools, cumulative sums, and any other region over windows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.operands import (
    Operand,
    constant,
    op,
    reshaped,
    shape_tensor,
)
from pinnace.saved_model.stablehlo.lowering.pools import pooled as pool_of
from pinnace.saved_model.stablehlo.lowering.regions import (
    JOINS,
    joined_with,
    neutral,
    reducer_of,
)
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers
from pinnace.saved_model.stablehlo.lowering.scatters import put
from pinnace.saved_model.stablehlo.lowering.sizes import known_dims
from pinnace.saved_model.stablehlo.lowering.slices import padded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Dim
    from pinnace.saved_model.stablehlo.lowering.sizes import Sizes
    from pinnace.saved_model.stablehlo.module import Block

# The most elements of a window that an arbitrary region combines, one after the other.
_MOST_PLACES = 1024
_CUMULATED = {"add": "Cumsum", "multiply": "Cumprod"}


class Windows(NamedTuple):
    """The geometry of sliding windows, per axis.

    Attributes:
        size: the number of elements of a window.
        stride: the distance between windows.
        spacing: the distance between elements of the operand, with padding in the gaps.
        dilation: the distance between elements of a window.
        padding: before the first element and behind the last.
    """

    size: tuple[int, ...]
    stride: tuple[int, ...]
    spacing: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]

    def check(self, call: Call, rank: int) -> None:
        """Check the number of axes, and that all values are at least 1."""
        if any(len(one) != rank for one in self):
            call.refuse("the rank of its windows does not match its operand")
        for name in ("size", "stride", "spacing", "dilation"):
            if any(n < 1 for n in getattr(self, name)):
                call.refuse(f"a window's {name} must be at least 1")

    @property
    def moving(self) -> list[int]:
        """The axes along which windows have several elements, a stride or padding."""
        return [
            axis
            for axis, pair in enumerate(self.padding)
            if self.size[axis] > 1 or self.stride[axis] > 1 or pair != (0, 0)
        ]

    @property
    def plain(self) -> bool:
        """Whether there are no gaps between elements."""
        return all(n == 1 for n in (*self.spacing, *self.dilation))


@lowers("reduce_window")
def lower_reduce_window(call: Call) -> Sequence[Operand]:
    """The elements of each window combined by a region."""
    operation, count = call.operation, len(call.operands) // 2
    if len(call.operands) != 2 * count or not count:
        call.refuse("it must have an initial value for each operand")
    windows = Windows(
        operation.integers("window_dimensions"),
        operation.integers("window_strides"),
        operation.integers("base_dilations"),
        operation.integers("window_dilations"),
        operation.pairs("padding"),
    )
    return reduce_windows(
        call, operation.region(), call.operands[:count], call.operands[count:], windows
    )


def reduce_windows(
    call: Call,
    block: Block,
    xs: Sequence[Operand],
    starts: Sequence[Operand],
    windows: Windows,
) -> list[Operand]:
    """Combine the elements of each window with a region."""
    windows.check(call, xs[0].rank)
    kind = reducer_of(block) if len(xs) == 1 else None
    shape = _shape(call.translation.sizes, xs[0].shape, windows)
    if kind in JOINS:
        pooled = _cumulated(xs[0], windows, kind)
        if pooled is None:
            pooled = pool_of(xs[0], windows, kind, lambda: _around(call, xs[0], windows, kind))
        if pooled is None:
            pooled = _by_halves(call, xs[0], windows, kind)
        return [Operand(joined_with(kind, pooled, starts[0]), shape)]
    return _in_order(call, block, xs, starts, windows, shape)


def _shape(sizes: Sizes, shape: Sequence[Dim], windows: Windows) -> list[Dim]:
    """The number of windows along each axis."""
    found: list[Dim] = []
    for axis, size in enumerate(shape):
        gaps = sizes.combined("subtract", size, 1) or 0
        wide = sizes.combined("multiply", gaps, windows.spacing[axis]) or 0
        span = (windows.size[axis] - 1) * windows.dilation[axis]
        wide = sizes.total("add", [wide, sum(windows.padding[axis]) - span], 0)
        steps = sizes.combined("divide", wide, windows.stride[axis]) or 0
        number = sizes.combined("add", steps, 1) or 0
        if isinstance(wide, int) and wide < 0:
            number = 0
        found.append(number)
    return found


def _cumulated(x: Operand, windows: Windows, kind: str | None) -> Tensor | None:
    """A cumulative op for windows that reach to the beginning or the end of an axis, else None."""
    axes = [axis for axis, size in enumerate(windows.size) if size > 1]
    if kind not in _CUMULATED or len(axes) != 1 or not windows.plain:
        return None
    if any(n != 1 for n in windows.stride) or not x.dtype.is_floating:
        return None
    axis, size = axes[0], windows.size[axes[0]]
    if size != x.shape[axis] or any(
        pair != (0, 0) for n, pair in enumerate(windows.padding) if n != axis
    ):
        return None
    if windows.padding[axis] not in {(size - 1, 0), (0, size - 1)}:
        return None
    backwards = windows.padding[axis] == (0, size - 1)
    return op(_CUMULATED[kind], x.full, axis, reverse=backwards)


def _spread_out(call: Call, x: Operand, edge: Operand, windows: Windows) -> Operand:
    """An operand with padding around and between its elements."""
    low, high = zip(*windows.padding, strict=True) if windows.padding else ((), ())
    between = [n - 1 for n in windows.spacing]
    return padded(call.translation.sizes, x, edge, low, high, between)


def _around(call: Call, x: Operand, windows: Windows, kind: str) -> Operand:
    edge = Operand(constant(neutral(kind, x.dtype), x.dtype), ())
    return _spread_out(call, x, edge, windows)


def _by_halves(call: Call, x: Operand, windows: Windows, kind: str) -> Tensor:
    """Combine windows axis by axis: those of 2, 4, 8, … elements from two of half the size."""
    if neutral(kind, x.dtype) is None:
        call.refuse(f"it is not translated for {x.dtype.name}")
    tensor = _around(call, x, windows, kind).full
    for axis, size in enumerate(windows.size):
        if size > 1:
            tensor = _along(tensor, axis, size, windows.dilation[axis], JOINS[kind])
    if any(n > 1 for n in windows.stride):
        tensor = tensor[tuple(slice(None, None, n) for n in windows.stride)]
    return tensor


def _along(x: Tensor, axis: int, size: int, step: int, join: str) -> Tensor:
    def part(tensor: Tensor, start: int, behind: int) -> Tensor:
        cut = slice(start, -behind if behind else None)
        return tensor[(*[slice(None)] * axis, cut)]

    found, covered = x, 0
    power, width = x, 1
    while covered < size:
        if size & width:
            if covered:
                # Windows that begin where those found so far end.
                later = part(power, covered * step, 0)
                found = op(join, part(found, 0, width * step), later)
            else:
                found = power
            covered += width
        if covered < size:
            power = op(join, part(power, 0, width * step), part(power, width * step, 0))
            width *= 2
    return found


def _in_order(
    call: Call,
    block: Block,
    xs: Sequence[Operand],
    starts: Sequence[Operand],
    windows: Windows,
    shape: Sequence[Dim],
) -> list[Operand]:
    """Combine one element of all windows after the other: the region need not be associative."""
    if math.prod(windows.size) > _MOST_PLACES:
        call.refuse(f"windows of more than {_MOST_PLACES} elements need a sum or a maximum")
    wide = [_spread_out(call, x, start, windows).full for x, start in zip(xs, starts, strict=True)]
    rank = xs[0].rank
    joined = [Operand(start.full, shape, frozenset(range(rank))) for start in starts]
    for place in np.ndindex(*windows.size):
        first = [n * d for n, d in zip(place, windows.dilation, strict=True)]
        parts = [Operand(_from(one, first, shape, windows.stride), shape) for one in wide]
        joined = call.translation.on_arrays(block, [*joined, *parts])
    return [Operand(one.full, shape) for one in joined]


def _from(x: Tensor, first: Sequence[int], shape: Sequence[Dim], stride: Sequence[int]) -> Tensor:
    """A strided slice of `shape` elements that begins at `first`."""
    begin = constant(list(first), dtypes.int32)
    steps = constant(list(stride), dtypes.int32)
    if not first:
        return x
    count = shape_tensor(shape)
    last = op("Mul", op("Sub", count, constant(1, dtypes.int32)), steps)
    end = op("AddV2", op("AddV2", begin, last), constant(1, dtypes.int32))
    if all(isinstance(n, int) for n in shape):
        numbers = zip(first, shape, stride, strict=True)
        end = constant([k + (int(n) - 1) * s + 1 for k, n, s in numbers], dtypes.int32)  # type: ignore[arg-type]
    return op("StridedSlice", x, begin, end, steps)


@lowers("select_and_scatter")
def lower_select_and_scatter(call: Call) -> Operand:
    """Add each window's source value to the element that it selects: the gradient of a pool."""
    x, source, start = (call.operand(index) for index in range(3))
    operation, ones = call.operation, (1,) * x.rank
    size = operation.integers("window_dimensions")
    stride, padding = operation.integers("window_strides"), operation.pairs("padding")
    windows = Windows(size, stride, ones, ones, padding)
    windows.check(call, x.rank)
    if math.prod(size) > _MOST_PLACES:
        call.refuse(f"windows of more than {_MOST_PLACES} elements are not translated")
    sizes = call.translation.sizes
    total = shape_tensor([sizes.total("multiply", x.shape, 1)])[0]
    zero = constant(0, dtypes.int32)
    numbers = op("Range", zero, total, constant(1, dtypes.int32))
    counted = Operand(reshaped(numbers, x.shape), x.shape)
    outside = Operand(constant(-1, dtypes.int32), ())
    values = _spread_out(call, x, Operand(constant(0, x.dtype), ()), windows).full
    places = _spread_out(call, counted, outside, windows).full
    best: Any = None
    chosen: Any = None
    for place in np.ndindex(*size):
        value = _from(values, place, source.shape, stride)
        number = _from(places, place, source.shape, stride)
        if best is None:
            best, chosen = value, number
            continue
        pair = [Operand(best, source.shape), Operand(value, source.shape)]
        keep = call.translation.on_arrays(operation.region(0), pair)[0].full
        # Padding is never chosen; the first element inside the tensor always is.
        inside = op("GreaterEqual", number, zero)
        none_yet = op("Less", chosen, zero)
        swap = op("LogicalAnd", inside, op("LogicalOr", none_yet, op("LogicalNot", keep)))
        best = op("SelectV2", swap, value, best)
        chosen = op("SelectV2", swap, number, chosen)
    chosen = op("SelectV2", op("Less", chosen, zero), total, chosen)
    length = op("AddV2", total, constant(1, dtypes.int32))
    content = op("Fill", op("Reshape", length, [1]), start.full)
    flat, given = op("Reshape", chosen, [-1]), op("Reshape", source.full, [-1])
    found = put(call, operation.region(1), [content], flat, [given], unique=False)[0]
    return Operand(reshaped(op("Slice", found, [0], op("Reshape", total, [1])), x.shape), x.shape)


@lowers("custom_call stablehlo.dynamic_reduce_window")
def lower_dynamic_reduce_window(call: Call) -> Sequence[Operand]:
    """Windows whose sizes are operands; only cumulative sums and products are translated."""
    x, start = call.operand(0), call.operand(1)
    called = call.operation.attributes.get("called_computations")
    if not isinstance(called, tuple) or len(called) != 1 or len(call.operands) != 7:
        call.refuse("it must have one region and one operand")
    block = call.translation.module.function(str(called[0]))
    sizes, strides, spacing, dilation = (known_dims(one) for one in call.operands[2:6])
    padding = call.operand(6).known
    kind = reducer_of(block)
    if sizes is None or strides is None or spacing is None or dilation is None or padding is None:
        call.refuse("computed window sizes are not translated")
    if any(n != 1 for n in (*strides, *spacing, *dilation)) or kind not in _CUMULATED:
        call.refuse("only cumulative sums and products are translated")
    axes = [axis for axis, size in enumerate(sizes) if size != 1]
    if len(axes) != 1 or sizes[axes[0]] is not x.shape[axes[0]]:
        call.refuse("only cumulative sums and products are translated")
    before = call.translation.sizes.combined("subtract", x.shape[axes[0]], 1)
    pairs = [tuple(one) for one in padding.reshape(-1, 2)]
    if pairs[axes[0]] not in {(before, 0), (0, before)}:
        call.refuse("only cumulative sums and products are translated")
    backwards = pairs[axes[0]] == (0, before)
    total = op(_CUMULATED[kind], x.full, axes[0], reverse=backwards)
    return [Operand(joined_with(kind, total, start), x.shape)]
