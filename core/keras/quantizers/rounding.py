"""Quantization followed by dequantization: fake quantization, and float8."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.keras import ops

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def fake_quant_with_min_max_vars(
    inputs: Any,
    min_vals: Any,
    max_vals: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Floats rounded to the values that integers of few bits represent between two bounds.

    Args:
        inputs: [...], floating point.
        min_vals: the lower bound, a scalar; with `axis` one for each place along it.
        max_vals: the upper bound, likewise. Gradients reach both.
        num_bits: 2 to 16.
        narrow_range: whether the lowest integer is 1 rather than 0.
        axis: the axis whose places have bounds of their own.

    Returns:
        The shape and dtype of `inputs`.
    """
    from pinnace.ops.quantization import simulated  # few programs need that family of ops

    x = ops.convert_to_tensor(inputs)
    low, high = (
        ops.cast(ops.convert_to_tensor(bound), "float32") for bound in (min_vals, max_vals)
    )
    options: dict[str, Any] = {"num_bits": int(num_bits), "narrow_range": narrow_range}
    single = ops.cast(x, "float32")
    if axis is None:
        found = simulated.fake_quant_with_min_max_vars(
            single, ops.reshape(low, ()), ops.reshape(high, ()), **options
        )
        return ops.cast(found, x.dtype)
    moved = ops.swapaxes(single, axis, -1)
    found = simulated.fake_quant_with_min_max_vars_per_channel(moved, low, high, **options)
    return ops.swapaxes(ops.cast(found, x.dtype), axis, -1)


def quantize_and_dequantize(
    inputs: Any, scale: Any, quantized_dtype: Any, compute_dtype: Any
) -> Tensor:
    """`inputs` quantized by a scale and dequantized.

    Args:
        inputs: [...], floating point.
        scale: divisor of the inputs, a scalar.
        quantized_dtype: such as "float8_e4m3fn"; values beyond its range are clamped.
        compute_dtype: dtype of the result.

    Returns:
        The shape of `inputs`, in `compute_dtype`.
    """
    most = ops.cast(float(dtypes.as_dtype(quantized_dtype).max), compute_dtype)
    by = ops.cast(scale, compute_dtype)
    x = ops.clip(ops.divide(inputs, by), -most, most)
    return ops.multiply(ops.cast(ops.cast(x, quantized_dtype), compute_dtype), by)


def compute_float8_scale(amax: Any, scale: Any, dtype_max: Any, margin: int = 0) -> Tensor:
    """The scale with which the largest value seen becomes the largest of float8.

    Args:
        amax: the largest absolute value, a scalar.
        scale: the present scale, which stays where `amax` is 0 or not finite.
        dtype_max: the largest value of the dtype.
        margin: powers of 2 to stay below it.

    Returns:
        amax * 2**margin / dtype_max.
    """
    inverse = ops.divide(ops.divide(dtype_max, amax), 2**margin)
    usable = ops.logical_and(ops.greater(amax, 0.0), ops.isfinite(amax))
    return ops.reciprocal(ops.where(usable, inverse, ops.reciprocal(scale)))


def compute_float8_amax_history(x: Any, amax_history: Any) -> Tensor:
    """The last largest absolute values, with that of `x` as the first.

    Args:
        x: [...], floating point.
        amax_history: [n]; what stands second becomes the last.

    Returns:
        [n], in the dtype of `amax_history`.
    """
    history = ops.convert_to_tensor(amax_history)
    newest = ops.cast(ops.max(ops.abs(x)), history.dtype)
    rolled = ops.roll(history, shift=-1)
    return ops.scatter_update(rolled, [[0]], ops.reshape(newest, [1]))
