"""Pooling of cells with random sizes: FractionalMaxPool, FractionalAvgPool, gradients.

Source: Graham, "Fractional Max-Pooling", 2014; the use of random numbers follows TensorFlow's
fractional_pool_common.cc, so that a seed gives the same cells.
"""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import DType, float32, float64, int32, int64
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import shapes
from pinnace.ops.execute import execute
from pinnace.ops.kernels import philox
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, OpCall, OpDef, attr
from pinnace.ops.random import stateful
from pinnace.ops.random.seeds import get_seed
from pinnace.ops.registry import define
from pinnace.ops.running import RunContext

_TYPES = frozenset({float32, float64, int32, int64})
Ends = list[int]

_ATTRS = {
    "pooling_ratio": attr("list(float)"),
    "pseudo_random": attr("bool", default=False),
    "overlapping": attr("bool", default=False),
    "deterministic": attr("bool", default=False),
    "seed": attr("int", default=0),
    "seed2": attr("int", default=0),
}
_SEQUENCES = "row_pooling_sequence: int64, col_pooling_sequence: int64"


def _pooled(
    op: OpDef, value: Any, ratio: Any, pseudo: bool, overlapping: bool, seed: int, name: str | None
) -> tuple[Tensor, ...]:
    first, second = get_seed(seed) if seed else (0, 0)
    return execute(  # type: ignore[no-any-return]
        op,
        convert_to_tensor(value),
        pooling_ratio=_ratios(ratio),
        pseudo_random=bool(pseudo),
        overlapping=bool(overlapping),
        deterministic=bool(seed),
        seed=first,
        seed2=second,
        name=name,
    )


def _ratios(given: Any) -> tuple[float, ...]:
    """The pooling ratio of each axis."""
    if isinstance(given, (int, float)):
        found = [1.0, float(given), float(given), 1.0]
    elif isinstance(given, (list, tuple)) and len(given) in {1, 2, 4}:
        found = [float(ratio) for ratio in given]
        found = [1.0, *(found * 2)[:2], 1.0] if len(found) < 4 else found
    else:
        raise ValueError(f"pooling_ratio must be a number, or a list of 1, 2 or 4, got {given!r}")
    if min(found) < 1 or found[0] != 1 or found[3] != 1:
        raise ValueError(
            f"pooling_ratio must be 1 or more, and 1 for batch and channels, got {given!r}"
        )
    return tuple(found)


def _at_offset(length: int, count: int, start: philox.KeyCounter) -> Ends:
    """Cells as equal as possible, from a random offset."""
    alpha, least = length / count, length // count
    highest = min((least + 2) / alpha - 1, (length + 1 - least) / alpha - (count - 1))
    high, low = philox.words(start, 2).tolist()
    # 52 bits as the mantissa of a number in [1, 2), less 1.
    offset = math.ldexp((high & 0xFFFFF) << 32 | low, -52) * highest
    return [0, *(math.ceil(alpha * (at + offset)) - 1 for at in range(1, count)), length]


def _in_random_order(length: int, count: int, start: philox.KeyCounter) -> Ends:
    """Cells of two sizes that differ by one, in random order."""
    least, more = divmod(length, count)
    sizes = [least + 1] * more + [least] * (count - more)
    for place, word in enumerate(philox.words(start, count - 1).tolist()):
        other = place + word % (count - place)
        sizes[place], sizes[other] = sizes[other], sizes[place]
    return np.concatenate([[0], np.cumsum(sizes)]).tolist()  # type: ignore[no-any-return]


def _cells(stream: philox.Stream, length: int, count: int, pseudo_random: bool) -> Ends:
    if pseudo_random:
        return _at_offset(length, count, stream.reserve(1, 1))
    return _in_random_order(length, count, stream.reserve((count + 3) // 4, 1))


def _spans(ends: Ends, length: int, overlapping: bool) -> Iterator[slice]:
    for begin, end in pairwise(ends):
        yield slice(begin, min(end + overlapping, length))


def _sizes(who: str, shape: Any, ratios: tuple[float, ...]) -> list[int]:
    if len(ratios) != 4:
        raise InvalidArgumentError(f"{who}: pooling_ratio must have 4 entries, got {list(ratios)}")
    if len(shape) != 4:
        raise InvalidArgumentError(f"{who}: value must have 4 axes, got shape {list(shape)}")
    if min(ratios) < 1:
        raise InvalidArgumentError(f"{who}: pooling_ratio must be 1 or more, got {list(ratios)}")
    if ratios[0] != 1 or ratios[3] != 1:
        raise UnimplementedError(
            f"{who}: pooling_ratio must be 1 for batch and channels, got {list(ratios)}"
        )
    # The attribute is of float32, and so is the division.
    found = [
        int(np.floor(np.float32(n) / np.float32(r))) for n, r in zip(shape, ratios, strict=True)
    ]
    if any(not n for n in found):
        raise InvalidArgumentError(
            f"{who}: no axis may be empty or smaller than its ratio, got shape {list(shape)} for "
            f"{list(ratios)}"
        )
    return found


def _forward(who: str, reduce: Callable[[Array, Ends, Ends, bool], Array]) -> Any:
    def kernel(
        value: Array,
        *,
        pooling_ratio: tuple[float, ...],
        pseudo_random: bool,
        overlapping: bool,
        deterministic: bool,
        seed: int,
        seed2: int,
        T: DType,  # noqa: N803 (the attribute's name)
        ctx: RunContext,
    ) -> tuple[Array, Array, Array]:
        sizes = _sizes(who, value.shape, pooling_ratio)
        # TensorFlow draws the cells in the first run and keeps them: draw from the start of the
        # stream.
        stream = (
            philox.Stream(seed, seed2)
            if deterministic
            else stateful.stream_of(ctx, who, T, seed, seed2)
        )
        rows = _cells(stream, value.shape[1], sizes[1], pseudo_random)
        columns = _cells(stream, value.shape[2], sizes[2], pseudo_random)
        found = reduce(value, rows, columns, overlapping)
        return found, np.array(rows, np.int64), np.array(columns, np.int64)

    return kernel


def _infer(call: InferCall) -> tuple[Shape, ...]:
    shape, ratios = call.spec(0).shape, call.attrs["pooling_ratio"]
    if len(ratios) != 4:
        call.fail("pooling_ratio must have 4 entries")
    if any(ratio < 1 for ratio in ratios):
        call.fail("pooling_ratio must be 1 or more")
    if shape.rank is None:
        return Shape([None] * 4), Shape([None]), Shape([None])
    if shape.rank != 4:
        call.fail("value must have 4 axes")
    sizes = [
        None if n is None else int(np.floor(np.float32(n) / np.float32(ratio)))
        for n, ratio in zip(shape, ratios, strict=True)
    ]
    rows, columns = (None if n is None else n + 1 for n in sizes[1:3])
    return Shape(sizes), Shape([rows]), Shape([columns])


def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """The maximum of cells of random sizes, whose mean size is the ratio.

    Args:
        value: [batch, height, width, channels], float32, float64, int32 or int64.
        pooling_ratio: how much smaller the result is: a number, one each for height and width, or
            four of which the first and the last are 1; 1 or more.
        pseudo_random: cells of nearly even size at a random offset, instead of sizes in random
            order.
        overlapping: whether neighbouring cells share the row and the column between them.
        seed: cells are the same in every call; 0 draws them anew each time.
        name: name of the node while tracing.

    Returns:
        [batch, floor(height / ratio), floor(width / ratio), channels]; where the rows of cells
        begin and the last one ends, int64; the same for columns.

    Raises:
        ValueError: a ratio is below 1, or that of batch or channels is not 1.
    """
    return _pooled(
        FRACTIONAL_MAX_POOL, value, pooling_ratio, pseudo_random, overlapping, seed, name
    )


def _maxima(x: Array, rows: Ends, columns: Ends, overlapping: bool) -> Array:
    # As in TensorFlow, the search begins with the lowest finite number, so NaN is never the
    # maximum.
    least = np.finfo(x.dtype).min if x.dtype.kind == "f" else np.iinfo(x.dtype).min

    def largest(part: Array, axis: int) -> Array:
        return np.fmax.reduce(part, axis=axis, initial=least)  # type: ignore[no-any-return]

    strips = [largest(x[:, span], 1) for span in _spans(rows, x.shape[1], overlapping)]
    tall = np.stack(strips, axis=1)
    cells = [largest(tall[:, :, s], 2) for s in _spans(columns, x.shape[2], overlapping)]
    return np.stack(cells, axis=2)


def _max_gradient(call: OpCall, dy: Tensor, *_: Any) -> tuple[Tensor | None]:
    if dy is None:
        return (None,)
    y, rows, columns = call.outputs
    overlapping = call.attr("overlapping")
    x = call.inputs[0]
    return (execute(FRACTIONAL_MAX_POOL_GRAD, x, y, dy, rows, columns, overlapping=overlapping),)


FRACTIONAL_MAX_POOL: OpDef = define(
    name="FractionalMaxPool",
    signature=f"value: T -> output: T, {_SEQUENCES}",
    types={"T": _TYPES},
    attrs=_ATTRS,
    infer=_infer,
    kernel=_forward("FractionalMaxPool", _maxima),
    gradient=_max_gradient,
)


def _ends_of(who: str, name: str, sequence: Array, length: int, count: int) -> Ends:
    found: Ends = sequence.reshape(-1).tolist()
    wrong = len(found) != count + 1 or any(a >= b for a, b in pairwise(found))
    if wrong or found[0] < 0 or found[-1] > length:
        raise InvalidArgumentError(
            f"{who}: {name} must rise from 0 to at most {length} and have {count + 1} entries, "
            f"got {found[:16]}"
        )
    return found


def _without_nan(cells: Array) -> Array:
    """[batch, place, channels] with NaN, except in first place, replaced by the lowest number."""
    if cells.dtype.kind != "f":
        return cells
    others = np.isnan(cells)
    others[:, 0] = False
    return np.where(others, -np.inf, cells).astype(cells.dtype)


def _max_grad_kernel(
    orig_input: Array,
    orig_output: Array,
    out_backprop: Array,
    row_pooling_sequence: Array,
    col_pooling_sequence: Array,
    *,
    overlapping: bool,
) -> Array:
    who = "FractionalMaxPoolGrad"
    for name, ends in (("row", row_pooling_sequence), ("col", col_pooling_sequence)):
        if ends.ndim != 1:
            raise InvalidArgumentError(
                f"{who}: {name}_pooling_sequence must be a vector, got shape {list(ends.shape)}"
            )
    if orig_input.ndim != 4 or orig_output.ndim != 4 or out_backprop.shape != orig_output.shape:
        raise InvalidArgumentError(
            f"{who}: all must have 4 axes, and out_backprop the shape of orig_output, got "
            f"{list(orig_input.shape)}, {list(orig_output.shape)} and {list(out_backprop.shape)}"
        )
    if not orig_input.size:
        raise InvalidArgumentError(
            f"{who}: orig_input must not be empty, got shape {list(orig_input.shape)}"
        )
    batch, height, width, depth = orig_input.shape
    if (batch, depth) != (orig_output.shape[0], orig_output.shape[3]):
        raise InvalidArgumentError(
            f"{who}: orig_input and orig_output must agree in batch and channels, got "
            f"{list(orig_input.shape)} and {list(orig_output.shape)}"
        )
    rows = _ends_of(who, "row_pooling_sequence", row_pooling_sequence, height, orig_output.shape[1])
    columns = _ends_of(
        who, "col_pooling_sequence", col_pooling_sequence, width, orig_output.shape[2]
    )
    out = np.zeros_like(orig_input)
    images, channels = np.arange(batch)[:, None], np.arange(depth)
    for r, down in enumerate(_spans(rows, height, overlapping)):
        for c, across in enumerate(_spans(columns, width, overlapping)):
            wide = orig_input[:, down, across].shape[2]
            cell = orig_input[:, down, across].reshape(batch, -1, depth)
            # The first of equal values, row by row; NaN only if the cell begins with it.
            places = _without_nan(cell).argmax(axis=1)
            found = np.take_along_axis(cell, places[:, None], axis=1)[:, 0]
            if (found != orig_output[:, r, c]).any():
                raise InvalidArgumentError(
                    f"{who}: orig_output must be the maxima of orig_input, which have no gradient "
                    f"where a cell begins with NaN; those of cell [{r}, {c}] are not"
                )
            at = (images, down.start + places // wide, across.start + places % wide, channels)
            out[at] += out_backprop[:, r, c]
    return out


def _infer_max_grad(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank not in {None, 4}:
        call.fail("orig_input must have 4 axes")
    return shape if shape.rank else Shape([None] * 4)


FRACTIONAL_MAX_POOL_GRAD: OpDef = define(
    name="FractionalMaxPoolGrad",
    signature=f"orig_input: T, orig_output: T, out_backprop: T, {_SEQUENCES} -> output: T",
    types={"T": _TYPES},
    attrs={"overlapping": attr("bool", default=False)},
    infer=_infer_max_grad,
    kernel=_max_grad_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _lengths(spans: list[slice]) -> Array:
    return np.array([span.stop - span.start for span in spans], np.int64)


def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """The mean of cells of random sizes; arguments and results as of `fractional_max_pool`.

    Args:
        value: [batch, height, width, channels], float32, float64, int32 or int64.
        pooling_ratio: one number for height and width, one each, or one per axis; at least 1.
        pseudo_random: whether cells follow each other in a pattern rather than by chance.
        overlapping: whether neighbouring cells share their border.
        seed: 0 draws other cells in each run.
        name: name of the node while tracing.

    Returns:
        The means, and the borders of the cells along height and width, int64.
    """
    return _pooled(
        FRACTIONAL_AVG_POOL, value, pooling_ratio, pseudo_random, overlapping, seed, name
    )


def _means(x: Array, rows: Ends, columns: Ends, overlapping: bool) -> Array:
    down = list(_spans(rows, x.shape[1], overlapping))
    across = list(_spans(columns, x.shape[2], overlapping))
    tall = np.stack([x[:, span].sum(axis=1, dtype=x.dtype) for span in down], axis=1)
    sums = np.stack([tall[:, :, s].sum(axis=2, dtype=x.dtype) for s in across], axis=2)
    counts = _lengths(down)[:, None, None] * _lengths(across)[:, None]
    if x.dtype.kind == "f":
        return sums / counts.astype(x.dtype)  # type: ignore[no-any-return]
    # Division towards zero, as in C++; the lowest integer has no absolute value.
    floors, rest = np.divmod(sums, counts)
    return (floors + ((rest != 0) & (sums < 0))).astype(x.dtype)  # type: ignore[no-any-return]


def _avg_gradient(call: OpCall, dy: Tensor, *_: Any) -> tuple[Tensor | None]:
    if dy is None:
        return (None,)
    _y, rows, columns = call.outputs
    sizes = shapes.shape(call.inputs[0], out_type=int64)
    overlapping = call.attr("overlapping")
    return (execute(FRACTIONAL_AVG_POOL_GRAD, sizes, dy, rows, columns, overlapping=overlapping),)


FRACTIONAL_AVG_POOL: OpDef = define(
    name="FractionalAvgPool",
    signature=f"value: T -> output: T, {_SEQUENCES}",
    types={"T": _TYPES},
    attrs=_ATTRS,
    infer=_infer,
    kernel=_forward("FractionalAvgPool", _means),
    gradient=_avg_gradient,
)


def _avg_grad_kernel(
    orig_input_tensor_shape: Array,
    out_backprop: Array,
    row_pooling_sequence: Array,
    col_pooling_sequence: Array,
    *,
    overlapping: bool,
) -> Array:
    who = "FractionalAvgPoolGrad"
    sizes = orig_input_tensor_shape.reshape(-1).tolist()
    if orig_input_tensor_shape.shape != (4,) or out_backprop.ndim != 4 or min(sizes) < 0:
        raise InvalidArgumentError(
            f"{who}: orig_input_tensor_shape must have 4 sizes, and out_backprop 4 axes, got "
            f"{sizes} and {list(out_backprop.shape)}"
        )
    batch, height, width, depth = sizes
    if (batch, depth) != (out_backprop.shape[0], out_backprop.shape[3]):
        raise InvalidArgumentError(
            f"{who}: out_backprop must agree with orig_input_tensor_shape in batch and channels, "
            f"got {list(out_backprop.shape)} and {sizes}"
        )
    rows = _ends_of(
        who, "row_pooling_sequence", row_pooling_sequence, height, out_backprop.shape[1]
    )
    columns = _ends_of(
        who, "col_pooling_sequence", col_pooling_sequence, width, out_backprop.shape[2]
    )
    down = list(_spans(rows, height, overlapping))
    across = list(_spans(columns, width, overlapping))
    counts = _lengths(down)[:, None, None] * _lengths(across)[:, None]
    # Accumulated in float64, as in TensorFlow.
    each = out_backprop.astype(np.float64) / counts
    out = np.zeros((batch, height, width, depth), np.float64)
    for r, rows_of in enumerate(down):
        for c, columns_of in enumerate(across):
            out[:, rows_of, columns_of] += each[:, r, c][:, None, None]
    return out.astype(out_backprop.dtype)


def _infer_avg_grad(call: InferCall) -> Shape:
    sizes = call.constant(0)
    if sizes is None or sizes.shape != (4,) or sizes.min() < 0:
        return Shape([None] * 4)
    return Shape(sizes.tolist())


FRACTIONAL_AVG_POOL_GRAD: OpDef = define(
    name="FractionalAvgPoolGrad",
    signature=f"orig_input_tensor_shape: int64, out_backprop: T, {_SEQUENCES} -> output: T",
    types={"T": _TYPES},
    attrs={"overlapping": attr("bool", default=False)},
    infer=_infer_avg_grad,
    kernel=_avg_grad_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
