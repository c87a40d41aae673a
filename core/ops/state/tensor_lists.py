"""Lists of tensors as values: a scalar of dtype variant that holds a `TensorList`.

A list never changes; setting an element gives a new list. The newest version of a family of lists holds
the elements, an older one how it differs from the next newer (Baker's persistent arrays): setting in the newest takes
one step, whatever its length, and so does a loop that walks back through the versions.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY, INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import constants, shapes
from pinnace.ops.execute import execute
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, OpDef, attr, typed
from pinnace.ops.registry import register, scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array, Tensor

__all__: list[str] = []

_MISSING: Any = object()


class TensorList:
    """A list of arrays of one dtype, some of them perhaps missing.

    Args:
        dtype: of the elements.
        shape: what every element fits.
        length: how many there are.
        items: those that are not missing, by index; owned by this list from now on.
    """

    __slots__ = ("_items", "_lock", "_newer", "_undo", "dtype", "length", "shape")

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

    def changed(self, changes: dict[int, Any], length: int, shape: Shape | None = None) -> TensorList:
        """The list with these elements set (or gone, where the value is missing)."""
        with self._lock:
            items = self._rooted()
            undo = {index: items.get(index, _MISSING) for index in changes}
            _apply(items, changes)
            made = TensorList(self.dtype, shape or self.shape, length, items, self._lock)
            self._items, self._newer, self._undo = None, made, undo
        return made

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
    if dtype.numpy == object:
        filler = None if dtype in {dtypes.variant, dtypes.resource} else b""
        return np.full(sizes, filler, object)  # type: ignore[arg-type]
    return np.zeros(sizes, dtype.numpy)  # type: ignore[arg-type]


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
    if not value.shape.is_compatible_with(item.shape):
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


def _empty_kernel(element_shape: Array, max_num_elements: Array, *, element_dtype: DType) -> Array:
    return handle_of_list(TensorList(element_dtype, _shape_from(element_shape), 0, {}))


def _from_tensor_kernel(tensor: Array, element_shape: Array, *, element_dtype: DType) -> Array:
    if tensor.ndim == 0:
        message = "TensorListFromTensor: tensor must have at least one axis, got a scalar"
        raise InvalidArgumentError(message)
    shape = _merged("TensorListFromTensor", _shape_from(element_shape), Shape.of(tensor.shape[1:]))
    items = _rows(tensor)
    return handle_of_list(TensorList(element_dtype, shape, len(tensor), items))


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
        return np.zeros((0, *sizes), dtype.numpy)  # type: ignore[arg-type]
    first = elements[0].shape
    for element in elements:
        if element.shape != first:
            message = f"{name}: elements must have one shape, got {list(first)} and {list(element.shape)}"
            raise InvalidArgumentError(message)
    if dtype.numpy == object:
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
    found = value.get(last)
    if found is None:
        shape = _element_shape(
            value, value.snapshot().values(), _shape_from(element_shape), "TensorListPopBack"
        )
        found = _zeros("TensorListPopBack", value.dtype, shape)
    return handle_of_list(value.changed({last: _MISSING}, last)), found


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
            first = known if known is not None else (leading[index] if index < len(leading) else None)
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
            f"TensorListSplit: lengths must add up to the first axis of tensor {list(tensor.shape)}, "
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


def empty_like(value: TensorList) -> TensorList:
    """The list with every element missing, which is zero."""
    return TensorList(value.dtype, value.shape, value.length, {})
