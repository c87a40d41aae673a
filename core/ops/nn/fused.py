"""Ops fused by TensorFlow's optimizer in frozen graphs: _FusedConv2D, _FusedMatMul and similar.

A product or convolution, then a bias or a frozen batch normalisation, then perhaps an activation.
Nothing here writes them; graphs that hold them run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import FLOATS, bfloat16, float16, float32, float64
from pinnace.framework.errors import UnimplementedError
from pinnace.ops.math import products
from pinnace.ops.nn import depthwise, spatial_convolutions
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, OpDef, attr
from pinnace.ops.registry import define, lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array

__all__: list[str] = []

# By the op of the same meaning.
_ACTIVATIONS = ("Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu")
_STEPS = ("BiasAdd", "FusedBatchNorm", "Add")


def _finished(
    op: str,
    y: Array,
    args: Sequence[Array],
    steps: Sequence[str],
    *,
    channels_first: bool,
    epsilon: float,
    alpha: float,
) -> Array:
    """`y` after all of `steps`, which take `args` in turn."""
    rest = list(args)

    def per_channel(x: Array) -> Array:
        return x.reshape(-1, *(1,) * (y.ndim - 2)) if channels_first else x

    dtype = y.dtype
    for step in steps:
        if step == "BiasAdd":
            y = y + per_channel(rest.pop(0))
        elif step == "Add":
            y = y + rest.pop(0)
        elif step == "FusedBatchNorm":
            scale, offset, mean, variance = (per_channel(rest.pop(0)) for _ in range(4))
            factor = scale / np.sqrt(variance + variance.dtype.type(epsilon))
            y = (y - mean) * factor + offset
        elif step == "LeakyRelu":
            y = np.where(y > 0, y, y * dtype.type(alpha))
        elif step in _ACTIVATIONS[:5]:
            y = _kernel_of(step)(y)
        else:
            known = ", ".join((*_STEPS, *_ACTIVATIONS))
            raise UnimplementedError(f"{op}: fused_ops may hold {known}, got {list(steps)}")
    return y.astype(dtype, copy=False)


def _kernel_of(name: str) -> Callable[..., Any]:
    kernel = lookup(name).kernel
    assert kernel is not None  # noqa: S101 (these all have one)
    return kernel


def _convolution_kernel(
    input: Array,
    filter: Array,
    args: tuple[Array, ...],
    host_args: tuple[Array, ...],
    *,
    strides: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...],
    data_format: str,
    filter_format: str,
    dilations: tuple[int, ...],
    fused_ops: tuple[str, ...],
    epsilon: float,
    leakyrelu_alpha: float,
) -> Array:
    if host_args or filter_format != "HWIO" or data_format == "NCHW_VECT_C":
        raise UnimplementedError(
            "_FusedConv2D: only filters in HWIO without host_args are implemented, got "
            f"filter_format {filter_format}, data_format {data_format}, {len(host_args)} host_args"
        )
    y = _kernel_of("Conv2D")(
        input,
        filter,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
        dilations=dilations,
    )
    first = data_format == "NCHW"
    how = {"channels_first": first, "epsilon": epsilon, "alpha": leakyrelu_alpha}
    return _finished("_FusedConv2D", y, args, fused_ops, **how)  # type: ignore[arg-type]


def _depthwise_kernel(
    input: Array,
    filter: Array,
    args: tuple[Array, ...],
    *,
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
    dilations: tuple[int, ...],
    fused_ops: tuple[str, ...],
    epsilon: float,
    leakyrelu_alpha: float,
) -> Array:
    y = _kernel_of("DepthwiseConv2dNative")(
        input,
        filter,
        strides=strides,
        padding=padding,
        explicit_paddings=(),
        data_format=data_format,
        dilations=dilations,
    )
    first = data_format == "NCHW"
    how = {"channels_first": first, "epsilon": epsilon, "alpha": leakyrelu_alpha}
    return _finished("_FusedDepthwiseConv2dNative", y, args, fused_ops, **how)  # type: ignore[arg-type]


def _product_kernel(
    a: Array,
    b: Array,
    args: tuple[Array, ...],
    *,
    transpose_a: bool,
    transpose_b: bool,
    fused_ops: tuple[str, ...],
    epsilon: float,
    leakyrelu_alpha: float,
) -> Array:
    y = _kernel_of("MatMul")(a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    how = {"channels_first": False, "epsilon": epsilon, "alpha": leakyrelu_alpha}
    return _finished("_FusedMatMul", y, args, fused_ops, **how)  # type: ignore[arg-type]


def _as(op: OpDef) -> Callable[[InferCall], Shape]:
    """The output shape, which is that of the first op."""

    def infer(call: InferCall) -> Shape:
        attrs = op.full_attrs({n: v for n, v in call.attrs.items() if n in op.attrs})
        known = InferCall(op, call.inputs[:2], attrs, call.constant)
        shape = op.infer(known)
        assert not isinstance(shape, tuple)  # noqa: S101 (these have one output)
        return shape

    return infer


_FUSED = {
    "num_args": attr("int"),
    "fused_ops": attr("list(string)", default=()),
    "epsilon": attr("float", default=1e-4),
    "leakyrelu_alpha": attr("float", default=0.2),
}
_WINDOWS = {"strides": attr("list(int)"), "dilations": attr("list(int)", default=(1, 1, 1, 1))}
FUSED_CONV2D = define(
    name="_FusedConv2D",
    signature="input: T, filter: T, args: (TArgs), host_args: num_host_args*float32 -> output: T",
    types={"T": frozenset({float16, float32, float64})},
    attrs={
        **_FUSED,
        **_WINDOWS,
        "padding": attr("string", allowed=("SAME", "VALID", "EXPLICIT")),
        "explicit_paddings": attr("list(int)", default=()),
        "data_format": attr("string", default="NHWC", allowed=("NHWC", "NCHW", "NCHW_VECT_C")),
        "filter_format": attr("string", default="HWIO", allowed=("HWIO", "OIHW", "OIHW_VECT_I")),
        "use_cudnn_on_gpu": attr("bool", default=True),
    },
    infer=_as(spatial_convolutions.CONV2D),
    kernel=_convolution_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
FUSED_DEPTHWISE = define(
    name="_FusedDepthwiseConv2dNative",
    signature="input: T, filter: T, args: num_args*T -> output: T",
    types={"T": FLOATS},
    attrs={
        **{name: value for name, value in _FUSED.items() if name != "num_args"},
        **_WINDOWS,
        "padding": attr("string", allowed=("SAME", "VALID")),
        "data_format": attr("string", default="NHWC", allowed=("NHWC", "NCHW")),
    },
    infer=_as(depthwise.DEPTHWISE_CONV2D),
    kernel=_depthwise_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
FUSED_MAT_MUL = define(
    name="_FusedMatMul",
    signature="a: T, b: T, args: num_args*T -> product: T",
    types={"T": frozenset({bfloat16, float16, float32})},
    attrs={
        **{name: value for name, value in _FUSED.items() if name != "num_args"},
        "transpose_a": attr("bool", default=False),
        "transpose_b": attr("bool", default=False),
    },
    infer=_as(products.MAT_MUL),
    kernel=_product_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
