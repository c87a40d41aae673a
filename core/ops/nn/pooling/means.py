"""The mean of each window: AvgPool and its gradients."""

from collections.abc import Callable
from typing import Any

from pinnace.framework.dtypes import FLOATS
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Array, Tensor
from pinnace.ops import flops
from pinnace.ops.execute import execute
from pinnace.ops.kernels import pooling as kernels
from pinnace.ops.nn import image_rows, layouts
from pinnace.ops.nn.pooling.windows import (
    Windows,
    inferred,
    inferred_from_shape,
    passed_on,
    pooling_attrs,
)
from pinnace.ops.opdef import OpCall, OpDef
from pinnace.ops.registry import define


def _avg(x: Array, windows: Windows) -> Array:
    x = windows.last(x)
    y = kernels.avg_pool(x, windows.ksize, windows.strides, windows.pads(x.shape))
    return windows.given(y)


def _avg_to_grad(op: Callable[[], OpDef]) -> Callable[..., tuple[Any, ...]]:
    def gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
        options = passed_on(call, op())
        return (execute(op(), layouts.sizes_of(call.inputs[0]), dy, **options),)

    return gradient


def _avg_pool_kernel(
    value: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
) -> Array:
    return _avg(value, Windows(ksize, strides, padding, data_format))


AVG_POOL: OpDef = define(
    name="AvgPool",
    signature="value: T -> output: T",
    types={"T": FLOATS},
    attrs=pooling_attrs(2),
    infer=inferred,
    wide=True,
    kernel=_avg_pool_kernel,
    gradient=_avg_to_grad(lambda: AVG_POOL_GRAD),
    fresh=True,
    batch=image_rows.FOLDED,
    flops=flops.pooling,
)


def _avg_gradient(sizes: Array, dy: Array, windows: Windows) -> Array:
    shape = windows.shape(tuple(sizes.tolist()))
    dy = windows.last(dy)
    if dy.shape[0] != shape[0] or dy.shape[-1] != shape[-1]:
        raise InvalidArgumentError(
            f"the gradient of an average must have as many images and channels as its input, "
            f"{shape[0]} and {shape[-1]}, got {dy.shape[0]} and {dy.shape[-1]}"
        )
    pads = windows.pads(shape)
    facts = zip(shape[1:-1], pads, windows.ksize, windows.strides, strict=True)
    counts = tuple((n + sum(around) - taps) // step + 1 for n, around, taps, step in facts)
    if dy.shape[1:-1] != counts:
        raise InvalidArgumentError(
            f"the gradient of an average must have an element per window, {list(counts)} of them, "
            f"got {list(dy.shape[1:-1])}"
        )
    dx = kernels.avg_pool_gradient(shape, dy, windows.ksize, windows.strides, pads)
    return windows.given(dx)


def _avg_pool_grad_kernel(
    orig_input_shape: Array,
    grad: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
) -> Array:
    return _avg_gradient(orig_input_shape, grad, Windows(ksize, strides, padding, data_format))


def _avg_to_other(op: Callable[[], OpDef]) -> Callable[..., tuple[Any, ...]]:
    def gradient(call: OpCall, ddx: Tensor) -> tuple[Any, ...]:
        return None, execute(op(), ddx, **passed_on(call, op()))

    return gradient


AVG_POOL_GRAD: OpDef = define(
    name="AvgPoolGrad",
    signature="orig_input_shape: int32, grad: T -> output: T",
    types={"T": FLOATS},
    attrs=pooling_attrs(2),
    infer=inferred_from_shape,
    wide=True,
    kernel=_avg_pool_grad_kernel,
    gradient=_avg_to_other(lambda: AVG_POOL),
)


AVG_POOL_3D: OpDef = define(
    name="AvgPool3D",
    signature="input: T -> output: T",
    types={"T": FLOATS},
    attrs=pooling_attrs(3),
    infer=inferred,
    wide=True,
    kernel=_avg_pool_kernel,
    gradient=_avg_to_grad(lambda: AVG_POOL_3D_GRAD),
    flops=flops.pooling,
)
AVG_POOL_3D_GRAD: OpDef = define(
    name="AvgPool3DGrad",
    signature="orig_input_shape: int32, grad: T -> output: T",
    types={"T": FLOATS},
    attrs=pooling_attrs(3),
    infer=inferred_from_shape,
    wide=True,
    kernel=_avg_pool_grad_kernel,
    gradient=_avg_to_other(lambda: AVG_POOL_3D),
)
