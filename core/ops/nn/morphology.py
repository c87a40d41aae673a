"""Grey-scale morphology: Dilation2D, the maximal sum under a filter, and its gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import REAL
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import permutations
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels.windows import place_windows
from pinnace.ops.math import arithmetic
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, OpCall, OpDef, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["dilation2d", "erosion2d"]

_ATTRS = {
    "strides": attr("list(int)"),
    "rates": attr("list(int)"),
    "padding": attr("string", allowed=("SAME", "VALID")),
}


# Kernels. Each tap of the filter is applied to the windows in which it lies within the image.


def _sizes(
    x: Array, filters: Array, strides: Sequence[int], rates: Sequence[int], padding: str
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Windows, and padding before the image, vertical and horizontal."""
    placed = place_windows(x.shape[1:3], filters.shape[:2], strides[1:3], rates[1:3], padding)
    (down, _), (across, _) = placed.pads  # type: ignore[misc]
    return tuple(placed.sizes), (down, across)  # type: ignore[return-value]


def _taps(
    x: Array,
    filters: Array,
    sizes: tuple[int, int],
    before: tuple[int, int],
    strides: Sequence[int],
    rates: Sequence[int],
) -> Iterator[tuple[tuple[int, int], tuple[slice, slice], tuple[slice, slice]]]:
    """For each filter entry: its index, its windows, and the elements they read."""
    for row in range(filters.shape[0]):
        for column in range(filters.shape[1]):
            windows, reads = [], []
            for axis, place in enumerate((row, column)):
                step, length = strides[1 + axis], x.shape[1 + axis]
                offset = place * rates[1 + axis] - before[axis]
                first = max(0, -(offset // step))
                last = min(sizes[axis] - 1, (length - 1 - offset) // step)
                count = max(last - first + 1, 0)
                start = first * step + offset
                windows.append(slice(first, first + count))
                reads.append(
                    slice(start, start + (count - 1) * step + 1, step) if count else slice(0, 0)
                )
            yield (row, column), (windows[0], windows[1]), (reads[0], reads[1])


def _lowest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else np.array(-np.inf, dtype)


def _best(
    x: Array, filters: Array, strides: Sequence[int], rates: Sequence[int], padding: str
) -> tuple[Array, Array]:
    """The maximal sum of each window, and the index of the filter entry that attains it."""
    sizes, before = _sizes(x, filters, strides, rates, padding)
    shape = (x.shape[0], *sizes, x.shape[3])
    best = np.full(shape, _lowest(x.dtype), x.dtype)
    at = np.full(shape, -1, np.int32)
    for (row, column), windows, reads in _taps(x, filters, sizes, before, strides, rates):
        sums = x[:, reads[0], reads[1]] + filters[row, column]
        part = best[:, windows[0], windows[1]]
        wins = sums > part
        np.copyto(part, sums, where=wins)
        np.copyto(at[:, windows[0], windows[1]], row * filters.shape[1] + column, where=wins)
    return best, at


def dilation2d(
    input: TensorLike,
    filters: TensorLike,
    strides: Sequence[int],
    padding: str,
    data_format: str,
    dilations: Sequence[int],
    name: str | None = None,
) -> Tensor:
    """The greatest of `input + filters` in every window, channel by channel.

    Args:
        input: [batch, height, width, channels], a real type.
        filters: [height, width, channels], the type of `input`.
        strides: [1, down, across, 1].
        padding: "SAME" or "VALID"; what is outside never wins.
        data_format: "NHWC".
        dilations: [1, down, across, 1], steps between the filter's entries.
        name: name of the node while tracing.

    Returns:
        [batch, rows, columns, channels].

    Raises:
        ValueError: unknown data format.
        InvalidArgumentError: shapes, strides or dilations that do not go together.
    """
    _check_format("dilation2d", data_format)
    return execute_one(
        DILATION_2D,
        input,
        filters,
        strides=tuple(strides),
        rates=tuple(dilations),
        padding=padding,
        name=name,
    )


def erosion2d(
    value: TensorLike,
    filters: TensorLike,
    strides: Sequence[int],
    padding: str,
    data_format: str,
    dilations: Sequence[int],
    name: str | None = None,
) -> Tensor:
    """The least of `value` minus the mirrored `filters` in every window, channel by channel.

    Args and errors are those of `dilation2d`.

    Args:
        value: [batch, height, width, channels], a real number type.
        filters: [rows, columns, channels], dtype of `value`.
        strides: [4], one per axis, 1 for batch and channels.
        padding: "VALID" or "SAME".
        data_format: "NHWC".
        dilations: [4], distance of the taps, 1 for batch and channels.
        name: name of the node while tracing.

    Returns:
        [batch, height', width', channels], dtype of `value`.
    """
    _check_format("erosion2d", data_format)
    mirrored = permutations.reverse(convert_to_tensor(filters), [0, 1])
    lowered = arithmetic.negative(convert_to_tensor(value))
    found = execute(
        DILATION_2D,
        lowered,
        mirrored,
        strides=tuple(strides),
        rates=tuple(dilations),
        padding=padding,
    )
    return arithmetic.negative(found, name)


def _check_format(function: str, data_format: str) -> None:
    if data_format != "NHWC":
        raise ValueError(f"{function}: data_format must be NHWC, got {data_format!r}")


def _dilation_kernel(x: Array, filters: Array, *, strides: Any, rates: Any, padding: str) -> Array:
    """The maxima; in a window that NaN or -inf fills, nothing exceeds the lowest finite number."""
    sizes, before = _sizes(x, filters, strides, rates, padding)
    low = _lowest(x.dtype)
    if x.dtype.kind not in "iu":
        low = np.finfo(x.dtype).min if x.dtype.kind == "f" else -3.3895314e38
    best = np.full((x.shape[0], *sizes, x.shape[3]), low, x.dtype)
    for place, windows, reads in _taps(x, filters, sizes, before, strides, rates):
        part = best[:, windows[0], windows[1]]
        np.fmax(part, x[:, reads[0], reads[1]] + filters[place], out=part)
    return best


def _given(call: InferCall) -> tuple[Shape, Shape]:
    """The shapes of input and filter, checked against strides and rates."""
    x, filters = call.spec(0).shape, call.spec(1).shape
    if x.rank not in {None, 4} or filters.rank not in {None, 3}:
        call.fail("input must have four axes, and filter three")
    x, filters = x.with_rank(4), filters.with_rank(3)
    for what in ("strides", "rates"):
        steps = call.attrs[what]
        if len(steps) != 4 or steps[0] != 1 or steps[3] != 1:
            call.fail(f"{what} must be four numbers, 1 for batch and channels, got {list(steps)}")
    if x[3] is not None and filters[2] is not None and x[3] != filters[2]:
        call.fail("input and filter must have the same number of channels")
    return x, filters


def _infer(call: InferCall) -> Shape:
    x, filters = _given(call)
    strides, rates = call.attrs["strides"], call.attrs["rates"]
    window = filters.dims[:2] if filters.dims is not None else (None, None)
    known = [
        None if taps is None else size for size, taps in zip((x[1], x[2]), window, strict=True)
    ]
    try:
        placed = place_windows(
            known, [taps or 1 for taps in window], strides[1:3], rates[1:3], call.attrs["padding"]
        )
    except InvalidArgumentError as error:
        call.fail(str(error))
    channels = x[3] if x[3] is not None else filters[2]
    return Shape([x[0], *placed.sizes, channels])


def _gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, Tensor]:
    x, filters = call.inputs
    options = {name: call.attr(name) for name in ("strides", "rates", "padding")}
    return (
        execute(DILATION_2D_BACKPROP_INPUT, x, filters, dy, **options),
        execute(DILATION_2D_BACKPROP_FILTER, x, filters, dy, **options),
    )


DILATION_2D: OpDef = define(
    name="Dilation2D",
    signature="input: T, filter: T -> output: T",
    types={"T": REAL},
    attrs=_ATTRS,
    infer=_infer,
    kernel=_dilation_kernel,
    gradient=_gradient,
)


def _checked(
    x: Array, filters: Array, dy: Array, strides: Any, rates: Any, padding: str
) -> tuple[Array, Array]:
    found = _best(x, filters, strides, rates, padding)
    if found[0].shape != dy.shape:
        raise InvalidArgumentError(
            f"Dilation2DBackprop: out_backprop must have the shape of the dilation, "
            f"{list(found[0].shape)}, got {list(dy.shape)}"
        )
    return found


def _input_gradient_kernel(
    x: Array, filters: Array, dy: Array, *, strides: Any, rates: Any, padding: str
) -> Array:
    _, at = _checked(x, filters, dy, strides, rates, padding)
    sizes, before = _sizes(x, filters, strides, rates, padding)
    dx = np.zeros_like(x)
    for (row, column), windows, reads in _taps(x, filters, sizes, before, strides, rates):
        chosen = at[:, windows[0], windows[1]] == row * filters.shape[1] + column
        dx[:, reads[0], reads[1]] += np.where(chosen, dy[:, windows[0], windows[1]], 0).astype(
            dx.dtype
        )
    return dx


def _infer_like_input(call: InferCall) -> Shape:
    return _given(call)[0]


DILATION_2D_BACKPROP_INPUT: OpDef = define(
    name="Dilation2DBackpropInput",
    signature="input: T, filter: T, out_backprop: T -> in_backprop: T",
    types={"T": REAL},
    attrs=_ATTRS,
    infer=_infer_like_input,
    kernel=_input_gradient_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _filter_gradient_kernel(
    x: Array, filters: Array, dy: Array, *, strides: Any, rates: Any, padding: str
) -> Array:
    _, at = _checked(x, filters, dy, strides, rates, padding)
    dfilters = np.zeros_like(filters)
    for number in range(filters.shape[0] * filters.shape[1]):
        row, column = divmod(number, filters.shape[1])
        chosen = np.where(at == number, dy, 0)
        dfilters[row, column] = chosen.sum((0, 1, 2)).astype(filters.dtype)
    return dfilters


def _infer_like_filter(call: InferCall) -> Shape:
    return _given(call)[1]


DILATION_2D_BACKPROP_FILTER: OpDef = define(
    name="Dilation2DBackpropFilter",
    signature="input: T, filter: T, out_backprop: T -> filter_backprop: T",
    types={"T": REAL},
    attrs=_ATTRS,
    infer=_infer_like_filter,
    kernel=_filter_gradient_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
