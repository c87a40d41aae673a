"""Ops on lists of tensors, which loops build: shapes and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import ANY, INDEX, int32
from pinnace.framework.shapes import Shape
from pinnace.ops.array import constants, shapes
from pinnace.ops.execute import execute, execute_all, execute_one
from pinnace.ops.math import segments
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, OpDef, attr, typed
from pinnace.ops.registry import define, scalar
from pinnace.ops.state.list_kernels import (
    concat_kernel,
    concat_uniform_kernel,
    empty_kernel,
    from_tensor_kernel,
    gather_kernel,
    get_kernel,
    join_kernel,
    length_kernel,
    pop_kernel,
    push_batch_kernel,
    push_kernel,
    reserve_kernel,
    resize_kernel,
    scatter_all_kernel,
    scatter_into_kernel,
    scatter_kernel,
    set_kernel,
    shape_kernel,
    sizes_of,
    split_kernel,
    stack_kernel,
)

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor

_SHAPE_TYPE = typed(INDEX, default=int32)

# Ops whose element dtype is an attribute that no input determines.
_TYPED = frozenset({"TensorListReserve", "EmptyTensorList", "TensorListConcatLists"})


def _shape_of(x: Tensor) -> Tensor:
    known = x.shape
    if known.is_fully_defined():
        return constants.constant(np.array(known.as_list(), np.int32))
    return shapes.shape(x)


def _list_op(
    name: str,
    signature: str,
    kernel: Any,
    gradient: Any,
    infer: Any = scalar,
    attrs: dict[str, Any] | None = None,
) -> OpDef:
    types: dict[str, Any] = {}
    if "element_dtype" in signature or name in _TYPED:
        types["element_dtype"] = ANY
    for wanted in ("shape_type", "Tshape"):
        if wanted in signature:
            types[wanted] = _SHAPE_TYPE
    return define(
        name=name,
        signature=signature,
        types=types,
        attrs=attrs or {},
        infer=infer,
        kernel=kernel,
        gradient=gradient,
    )


def push_back(handle: Tensor, tensor: Tensor) -> Tensor:
    """The list with one more element."""
    return execute_one(PUSH_BACK, handle, tensor)


def _push_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    tensor = call.inputs[1]
    return pop_back(dy, tensor.dtype, _shape_of(tensor))


PUSH_BACK = _list_op(
    "TensorListPushBack",
    "input_handle: variant, tensor: element_dtype -> output_handle: variant",
    push_kernel,
    _push_gradient,
)


def _infer_first(call: InferCall) -> Shape:
    return call.spec(0).shape


PUSH_BACK_BATCH = _list_op(
    "TensorListPushBackBatch",
    "input_handles: variant, tensor: element_dtype -> output_handles: variant",
    push_batch_kernel,
    NOT_DIFFERENTIABLE,
    _infer_first,
)


def _infer_joined(call: InferCall) -> Shape:
    a, b = call.spec(0).shape, call.spec(1).shape
    if not a.is_compatible_with(b):
        call.fail("input_a and input_b must have one shape")
    return a.merge_with(b)


CONCAT_LISTS = _list_op(
    "TensorListConcatLists",
    "input_a: variant, input_b: variant -> output: variant",
    join_kernel,
    NOT_DIFFERENTIABLE,
    _infer_joined,
)


def pop_back(handle: Tensor, dtype: DType, element_shape: Tensor) -> tuple[Tensor, Tensor]:
    """The list without its last element, and the element."""
    return execute_all(POP_BACK, handle, element_shape, element_dtype=dtype)


def _pop_gradient(call: OpCall, dlist: Any, dtensor: Any) -> tuple[Any, ...]:
    rest, tensor = call.outputs
    if dlist is None:
        dlist = constants.zeros_like(rest)
    if dtensor is None:
        dtensor = constants.zeros_like(tensor)
    return push_back(dlist, dtensor), None


POP_BACK = _list_op(
    "TensorListPopBack",
    "input_handle: variant, element_shape: int32 -> output_handle: variant, tensor: element_dtype",
    pop_kernel,
    _pop_gradient,
    lambda call: (Shape(()), call.shape_constant(1)),
)


def empty(dtype: DType, element_shape: Tensor) -> Tensor:
    """A list without elements."""
    count = constants.constant(-1)
    return execute_one(EMPTY, element_shape, count, element_dtype=dtype)


EMPTY = _list_op(
    "EmptyTensorList",
    "element_shape: shape_type, max_num_elements: int32 -> handle: variant",
    empty_kernel,
    NOT_DIFFERENTIABLE,
)


RESERVE = _list_op(
    "TensorListReserve",
    "element_shape: shape_type, num_elements: int32 -> handle: variant",
    reserve_kernel,
    NOT_DIFFERENTIABLE,
)


def _row_shape(x: Tensor) -> Tensor:
    known = x.shape
    if known.rank and known[1:].is_fully_defined():
        return constants.constant(np.array(known[1:].as_list(), np.int32))
    return shapes.shape(x)[1:]


def _infer_from_tensor(call: InferCall) -> Shape:
    if call.spec(0).shape.rank == 0:
        call.fail("tensor must have at least one axis")
    return Shape(())


def _from_tensor_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    tensor = call.inputs[0]
    count = tensor.shape[0]
    dtensor = execute(
        STACK,
        dy,
        _row_shape(tensor),
        element_dtype=tensor.dtype,
        num_elements=-1 if count is None else count,
    )
    return dtensor, None


FROM_TENSOR = _list_op(
    "TensorListFromTensor",
    "tensor: element_dtype, element_shape: shape_type -> output_handle: variant",
    from_tensor_kernel,
    _from_tensor_gradient,
    _infer_from_tensor,
)


def _set_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    handle, index, item = call.inputs
    dlist = dy
    if call.needs(0):
        known = item.shape.is_fully_defined() and item.dtype is not dtypes.variant
        # The gradient needs only the item's shape, so its value need not be kept.
        zeros = constants.zeros(item.shape, item.dtype) if known else constants.zeros_like(item)
        dlist = execute(SET_ITEM, dy, index, zeros)
        if call.attr("resize_if_index_out_of_bounds"):
            dlist = execute(RESIZE, dlist, execute(LENGTH, handle))
    ditem = execute(GET_ITEM, dy, index, _shape_of(item), element_dtype=item.dtype)
    return dlist, None, ditem


SET_ITEM = _list_op(
    "TensorListSetItem",
    "input_handle: variant, index: int32, item: element_dtype -> output_handle: variant",
    set_kernel,
    _set_gradient,
    attrs={"resize_if_index_out_of_bounds": attr("bool", default=False)},
)


def _infer_item(call: InferCall) -> Shape:
    return call.shape_constant(len(call.inputs) - 1)


def _get_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    handle, index, _ = call.inputs
    zeros = constants.zeros_like(handle)
    return execute(SET_ITEM, zeros, index, dy), None, None


GET_ITEM = _list_op(
    "TensorListGetItem",
    "input_handle: variant, index: int32, element_shape: Tshape -> item: element_dtype",
    get_kernel,
    _get_gradient,
    _infer_item,
)


def _infer_stack(call: InferCall) -> Shape:
    count = call.attrs["num_elements"]
    return Shape([None if count < 0 else count]).concatenate(call.shape_constant(1))


def _stack_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:  # noqa: ARG001 (the protocol)
    return execute(FROM_TENSOR, dy, _row_shape(dy)), None


STACK = _list_op(
    "TensorListStack",
    "input_handle: variant, element_shape: int32 -> tensor: element_dtype",
    stack_kernel,
    _stack_gradient,
    _infer_stack,
    attrs={"num_elements": attr("int", default=-1)},
)


LENGTH = _list_op(
    "TensorListLength", "input_handle: variant -> length: int32", length_kernel, NOT_DIFFERENTIABLE
)
ELEMENT_SHAPE = _list_op(
    "TensorListElementShape",
    "input_handle: variant -> element_shape: shape_type",
    shape_kernel,
    NOT_DIFFERENTIABLE,
    lambda _: Shape(None),
)


def _resize_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return execute(RESIZE, dy, execute(LENGTH, call.inputs[0])), None


RESIZE = _list_op(
    "TensorListResize",
    "input_handle: variant, size: int32 -> output_handle: variant",
    resize_kernel,
    _resize_gradient,
)


def _infer_gather(call: InferCall) -> Shape:
    indices = call.spec(1).shape
    count = indices.num_elements() if indices.rank is not None else None
    return Shape([count]).concatenate(call.shape_constant(2))


def _gather_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    handle, indices, _ = call.inputs
    rows = segments.unsorted_segment_sum(dy, indices, execute(LENGTH, handle))
    return execute(FROM_TENSOR, rows, _row_shape(dy)), None, None


GATHER = _list_op(
    "TensorListGather",
    "input_handle: variant, indices: int32, element_shape: int32 -> values: element_dtype",
    gather_kernel,
    _gather_gradient,
    _infer_gather,
)


def _scatter_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    tensor, indices = call.inputs[:2]
    dtensor = execute(GATHER, dy, indices, _row_shape(tensor), element_dtype=tensor.dtype)
    return dtensor, None, None, None


SCATTER = _list_op(
    "TensorListScatterV2",
    "tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32 "
    "-> output_handle: variant",
    scatter_kernel,
    _scatter_gradient,
)


def _scatter_into_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    _, tensor, indices = call.inputs
    dlist = execute(SCATTER_INTO, dy, constants.zeros_like(tensor), indices)
    dtensor = execute(GATHER, dy, indices, _row_shape(tensor), element_dtype=tensor.dtype)
    return dlist, dtensor, None


SCATTER_INTO = _list_op(
    "TensorListScatterIntoExistingList",
    "input_handle: variant, tensor: element_dtype, indices: int32 -> output_handle: variant",
    scatter_into_kernel,
    _scatter_into_gradient,
)


def _infer_concat(call: InferCall) -> tuple[Shape, ...]:
    element = call.shape_constant(1)
    rest = element[1:] if element.rank is not None else Shape(None)
    return Shape([None]).concatenate(rest), Shape([None])


def _concat_gradient(call: OpCall, dy: Any, _: Any) -> tuple[Any, ...]:
    unknown = constants.constant(np.array(-1, np.int32))
    return execute(SPLIT, dy, unknown, call.outputs[1]), None, None


CONCAT = _list_op(
    "TensorListConcatV2",
    "input_handle: variant, element_shape: shape_type, leading_dims: int64 "
    "-> tensor: element_dtype, lengths: int64",
    concat_kernel,
    _concat_gradient,
    _infer_concat,
)


def _split_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    tensor, element_shape, lengths = call.inputs
    joined = execute(CONCAT, dy, element_shape, lengths, element_dtype=tensor.dtype)
    return joined[0], None, None


SPLIT = _list_op(
    "TensorListSplit",
    "tensor: element_dtype, element_shape: shape_type, lengths: int64 -> output_handle: variant",
    split_kernel,
    _split_gradient,
)


def _scatter_all_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return _scatter_gradient(call, dy)[:3]


# Earlier versions of ops, as older graphs contain them.
SCATTER_ALL = _list_op(
    "TensorListScatter",
    "tensor: element_dtype, indices: int32, element_shape: shape_type -> output_handle: variant",
    scatter_all_kernel,
    _scatter_all_gradient,
)


def _concat_uniform_gradient(call: OpCall, dy: Any, _: Any) -> tuple[Any, ...]:
    return _concat_gradient(call, dy, _)[:1]


def _infer_concat_uniform(call: InferCall) -> tuple[Shape, Shape]:
    shape = call.attrs["element_shape"]
    rest = shape if shape.rank is None else Shape([None]).concatenate(shape[1:])
    return rest, Shape([None])


CONCAT_UNIFORM = _list_op(
    "TensorListConcat",
    "input_handle: variant -> tensor: element_dtype, lengths: int64",
    concat_uniform_kernel,
    _concat_uniform_gradient,
    _infer_concat_uniform,
    attrs={"element_shape": attr("shape", default=Shape(None))},
)


def element_shape_tensor(shape: Shape) -> Tensor:
    """A shape as these ops take it."""
    return constants.constant(sizes_of(shape))
