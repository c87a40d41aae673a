"""Lists of tensors as values: a scalar of dtype variant that holds a `TensorList`.

A list never changes; setting an element gives a new list. The newest version of a family of lists
holds
the elements, an older one how it differs from the next newer (Baker's persistent arrays): setting
in the newest takes
one step, whatever its length, and so does a loop that walks back through the versions.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import ANY, INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import constants, shapes
from pinnace.ops.execute import execute
from pinnace.ops.math import segments
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, OpDef, attr, typed
from pinnace.ops.registry import register, scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array, Tensor

__all__: list[str] = []

_MISSING: Any = object()
# Versions this close are reached by moving the elements; from farther ones a copy is taken.
_NEAR = 8


class TensorList:
    """A list of arrays of one dtype, some of them perhaps missing.

    Args:
        dtype: of the elements.
        shape: what every element fits.
        length: how many there are.
        items: those that are not missing, by index; owned by this list from now on.

    Attributes:
        whole: the array whose rows the elements are, where they lie in one that nobody writes into.
    """

    __slots__ = ("_items", "_lock", "_newer", "_undo", "dtype", "length", "shape", "whole")

    def __init__(
        self,
        dtype: DType,
        shape: Shape,
        length: int,
        items: dict[int, Array],
        lock: Any = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.length = length
        self._items: dict[int, Array] | None = items
        self._newer: TensorList | None = None
        self._undo: dict[int, Any] = {}
        self.whole: Array | None = None
        # One per family of versions.
        self._lock = lock if lock is not None else threading.Lock()

    def _rooted(self) -> dict[int, Array]:
        """The elements, moved here from the version that holds them. The lock is held."""
        if self._items is not None:
            return self._items
        path: list[TensorList] = []
        version: TensorList = self
        while version._items is None:
            path.append(version)
            assert version._newer is not None  # noqa: S101 (only the holder has no newer one)
            version = version._newer
        items = version._items
        for older in reversed(path):
            redo = {index: items.get(index, _MISSING) for index in older._undo}
            _apply(items, older._undo)
            newer = older._newer
            assert newer is not None  # noqa: S101 (as above)
            newer._items, newer._newer, newer._undo = None, older, redo
            older._items, older._newer, older._undo = items, None, {}
        return items

    def _is_far(self) -> bool:
        """Whether the elements are many versions away. The lock is held."""
        version: TensorList | None = self
        for _ in range(_NEAR):
            if version is None or version._items is not None:
                return False
            version = version._newer
        return True

    def changed(
        self, changes: dict[int, Any], length: int, shape: Shape | None = None
    ) -> TensorList:
        """The list with these elements set (or gone, where the value is missing)."""
        with self._lock:
            items = self._items
            if items is not None and len(changes) == 1:
                # One element of the newest version: a turn of a loop.
                ((index, value),) = changes.items()
                if value is not _MISSING:
                    self._undo = {index: items.get(index, _MISSING)}
                    items[index] = value
                    made = TensorList(self.dtype, shape or self.shape, length, items, self._lock)
                    self._items, self._newer = None, made
                    return made
            if self._is_far():
                # Two lines of versions from one beginning would move the elements to and fro.
                items = dict(self._rooted())
                _apply(items, changes)
                return TensorList(self.dtype, shape or self.shape, length, items)
            items = self._rooted()
            undo = {index: items.get(index, _MISSING) for index in changes}
            _apply(items, changes)
            made = TensorList(self.dtype, shape or self.shape, length, items, self._lock)
            self._items, self._newer, self._undo = None, made, undo
        return made

    def popped(self) -> tuple[TensorList, Array | None]:
        """The list without its last element, and that, None if it was never set."""
        last = self.length - 1
        with self._lock:
            items = self._items
            if items is not None and last in items:
                # The newest version: a turn of a gradient's loop.
                found = items.pop(last)
                self._undo = {last: found}
                made = TensorList(self.dtype, self.shape, last, items, self._lock)
                self._items, self._newer = None, made
                return made, found
        held = self.get(last)
        return self.changed({last: _MISSING}, last), held

    def get(self, index: int) -> Array | None:
        """The element, None if it was never set."""
        with self._lock:
            return self._rooted().get(index)

    def snapshot(self) -> dict[int, Array]:
        """The elements that are set, by index."""
        with self._lock:
            return dict(self._rooted())

    def snapshot_size(self) -> int:
        """How many elements are set."""
        with self._lock:
            return len(self._rooted())

    def item_shape(self) -> tuple[int, ...] | None:
        """The shape of an element that is set, None if there is none."""
        if self.whole is not None:
            return tuple(self.whole.shape[1:])
        with self._lock:
            for item in self._rooted().values():
                return tuple(item.shape)
        return None

    def stacked(self, shape: tuple[int, ...]) -> Array | None:
        """The elements as one array, zeros where they are missing; nobody may write into it.

        Args:
            shape: of an element. If another one is there, there is no such array: None.
        """
        if self.whole is not None:
            return self.whole if self.whole.shape[1:] == shape else None
        items = self.snapshot()
        if any(item.shape != shape for item in items.values()):
            return None
        make = np.empty if len(items) == self.length else np.zeros
        rows = make((self.length, *shape), self.dtype.numpy)
        for index, item in items.items():
            rows[index] = item
        return rows

    def extended(self, rows: Array) -> TensorList:
        """The list with these elements at its end; nobody may write into the rows any more."""
        changes = {self.length + index: row for index, row in _rows(rows).items()}
        made = self.changed(changes, self.length + len(rows))
        if not self.length:
            made.whole = rows
        return made

    def repeated(self, item: Array, count: int) -> TensorList:
        """The list with an element at its end, so many times."""
        length = self.length + count
        made = self.changed(dict.fromkeys(range(self.length, length), item), length)
        if not self.length:
            made.whole = np.broadcast_to(item, (count, *item.shape))
        return made

    def shortened(self, length: int) -> TensorList:
        """The first elements."""
        return self.changed(dict.fromkeys(range(length, self.length), _MISSING), length)

    def replaced(self, places: Iterable[int], rows: Array) -> TensorList:
        """The list with elements at these places taken from the same places of an array.

        Nobody may write into the array any more.
        """
        items = _rows(rows)
        changes = {place: items[place] for place in places}
        made = self.changed(changes, self.length)
        if len(changes) == self.length == len(rows):
            made.whole = rows
        return made

    def __add__(self, other: object) -> TensorList:
        # NumPy adds the elements of object arrays with this: AddN of lists.
        return added(self, other) if isinstance(other, TensorList) else NotImplemented

    def zeros_like(self) -> TensorList:
        """The list with every element missing, which is zero; what ZerosLike gives."""
        return TensorList(self.dtype, self.shape, self.length, {})

    def __repr__(self) -> str:
        return f"<TensorList of {self.length} {self.dtype.name}{self.shape.text}>"


def _apply(items: dict[int, Array], changes: dict[int, Any]) -> None:
    for index, value in changes.items():
        if value is _MISSING:
            items.pop(index, None)
        else:
            items[index] = value


def handle_of_list(value: TensorList) -> Array:
    """The scalar that stands for a list."""
    array = np.empty((), object)
    array[()] = value
    return array


def list_of(handle: Array, name: str = "TensorList") -> TensorList:
    """The list behind a scalar."""
    value = handle[()]
    if not isinstance(value, TensorList):
        message = f"{name}: input_handle must hold a list of tensors, holds {type(value).__name__}"
        raise InvalidArgumentError(message)
    return value


def _shape_from(element_shape: Array) -> Shape:
    """An element_shape: a vector with -1 for unknown sizes, or the scalar -1."""
    if element_shape.ndim == 0:
        return Shape(None)
    return Shape([None if size < 0 else size for size in element_shape.tolist()])


def _merged(name: str, a: Shape, b: Shape) -> Shape:
    try:
        return a.merge_with(b)
    except ValueError:
        message = f"{name}: element_shape must fit the list's {a.text}, got {b.text}"
        raise InvalidArgumentError(message) from None


def _zeros(name: str, dtype: DType, shape: Shape) -> Array:
    sizes = shape.dims
    if sizes is None or None in sizes:
        message = (
            f"{name}: an element that was never set reads as zeros, which needs a known shape, "
            f"but element_shape is {shape.text}"
        )
        raise InvalidArgumentError(message)
    if dtype.numpy.kind == "O":
        filler = None if dtype in {dtypes.variant, dtypes.resource} else b""
        return np.full(sizes, filler, object)
    return np.zeros(sizes, dtype.numpy)


def _element_shape(value: TensorList, items: Any, wanted: Shape, name: str) -> Shape:
    """The shape of missing elements: what is declared, else that of one that is there."""
    shape = _merged(name, value.shape, wanted)
    if not shape.is_fully_defined():
        for array in items:
            return _merged(name, shape, Shape.of(array.shape))
    return shape


def _in_range(name: str, index: int, length: int) -> None:
    if not 0 <= index < length:
        message = f"{name}: index must be in [0, {length}), got {index}"
        raise InvalidArgumentError(message)


def _check_item(name: str, value: TensorList, item: Array) -> None:
    dims, shape = value.shape.dims, item.shape
    if dims is not None and len(dims) == len(shape):
        for size, found in zip(dims, shape, strict=True):
            if size != found and size is not None:
                break
        else:
            return  # the usual case, once a turn of a loop, without making a Shape
    if not value.shape.is_compatible_with(shape):
        message = (
            f"{name}: an element of this list must fit {value.shape.text}, got {list(item.shape)}"
        )
        raise InvalidArgumentError(message)


# Kernels.


def _reserve_kernel(element_shape: Array, num_elements: Array, *, element_dtype: DType) -> Array:
    count = int(num_elements)
    if count < 0:
        message = f"TensorListReserve: num_elements must not be negative, got {count}"
        raise InvalidArgumentError(message)
    return handle_of_list(TensorList(element_dtype, _shape_from(element_shape), count, {}))


def _empty_kernel(
    element_shape: Array,
    max_num_elements: Array,  # noqa: ARG001 (a hint)
    *,
    element_dtype: DType,
) -> Array:
    return handle_of_list(TensorList(element_dtype, _shape_from(element_shape), 0, {}))


def _from_tensor_kernel(tensor: Array, element_shape: Array, *, element_dtype: DType) -> Array:
    if tensor.ndim == 0:
        message = "TensorListFromTensor: tensor must have at least one axis, got a scalar"
        raise InvalidArgumentError(message)
    shape = _merged("TensorListFromTensor", _shape_from(element_shape), Shape.of(tensor.shape[1:]))
    return handle_of_list(list_of_rows(tensor, element_dtype, shape))


def list_of_rows(tensor: Array, dtype: DType, shape: Shape) -> TensorList:
    """The list of an array's rows, which nobody writes into any more."""
    made = TensorList(dtype, shape, len(tensor), _rows(tensor))
    made.whole = tensor
    return made


def _rows(tensor: Array) -> dict[int, Array]:
    if tensor.ndim == 1:  # scalars, which must stay arrays
        return {index: tensor[index, ...] for index in range(len(tensor))}
    return dict(enumerate(tensor))


def _set_kernel(
    input_handle: Array, index: Array, item: Array, *, resize_if_index_out_of_bounds: bool
) -> Array:
    value = list_of(input_handle, "TensorListSetItem")
    at = int(index)
    length = value.length
    if resize_if_index_out_of_bounds and at >= length:
        length = at + 1
    _in_range("TensorListSetItem", at, length)
    if value.shape.dims is not None:
        _check_item("TensorListSetItem", value, item)
    return handle_of_list(value.changed({at: item}, length))


def _get_kernel(input_handle: Array, index: Array, element_shape: Array) -> Array:
    value = list_of(input_handle, "TensorListGetItem")
    at = int(index)
    _in_range("TensorListGetItem", at, value.length)
    found = value.get(at)
    if found is None:
        shape = _element_shape(
            value, value.snapshot().values(), _shape_from(element_shape), "TensorListGetItem"
        )
        return _zeros("TensorListGetItem", value.dtype, shape)
    return found


def _all(value: TensorList, wanted: Shape, name: str) -> list[Array]:
    """Every element, zeros where it is missing."""
    items = value.snapshot()
    if len(items) < value.length:
        shape = _element_shape(value, items.values(), wanted, name)
        zeros = _zeros(name, value.dtype, shape)
        return [items.get(index, zeros) for index in range(value.length)]
    return [items[index] for index in range(value.length)]


def _stacked(elements: Sequence[Array], dtype: DType, shape: Shape, name: str) -> Array:
    if not elements:
        sizes = shape.dims
        if sizes is None or None in sizes:
            message = f"{name}: an empty list needs a known element_shape, got {shape.text}"
            raise InvalidArgumentError(message)
        return np.zeros((0, *sizes), dtype.numpy)
    first = elements[0].shape
    for element in elements:
        if element.shape != first:
            message = (
                f"{name}: elements must have one shape, got {list(first)} and {list(element.shape)}"
            )
            raise InvalidArgumentError(message)
    if dtype.numpy.kind == "O":
        out = np.empty((len(elements), *first), object)
        for index, element in enumerate(elements):
            out[index] = element if element.ndim else element[()]
        return out
    return np.stack(elements) if first else np.array(elements, dtype.numpy)


def _stack_kernel(input_handle: Array, element_shape: Array, *, num_elements: int) -> Array:
    value = list_of(input_handle, "TensorListStack")
    if num_elements not in {-1, value.length}:
        message = f"TensorListStack: the list must have {num_elements} elements, has {value.length}"
        raise InvalidArgumentError(message)
    wanted = _shape_from(element_shape)
    shape = _merged("TensorListStack", value.shape, wanted)
    if value.whole is not None and len(value.whole):
        _merged("TensorListStack", shape, Shape.of(value.whole.shape[1:]))
        return value.whole
    elements = _all(value, wanted, "TensorListStack")
    for element in elements[:1]:
        _merged("TensorListStack", shape, Shape.of(element.shape))
    return _stacked(elements, value.dtype, shape, "TensorListStack")


def _push_kernel(input_handle: Array, tensor: Array) -> Array:
    value = list_of(input_handle, "TensorListPushBack")
    if value.shape.dims is not None:
        _check_item("TensorListPushBack", value, tensor)
    return handle_of_list(value.changed({value.length: tensor}, value.length + 1))


def _pop_kernel(input_handle: Array, element_shape: Array) -> tuple[Array, Array]:
    value = list_of(input_handle, "TensorListPopBack")
    last = value.length - 1
    if last < 0:
        message = "TensorListPopBack: the list is empty"
        raise InvalidArgumentError(message)
    rest, found = value.popped()
    if found is None:
        shape = _element_shape(
            value, value.snapshot().values(), _shape_from(element_shape), "TensorListPopBack"
        )
        found = _zeros("TensorListPopBack", value.dtype, shape)
    return handle_of_list(rest), found


def _length_kernel(input_handle: Array) -> Array:
    return np.array(list_of(input_handle, "TensorListLength").length, np.int32)


def _shape_kernel(input_handle: Array, *, shape_type: DType) -> Array:
    shape = list_of(input_handle, "TensorListElementShape").shape
    if shape.rank is None:
        return np.array(-1, shape_type.numpy)
    return np.array([-1 if size is None else size for size in shape], shape_type.numpy)


def _resize_kernel(input_handle: Array, size: Array) -> Array:
    value = list_of(input_handle, "TensorListResize")
    count = int(size)
    if count < 0:
        message = f"TensorListResize: size must not be negative, got {count}"
        raise InvalidArgumentError(message)
    gone = dict.fromkeys(range(count, value.length), _MISSING)
    return handle_of_list(value.changed(gone, count))


def _gather_kernel(input_handle: Array, indices: Array, element_shape: Array) -> Array:
    value = list_of(input_handle, "TensorListGather")
    wanted = _shape_from(element_shape)
    positions = indices.reshape(-1).tolist()
    for index in positions:
        _in_range("TensorListGather", index, value.length)
    everything = _all(value, wanted, "TensorListGather") if positions else []
    chosen = [everything[index] for index in positions]
    shape = _merged("TensorListGather", value.shape, wanted)
    return _stacked(chosen, value.dtype, shape, "TensorListGather")


def _scatter_kernel(
    tensor: Array,
    indices: Array,
    element_shape: Array,
    num_elements: Array,
    *,
    element_dtype: DType,
) -> Array:
    positions = indices.reshape(-1).tolist()
    if len(positions) != len(tensor):
        message = f"TensorListScatterV2: {len(positions)} indices for {len(tensor)} elements"
        raise InvalidArgumentError(message)
    length = max(int(num_elements), max(positions, default=-1) + 1)
    rows = _rows(tensor)
    for index in positions:
        _in_range("TensorListScatterV2", index, length)
    items = {index: rows[row] for row, index in enumerate(positions)}
    shape = _merged("TensorListScatterV2", _shape_from(element_shape), Shape.of(tensor.shape[1:]))
    return handle_of_list(TensorList(element_dtype, shape, length, items))


def _scatter_into_kernel(input_handle: Array, tensor: Array, indices: Array) -> Array:
    value = list_of(input_handle, "TensorListScatterIntoExistingList")
    positions = indices.reshape(-1).tolist()
    length = max([value.length, *(index + 1 for index in positions)])
    rows = _rows(tensor)
    changes = {index: rows[row] for row, index in enumerate(positions)}
    for item in changes.values():
        _check_item("TensorListScatterIntoExistingList", value, item)
    return handle_of_list(value.changed(changes, length))


def _concat_kernel(
    input_handle: Array, element_shape: Array, leading_dims: Array
) -> tuple[Array, Array]:
    value = list_of(input_handle, "TensorListConcatV2")
    items = value.snapshot()
    wanted = _merged("TensorListConcatV2", value.shape, _shape_from(element_shape))
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
            found = _zeros("TensorListConcatV2", value.dtype, shape)
        if found.ndim == 0:
            message = "TensorListConcatV2: elements must have at least one axis, got a scalar"
            raise InvalidArgumentError(message)
        elements.append(found)
    lengths = np.array([len(element) for element in elements], np.int64)
    if not elements:
        rest = wanted[1:] if wanted.rank is not None else Shape(None)
        return _stacked([], value.dtype, rest, "TensorListConcatV2"), lengths
    for element in elements:
        if element.shape[1:] != elements[0].shape[1:]:
            message = (
                "TensorListConcatV2: elements must agree but for the first axis, got "
                f"{list(elements[0].shape)} and {list(element.shape)}"
            )
            raise InvalidArgumentError(message)
    return np.concatenate(elements), lengths


def _split_kernel(
    tensor: Array, element_shape: Array, lengths: Array, *, element_dtype: DType
) -> Array:
    sizes = lengths.reshape(-1).tolist()
    if tensor.ndim == 0 or sum(sizes) != len(tensor) or min(sizes, default=0) < 0:
        message = (
            "TensorListSplit: lengths must add up to the first axis of tensor "
            f"{list(tensor.shape)}, "
            f"got {sizes}"
        )
        raise InvalidArgumentError(message)
    items = {}
    start = 0
    for index, size in enumerate(sizes):
        items[index] = tensor[start : start + size]
        start += size
    return handle_of_list(TensorList(element_dtype, _shape_from(element_shape), len(sizes), items))


def added(a: TensorList, b: TensorList) -> TensorList:
    """The sum, element by element; a missing element is zero. Takes steps for the shorter list."""
    if a.length != b.length:
        message = f"AddN: lists must have one length, got {a.length} and {b.length}"
        raise InvalidArgumentError(message)
    mine, theirs = a.snapshot_size(), b.snapshot_size()
    if mine < theirs:
        a, b = b, a
    changes: dict[int, Any] = {}
    for index, item in b.snapshot().items():
        known = a.get(index)
        changes[index] = item if known is None else _sum_of(known, item)
    shape = a.shape if a.shape.dims is not None else b.shape
    return a.changed(changes, a.length, shape)


def _sum_of(x: Array, y: Array) -> Array:
    if x.dtype == object:
        return handle_of_list(added(list_of(x), list_of(y)))
    return np.asarray(x + y)


# Inference.


def _infer_from_tensor(call: InferCall) -> Shape:
    if call.spec(0).shape.rank == 0:
        call.fail("tensor must have at least one axis")
    return Shape(())


def _infer_item(call: InferCall) -> Shape:
    return call.shape_constant(len(call.inputs) - 1)


def _infer_stack(call: InferCall) -> Shape:
    count = call.attrs["num_elements"]
    return Shape([None if count < 0 else count]).concatenate(call.shape_constant(1))


def _infer_gather(call: InferCall) -> Shape:
    indices = call.spec(1).shape
    count = indices.num_elements() if indices.rank is not None else None
    return Shape([count]).concatenate(call.shape_constant(2))


def _infer_concat(call: InferCall) -> tuple[Shape, ...]:
    element = call.shape_constant(1)
    rest = element[1:] if element.rank is not None else Shape(None)
    return Shape([None]).concatenate(rest), Shape([None])


# Gradients.


def _shape_of(x: Tensor) -> Tensor:
    known = x.shape
    if known.is_fully_defined():
        return constants.constant(np.array(known.as_list(), np.int32))
    return shapes.shape(x)


def _row_shape(x: Tensor) -> Tensor:
    known = x.shape
    if known.rank and known[1:].is_fully_defined():
        return constants.constant(np.array(known[1:].as_list(), np.int32))
    return shapes.shape(x)[1:]


def push_back(handle: Tensor, tensor: Tensor) -> Tensor:
    """The list with one more element."""
    return execute(PUSH_BACK, handle, tensor)  # type: ignore[no-any-return]


def pop_back(handle: Tensor, dtype: DType, element_shape: Tensor) -> tuple[Tensor, Tensor]:
    """The list without its last element, and that element."""
    return execute(  # type: ignore[no-any-return]
        POP_BACK, handle, element_shape, element_dtype=dtype
    )


def empty(dtype: DType, element_shape: Tensor) -> Tensor:
    """A list without elements."""
    count = constants.constant(-1)
    return execute(EMPTY, element_shape, count, element_dtype=dtype)  # type: ignore[no-any-return]


def element_shape_tensor(shape: Shape) -> Tensor:
    """A shape as these ops take it."""
    if shape.rank is None:
        return constants.constant(np.array(-1, np.int32))
    return constants.constant(np.array([-1 if n is None else n for n in shape], np.int32))


def _push_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    tensor = call.inputs[1]
    return pop_back(dy, tensor.dtype, _shape_of(tensor))


def _pop_gradient(call: OpCall, dlist: Any, dtensor: Any) -> tuple[Any, ...]:
    rest, tensor = call.outputs
    if dlist is None:
        dlist = constants.zeros_like(rest)
    if dtensor is None:
        dtensor = constants.zeros_like(tensor)
    return push_back(dlist, dtensor), None


def _get_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    handle, index, _ = call.inputs
    zeros = constants.zeros_like(handle)
    return execute(SET_ITEM, zeros, index, dy), None, None


def _set_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    handle, index, item = call.inputs
    dlist = dy
    if call.needs(0):
        known = item.shape.is_fully_defined() and item.dtype is not dtypes.variant
        # Of the item only the shape counts: it need not be kept for the way back.
        zeros = constants.zeros(item.shape, item.dtype) if known else constants.zeros_like(item)
        dlist = execute(SET_ITEM, dy, index, zeros)
        if call.attr("resize_if_index_out_of_bounds"):
            dlist = execute(RESIZE, dlist, execute(LENGTH, handle))
    ditem = execute(GET_ITEM, dy, index, _shape_of(item), element_dtype=item.dtype)
    return dlist, None, ditem


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


def _stack_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:  # noqa: ARG001 (the protocol)
    return execute(FROM_TENSOR, dy, _row_shape(dy)), None


def _resize_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return execute(RESIZE, dy, execute(LENGTH, call.inputs[0])), None


def _gather_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    handle, indices, _ = call.inputs
    rows = segments.unsorted_segment_sum(dy, indices, execute(LENGTH, handle))
    return execute(FROM_TENSOR, rows, _row_shape(dy)), None, None


def _scatter_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    tensor, indices = call.inputs[:2]
    dtensor = execute(GATHER, dy, indices, _row_shape(tensor), element_dtype=tensor.dtype)
    return dtensor, None, None, None


def _scatter_into_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    _, tensor, indices = call.inputs
    dlist = execute(SCATTER_INTO, dy, constants.zeros_like(tensor), indices)
    dtensor = execute(GATHER, dy, indices, _row_shape(tensor), element_dtype=tensor.dtype)
    return dlist, dtensor, None


def _concat_gradient(call: OpCall, dy: Any, _: Any) -> tuple[Any, ...]:
    unknown = constants.constant(np.array(-1, np.int32))
    return execute(SPLIT, dy, unknown, call.outputs[1]), None, None


def _split_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    tensor, element_shape, lengths = call.inputs
    joined = execute(CONCAT, dy, element_shape, lengths, element_dtype=tensor.dtype)
    return joined[0], None, None


_SHAPE_TYPE = typed(INDEX, default=int32)


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
    return register(
        OpDef(
            name=name,
            signature=signature,
            types=types,
            attrs=attrs or {},
            infer=infer,
            kernel=kernel,
            gradient=gradient,
        )
    )


# These have the dtype of their elements as an attribute that no argument tells.
_TYPED = frozenset({"TensorListReserve", "EmptyTensorList"})

RESERVE = _list_op(
    "TensorListReserve",
    "element_shape: shape_type, num_elements: int32 -> handle: variant",
    _reserve_kernel,
    NOT_DIFFERENTIABLE,
)
EMPTY = _list_op(
    "EmptyTensorList",
    "element_shape: shape_type, max_num_elements: int32 -> handle: variant",
    _empty_kernel,
    NOT_DIFFERENTIABLE,
)
FROM_TENSOR = _list_op(
    "TensorListFromTensor",
    "tensor: element_dtype, element_shape: shape_type -> output_handle: variant",
    _from_tensor_kernel,
    _from_tensor_gradient,
    _infer_from_tensor,
)
SET_ITEM = _list_op(
    "TensorListSetItem",
    "input_handle: variant, index: int32, item: element_dtype -> output_handle: variant",
    _set_kernel,
    _set_gradient,
    attrs={"resize_if_index_out_of_bounds": attr("bool", default=False)},
)
GET_ITEM = _list_op(
    "TensorListGetItem",
    "input_handle: variant, index: int32, element_shape: Tshape -> item: element_dtype",
    _get_kernel,
    _get_gradient,
    _infer_item,
)
STACK = _list_op(
    "TensorListStack",
    "input_handle: variant, element_shape: int32 -> tensor: element_dtype",
    _stack_kernel,
    _stack_gradient,
    _infer_stack,
    attrs={"num_elements": attr("int", default=-1)},
)
PUSH_BACK = _list_op(
    "TensorListPushBack",
    "input_handle: variant, tensor: element_dtype -> output_handle: variant",
    _push_kernel,
    _push_gradient,
)
POP_BACK = _list_op(
    "TensorListPopBack",
    "input_handle: variant, element_shape: int32 -> output_handle: variant, tensor: element_dtype",
    _pop_kernel,
    _pop_gradient,
    lambda call: (Shape(()), call.shape_constant(1)),
)
LENGTH = _list_op(
    "TensorListLength", "input_handle: variant -> length: int32", _length_kernel, NOT_DIFFERENTIABLE
)
ELEMENT_SHAPE = _list_op(
    "TensorListElementShape",
    "input_handle: variant -> element_shape: shape_type",
    _shape_kernel,
    NOT_DIFFERENTIABLE,
    lambda _: Shape(None),
)
RESIZE = _list_op(
    "TensorListResize",
    "input_handle: variant, size: int32 -> output_handle: variant",
    _resize_kernel,
    _resize_gradient,
)
GATHER = _list_op(
    "TensorListGather",
    "input_handle: variant, indices: int32, element_shape: int32 -> values: element_dtype",
    _gather_kernel,
    _gather_gradient,
    _infer_gather,
)
SCATTER = _list_op(
    "TensorListScatterV2",
    "tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32 "
    "-> output_handle: variant",
    _scatter_kernel,
    _scatter_gradient,
)
SCATTER_INTO = _list_op(
    "TensorListScatterIntoExistingList",
    "input_handle: variant, tensor: element_dtype, indices: int32 -> output_handle: variant",
    _scatter_into_kernel,
    _scatter_into_gradient,
)
CONCAT = _list_op(
    "TensorListConcatV2",
    "input_handle: variant, element_shape: shape_type, leading_dims: int64 "
    "-> tensor: element_dtype, lengths: int64",
    _concat_kernel,
    _concat_gradient,
    _infer_concat,
)
SPLIT = _list_op(
    "TensorListSplit",
    "tensor: element_dtype, element_shape: shape_type, lengths: int64 -> output_handle: variant",
    _split_kernel,
    _split_gradient,
)
