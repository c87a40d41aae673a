"""Small integers with a range each, converted to one range: QuantizedConcat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import QUANTIZED, float32, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array.axes import normal_axis
from pinnace.ops.execute import execute_all
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["quantized_concat"]

_OP = "QuantizedConcat"


def quantized_concat(
    concat_dim: TensorLike,
    values: Sequence[TensorLike],
    input_mins: Sequence[TensorLike],
    input_maxes: Sequence[TensorLike],
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Quantized tensors concatenated along an axis, in a range that includes all theirs.

    Args:
        concat_dim: the axis, an int32 scalar.
        values: at least two tensors of one quantized dtype, whose shapes differ along the axis
            at most.
        input_mins: the least float of each tensor's range, float32 scalars.
        input_maxes: the largest, likewise.
        name: name of the node while tracing.

    Returns:
        The joined integers, and the range that they stand for.

    Raises:
        InvalidArgumentError: there is no such axis, shapes do not fit, or the lists are not of one
            length.
    """
    return execute_all(
        QUANTIZED_CONCAT,
        convert_to_tensor(concat_dim, int32),
        list(values),
        [convert_to_tensor(low, float32) for low in input_mins],
        [convert_to_tensor(high, float32) for high in input_maxes],
        name=name,
    )


def _steps(dtype: np.dtype[Any]) -> tuple[np.float32, float]:
    """The lowest integer, and the number of steps to the highest."""
    return np.float32(np.iinfo(dtype).min), 2.0 ** (8 * dtype.itemsize) - 1


# In float32 and in this order, as TensorFlow: it decides where a value between two steps goes.
def _floats(x: Array, low: np.float32, high: np.float32) -> Array:
    """The float32 values of integers for the range [low, high], which includes 0."""
    if low == high:
        return np.full(x.shape, low)
    least, count = _steps(x.dtype)
    step = np.float32((high - low) / count)
    start = _rounded(low / step) * step - least * step
    return np.asarray(start + x.astype(np.float32) * step, np.float32)


def _integers(x: Array, low: np.float32, high: np.float32, dtype: np.dtype[Any]) -> Array:
    """Floats as integers for the range [low, high]."""
    if low == high:
        return np.zeros(x.shape, dtype)
    least, count = _steps(dtype)
    scale = np.float32(count / float(high - low))
    whole = _rounded(x * scale) - (_rounded(low * scale) - least)
    info = np.iinfo(dtype)
    return np.asarray(np.clip(whole.astype(np.float64), info.min, info.max).astype(dtype))


def _rounded(x: Any) -> Any:
    """The number rounded, halves away from 0."""
    return np.trunc(x + np.copysign(np.float32(0.5), x))


def _kernel(
    concat_dim: Array,
    values: tuple[Array, ...],
    input_mins: tuple[Array, ...],
    input_maxes: tuple[Array, ...],
) -> tuple[Array, np.float32, np.float32]:
    if concat_dim.size != 1:
        raise InvalidArgumentError(
            f"{_OP}: concat_dim must be one number, got {concat_dim.tolist()}"
        )
    for name, limits in (("input_mins", input_mins), ("input_maxes", input_maxes)):
        if any(limit.size != 1 for limit in limits):
            raise InvalidArgumentError(f"{_OP}: each of {name} must be one number")
    lows = [limit.reshape(-1)[0] for limit in input_mins]
    highs = [limit.reshape(-1)[0] for limit in input_maxes]
    dtype = values[0].dtype
    low, high = np.minimum(np.float32(0), min(lows)), max(highs)
    if dtype.kind == "i":  # 0 stays in the middle
        high = max(abs(low), abs(high))
        low = -high
    axis = normal_axis(_OP, int(concat_dim.reshape(-1)[0]), values[0].ndim)
    # A range that is the common one already keeps its integers.
    parts = [
        x if (a, b) == (low, high) else _integers(_floats(x, a, b), low, high, dtype)
        for x, a, b in zip(values, lows, highs, strict=True)
    ]
    try:
        return np.concatenate(parts, axis), np.float32(low), np.float32(high)
    except ValueError:
        raise InvalidArgumentError(
            f"{_OP}: sizes of values must be equal except along axis {axis}, got "
            f"{[list(x.shape) for x in values]}"
        ) from None


def _infer(call: InferCall) -> tuple[Shape, ...]:
    scalar = Shape(())
    known = [spec.shape for spec in call.specs(1) if spec.shape.rank is not None]
    if len(call.specs(1)) < 2:
        call.fail(f"values must be two tensors or more, got {len(call.specs(1))}")
    if not known:
        return Shape(None), scalar, scalar
    rank, at = known[0].rank, call.constant(0)
    if any(shape.rank != rank for shape in known):
        call.fail("all values must have one rank")
    if at is None:
        return Shape([None] * int(rank or 0)), scalar, scalar
    axis = normal_axis(_OP, int(at.reshape(-1)[0]), int(rank or 0))
    merged = Shape([None] * int(rank or 0))
    for shape in known:
        others = Shape([None if i == axis else n for i, n in enumerate(shape)])
        if not merged.is_compatible_with(others):
            call.fail(f"sizes of values must be equal except along axis {axis}")
        merged = merged.merge_with(others)
    sizes = [shape[axis] for shape in known]
    total = None if None in sizes or len(known) < len(call.specs(1)) else sum(map(int, sizes))  # type: ignore[arg-type]
    out = Shape([total if i == axis else n for i, n in enumerate(merged)])
    return out, scalar, scalar


QUANTIZED_CONCAT = define(
    name=_OP,
    signature=(
        "concat_dim: int32, values: N*T, input_mins: N*float32, input_maxes: N*float32 -> "
        "output: T, output_min: float32, output_max: float32"
    ),
    types={"T": QUANTIZED},
    infer=_infer,
    kernel=_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
