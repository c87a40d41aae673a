"""A tensor with a slice replaced: TensorStridedSliceUpdate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.dtypes import ANY_VALUE, INDEX
from pinnace.ops.array import broadcasting, constants, slicing
from pinnace.ops.execute import execute
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

__all__: list[str] = []


def _kernel(
    input: Array,
    begin: Array,
    end: Array,
    strides: Array,
    value: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    vectors = (begin.tolist(), end.tolist(), strides.tolist())
    return slicing.replaced("TensorStridedSliceUpdate", input, vectors, masks, value)


def _infer(call: InferCall) -> Shape:
    slicing._entry_count(call, 1)
    return call.spec(0).shape


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    _, begin, end, strides, value = call.inputs
    masks = {name: call.attr(name) for name in slicing.MASKS}
    dvalue = execute(slicing.STRIDED_SLICE, dy, begin, end, strides, **masks)
    zeros = constants.zeros_like(dvalue)
    dx = execute(UPDATE, dy, begin, end, strides, zeros, **masks)
    if dvalue.shape.rank is not None and 0 in dvalue.shape:
        # An empty slice accepts a value of any shape; the gradient must broadcast.
        return dx, None, None, None, broadcasting._reduced_dynamically(dvalue, value, dvalue)
    return dx, None, None, None, broadcasting.reduced_to(dvalue, value, dvalue)


UPDATE = define(
    name="TensorStridedSliceUpdate",
    signature="input: T, begin: Index, end: Index, strides: Index, value: T -> output: T",
    types={"T": ANY_VALUE, "Index": INDEX},
    attrs=slicing.MASKS,
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)
