"""Lists that a graph loop appends to, replaced by growing TensorArrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting, joining, permutations
from pinnace.ops.composites.tensor_array import TensorArray, TensorArraySpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor


class ListArraySpec(TensorArraySpec):
    """The spec of a ListArray."""

    __slots__ = ()

    def from_components(self, components: Sequence[object]) -> object:
        """The list made of its components."""
        (flow,) = components
        return ListArray(
            self._dtype,
            flow=flow,
            dynamic_size=True,
            infer_shape=self._infer_shape,
            element_shape=self._shape,
        )


class ListArray(TensorArray):
    """A list of tensors of unknown length; conversion to a tensor stacks it."""

    @property
    def spec(self) -> ListArraySpec:
        """Its static type."""
        return ListArraySpec(self._element_shape, self._dtype, True, self._infer)

    def append(self, value: Any) -> ListArray:
        """The list with one more element."""
        written = self.write(self.size(), value)
        return ListArray(
            self._dtype,
            flow=written.flow,
            dynamic_size=True,
            infer_shape=self._infer,
            element_shape=written.element_shape,
        )

    def __getitem__(self, index: Any) -> Tensor:
        if isinstance(index, int) and index < 0:
            index = self.size() + index
        return self.read(index)

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Tensor:
        found = self.stack(name)
        return found if dtype is None else casting.cast(found, dtype)


class Recorder:
    """A list in a trial trace: records the items appended to it."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.appended: list[Tensor] = []

    def append(self, value: Any) -> Recorder:
        """Record the value."""
        self.appended.append(convert_to_tensor(value))
        return self

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        return self.items[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def grown(self) -> ListArray:
        """The list as a ListArray."""
        shape: Shape = self.appended[0].shape
        for value in self.appended[1:]:
            shape = shape.most_specific_compatible_shape(value.shape)
        for item in self.items:
            shape = shape.most_specific_compatible_shape(convert_to_tensor(item).shape)
        dtype = self.appended[0].dtype
        found = ListArray(dtype, 0, dynamic_size=True, element_shape=shape)
        for item in self.items:
            found = found.append(convert_to_tensor(item, dtype))
        return found


def list_append(target: Any, value: Any) -> Any:
    """`target.append(value)`; the new value of `target`."""
    if isinstance(target, (ListArray, Recorder)):
        return target.append(value)
    target.append(value)
    return target


def stack(values: Any, axis: int = 0, name: str | None = None) -> Tensor:
    """`stack` that also takes a ListArray."""
    if not isinstance(values, ListArray):
        return joining.stack(values, axis, name)
    stacked = values.stack(name)
    rank = stacked.shape.rank
    if axis == 0 or rank is None:
        return stacked
    order = list(range(1, rank))
    order.insert(axis % rank, 0)
    return permutations.transpose(stacked, order)


def concat(values: Any, axis: Any, name: str | None = None) -> Tensor:
    """`concat` that also takes a ListArray."""
    if isinstance(values, ListArray) and isinstance(axis, int) and axis == 0:
        return values.concat()
    return joining.concat(values, axis, name)
