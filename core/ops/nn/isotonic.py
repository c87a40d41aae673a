"""The closest non-increasing sequence: IsotonicRegression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS, REAL, float32, float64
from pinnace.ops.array import casting, gathering, permutations, reshaping, shapes
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, ranges, segments
from pinnace.ops.opdef import OpDef, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import InferCall, OpCall

__all__ = ["isotonic_regression"]


def isotonic_regression(
    inputs: TensorLike, decreasing: bool = True, axis: int = -1, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The sequences nearest to `inputs` along `axis` that never rise, by least squares.

    Args:
        inputs: [..., n, ...], a real type.
        decreasing: False for sequences that never fall.
        axis: the axis of the sequences.
        name: name of the node while tracing.

    Returns:
        The shape of `inputs`; for integers float32 or, with more than 16 bits, float64; and, int32,
        for each entry the index, from 0, of its run of equal values.
    """
    x = convert_to_tensor(inputs)
    rank = shapes.rank(x) if x.shape.rank is None else x.shape.rank
    # The op supports decreasing order along rows only.
    order: Any = None
    if axis != -1 and not (isinstance(rank, int) and axis == rank - 1):
        at = axis % rank
        if isinstance(rank, int):
            order = [*range(at), rank - 1, *range(at + 1, rank - 1), at]
            order = order if at != rank - 1 else None
        else:
            places = ranges.range(rank)
            swapped = casting.cast(places == at, places.dtype) * (rank - 1 - at)
            order = (
                places + swapped - casting.cast(places == rank - 1, places.dtype) * (rank - 1 - at)
            )
    turned = x if order is None else permutations.transpose(x, order)
    sizes = shapes.shape(turned)
    rows = reshaping.reshape(turned, [-1, sizes[-1]])
    if not decreasing:
        rows = arithmetic.negative(rows)
    exact = float32 if x.dtype.size <= 2 else float64
    kind = x.dtype if x.dtype.is_floating else exact
    found, runs = execute(ISOTONIC_REGRESSION, rows, output_dtype=kind)
    found = found if decreasing else arithmetic.negative(found)
    answers = []
    for y in (found, runs):
        full = reshaping.reshape(y, sizes)
        full = full if order is None else permutations.transpose(full, order)
        full.shape.assert_is_compatible_with(x.shape)
        answers.append(shapes.ensure_shape(full, x.shape, name=name))
    return answers[0], answers[1]


def _kernel(x: Array, *, output_dtype: DType) -> tuple[Array, Array]:
    rows = x.reshape(-1, x.shape[-1]) if x.size else x.reshape(0, x.shape[-1])
    y = np.empty(rows.shape, output_dtype.numpy)
    runs = np.empty(rows.shape, np.int32)
    for row, values in enumerate(rows.astype(np.float64)):
        sums, counts = _pooled(values.tolist())
        y[row] = np.repeat(np.array(sums) / np.array(counts), counts) if counts else values
        runs[row] = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return y.reshape(x.shape), runs.reshape(x.shape)


def _pooled(values: list[float]) -> tuple[list[float], list[int]]:
    """Sums and sizes of the runs: increasing neighbours are merged until there are none."""
    sums: list[float] = []
    counts: list[int] = []
    for value in values:
        total, count = value, 1
        while sums and sums[-1] * count < total * counts[-1]:
            total += sums.pop()
            count += counts.pop()
        sums.append(total)
        counts.append(count)
    return sums, counts


def _infer(call: InferCall) -> tuple[Shape, Shape]:
    shape = call.spec(0).shape
    if shape.rank == 0:
        call.fail("input must have at least one axis")
    return shape, shape


def _gradient(call: OpCall, dy: Tensor | None, _: Tensor | None) -> tuple[Tensor | None]:
    """The gradient: dy averaged over each run."""
    (x,) = call.inputs
    if dy is None:
        return (None,)
    sizes = shapes.shape(x)
    rows = reshaping.reshape(call.outputs[1], [-1, sizes[-1]])
    lines = ranges.range(shapes.shape(rows)[0])
    flat = reshaping.reshape(rows + reshaping.reshape(lines * sizes[-1], [-1, 1]), [-1])
    means = segments.unsorted_segment_mean(reshaping.reshape(dy, [-1]), flat, shapes.size(x))
    back = reshaping.reshape(gathering.gather(means, flat), sizes)
    return (casting.cast(back, x.dtype),)


ISOTONIC_REGRESSION: OpDef = define(
    name="IsotonicRegression",
    signature="input: T -> output: output_dtype, segments: int32",
    types={"T": REAL, "output_dtype": typed(FLOATS | {float64}, float32)},
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)
