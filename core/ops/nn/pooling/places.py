"""The maximum of each window and its index: MaxPoolWithArgmax and its gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnace.framework.dtypes import INDEX, REAL, DType, int64
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor
from pinnace.ops.array import constants
from pinnace.ops.execute import execute
from pinnace.ops.kernels import pooling as kernels
from pinnace.ops.nn.pooling.windows import Windows, inferred, passed_on, pooling_attrs
from pinnace.ops.opdef import InferCall, OpCall, OpDef, attr, typed
from pinnace.ops.registry import define, same_as_input

_ARGMAX_ATTRS = {
    **{name: definition for name, definition in pooling_attrs(2).items() if name != "data_format"},
    "include_batch_in_index": attr("bool", default=False),
}


def _argmax_kernel(
    input: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    include_batch_in_index: bool,
    Targmax: DType,  # noqa: N803 (the attribute's name)
) -> tuple[Array, Array]:
    windows = Windows(ksize, strides, padding)
    y, places = kernels.max_pool_with_argmax(
        input, windows.ksize, windows.strides, windows.pads(input.shape), include_batch_in_index
    )
    return y, places.astype(Targmax.numpy, copy=False)


def _infer_argmax(call: InferCall) -> tuple[Shape, Shape]:
    shape = inferred(call)
    return shape, shape


def _argmax_gradient(call: OpCall, dy: Tensor, _: Tensor | None) -> tuple[Any, ...]:
    op = MAX_POOL_GRAD_WITH_ARGMAX
    return (execute(op, call.inputs[0], dy, call.outputs[1], **passed_on(call, op)),)


MAX_POOL_WITH_ARGMAX: OpDef = define(
    name="MaxPoolWithArgmax",
    signature="input: T -> output: T, argmax: Targmax",
    types={"T": REAL, "Targmax": typed(INDEX, int64)},
    attrs=_ARGMAX_ATTRS,
    infer=_infer_argmax,
    kernel=_argmax_kernel,
    gradient=_argmax_gradient,
)


def _argmax_to_other(op: Callable[[], OpDef]) -> Callable[..., tuple[Any, ...]]:
    def gradient(call: OpCall, ddx: Tensor) -> tuple[Any, ...]:
        x, _, argmax = call.inputs
        options = passed_on(call, op())
        return constants.zeros_like(x), execute(op(), x, ddx, argmax, **options), None

    return gradient


def _argmax_grad_kernel(
    input: Array, grad: Array, argmax: Array, *, include_batch_in_index: bool
) -> Array:
    return kernels.max_pool_with_argmax_gradient(grad, argmax, input.shape, include_batch_in_index)


MAX_POOL_GRAD_WITH_ARGMAX: OpDef = define(
    name="MaxPoolGradWithArgmax",
    signature="input: T, grad: T, argmax: Targmax -> output: T",
    types={"T": REAL, "Targmax": INDEX},
    attrs=_ARGMAX_ATTRS,
    infer=same_as_input,
    kernel=_argmax_grad_kernel,
    gradient=_argmax_to_other(lambda: MAX_POOL_GRAD_GRAD_WITH_ARGMAX),
)


def _argmax_grad_grad_kernel(
    input: Array, grad: Array, argmax: Array, *, include_batch_in_index: bool
) -> Array:
    places = argmax.astype(np.int64)
    if not include_batch_in_index:
        per_image = int(np.prod(input.shape[1:], dtype=np.int64))
        places += (np.arange(len(input)) * per_image).reshape(-1, 1, 1, 1)
    return grad.reshape(-1)[places]


def _infer_like_argmax(call: InferCall) -> Shape:
    return call.spec(2).shape


MAX_POOL_GRAD_GRAD_WITH_ARGMAX: OpDef = define(
    name="MaxPoolGradGradWithArgmax",
    signature="input: T, grad: T, argmax: Targmax -> output: T",
    types={"T": REAL, "Targmax": INDEX},
    attrs=_ARGMAX_ATTRS,
    infer=_infer_like_argmax,
    kernel=_argmax_grad_grad_kernel,
    gradient=_argmax_to_other(lambda: MAX_POOL_GRAD_WITH_ARGMAX),
)
