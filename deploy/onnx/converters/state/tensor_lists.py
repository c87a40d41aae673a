"""Tensor lists, represented by one tensor with the elements along its first axis.

The handle of a list stands for that tensor. A list that was only reserved is `Reserved`, since the
shape of its elements is not known yet. One that a loop writes in order is `Written`: its elements
leave the loop as a scan output, so that the list itself is not in the file.
"""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.complex_pairs import Pair
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.deploy.refusals import UnconvertibleError
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.shapes import Shape


class Reserved(Value):
    """A list of zeros that has not been written yet.

    Attributes:
        count: the number of elements, an int64 scalar.
        element: the elements' shape, as far as it is known.
    """

    __slots__ = ("count", "element")

    def __init__(self, dtype: DType, count: Value, element: Shape) -> None:
        super().__init__("list", dtype, Shape(None))
        self.count = count
        self.element = element


class Written(Value):
    """A list that a loop writes, one element per iteration, and does not read.

    Attributes:
        count: the number of elements before this iteration, an int64 scalar.
    """

    __slots__ = ("count",)

    def __init__(self, dtype: DType, count: Value) -> None:
        super().__init__("list", dtype, Shape(None))
        self.count = count


class Growing(Value):
    """A list that a loop writes at any index, whose element sizes the first element determines.

    Attributes:
        rows: the elements; empty before the first write.
        count: the number of elements afterwards, an int64 scalar.
    """

    __slots__ = ("count", "rows")

    def __init__(self, rows: Value, count: Value) -> None:
        super().__init__("list", rows.dtype, rows.shape)
        self.rows = rows
        self.count = count


class Joined(Value):
    """A list whose elements, of different lengths, are concatenated.

    Attributes:
        rows: the concatenated elements.
        lengths: the elements' lengths, int64.
    """

    __slots__ = ("lengths", "rows")

    def __init__(self, rows: Value, lengths: Value) -> None:
        super().__init__("list", rows.dtype, Shape(None))
        self.rows = rows
        self.lengths = lengths


def dense(g: GraphBuilder, handle: Value, like: Value | None = None) -> Value:
    """The tensor of the elements; `like` is one of them, if there is one."""
    if isinstance(handle, Pair):
        raise UnconvertibleError(
            "complex numbers cannot leave a loop or branch, nor be elements of a list"
        )
    if isinstance(handle, Joined):
        raise UnconvertibleError("elements of different lengths can only be concatenated")
    if isinstance(handle, Growing):
        return handle.rows if like is None else _grown(g, handle, like)
    if not isinstance(handle, Reserved):
        return handle
    count = g.reshape(handle.count, [1])
    if like is not None:
        sizes = g.shape_of(like)
    elif handle.element.is_fully_defined():
        sizes = g.ints(*[int(size) for size in handle.element if size is not None])
    else:
        raise UnconvertibleError(
            "the shape of the list's elements must be known before the first one is written"
        )
    zero = b"" if handle.dtype is dtypes.string else 0
    blank = np.array(zero).astype(handle.dtype.numpy)
    return g.fill(g.joined(count, sizes), g.constant(blank, dtype=handle.dtype))


def _grown(g: GraphBuilder, handle: Growing, like: Value) -> Value:
    """All elements, zeros if none was written yet."""
    wanted = g.joined(g.reshape(handle.count, [1]), g.shape_of(like))
    room = g.op("Sub", wanted, g.shape_of(handle.rows))
    rows = g.op("Pad", handle.rows, g.joined(g.ints(*[0] * handle.rows.rank), room))
    rows.refine(Shape([None, *like.shape]))
    return rows


@converts("TensorListReserve")
def reserve(g: GraphBuilder, call: NodeView, element: Value, count: Value) -> Value:
    """An empty list."""
    del element
    return Reserved(call.dtype("element_dtype"), g.as_int64(count), call.sizes(0) or Shape(None))


@converts("EmptyTensorList")
def empty(g: GraphBuilder, call: NodeView, element: Value, most: Value) -> Value:
    """An empty list."""
    del element, most
    return Reserved(call.dtype("element_dtype"), g.index(0), call.sizes(0) or Shape(None))


@converts("TensorListFromTensor")
def from_tensor(g: GraphBuilder, call: NodeView, tensor: Value, element: Value) -> Value:
    """The tensor itself."""
    del g, call, element
    return tensor


@converts("TensorListSetItem")
def set_item(g: GraphBuilder, call: NodeView, handle: Value, index: Value, item: Value) -> Value:
    """ScatterND of one row."""
    if isinstance(handle, Written):
        return item
    place = g.reshape(g.as_int64(index), [1, 1])
    rows = dense(g, handle, item)
    if call.attr("resize_if_index_out_of_bounds"):
        behind = g.op("Add", g.reshape(place, [1]), g.ints(1))
        rows = filled(g, rows, g.op("Max", behind, g.size_of(rows, 0)))
    return g.op("ScatterND", rows, place, g.unsqueeze(item, 0))


@converts("TensorListGetItem")
def get_item(g: GraphBuilder, call: NodeView, handle: Value, index: Value, element: Value) -> Value:
    """Gather."""
    del element
    found = g.op("Gather", dense(g, handle), index, axis=0)
    found.refine(call.output_spec().shape)
    return found


@converts("TensorListStack")
def stack(g: GraphBuilder, call: NodeView, handle: Value, element: Value) -> Value:
    """The tensor itself."""
    del element
    tensor = dense(g, handle)
    tensor.refine(call.output_spec().shape)
    return tensor


@converts("TensorListLength")
def length(g: GraphBuilder, call: NodeView, handle: Value) -> Value:
    """The size of the first axis."""
    del call
    if isinstance(handle, Reserved | Written):
        return g.cast(handle.count, dtypes.int32)
    count = g.scalar(g.size_of(handle, 0))
    return g.cast(count, dtypes.int32)


@converts("TensorListElementShape")
def element_shape(g: GraphBuilder, call: NodeView, handle: Value) -> Value:
    """The sizes of all axes but the first."""
    tensor = dense(g, handle)
    return g.cast(g.shape_of(tensor, 1, tensor.rank), call.dtype("shape_type"))


@converts("TensorListPushBack")
def push_back(g: GraphBuilder, call: NodeView, handle: Value, item: Value) -> Value:
    """Concat."""
    del call
    if isinstance(handle, Written):
        return item
    row = g.unsqueeze(item, 0)
    if isinstance(handle, Reserved) and handle.count.array is not None and not handle.count.array:
        return row
    return g.op("Concat", dense(g, handle, item), row, axis=0)


@converts("TensorListPopBack")
def pop_back(g: GraphBuilder, call: NodeView, handle: Value, element: Value) -> tuple[Value, Value]:
    """Slice and Gather."""
    del call, element
    tensor = dense(g, handle)
    return g.slice(tensor, 0, 0, -1), g.op("Gather", tensor, g.index(-1), axis=0)


@converts("TensorListGather")
def gather(g: GraphBuilder, call: NodeView, handle: Value, indices: Value, element: Value) -> Value:
    """Gather."""
    del call, element
    return g.op("Gather", dense(g, handle), indices, axis=0)


@converts("TensorListScatterV2", constants=("num_elements",))
def scatter(
    g: GraphBuilder, call: NodeView, tensor: Value, indices: Value, element: Value, count: Value
) -> Value:
    """ScatterND into zeros."""
    del element
    known = call.needed_int(3, "num_elements")
    places = g.as_int64(indices)
    if known >= 0:
        total = g.reshape(g.as_int64(count), [1])
    else:
        highest = g.op("ReduceMax", g.joined(places, g.ints(-1)), keepdims=1)
        total = g.op("Add", highest, g.ints(1))
    return _scattered(g, tensor, places, total)


@converts("TensorListScatter")
def scatter_all(
    g: GraphBuilder, call: NodeView, tensor: Value, indices: Value, element: Value
) -> Value:
    """TensorListScatterV2, with the highest index plus one as the length."""
    del call, element
    places = g.as_int64(indices)
    highest = g.op("ReduceMax", g.joined(places, g.ints(-1)), keepdims=1)
    return _scattered(g, tensor, places, g.op("Add", highest, g.ints(1)))


def _scattered(g: GraphBuilder, tensor: Value, places: Value, total: Value) -> Value:
    sizes = g.joined(total, g.shape_of(tensor, 1, tensor.rank))
    zeros = g.fill(sizes, g.like(tensor, 0))
    return g.op("ScatterND", zeros, g.unsqueeze(places, 1), tensor)


@converts("TensorListScatterIntoExistingList")
def scatter_into(
    g: GraphBuilder, call: NodeView, handle: Value, tensor: Value, indices: Value
) -> Value:
    """ScatterND."""
    del call
    if isinstance(handle, Reserved):
        total = g.reshape(handle.count, [1])
        zeros = g.fill(g.joined(total, g.shape_of(tensor, 1, tensor.rank)), g.like(tensor, 0))
    else:
        zeros = handle
    return g.op("ScatterND", zeros, g.unsqueeze(g.as_int64(indices), 1), tensor)


@converts("TensorListResize")
def resize(g: GraphBuilder, call: NodeView, handle: Value, size: Value) -> Value:
    """The list truncated or padded with zeros."""
    del call
    count = g.as_int64(size)
    if isinstance(handle, Reserved):
        return Reserved(handle.dtype, count, handle.element)
    total = g.reshape(count, [1])
    return filled(g, g.slice(handle, 0, 0, total), total)


def filled(g: GraphBuilder, tensor: Value, count: Value) -> Value:
    """The tensor padded with zeros to `count` rows, a vector of one element."""
    room = g.op("Max", g.op("Sub", count, g.size_of(tensor, 0)), g.ints(0))
    none = g.ints(*[0] * tensor.rank)
    rest = [g.ints(*[0] * (tensor.rank - 1))] if tensor.rank > 1 else []
    return g.op("Pad", tensor, g.joined(none, room, *rest))


@converts("TensorListConcatV2")
def concat(
    g: GraphBuilder, call: NodeView, handle: Value, element: Value, leading: Value
) -> tuple[Value, Value]:
    """Reshape for elements of equal shape; others were concatenated by the loop."""
    del call, element, leading
    if isinstance(handle, Joined):
        return handle.rows, handle.lengths
    tensor = dense(g, handle)
    sizes = g.shape_of(tensor)
    count, each = g.size_of(tensor, 0), g.size_of(tensor, 1)
    rest = g.op("Slice", sizes, g.ints(2), g.ints(tensor.rank))
    joined = g.reshape(tensor, g.joined(g.op("Mul", count, each), rest))
    return joined, g.op("Expand", each, count)


@converts("TensorListConcat")
def concat_uniform(g: GraphBuilder, call: NodeView, handle: Value) -> tuple[Value, Value]:
    """TensorListConcatV2."""
    return concat(g, call, handle, handle, handle)


@converts("TensorListSplit", constants=("lengths",))
def split(g: GraphBuilder, call: NodeView, tensor: Value, element: Value, lengths: Value) -> Value:
    """Reshape into pieces of equal length."""
    del element, lengths
    known = call.needed(2, "lengths")
    if len(set(known.tolist())) != 1:
        call.fail("its pieces must have equal lengths")
    rest = g.shape_of(tensor, 1, tensor.rank)
    return g.reshape(tensor, g.joined(g.ints(len(known), int(known[0])), rest))
