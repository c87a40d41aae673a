"""Floats as small integers with a range, and back: QuantizeV2, Dequantize."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import QUANTIZED, as_dtype, bfloat16, float32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute_all, execute_one
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, attr, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["dequantize", "quantize"]

_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")


def _along(limit: Array, x: Array, axis: int) -> Array:
    return limit.reshape([-1 if i == axis else 1 for i in range(x.ndim)]) if axis >= 0 else limit


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    info = np.iinfo(dtype)
    return np.float32(info.min), np.float32(info.max)


def _away(x: Array) -> Array:
    """The number rounded, halves away from 0."""
    return np.trunc(x + np.copysign(0.5, x))  # type: ignore[no-any-return]


def quantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: Any,  # noqa: N803 (TensorFlow's name)
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> tuple[Tensor, Tensor, Tensor]:
    """Floats as integers.

    Args:
        input: any shape, float32.
        min_range: the lowest value, [] or one per entry of `axis`.
        max_range: the highest.
        T: qint8, quint8, qint16, quint16 or qint32.
        mode: "MIN_COMBINED" and "MIN_FIRST" spread the integers over the range, "SCALED" multiplies
            so that 0 stays 0.
        round_mode: "HALF_AWAY_FROM_ZERO"; "HALF_TO_EVEN" for "SCALED".
        name: name of the node while tracing.
        narrow_range: the lowest integer is left out, for "SCALED".
        axis: an axis with a range for each entry.
        ensure_minimum_range: the range is made at least this wide.

    Returns:
        Integers, and the range that they stand for.
    """
    return execute_all(
        QUANTIZE_V2,
        convert_to_tensor(input, float32),
        convert_to_tensor(min_range, float32),
        convert_to_tensor(max_range, float32),
        T=as_dtype(T),
        mode=mode,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
        ensure_minimum_range=float(ensure_minimum_range),
        name=name,
    )


def _as(x: Array, dtype: np.dtype[Any]) -> Array:
    info = np.iinfo(dtype)
    return np.clip(x.astype(np.float64), info.min, info.max).astype(dtype)


def _quantize_kernel(
    input: Array,
    min_range: Array,
    max_range: Array,
    *,
    T: Any,  # noqa: N803 (TensorFlow's name)
    mode: str,
    round_mode: str,
    narrow_range: bool,
    axis: int,
    ensure_minimum_range: float,
) -> tuple[Array, Array, Array]:
    dtype = T.numpy
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        raise InvalidArgumentError(
            f"QuantizeV2: round_mode HALF_TO_EVEN requires mode SCALED, got {mode}"
        )
    if np.any(min_range > max_range):
        raise InvalidArgumentError(
            f"QuantizeV2: min_range must not be above max_range, got {min_range}, {max_range}"
        )
    # 0 is always in the range, and the range is never nothing.
    low = np.minimum(np.float32(0), min_range)
    size = np.maximum(np.float32(1), np.maximum(np.abs(min_range), np.abs(max_range)))
    wide = low + size * np.float32(ensure_minimum_range)
    high = np.maximum(np.float32(0), np.maximum(max_range, wide))
    least, most = _limits(dtype)
    below, above = _along(low, input, axis), _along(high, input, axis)
    if mode == "MIN_COMBINED":
        scale = (most - least) / (above - below)
        half = (most - least + 1) / 2 if dtype.kind == "i" else np.float32(0)
        whole = _away((np.clip(input, below, above) - below) * scale - half)
    elif mode == "MIN_FIRST":
        steps = 2.0 ** (8 * dtype.itemsize)
        scale = steps / ((above.astype(np.float64) - below) * (steps / (steps - 1)))
        if dtype == np.uint8:
            # TensorFlow's kernel for quint8 rounds the difference alone, and halves to even.
            whole = np.rint((input - below) * scale) + float(least)
        else:
            whole = _away(input * scale) - (_away(below * scale) - float(least))
    else:
        first = least + np.float32(narrow_range)
        largest = np.finfo(np.float32).max
        by_low = np.where(first * low > 0, first / np.where(low == 0, 1, low), largest)
        by_high = np.where(most * high > 0, most / np.where(high == 0, 1, high), largest)
        scale = np.minimum(by_low, by_high)
        low, high = first / scale, most / scale
        scale, below, above = (_along(n, input, axis) for n in (scale, low, high))
        scaled = np.clip(input, below, above) * scale
        whole = np.rint(scaled) if round_mode == "HALF_TO_EVEN" else _away(scaled)
    return _as(whole, dtype), low.astype(np.float32), high.astype(np.float32)


def _infer_quantize(call: InferCall) -> tuple[Shape, Shape, Shape]:
    shape, axis = _check(call), call.attrs["axis"]
    known = shape.rank is not None
    each = Shape([shape[axis] if known else None]) if axis >= 0 else Shape(())
    return shape, each, each


QUANTIZE_V2 = define(
    name="QuantizeV2",
    signature=(
        "input: float32, min_range: float32, max_range: float32 -> "
        "output: T, output_min: float32, output_max: float32"
    ),
    types={"T": QUANTIZED},
    attrs={
        "mode": attr("string", default="MIN_COMBINED", allowed=_MODES),
        "round_mode": attr(
            "string", default="HALF_AWAY_FROM_ZERO", allowed=("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN")
        ),
        "narrow_range": attr("bool", default=False),
        "axis": attr("int", default=-1),
        "ensure_minimum_range": attr("float", default=0.01),
    },
    infer=_infer_quantize,
    kernel=_quantize_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def dequantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: Any = float32,
) -> Tensor:
    """The floats for integers from `quantize`, with the same mode and range.

    Args:
        input: [...], qint8, quint8, qint16, quint16 or qint32.
        min_range: the least float of the range; [n] with `axis`.
        max_range: the largest, likewise.
        mode: "MIN_COMBINED", "MIN_FIRST" or "SCALED".
        name: name of the node while tracing.
        axis: the axis along which each entry has a range of its own; None is one range.
        narrow_range: whether the least level is left out.
        dtype: float32 or bfloat16.

    Returns:
        The shape of `input`, dtype `dtype`.
    """
    return execute_one(
        DEQUANTIZE,
        input,
        convert_to_tensor(min_range, float32),
        convert_to_tensor(max_range, float32),
        mode=mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
        dtype=as_dtype(dtype),
        name=name,
    )


def _dequantize_kernel(
    input: Array,
    min_range: Array,
    max_range: Array,
    *,
    mode: str,
    narrow_range: bool,
    axis: int,
    dtype: Any,
) -> Array:
    least, most = _limits(input.dtype)
    low, high = _along(min_range, input, axis), _along(max_range, input, axis)
    x = input.astype(np.float32)
    y: Array
    if mode == "MIN_COMBINED":
        half = (most - least + 1) / 2 if input.dtype.kind == "i" else np.float32(0)
        y = (x + half) * ((high - low) / (most - least)) + low
    elif mode == "MIN_FIRST":
        steps = 2.0 ** (8 * input.dtype.itemsize)
        # In float32, as TensorFlow: it decides where the range begins between two steps.
        step = ((high - low) / (steps - 1)).astype(np.float32)
        safe = np.where(step == 0, np.float32(1), step)
        start = np.where(high == low, low, _away(low / safe) * step)
        y = start + (x - np.float32(least)) * step
    else:
        first = least + np.float32(narrow_range)
        scale = high / most
        if least != 0:
            scale = np.maximum(low / first, scale)
        y = x * scale
    return y.astype(dtype.numpy)


def _check(call: InferCall) -> Shape:
    shape, axis = call.spec(0).shape, call.attrs["axis"]
    if shape.rank is not None and axis >= shape.rank:
        call.fail(f"axis must be below the rank of input, got {axis}")
    size = shape[axis] if shape.rank is not None and axis >= 0 else None
    for index in (1, 2):
        if not call.spec(index).shape.is_compatible_with([size] if axis >= 0 else []):
            wanted = "one per entry of axis" if axis >= 0 else "a scalar"
            call.fail(f"{call.op.inputs[index].name} must be {wanted}")
    return shape


DEQUANTIZE = define(
    name="Dequantize",
    signature="input: T, min_range: float32, max_range: float32 -> output: dtype",
    types={"T": QUANTIZED, "dtype": typed({bfloat16, float32}, default=float32)},
    attrs={
        "mode": attr("string", default="MIN_COMBINED", allowed=_MODES),
        "narrow_range": attr("bool", default=False),
        "axis": attr("int", default=-1),
    },
    infer=_check,
    kernel=_dequantize_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
