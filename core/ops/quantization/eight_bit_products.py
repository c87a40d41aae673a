"""Products, convolutions and sums of eight-bit networks.

Each tensor comes with the range of floats that its integers stand for, and goes with one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import qint32, quint8
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, broadcast_shapes
from pinnace.ops.kernels import convolution
from pinnace.ops.kernels.windows import place_windows
from pinnace.ops.nn import layouts
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, attr, typed
from pinnace.ops.quantization.levels import (
    ALL,
    NARROW,
    SCALAR,
    WIDE,
    in_other_range,
    product_range,
    ranges,
    scalars,
    unbounded_level,
    value_of,
)
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall, OpDef

__all__: list[str] = []

_ZERO = np.float32(0)
_UNSIGNED = frozenset({quint8})


def _centred(x: Array, low: np.float32, high: np.float32) -> Array:
    """Integers less the level of 0: sums of their products are exact in float64."""
    return x.astype(np.float64) - float(unbounded_level(0.0, low, high, x.dtype))


def _sums(x: Array) -> Array:
    """Exact sums as 32-bit integers, which wrap as TensorFlow's do."""
    return x.astype(np.int64).astype(np.int32)


# What stands before and after the range of each: `a, b, min_a, max_a, min_b, max_b`.
_RANGES = "min_{0}: float32, max_{0}: float32, min_{1}: float32, max_{1}: float32"


def _mat_mul_kernel(
    a: Array,
    b: Array,
    min_a: Array,
    max_a: Array,
    min_b: Array,
    max_b: Array,
    *,
    transpose_a: bool,
    transpose_b: bool,
) -> tuple[Array, Any, Any]:
    op = "QuantizedMatMul"
    low_a, high_a, low_b, high_b = ranges(
        op, ("min_a", min_a), ("max_a", max_a), ("min_b", min_b), ("max_b", max_b)
    )
    left, right = _centred(a, low_a, high_a), _centred(b, low_b, high_b)
    left, right = left.T if transpose_a else left, right.T if transpose_b else right
    if left.shape[1] != right.shape[0]:
        raise InvalidArgumentError(
            f"{op}: columns of a must equal rows of b, got {left.shape[1]} and {right.shape[0]}"
        )
    limits = product_range((low_a, high_a), (low_b, high_b), (a.dtype, b.dtype), _INT32)
    return _sums(left @ right), *limits


_INT32 = np.dtype(np.int32)


def _infer_mat_mul(call: InferCall) -> tuple[Shape, Shape, Shape]:
    scalars(call, 2, 3, 4, 5)
    a, b = call.spec(0).shape, call.spec(1).shape
    for name, shape in (("a", a), ("b", b)):
        if shape.rank not in {None, 2}:
            call.fail(f"{name} must be a matrix, got {shape.rank} axes")
    a, b = (shape if shape.rank == 2 else Shape([None, None]) for shape in (a, b))
    m, k = (a[1], a[0]) if call.attrs["transpose_a"] else (a[0], a[1])
    rows, n = (b[1], b[0]) if call.attrs["transpose_b"] else (b[0], b[1])
    if None not in {k, rows} and k != rows:
        call.fail(f"columns of a must equal rows of b, got {k} and {rows}")
    return Shape([m, n]), SCALAR, SCALAR


MAT_MUL = define(
    name="QuantizedMatMul",
    signature=(
        f"a: T1, b: T2, {_RANGES.format('a', 'b')} -> "
        "out: Toutput, min_out: float32, max_out: float32"
    ),
    types={
        "T1": _UNSIGNED,
        "T2": _UNSIGNED,
        "Toutput": typed({qint32}, default=qint32),
        "Tactivation": typed(ALL, default=quint8),
    },
    attrs={"transpose_a": attr("bool", default=False), "transpose_b": attr("bool", default=False)},
    infer=_infer_mat_mul,
    kernel=_mat_mul_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _conv_kernel(
    input: Array,
    filter: Array,
    min_input: Array,
    max_input: Array,
    min_filter: Array,
    max_filter: Array,
    *,
    strides: tuple[int, ...],
    padding: str,
    dilations: tuple[int, ...],
) -> tuple[Array, Any, Any]:
    op = "QuantizedConv2D"
    low, high, low_filter, high_filter = ranges(
        op,
        ("min_input", min_input),
        ("max_input", max_input),
        ("min_filter", min_filter),
        ("max_filter", max_filter),
    )
    if input.shape[3] != filter.shape[2]:
        raise InvalidArgumentError(
            f"{op}: input must have as many channels as filter takes, got {input.shape[3]} and "
            f"{filter.shape[2]}"
        )
    # Less the level of 0, so that what is padded stands for 0.
    x, w = _centred(input, low, high), _centred(filter, low_filter, high_filter)
    steps, rates, pads, _ = layouts.placement(
        x.shape[1:3], w.shape[:2], tuple(strides), padding, (), "NHWC", tuple(dilations)
    )
    limits = product_range(
        (low, high), (low_filter, high_filter), (input.dtype, filter.dtype), _INT32
    )
    return _sums(convolution.conv(x, w, steps, pads, rates)), *limits


def _infer_conv(call: InferCall) -> tuple[Shape, Shape, Shape]:
    scalars(call, 2, 3, 4, 5)
    x, filters = layouts.known_rank(call, 0, 4), layouts.known_rank(call, 1, 4)
    if None not in {x[3], filters[2]} and x[3] != filters[2]:
        call.fail(f"input must have as many channels as filter takes, got {x[3]} and {filters[2]}")
    strides, rates = call.attrs["strides"], call.attrs["dilations"]
    if len(strides) != 4 or strides[0] != 1 or strides[3] != 1 or strides[1] != strides[2]:
        call.fail(f"strides must be 1, and one number for both axes, got {list(strides)}")
    if any(rate != 1 for rate in rates):
        call.fail(f"dilations must be 1, got {list(rates)}")
    try:
        found = place_windows(
            x.as_list()[1:3],
            [1 if n is None else n for n in filters.as_list()[:2]],
            strides[1:3],
            (1, 1),
            call.attrs["padding"],
            (),
        )
    except InvalidArgumentError as error:
        call.fail(str(error))
    sizes = found.sizes if None not in filters.as_list()[:2] else (None, None)
    return Shape([x[0], *sizes, filters[3]]), SCALAR, SCALAR


CONV2D = define(
    name="QuantizedConv2D",
    signature=(
        f"input: Tinput, filter: Tfilter, {_RANGES.format('input', 'filter')} -> "
        "output: out_type, min_output: float32, max_output: float32"
    ),
    types={"Tinput": _UNSIGNED, "Tfilter": _UNSIGNED, "out_type": typed({qint32}, default=qint32)},
    attrs={
        "strides": attr("list(int)"),
        "padding": attr("string", allowed=layouts.PADDINGS),
        "dilations": attr("list(int)", default=(1, 1, 1, 1)),
    },
    infer=_infer_conv,
    kernel=_conv_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _infer_broadcast(call: InferCall) -> tuple[Shape, Shape, Shape]:
    scalars(call, 2, 3, 4, 5)
    try:
        shape = broadcast_shapes(call.spec(0).shape, call.spec(1).shape)
    except (ValueError, InvalidArgumentError):
        call.fail("x and y must broadcast")
    return shape, SCALAR, SCALAR


def _pair(
    op: str, x: Array, y: Array, *limits: Array
) -> tuple[tuple[np.float32, np.float32], tuple[np.float32, np.float32]]:
    names = ("min_x", "max_x", "min_y", "max_y")
    low_x, high_x, low_y, high_y = ranges(op, *zip(names, limits, strict=True))
    for name, low, high in (("x", low_x, high_x), ("y", low_y, high_y)):
        if not high > low:
            raise InvalidArgumentError(
                f"{op}: max_{name} must be larger than min_{name}, got {high} and {low}"
            )
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise InvalidArgumentError(
            f"{op}: x and y must broadcast, got shapes {list(x.shape)} and {list(y.shape)}"
        ) from None
    return (low_x, high_x), (low_y, high_y)


def _sum_range(spare: int, *given: tuple[np.float32, np.float32]) -> tuple[np.float32, np.float32]:
    """A range in which many numbers can be added: as wide on both sides, with bits to spare."""
    most = np.float32(max(max(high, -low) for low, high in given) * np.float32(1 << spare))
    return np.float32(-most), most


def _add_kernel(
    x: Array, y: Array, min_x: Array, max_x: Array, min_y: Array, max_y: Array
) -> tuple[Array, Any, Any]:
    first, second = _pair("QuantizedAdd", x, y, min_x, max_x, min_y, max_y)
    limits = _sum_range(14, first, second)
    parts = []
    for one, given in ((x, first), (y, second)):
        if one.size == 1:
            parts.append(in_other_range(one, given, limits, _INT32).astype(np.int64))
            continue
        # TensorFlow: a level more is the same whole number more, wherever it is.
        ends_of_step = value_of(np.array([0, 1], one.dtype), *given)
        zero, after = unbounded_level(ends_of_step, *limits, _INT32)
        parts.append(zero + one.astype(np.int64) * (after - zero))
    return (parts[0] + parts[1]).astype(np.int32), *limits


def _mul_kernel(
    x: Array, y: Array, min_x: Array, max_x: Array, min_y: Array, max_y: Array
) -> tuple[Array, Any, Any]:
    first, second = _pair("QuantizedMul", x, y, min_x, max_x, min_y, max_y)
    product = _centred(x, *first) * _centred(y, *second)
    return _sums(product), *product_range(first, second, (x.dtype, y.dtype), _INT32)


def _elementwise(name: str, kernel: Any) -> OpDef:
    return define(
        name=name,
        signature=(
            f"x: T1, y: T2, {_RANGES.format('x', 'y')} -> "
            "z: Toutput, min_z: float32, max_z: float32"
        ),
        types={"T1": _UNSIGNED, "T2": _UNSIGNED, "Toutput": typed({qint32}, default=qint32)},
        infer=_infer_broadcast,
        kernel=kernel,
        gradient=NO_GRADIENT_DEFINED,
    )


ADD = _elementwise("QuantizedAdd", _add_kernel)
MUL = _elementwise("QuantizedMul", _mul_kernel)


def _bias_kernel(
    input: Array, bias: Array, min_input: Array, max_input: Array, min_bias: Array, max_bias: Array
) -> tuple[Array, Any, Any]:
    op = "QuantizedBiasAdd"
    low, high, low_bias, high_bias = ranges(
        op,
        ("min_input", min_input),
        ("max_input", max_input),
        ("min_bias", min_bias),
        ("max_bias", max_bias),
    )
    if not input.ndim or bias.ndim != 1 or len(bias) != input.shape[-1]:
        raise InvalidArgumentError(
            f"{op}: bias must be a vector as long as the last axis of input, got "
            f"{list(bias.shape)} and {list(input.shape)}"
        )
    limits = _sum_range(17, (low, high), (low_bias, high_bias))
    parts = [
        in_other_range(one, given, limits, _INT32).astype(np.int64)
        for one, given in ((input, (low, high)), (bias, (low_bias, high_bias)))
    ]
    return (parts[0] + parts[1]).astype(np.int32), *limits


def _infer_bias(call: InferCall) -> tuple[Shape, Shape, Shape]:
    scalars(call, 2, 3, 4, 5)
    x, bias = call.spec(0).shape, call.spec(1).shape
    if x.rank == 0:
        call.fail("input must have at least one axis")
    if bias.rank not in {None, 1}:
        call.fail(f"bias must be a vector, got {bias.rank} axes")
    if x.rank and bias.rank and None not in {x[-1], bias[0]} and x[-1] != bias[0]:
        call.fail(f"bias must have {x[-1]} elements, the size of input's last axis")
    return x, SCALAR, SCALAR


BIAS_ADD = define(
    name="QuantizedBiasAdd",
    signature=(
        f"input: T1, bias: T2, {_RANGES.format('input', 'bias')} -> "
        "output: out_type, min_out: float32, max_out: float32"
    ),
    types={"T1": NARROW, "T2": NARROW, "out_type": WIDE},
    infer=_infer_bias,
    kernel=_bias_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
