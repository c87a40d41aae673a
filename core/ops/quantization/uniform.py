"""Floats as integers of one step: UniformQuantize and its kin.

An integer q stands for (q - zero_point) * scale, with a scale and a zero point for the whole tensor
or for each entry of an axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import float32, qint8, qint32, quint8
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, broadcast_shapes
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, attr
from pinnace.ops.quantization.levels import rounded
from pinnace.ops.registry import define, same_as_input

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

__all__: list[str] = []

_INTEGERS = frozenset({qint8, quint8, qint32})


def _limits(prefix: str = "") -> dict[str, Any]:
    return {
        f"{prefix}quantization_axis": attr("int", default=-1),
        f"{prefix}quantization_min_val": attr("int"),
        f"{prefix}quantization_max_val": attr("int"),
    }


def _along(op: str, name: str, x: Array, axis: int, value: Array) -> Array:
    """A scale or zero point so that it broadcasts against a tensor."""
    if axis < 0:
        if value.ndim:
            raise InvalidArgumentError(
                f"{op}: {name} must be a scalar where there is no axis, got {list(value.shape)}"
            )
        return value
    if axis >= x.ndim or value.shape != (x.shape[axis],):
        raise InvalidArgumentError(
            f"{op}: {name} must have one number for each entry of axis {axis}, got "
            f"{list(value.shape)} for a tensor of shape {list(x.shape)}"
        )
    return value.reshape([-1 if place == axis else 1 for place in range(x.ndim)])


def _steps(op: str, x: Array, axis: int, scales: Array, zero_points: Array) -> tuple[Array, Array]:
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise InvalidArgumentError(f"{op}: scales must be positive, got {scales.tolist()}")
    return (
        _along(op, "scales", x, axis, scales),
        _along(op, "zero_points", x, axis, zero_points),
    )


def _clipped(x: Array, least: int, most: int, dtype: Any) -> Array:
    return np.clip(x, least, most).astype(dtype.numpy)


def _levels(x: Array, scale: Array, zero: Array, least: int, most: int, dtype: Any) -> Array:
    inverse = np.float32(1) / scale
    # TensorFlow: halves are rounded up.
    found = np.floor(x.astype(np.float32) * inverse + np.float32(0.5)) + zero.astype(np.float32)
    return _clipped(found.astype(np.float64), least, most, dtype)


def _quantize_kernel(
    input: Array,
    scales: Array,
    zero_points: Array,
    *,
    Tout: Any,  # noqa: N803 (the attribute's name)
    quantization_axis: int,
    quantization_min_val: int,
    quantization_max_val: int,
) -> Array:
    scale, zero = _steps("UniformQuantize", input, quantization_axis, scales, zero_points)
    return _levels(input, scale, zero, quantization_min_val, quantization_max_val, Tout)


QUANTIZE = define(
    name="UniformQuantize",
    signature="input: Tin, scales: float32, zero_points: int32 -> output: Tout",
    types={"Tin": frozenset({float32}), "Tout": _INTEGERS},
    attrs=_limits(),
    infer=same_as_input,
    kernel=_quantize_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _dequantize_kernel(
    input: Array, scales: Array, zero_points: Array, *, quantization_axis: int
) -> Array:
    scale, zero = _steps("UniformDequantize", input, quantization_axis, scales, zero_points)
    whole = (input.astype(np.int64) - zero).astype(np.int32)
    return np.asarray(whole.astype(np.float32) * scale, np.float32)


DEQUANTIZE = define(
    name="UniformDequantize",
    signature="input: Tin, scales: float32, zero_points: int32 -> output: Tout",
    types={"Tin": _INTEGERS, "Tout": frozenset({float32})},
    attrs=_limits(),
    infer=same_as_input,
    kernel=_dequantize_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _times(x: Array, factor: Array) -> Array:
    """Whole numbers times a factor, rounded: in fixed point with 31 bits, as TensorFlow does it."""
    fraction, exponent = np.frexp(np.asarray(factor, np.float64))
    fixed = rounded(np.asarray(fraction * float(1 << 31))).astype(np.int64)
    over = fixed == (1 << 31)
    fixed, exponent = np.where(over, fixed // 2, fixed), exponent + over
    # Factors too small for 31 bits are 0.
    fixed, exponent = np.where(exponent < -31, 0, fixed), np.maximum(exponent, -31)
    shift = (31 - exponent).astype(np.int64)
    return np.asarray((x.astype(np.int64) * fixed + (1 << (shift - 1))) >> shift)


def _in_steps(
    x: Array,
    old: tuple[Array, Array],
    new: tuple[Array, Array],
    limits: tuple[int, int],
    dtype: Any,
) -> Array:
    """Integers of one scale and zero point as those of another."""
    factor = np.asarray(old[0], np.float64) / np.asarray(new[0], np.float64)
    found = _times(x.astype(np.int64) - old[1], factor) + new[1]
    return _clipped(found, *limits, dtype)


def _requantize_kernel(
    input: Array,
    input_scales: Array,
    input_zero_points: Array,
    output_scales: Array,
    output_zero_points: Array,
    *,
    Tout: Any,  # noqa: N803 (the attribute's name)
    input_quantization_axis: int,
    output_quantization_axis: int,
    output_quantization_min_val: int,
    output_quantization_max_val: int,
) -> Array:
    op = "UniformRequantize"
    axes = input_quantization_axis, output_quantization_axis
    if min(axes) >= 0 and axes[0] != axes[1]:
        raise InvalidArgumentError(f"{op}: both axes must be the same, got {axes[0]} and {axes[1]}")
    old = _steps(op, input, axes[0], input_scales, input_zero_points)
    new = _steps(op, input, axes[1], output_scales, output_zero_points)
    limits = output_quantization_min_val, output_quantization_max_val
    return _in_steps(input, old, new, limits, Tout)


REQUANTIZE = define(
    name="UniformRequantize",
    signature="input: Tin, input_scales: float32, input_zero_points: int32, "
    "output_scales: float32, output_zero_points: int32 -> output: Tout",
    types={"Tin": frozenset({qint8, qint32}), "Tout": frozenset({qint8})},
    attrs={**_limits("input_"), **_limits("output_")},
    infer=same_as_input,
    kernel=_requantize_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _clip_kernel(
    operand: Array,
    min: Array,
    max: Array,
    scales: Array,
    zero_points: Array,
    *,
    quantization_axis: int,
) -> Array:
    op = "UniformQuantizedClipByValue"
    _steps(op, operand, quantization_axis, scales, zero_points)
    low = _along(op, "min", operand, quantization_axis, min)
    high = _along(op, "max", operand, quantization_axis, max)
    return np.minimum(np.maximum(operand, low), high)


CLIP = define(
    name="UniformQuantizedClipByValue",
    signature="operand: T, min: T, max: T, scales: float32, zero_points: int32 -> output: T",
    types={"T": frozenset({qint32})},
    attrs=_limits(),
    infer=same_as_input,
    kernel=_clip_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _add_kernel(
    lhs: Array,
    rhs: Array,
    lhs_scales: Array,
    lhs_zero_points: Array,
    rhs_scales: Array,
    rhs_zero_points: Array,
    output_scales: Array,
    output_zero_points: Array,
    *,
    T: Any,  # noqa: N803 (the attribute's name)
    lhs_quantization_axis: int,
    rhs_quantization_axis: int,
    output_quantization_axis: int,
    output_quantization_min_val: int,
    output_quantization_max_val: int,
) -> Array:
    op = "UniformQuantizedAdd"
    try:
        wide = np.broadcast_shapes(lhs.shape, rhs.shape)
    except ValueError:
        raise InvalidArgumentError(
            f"{op}: lhs and rhs must broadcast, got {list(lhs.shape)} and {list(rhs.shape)}"
        ) from None
    out = np.empty(wide, np.bool_)
    new = _steps(op, out, output_quantization_axis, output_scales, output_zero_points)
    limits = output_quantization_min_val, output_quantization_max_val
    parts = []
    for x, axis, scales, zeros in (
        (lhs, lhs_quantization_axis, lhs_scales, lhs_zero_points),
        (rhs, rhs_quantization_axis, rhs_scales, rhs_zero_points),
    ):
        old = _steps(op, x, axis, scales, zeros)
        parts.append(_in_steps(x, old, new, limits, T).astype(np.int64))
    return _clipped(parts[0] + parts[1] - new[1], *limits, T)


def _infer_sum(call: InferCall) -> Shape:
    try:
        return broadcast_shapes(call.spec(0).shape, call.spec(1).shape)
    except (ValueError, InvalidArgumentError):
        call.fail("lhs and rhs must broadcast")


_SIDES = "lhs_scales: float32, lhs_zero_points: int32, rhs_scales: float32, rhs_zero_points: int32"
_OUT = "output_scales: float32, output_zero_points: int32"
ADD = define(
    name="UniformQuantizedAdd",
    signature=f"lhs: T, rhs: T, {_SIDES}, {_OUT} -> output: T",
    types={"T": frozenset({qint32})},
    attrs={**_limits("lhs_"), **_limits("rhs_"), **_limits("output_")},
    infer=_infer_sum,
    kernel=_add_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _dot_kernel(
    lhs: Array,
    rhs: Array,
    lhs_scales: Array,
    lhs_zero_points: Array,
    rhs_scales: Array,
    rhs_zero_points: Array,
    output_scales: Array,
    output_zero_points: Array,
    *,
    Tout: Any,  # noqa: N803 (the attribute's name)
    rhs_quantization_axis: int,
    output_quantization_axis: int,
    output_quantization_min_val: int,
    output_quantization_max_val: int,
) -> Array:
    op = "UniformQuantizedDot"
    _check_matrices(op, lhs, rhs)
    old_l = _steps(op, lhs, -1, lhs_scales, lhs_zero_points)
    old_r = _steps(op, rhs, rhs_quantization_axis, rhs_scales, rhs_zero_points)
    total = _exact_product(lhs, old_l[1], rhs, old_r[1])
    new = _steps(op, total, output_quantization_axis, output_scales, output_zero_points)
    product = np.asarray(lhs_scales, np.float32) * np.asarray(rhs_scales, np.float32)
    old = product, np.zeros((), np.int32)
    limits = output_quantization_min_val, output_quantization_max_val
    return _in_steps(total, old, new, limits, Tout)


def _exact_product(a: Array, zero_a: Array, b: Array, zero_b: Array) -> Array:
    """The product of integers less their zero points, exact."""
    wide = (a.astype(np.float64) - zero_a) @ (b.astype(np.float64) - zero_b)
    return wide.astype(np.int64)


def _check_matrices(op: str, lhs: Array, rhs: Array) -> None:
    if lhs.ndim != 2 or rhs.ndim != 2 or lhs.shape[1] != rhs.shape[0]:
        raise InvalidArgumentError(
            f"{op}: lhs and rhs must be matrices, and columns of lhs equal rows of rhs, got "
            f"{list(lhs.shape)} and {list(rhs.shape)}"
        )


def _infer_dot(call: InferCall) -> Shape:
    a, b = call.spec(0).shape, call.spec(1).shape
    for name, shape in (("lhs", a), ("rhs", b)):
        if shape.rank not in {None, 2}:
            call.fail(f"{name} must be a matrix, got {shape.rank} axes")
    a, b = (shape if shape.rank == 2 else Shape([None, None]) for shape in (a, b))
    if None not in {a[1], b[0]} and a[1] != b[0]:
        call.fail(f"columns of lhs must equal rows of rhs, got {a[1]} and {b[0]}")
    return Shape([a[0], b[1]])


DOT = define(
    name="UniformQuantizedDot",
    signature=f"lhs: Tin, rhs: Tin, {_SIDES}, {_OUT} -> output: Tout",
    types={"Tin": frozenset({qint8}), "Tout": frozenset({qint32})},
    attrs={**_limits("lhs_"), **_limits("rhs_"), **_limits("output_")},
    infer=_infer_dot,
    kernel=_dot_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _hybrid_kernel(
    lhs: Array,
    rhs: Array,
    rhs_scales: Array,
    rhs_zero_points: Array,
    *,
    rhs_quantization_axis: int,
) -> Array:
    op = "UniformQuantizedDotHybrid"
    _check_matrices(op, lhs, rhs)
    scale, zero = _steps(op, rhs, rhs_quantization_axis, rhs_scales, rhs_zero_points)
    # Each row as bytes of a range of its own: it holds 0, which is a level.
    low, high = lhs.min(1, initial=0), lhs.max(1, initial=0)
    flat = low == high
    step = ((high.astype(np.float64) - low) / 255.0).astype(np.float32)
    step = np.where(flat, np.float32(1), step)[:, None]
    start = np.clip(rounded(-128.0 - low[:, None].astype(np.float64) / step), -128, 127)
    whole = _levels(lhs, step, start, -128, 127, qint8)
    total = _exact_product(whole, start, rhs, zero)
    return np.where(flat[:, None], np.float32(0), total.astype(np.float32) * (step * scale))


DOT_HYBRID = define(
    name="UniformQuantizedDotHybrid",
    signature="lhs: Tlhs, rhs: Trhs, rhs_scales: float32, rhs_zero_points: int32 -> output: Tout",
    types={
        "Tlhs": frozenset({float32}),
        "Trhs": frozenset({qint8}),
        "Tout": frozenset({float32}),
    },
    attrs=_limits("rhs_"),
    infer=_infer_dot,
    kernel=_hybrid_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
