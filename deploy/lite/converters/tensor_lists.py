"""Tensor lists, represented by one tensor with the elements along its first axis.

The handle of a list stands for that tensor. A list that was only reserved is `Reserved`, since the
shape of its elements may not be known yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.converters.element_types import moved, type_for
from pinnace.deploy.lite.converters.registry import converts
from pinnace.deploy.lite.ir.builder import carried
from pinnace.deploy.lite.ir.model import Tensor
from pinnace.deploy.refusals import UnconvertibleError
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.framework.dtypes import DType


@dataclass(frozen=True, slots=True, eq=False)
class Reserved:
    """A list of zeros that has not been written yet.

    Attributes:
        dtype: the dtype of the elements.
        count: the number of elements, an int32 scalar.
        element: the elements' shape, as far as it is known.
    """

    dtype: DType
    count: Tensor
    element: Shape


def dense(g: GraphBuilder, handle: Any, like: Tensor | None = None) -> Tensor:
    """The tensor of a list's elements; `like` is one of the elements, if there is one.

    Raises:
        UnconvertibleError: the shape of the elements is unknown.
    """
    if isinstance(handle, Tensor):
        return handle
    if not isinstance(handle, Reserved):
        raise UnconvertibleError("the elements of a list must be tensors")
    if handle.element.is_fully_defined():
        sizes = g.ints([int(n or 0) for n in handle.element])
        form = handle.element
    elif like is not None:
        sizes, form = g.sizes(like), like.shape
    else:
        raise UnconvertibleError(
            "the shape of the list's elements must be known before the first one is written\n"
            "    Try: shapes={name: [1, ...]} with a fixed batch size"
        )
    count = g.reshape(handle.count, [1])
    shape = Shape([_known(handle.count), *form]) if form.rank is not None else Shape(None)
    if count.data is not None and sizes.data is not None:
        whole = g.ints([*count.data.tolist(), *sizes.data.tolist()])
    else:
        (whole,) = g.ops(
            "CONCATENATION",
            [count, sizes],
            [(dtypes.int32, Shape([None if shape.rank is None else shape.rank]))],
            axis=0,
        )
    kind = type_for("FILL", handle.dtype)
    made = g.op("FILL", whole, g.constant(0, kind), dtype=kind, shape=shape)
    return g.cast(made, handle.dtype)


def _known(count: Tensor) -> int | None:
    return None if count.data is None else int(count.data.reshape(-1)[0])


def _element(call: NodeView, index: int) -> Shape:
    known = call.sizes(index)
    return Shape(None) if known is None else known


@converts("TensorListReserve", to="FILL")
def reserve(g: GraphBuilder, call: NodeView, element: Tensor, count: Tensor) -> Reserved:
    """A list of zeros."""
    del element
    known = call.constant(1)
    number = g.reshape(g.cast(count, dtypes.int32), []) if known is None else g.ints(int(known))
    return Reserved(carried(call.attr("element_dtype")), number, _element(call, 0))


@converts("EmptyTensorList")
def empty(g: GraphBuilder, call: NodeView, element: Tensor, most: Tensor) -> Reserved:
    """An empty list."""
    del element, most
    return Reserved(carried(call.attr("element_dtype")), g.ints(0), _element(call, 0))


@converts("TensorListFromTensor")
def from_tensor(g: GraphBuilder, call: NodeView, tensor: Tensor, element: Tensor) -> Tensor:
    """The tensor itself."""
    del g, call, element
    return tensor


@converts("TensorListStack")
def stack(g: GraphBuilder, call: NodeView, handle: Any, element: Tensor) -> Tensor:
    """The tensor of the elements."""
    del call, element
    return dense(g, handle)


@converts("TensorListSetItem", to="DYNAMIC_UPDATE_SLICE")
def set_item(g: GraphBuilder, call: NodeView, handle: Any, index: Tensor, item: Tensor) -> Tensor:
    """DYNAMIC_UPDATE_SLICE of one row."""
    if call.attr("resize_if_index_out_of_bounds"):
        call.fail("the size of the list must be known, since the write may extend it")
    rows = dense(g, handle, item)
    if item.rank is None:
        call.fail("the rank of the list's elements must be known")
    kind = type_for("DYNAMIC_UPDATE_SLICE", item.dtype)
    row = _row(g, item)
    place: list[int | Tensor] = [g.reshape(g.cast(index, dtypes.int32), []), *[0] * item.rank]
    begin = g.packed([_number(one) for one in place])
    given = [g.cast(rows, kind), g.cast(row, kind), begin]
    shape = Shape([rows.shape[0] if rows.rank else None, *item.shape])
    return g.cast(g.op("DYNAMIC_UPDATE_SLICE", *given, shape=shape), item.dtype)


def _number(one: int | Tensor) -> int | Tensor:
    if isinstance(one, Tensor) and one.data is not None:
        return int(one.data)
    return one


def _row(g: GraphBuilder, item: Tensor) -> Tensor:
    """A tensor with the element as its only row."""
    shape = Shape([1, *item.shape])
    if list(shape).count(None) <= 1 and 0 not in shape:
        return g.reshape(item, list(shape))
    return g.op("EXPAND_DIMS", item, g.ints(0), shape=shape)


@converts("TensorListGetItem", to="GATHER")
def get_item(
    g: GraphBuilder, call: NodeView, handle: Any, index: Tensor, element: Tensor
) -> Tensor:
    """GATHER of one row."""
    del element
    rows = dense(g, handle)
    form = Shape(list(rows.shape)[1:]) if rows.rank else call.shape()
    return moved(g, "GATHER", rows, g.cast(index, dtypes.int32), shape=form, axis=0)


@converts("TensorListLength", to="SHAPE")
def length(g: GraphBuilder, call: NodeView, handle: Any) -> Tensor:
    """The size of the first axis."""
    del call
    if isinstance(handle, Reserved):
        return handle.count
    size = g.size(handle, 0)
    return g.ints(size) if isinstance(size, int) else size


@converts("TensorListElementShape", to="SHAPE SLICE")
def element_shape(g: GraphBuilder, call: NodeView, handle: Any) -> Tensor:
    """The sizes of all axes but the first."""
    rows = dense(g, handle)
    count = (rows.rank or 1) - 1
    sizes = g.op("SLICE", g.sizes(rows), g.ints([1]), g.ints([count]), shape=[count])
    return g.cast(sizes, call.dtype())


@converts("TensorListPushBack", to="CONCATENATION")
def push_back(g: GraphBuilder, call: NodeView, handle: Any, item: Tensor) -> Tensor:
    """CONCATENATION with one more row."""
    del call
    row = _row(g, item)
    if isinstance(handle, Reserved) and _known(handle.count) == 0:
        return row
    rows = dense(g, handle, item)
    size = rows.shape[0] if rows.rank else None
    kind = type_for("CONCATENATION", item.dtype)
    shape = Shape([None if size is None else size + 1, *item.shape])
    given = [g.cast(rows, kind), g.cast(row, kind)]
    (made,) = g.ops("CONCATENATION", given, [(kind, shape)], axis=0)
    return g.cast(made, item.dtype)


@converts("TensorListGather", to="GATHER")
def gather(g: GraphBuilder, call: NodeView, handle: Any, places: Tensor, element: Tensor) -> Tensor:
    """GATHER of several rows."""
    del element
    return moved(g, "GATHER", dense(g, handle), places, shape=call.shape(), axis=0)


@converts("TensorListConcatV2", to="RESHAPE")
def concat(
    g: GraphBuilder, call: NodeView, handle: Any, element: Tensor, leading: Tensor
) -> tuple[Tensor, Tensor]:
    """The elements concatenated along their first axis, all of equal size."""
    del element, leading
    rows = dense(g, handle)
    if rows.rank is None or rows.rank < 2:
        call.fail("the rank of the list's elements must be known")
    sizes = [g.size(rows, axis) for axis in range(rows.rank)]
    count, each = sizes[0], sizes[1]
    if not isinstance(count, int) or not isinstance(each, int):
        call.fail("the number of elements, and of rows in each, must be known")
    lengths = g.constant([each] * count, dtypes.int64)
    return g.reshape_to(rows, [count * each, *sizes[2:]]), lengths
