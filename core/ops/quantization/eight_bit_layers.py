"""Activations, pooling, shapes and normalization of eight-bit networks.

Each tensor comes with the range of floats that its integers stand for, and goes with one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import INDEX, int32, quint8
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import reshaping
from pinnace.ops.kernels import pooling
from pinnace.ops.kernels.windows import place_windows
from pinnace.ops.nn import layouts
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, attr, typed
from pinnace.ops.quantization.levels import (
    ALL,
    NARROW,
    SCALAR,
    WIDE,
    in_other_range,
    level_of,
    ranges,
    scalars,
    value_of,
)
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall, OpDef

__all__: list[str] = []

_INT32 = np.dtype(np.int32)
_ZERO = np.float32(0)
_UNSIGNED = frozenset({quint8})


def _like_first(call: InferCall) -> tuple[Shape, Shape, Shape]:
    scalars(call, 1, 2)
    return call.spec(0).shape, SCALAR, SCALAR


def _activation(name: str, most: float | None) -> OpDef:
    def kernel(features: Array, min_features: Array, max_features: Array) -> tuple[Array, Any, Any]:
        low, high = ranges(name, ("min_features", min_features), ("max_features", max_features))
        found = np.maximum(features, level_of(_ZERO, low, high, features.dtype))
        if most is not None:
            found = np.minimum(found, level_of(np.float32(most), low, high, features.dtype))
        return found, low, high

    return define(
        name=name,
        signature=(
            "features: Tinput, min_features: float32, max_features: float32 -> "
            "activations: out_type, min_activations: float32, max_activations: float32"
        ),
        types={"Tinput": _UNSIGNED, "out_type": typed({quint8}, default=quint8)},
        infer=_like_first,
        kernel=kernel,
        gradient=NO_GRADIENT_DEFINED,
    )


RELU = _activation("QuantizedRelu", None)
RELU6 = _activation("QuantizedRelu6", 6.0)


def _pooled(name: str, mean: bool) -> OpDef:
    def kernel(
        input: Array,
        min_input: Array,
        max_input: Array,
        *,
        ksize: tuple[int, ...],
        strides: tuple[int, ...],
        padding: str,
    ) -> tuple[Array, Any, Any]:
        low, high = ranges(name, ("min_input", min_input), ("max_input", max_input))
        if input.ndim != 4:
            raise InvalidArgumentError(f"{name}: input must have 4 axes, got {input.ndim}")
        steps, _, pads, _ = layouts.placement(
            input.shape[1:3], tuple(ksize[1:3]), tuple(strides), padding
        )
        if mean:
            wide = pooling.avg_pool(input.astype(np.float64), ksize[1:3], steps, pads)
            return np.rint(wide).astype(input.dtype), low, high
        return pooling.max_pool(input, ksize[1:3], steps, pads), low, high

    def infer(call: InferCall) -> tuple[Shape, Shape, Shape]:
        scalars(call, 1, 2)
        x = layouts.known_rank(call, 0, 4)
        ksize, strides = call.attrs["ksize"], call.attrs["strides"]
        for label, value in (("ksize", ksize), ("strides", strides)):
            if len(value) != 4 or value[0] != 1 or value[3] != 1:
                call.fail(f"{label} must have 4 entries, 1 for batch and channels, got {value}")
        try:
            found = place_windows(
                x.as_list()[1:3], ksize[1:3], strides[1:3], (1, 1), call.attrs["padding"], ()
            )
        except InvalidArgumentError as error:
            call.fail(str(error))
        return Shape([x[0], *found.sizes, x[3]]), SCALAR, SCALAR

    return define(
        name=name,
        signature=(
            "input: T, min_input: float32, max_input: float32 -> "
            "output: T, min_output: float32, max_output: float32"
        ),
        types={"T": NARROW},
        attrs={
            "ksize": attr("list(int)"),
            "strides": attr("list(int)"),
            "padding": attr("string", allowed=layouts.PADDINGS),
        },
        infer=infer,
        kernel=kernel,
        gradient=NO_GRADIENT_DEFINED,
    )


MAX_POOL = _pooled("QuantizedMaxPool", mean=False)
AVG_POOL = _pooled("QuantizedAvgPool", mean=True)


def _reshape_kernel(
    tensor: Array, shape: Array, input_min: Array, input_max: Array
) -> tuple[Array, Array, Array]:
    return reshaping.RESHAPE.kernel(tensor, shape), input_min, input_max  # type: ignore[misc]  # it has one


def _infer_reshape(call: InferCall) -> tuple[Shape, Shape, Shape]:
    shape = reshaping.RESHAPE.infer(call)
    assert isinstance(shape, Shape)  # noqa: S101 (Reshape has one output)
    return shape, SCALAR, SCALAR


RESHAPE = define(
    name="QuantizedReshape",
    signature=(
        "tensor: T, shape: Tshape, input_min: float32, input_max: float32 -> "
        "output: T, output_min: float32, output_max: float32"
    ),
    types={"T": ALL, "Tshape": typed(INDEX, default=int32)},
    infer=_infer_reshape,
    kernel=_reshape_kernel,
    gradient=NO_GRADIENT_DEFINED,
)

# Numbers of the fixed point that sums of a normalization are kept in.
_NORMAL = (np.float32(-(1 << 20)), np.float32(1 << 20))
_PARTS = ("m", "v", "beta", "gamma")


def _normal_kernel(
    t: Array, t_min: Array, t_max: Array, *rest: Array, **options: Any
) -> tuple[Array, Any, Any]:
    op = "QuantizedBatchNormWithGlobalNormalization"
    given = ranges(op, ("t_min", t_min), ("t_max", t_max))
    numbers = []
    for place, name in enumerate(_PARTS):
        value, low, high = rest[3 * place : 3 * place + 3]
        if t.ndim != 4 or value.shape != t.shape[3:]:
            raise InvalidArgumentError(
                f"{op}: t must have 4 axes and {name} one number per channel, got "
                f"{list(t.shape)} and {list(value.shape)}"
            )
        limits = ranges(op, (f"{name}_min", low), (f"{name}_max", high))
        numbers.append(value_of(value, *limits))
    mean, variance, beta, gamma = numbers
    scale = np.float32(1) / np.sqrt(variance + np.float32(options["variance_epsilon"]))
    if options["scale_after_normalization"]:
        scale = scale * gamma
    offset = -mean * scale + beta
    scales, offsets = (level_of(x, *_NORMAL, _INT32).astype(np.int64) for x in (scale, offset))
    one = int(level_of(np.float32(1), *_NORMAL, _INT32))
    wide = in_other_range(t, (given[0], given[1]), _NORMAL, _INT32).astype(np.int64) * scales
    quotient = np.sign(wide) * (np.abs(wide) // one)  # towards 0, as C does
    return (quotient + offsets).astype(np.int32), *_NORMAL


def _batch_norm_kernel(
    t: Array,
    t_min: Array,
    t_max: Array,
    m: Array,
    m_min: Array,
    m_max: Array,
    v: Array,
    v_min: Array,
    v_max: Array,
    beta: Array,
    beta_min: Array,
    beta_max: Array,
    gamma: Array,
    gamma_min: Array,
    gamma_max: Array,
    *,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> tuple[Array, Any, Any]:
    parts = (m, m_min, m_max, v, v_min, v_max, beta, beta_min, beta_max)
    return _normal_kernel(
        t,
        t_min,
        t_max,
        *parts,
        gamma,
        gamma_min,
        gamma_max,
        variance_epsilon=variance_epsilon,
        scale_after_normalization=scale_after_normalization,
    )


def _infer_batch_norm(call: InferCall) -> tuple[Shape, Shape, Shape]:
    scalars(call, *(place for place in range(15) if place % 3))
    x = layouts.known_rank(call, 0, 4)
    channels = x[3]
    for place in (3, 6, 9, 12):
        vector = layouts.known_rank(call, place, 1)
        if None not in {channels, vector[0]} and vector[0] != channels:
            call.fail(f"{call.op.inputs[place].name} must have {channels} elements")
        channels = channels if channels is not None else vector[0]
    return Shape([*x.as_list()[:3], channels]), SCALAR, SCALAR


BATCH_NORM = define(
    name="QuantizedBatchNormWithGlobalNormalization",
    signature=(
        "".join(f"{n}: Tinput, {n}_min: float32, {n}_max: float32, " for n in ("t", *_PARTS))[:-2]
        + " -> result: out_type, result_min: float32, result_max: float32"
    ),
    types={"Tinput": _UNSIGNED, "out_type": WIDE},
    attrs={
        "variance_epsilon": attr("float"),
        "scale_after_normalization": attr("bool"),
    },
    infer=_infer_batch_norm,
    kernel=_batch_norm_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
