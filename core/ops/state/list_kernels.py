"""Kernels of the ops on lists of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.memory import ARRAY, claim
from pinnace.ops.state.list_values import (
    MISSING,
    TensorList,
    check_index,
    check_item,
    every_element,
    handle_of_list,
    items_of_rows,
    list_of,
    list_of_rows,
    merged_shape,
    missing_element,
    missing_shape,
    shape_from,
    stacked,
)

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

_AS_NEEDED = np.array(-1, np.int32)
_NO_LENGTHS = np.zeros(0, np.int64)


def reserve_kernel(element_shape: Array, num_elements: Array, *, element_dtype: DType) -> Array:
    """A list with a number of elements, none of them set."""
    count = int(num_elements)
    if count < 0:
        raise InvalidArgumentError(
            f"TensorListReserve: num_elements must not be negative, got {count}"
        )
    return handle_of_list(TensorList(element_dtype, shape_from(element_shape), count, {}))


def empty_kernel(
    element_shape: Array,
    max_num_elements: Array,  # noqa: ARG001 (a hint)
    *,
    element_dtype: DType,
) -> Array:
    """A list of no elements."""
    return handle_of_list(TensorList(element_dtype, shape_from(element_shape), 0, {}))


def from_tensor_kernel(tensor: Array, element_shape: Array, *, element_dtype: DType) -> Array:
    """A list of a tensor's rows."""
    if tensor.ndim == 0:
        raise InvalidArgumentError(
            "TensorListFromTensor: tensor must have at least one axis, got a scalar"
        )
    shape = merged_shape(
        "TensorListFromTensor", shape_from(element_shape), Shape.of(tensor.shape[1:])
    )
    return handle_of_list(list_of_rows(tensor, element_dtype, shape))


def set_kernel(
    input_handle: Array, index: Array, item: Array, *, resize_if_index_out_of_bounds: bool
) -> Array:
    """The list with one element replaced."""
    value = list_of(input_handle, "TensorListSetItem")
    at = int(index)
    length = value.length
    if resize_if_index_out_of_bounds and at >= length:
        length = at + 1
    check_index("TensorListSetItem", at, length)
    if value.shape.dims is not None:
        check_item("TensorListSetItem", value, item)
    claim(ARRAY)
    return handle_of_list(value.changed({at: item}, length))


def get_kernel(input_handle: Array, index: Array, element_shape: Array) -> Array:
    """One element; zeros if it was never set."""
    value = list_of(input_handle, "TensorListGetItem")
    at = int(index)
    check_index("TensorListGetItem", at, value.length)
    found = value.get(at)
    if found is None:
        shape = missing_shape(
            value, value.snapshot().values(), shape_from(element_shape), "TensorListGetItem"
        )
        return missing_element("TensorListGetItem", value.dtype, shape)
    return found


def stack_kernel(input_handle: Array, element_shape: Array, *, num_elements: int) -> Array:
    """All elements, along a new first axis."""
    value = list_of(input_handle, "TensorListStack")
    if num_elements not in {-1, value.length}:
        raise InvalidArgumentError(
            f"TensorListStack: the list must have {num_elements} elements, has {value.length}"
        )
    wanted = shape_from(element_shape)
    shape = merged_shape("TensorListStack", value.shape, wanted)
    if value.whole is not None and len(value.whole):
        merged_shape("TensorListStack", shape, Shape.of(value.whole.shape[1:]))
        return value.whole
    elements = every_element(value, wanted, "TensorListStack")
    for element in elements[:1]:
        merged_shape("TensorListStack", shape, Shape.of(element.shape))
    return stacked(elements, value.dtype, shape, "TensorListStack")


def push_kernel(input_handle: Array, tensor: Array) -> Array:
    """The list with an element appended."""
    value = list_of(input_handle, "TensorListPushBack")
    if value.shape.dims is not None:
        check_item("TensorListPushBack", value, tensor)
    claim(ARRAY)
    return handle_of_list(value.changed({value.length: tensor}, value.length + 1))


def push_batch_kernel(input_handles: Array, tensor: Array) -> Array:
    """Lists with a row of a tensor appended to each."""
    op = "TensorListPushBackBatch"
    batch = input_handles.shape
    if tensor.shape[: len(batch)] != batch:
        raise InvalidArgumentError(
            f"{op}: tensor must begin with the axes of input_handles, {list(batch)}, got "
            f"{list(tensor.shape)}"
        )
    out = np.empty(batch, object)
    for place in np.ndindex(*batch):
        value = list_of(input_handles[(*place, ...)], op)
        item = tensor[(*place, ...)]
        check_item(op, value, item)
        claim(ARRAY)
        out[place] = value.changed({value.length: item}, value.length + 1)
    return out


def join_kernel(input_a: Array, input_b: Array, *, element_dtype: DType) -> Array:
    """The lists of one array, each extended by the list at the same index of another."""
    op = "TensorListConcatLists"
    if input_a.shape != input_b.shape:
        raise InvalidArgumentError(
            f"{op}: input_a and input_b must have one shape, got {list(input_a.shape)} and "
            f"{list(input_b.shape)}"
        )
    out = np.empty(input_a.shape, object)
    for place in np.ndindex(*input_a.shape):
        first, second = (list_of(one[(*place, ...)], op) for one in (input_a, input_b))
        for value in (first, second):
            if value.dtype is not element_dtype:
                raise InvalidArgumentError(
                    f"{op}: lists must hold {element_dtype.name}, one holds {value.dtype.name}"
                )
        merged_shape(op, first.shape, second.shape)
        more = {first.length + index: item for index, item in second.snapshot().items()}
        claim(len(more) * ARRAY)
        out[place] = first.changed(more, first.length + second.length)
    return out


def pop_kernel(input_handle: Array, element_shape: Array) -> tuple[Array, Array]:
    """The list without its last element, and the element."""
    value = list_of(input_handle, "TensorListPopBack")
    last = value.length - 1
    if last < 0:
        raise InvalidArgumentError("TensorListPopBack: the list is empty")
    rest, found = value.popped()
    if found is None:
        shape = missing_shape(
            value, value.snapshot().values(), shape_from(element_shape), "TensorListPopBack"
        )
        found = missing_element("TensorListPopBack", value.dtype, shape)
    return handle_of_list(rest), found


def length_kernel(input_handle: Array) -> Array:
    """The number of elements, as a scalar."""
    return np.array(list_of(input_handle, "TensorListLength").length, np.int32)


def shape_kernel(input_handle: Array, *, shape_type: DType) -> Array:
    """The element shape as a vector with -1 for unknown sizes."""
    shape = list_of(input_handle, "TensorListElementShape").shape
    if shape.rank is None:
        return np.array(-1, shape_type.numpy)
    return np.array([-1 if size is None else size for size in shape], shape_type.numpy)


def resize_kernel(input_handle: Array, size: Array) -> Array:
    """The list truncated or extended by unset elements."""
    value = list_of(input_handle, "TensorListResize")
    count = int(size)
    if count < 0:
        raise InvalidArgumentError(f"TensorListResize: size must not be negative, got {count}")
    gone = dict.fromkeys([index for index in value.snapshot() if index >= count], MISSING)
    return handle_of_list(value.changed(gone, count))


def gather_kernel(input_handle: Array, indices: Array, element_shape: Array) -> Array:
    """Some elements, along a new first axis."""
    value = list_of(input_handle, "TensorListGather")
    wanted = shape_from(element_shape)
    positions = indices.reshape(-1).tolist()
    for index in positions:
        check_index("TensorListGather", index, value.length)
    everything = every_element(value, wanted, "TensorListGather") if positions else []
    chosen = [everything[index] for index in positions]
    shape = merged_shape("TensorListGather", value.shape, wanted)
    return stacked(chosen, value.dtype, shape, "TensorListGather")


def scatter_kernel(
    tensor: Array,
    indices: Array,
    element_shape: Array,
    num_elements: Array,
    *,
    element_dtype: DType,
) -> Array:
    """A new list with a tensor's rows at the indices given."""
    positions = indices.reshape(-1).tolist()
    if len(positions) != len(tensor):
        raise InvalidArgumentError(
            f"TensorListScatterV2: {len(positions)} indices for {len(tensor)} elements"
        )
    length = max(int(num_elements), max(positions, default=-1) + 1)
    rows = items_of_rows(tensor)
    for index in positions:
        check_index("TensorListScatterV2", index, length)
    items = {index: rows[row] for row, index in enumerate(positions)}
    shape = merged_shape(
        "TensorListScatterV2", shape_from(element_shape), Shape.of(tensor.shape[1:])
    )
    return handle_of_list(TensorList(element_dtype, shape, length, items))


def scatter_all_kernel(
    tensor: Array, indices: Array, element_shape: Array, *, element_dtype: DType
) -> Array:
    """`scatter_kernel` for a list whose length is determined by the highest index."""
    return scatter_kernel(tensor, indices, element_shape, _AS_NEEDED, element_dtype=element_dtype)


def scatter_into_kernel(input_handle: Array, tensor: Array, indices: Array) -> Array:
    """The list with a tensor's rows at the indices given."""
    value = list_of(input_handle, "TensorListScatterIntoExistingList")
    positions = indices.reshape(-1).tolist()
    length = max([value.length, *(index + 1 for index in positions)])
    rows = items_of_rows(tensor)
    changes = {index: rows[row] for row, index in enumerate(positions)}
    for item in changes.values():
        check_item("TensorListScatterIntoExistingList", value, item)
    return handle_of_list(value.changed(changes, length))


def concat_kernel(
    input_handle: Array, element_shape: Array, leading_dims: Array
) -> tuple[Array, Array]:
    """All elements concatenated along their first axis, and their lengths."""
    value = list_of(input_handle, "TensorListConcatV2")
    items = value.snapshot()
    wanted = merged_shape("TensorListConcatV2", value.shape, shape_from(element_shape))
    leading = leading_dims.tolist()
    elements = []
    for index in range(value.length):
        found = items.get(index)
        if found is None:
            rest = wanted[1:] if wanted.rank is not None else Shape(None)
            known = wanted[0] if wanted.rank else None
            first = (
                known if known is not None else (leading[index] if index < len(leading) else None)
            )
            shape = Shape([first]).concatenate(rest)
            if not shape.is_fully_defined() and items:
                some = next(iter(items.values()))
                shape = Shape([first, *some.shape[1:]])
            found = missing_element("TensorListConcatV2", value.dtype, shape)
        if found.ndim == 0:
            raise InvalidArgumentError(
                "TensorListConcatV2: elements must have at least one axis, got a scalar"
            )
        elements.append(found)
    lengths = np.array([len(element) for element in elements], np.int64)
    if not elements:
        rest = wanted[1:] if wanted.rank is not None else Shape(None)
        return stacked([], value.dtype, rest, "TensorListConcatV2"), lengths
    for element in elements:
        if element.shape[1:] != elements[0].shape[1:]:
            raise InvalidArgumentError(
                "TensorListConcatV2: elements must agree but for the first axis, got "
                f"{list(elements[0].shape)} and {list(element.shape)}"
            )
    return np.concatenate(elements), lengths


def concat_uniform_kernel(input_handle: Array, *, element_shape: Shape) -> tuple[Array, Array]:
    """`concat_kernel` with the elements' shape as an attribute."""
    return concat_kernel(input_handle, sizes_of(element_shape), _NO_LENGTHS)


def sizes_of(shape: Shape) -> Array:
    """A shape in the form of these ops, with -1 for unknown sizes."""
    if shape.rank is None:
        return np.array(-1, np.int32)
    return np.array([-1 if n is None else n for n in shape], np.int32)


def split_kernel(
    tensor: Array, element_shape: Array, lengths: Array, *, element_dtype: DType
) -> Array:
    """A list of parts of a tensor, by their lengths."""
    sizes = lengths.reshape(-1).tolist()
    if tensor.ndim == 0 or sum(sizes) != len(tensor) or min(sizes, default=0) < 0:
        raise InvalidArgumentError(
            "TensorListSplit: lengths must add up to the first axis of tensor "
            f"{list(tensor.shape)}, "
            f"got {sizes}"
        )
    items = {}
    start = 0
    for index, size in enumerate(sizes):
        items[index] = tensor[start : start + size]
        start += size
    return handle_of_list(TensorList(element_dtype, shape_from(element_shape), len(sizes), items))
