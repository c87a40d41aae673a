"""Lists of tensors as values: a scalar of dtype variant that holds a `TensorList`.

A list is immutable; setting an element returns a new list. The newest version of a family of lists
holds the elements, an older one its difference from the next newer (Baker's persistent arrays):
setting in the newest takes constant time, whatever its length, and so does a loop that goes back
through the versions.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.memory import POINTER, claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array


MISSING: Any = object()


# Versions at most this far apart share elements, which are moved; otherwise they are copied.
_NEAR = 8


class TensorList:
    """A list of arrays of one dtype, some of them perhaps missing.

    Args:
        dtype: dtype of the elements.
        shape: a shape that every element fits.
        length: how many there are.
        items: the present elements, by index; owned by this list from now on. None where `whole`
            has all of them: they are taken from there once somebody sets one.

    Attributes:
        whole: the array whose rows the elements are, where they lie in one that is not written to.
    """

    __slots__ = ("_items", "_lock", "_newer", "_undo", "dtype", "length", "shape", "whole")

    def __init__(
        self,
        dtype: DType,
        shape: Shape,
        length: int,
        items: dict[int, Array] | None,
        lock: Any = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.length = length
        self._items = items
        self._newer: TensorList | None = None
        self._undo: dict[int, Any] = {}
        self.whole: Array | None = None
        # One lock per family of versions.
        self._lock = lock if lock is not None else threading.Lock()

    def _rooted(self) -> dict[int, Array]:
        """The elements, moved to this version from the one that holds them. The lock is held."""
        if self._items is not None:
            return self._items
        path: list[TensorList] = []
        version: TensorList = self
        while version._items is None:
            if version._newer is None:  # no element was set so far
                assert version.whole is not None  # noqa: S101 (see `items` of the constructor)
                version._items = items_of_rows(version.whole)
                break
            path.append(version)
            version = version._newer
        items = version._items
        for older in reversed(path):
            redo = {index: items.get(index, MISSING) for index in older._undo}
            _apply(items, older._undo)
            newer = older._newer
            assert newer is not None  # noqa: S101 (as above)
            newer._items, newer._newer, newer._undo = None, older, redo
            older._items, older._newer, older._undo = items, None, {}
        return items

    def _is_far(self) -> bool:
        """Whether the elements are many versions away from this one. The lock is held."""
        version: TensorList | None = self
        for _ in range(_NEAR):
            if version is None or version._items is not None:
                return False
            version = version._newer
        return True

    def changed(
        self, changes: dict[int, Any], length: int, shape: Shape | None = None
    ) -> TensorList:
        """The list with these elements set, or unset where the value is missing."""
        with self._lock:
            items = self._items
            if items is not None and len(changes) == 1:
                # A single change to the newest version, as in an iteration of a loop.
                ((index, value),) = changes.items()
                if value is not MISSING:
                    self._undo = {index: items.get(index, MISSING)}
                    items[index] = value
                    made = TensorList(self.dtype, shape or self.shape, length, items, self._lock)
                    self._items, self._newer = None, made
                    return made
            if self._is_far():
                # Two branches of versions would keep moving the shared elements to and fro: copy
                # them.
                items = dict(self._rooted())
                _apply(items, changes)
                return TensorList(self.dtype, shape or self.shape, length, items)
            items = self._rooted()
            undo = {index: items.get(index, MISSING) for index in changes}
            _apply(items, changes)
            made = TensorList(self.dtype, shape or self.shape, length, items, self._lock)
            self._items, self._newer, self._undo = None, made, undo
        return made

    def popped(self) -> tuple[TensorList, Array | None]:
        """The list without its last element, and the element; None if it was never set."""
        last = self.length - 1
        with self._lock:
            items = self._items
            if items is not None and last in items:
                # The newest version, as in an iteration of a gradient's loop.
                found = items.pop(last)
                self._undo = {last: found}
                made = TensorList(self.dtype, self.shape, last, items, self._lock)
                self._items, self._newer = None, made
                return made, found
        held = self.get(last)
        return self.changed({last: MISSING}, last), held

    def get(self, index: int) -> Array | None:
        """The element; None if it was never set."""
        whole = self.whole
        if whole is not None:
            return whole[index, ...] if 0 <= index < len(whole) else None
        with self._lock:
            return self._rooted().get(index)

    def snapshot(self) -> dict[int, Array]:
        """The elements that are set, by index."""
        if self.whole is not None:
            return items_of_rows(self.whole)
        with self._lock:
            return dict(self._rooted())

    def snapshot_size(self) -> int:
        """The number of set elements."""
        if self.whole is not None:
            return self.length
        with self._lock:
            return len(self._rooted())

    def item_shape(self) -> tuple[int, ...] | None:
        """The shape of an element that is set; None if there is none."""
        if self.whole is not None:
            return tuple(self.whole.shape[1:])
        with self._lock:
            for item in self._rooted().values():
                return tuple(item.shape)
        return None

    def stacked(self, shape: tuple[int, ...]) -> Array | None:
        """The elements as one read-only array, zeros where they are missing.

        Args:
            shape: shape of an element. If another one is there, there is no such array: None.
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
        """The list with these rows appended; the rows must not be written to any more."""
        if not self.length:
            return list_of_rows(rows, self.dtype, self.shape)
        changes = {self.length + index: row for index, row in items_of_rows(rows).items()}
        return self.changed(changes, self.length + len(rows))

    def repeated(self, item: Array, count: int) -> TensorList:
        """The list with an element appended a number of times."""
        if not self.length:
            rows = np.broadcast_to(item, (count, *item.shape))
            return list_of_rows(rows, self.dtype, self.shape)
        length = self.length + count
        return self.changed(dict.fromkeys(range(self.length, length), item), length)

    def shortened(self, length: int) -> TensorList:
        """The first elements."""
        if not length:
            return TensorList(self.dtype, self.shape, 0, {})
        if self.whole is not None:
            return list_of_rows(self.whole[:length], self.dtype, self.shape)
        return self.changed(dict.fromkeys(range(length, self.length), MISSING), length)

    def replaced(self, places: Iterable[int], rows: Array) -> TensorList:
        """The list with elements at these places taken from the same places of an array.

        The array must not be written from then on.
        """
        chosen = set(places)
        if len(chosen) == self.length == len(rows):
            return list_of_rows(rows, self.dtype, self.shape)
        items = items_of_rows(rows)
        return self.changed({place: items[place] for place in chosen}, self.length)

    def __add__(self, other: object) -> TensorList:
        # NumPy adds the elements of object arrays by this method: AddN of lists.
        return added(self, other) if isinstance(other, TensorList) else NotImplemented

    def zeros_like(self) -> TensorList:
        """The list with every element unset, which counts as zero; the result of ZerosLike."""
        return TensorList(self.dtype, self.shape, self.length, {})

    def __repr__(self) -> str:
        return f"<TensorList of {self.length} {self.dtype.name}{self.shape.text}>"


def _apply(items: dict[int, Array], changes: dict[int, Any]) -> None:
    for index, value in changes.items():
        if value is MISSING:
            items.pop(index, None)
        else:
            items[index] = value


def handle_of_list(value: TensorList) -> Array:
    """The scalar handle of a list."""
    array = np.empty((), object)
    array[()] = value
    return array


def list_of(handle: Array, name: str = "TensorList") -> TensorList:
    """The list behind a scalar."""
    value = handle[()]
    if not isinstance(value, TensorList):
        raise InvalidArgumentError(
            f"{name}: input_handle must hold a list of tensors, holds {type(value).__name__}"
        )
    return value


def shape_from(element_shape: Array) -> Shape:
    """The shape for an element_shape: a vector with -1 for unknown sizes, or the scalar -1."""
    return _shape_of(tuple(element_shape.tolist()) if element_shape.ndim else None)


@functools.lru_cache(maxsize=1024)
def _shape_of(sizes: tuple[int, ...] | None) -> Shape:
    if sizes is None:
        return Shape(None)
    return Shape([None if size < 0 else size for size in sizes])


def merged_shape(name: str, a: Shape, b: Shape) -> Shape:
    """The merged shape; raises an error if the two contradict each other."""
    if a.dims is not None and a.dims == b.dims and None not in a.dims:
        return a
    try:
        return _merged(a, b)
    except ValueError:
        raise InvalidArgumentError(
            f"{name}: element_shape must fit the list's {a.text}, got {b.text}"
        ) from None


@functools.lru_cache(maxsize=1024)
def _merged(a: Shape, b: Shape) -> Shape:
    return a.merge_with(b)


def missing_element(name: str, dtype: DType, shape: Shape) -> Array:
    """The value of an element that was never set."""
    sizes = shape.dims
    if sizes is None or None in sizes:
        raise InvalidArgumentError(
            f"{name}: an element that was never set reads as zeros, which needs a known shape, "
            f"but element_shape is {shape.text}"
        )
    if dtype.numpy.kind == "O":
        filler = None if dtype in {dtypes.variant, dtypes.resource} else b""
        return np.full(sizes, filler, object)
    return np.zeros(sizes, dtype.numpy)


def missing_shape(value: TensorList, items: Any, wanted: Shape, name: str) -> Shape:
    """The shape of missing elements: the declared one, else that of an existing element."""
    shape = merged_shape(name, value.shape, wanted)
    if not shape.is_fully_defined():
        for array in items:
            return merged_shape(name, shape, Shape.of(array.shape))
    return shape


def check_index(name: str, index: int, length: int) -> None:
    """Raise an error if the index is beyond the list."""
    if not 0 <= index < length:
        raise InvalidArgumentError(f"{name}: index must be in [0, {length}), got {index}")


def check_item(name: str, value: TensorList, item: Array) -> None:
    """Raise an error if the element does not fit the list."""
    dims, shape = value.shape.dims, item.shape
    if dims is not None and len(dims) == len(shape):
        for size, found in zip(dims, shape, strict=True):
            if size != found and size is not None:
                break
        else:
            return  # the usual case, once per iteration of a loop
    if not value.shape.is_compatible_with(shape):
        raise InvalidArgumentError(
            f"{name}: an element of this list must fit {value.shape.text}, got {list(item.shape)}"
        )


def list_of_rows(tensor: Array, dtype: DType, shape: Shape) -> TensorList:
    """The list of an array's rows; the array must not be written to any more."""
    made = TensorList(dtype, shape, len(tensor), None)
    made.whole = tensor
    return made


def items_of_rows(tensor: Array) -> dict[int, Array]:
    """The rows of an array by their index."""
    if tensor.ndim == 1:  # scalars, which must stay arrays
        return {index: tensor[index, ...] for index in range(len(tensor))}
    return dict(enumerate(tensor))


def every_element(value: TensorList, wanted: Shape, name: str) -> list[Array]:
    """All elements, with zeros for unset ones."""
    items = value.snapshot()
    if len(items) < value.length:
        shape = missing_shape(value, items.values(), wanted, name)
        zeros = missing_element(name, value.dtype, shape)
        claim(value.length * POINTER)
        return [items.get(index, zeros) for index in range(value.length)]
    return [items[index] for index in range(value.length)]


def stacked(elements: Sequence[Array], dtype: DType, shape: Shape, name: str) -> Array:
    """Elements along a new first axis."""
    if not elements:
        sizes = shape.dims
        if sizes is None or None in sizes:
            raise InvalidArgumentError(
                f"{name}: an empty list needs a known element_shape, got {shape.text}"
            )
        return np.zeros((0, *sizes), dtype.numpy)
    first = elements[0].shape
    for element in elements:
        if element.shape != first:
            raise InvalidArgumentError(
                f"{name}: elements must have one shape, got {list(first)} and {list(element.shape)}"
            )
    if dtype.numpy.kind == "O":
        out = np.empty((len(elements), *first), object)
        for index, element in enumerate(elements):
            out[index] = element if element.ndim else element[()]
        return out
    return np.stack(elements) if first else np.array(elements, dtype.numpy)


def added(a: TensorList, b: TensorList) -> TensorList:
    """The elementwise sum, with unset elements as zero; copies the shorter list."""
    if a.length != b.length:
        raise InvalidArgumentError(
            f"AddN: lists must have one length, got {a.length} and {b.length}"
        )
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
