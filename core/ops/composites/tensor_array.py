"""TensorArray: a list of tensors that loops write and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError, OutOfRangeError
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec, TypeSpec
from pinnace.framework.tensor import SymbolicTensor, Tensor, wrap
from pinnace.ops.array import casting, constants, joining
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.state import tensor_lists
from pinnace.ops.state.list_values import TensorList, handle_of_list
from pinnace.ops.state.tensor_lists import element_shape_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType

__all__ = ["TensorArray", "TensorArraySpec"]


class TensorArraySpec(TypeSpec):
    """The static type of a TensorArray: the shape and dtype of its elements."""

    __slots__ = ("_dtype", "_dynamic_size", "_infer_shape", "_shape", "_size")

    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = dtypes.float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
        size: int | None = None,
    ) -> None:
        self._shape = Shape(element_shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape
        self._size = size

    @property
    def value_type(self) -> type:
        """The class TensorArray."""
        return TensorArray

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether the dtypes are equal and the element shapes compatible."""
        other = spec_or_value.spec if isinstance(spec_or_value, TensorArray) else spec_or_value
        return (
            isinstance(other, TensorArraySpec)
            and self._dtype is other._dtype
            and self._shape.is_compatible_with(other._shape)
        )

    def is_subtype_of(self, other: object) -> bool:
        """Whether every array of this spec is one of `other`."""
        return (
            isinstance(other, TensorArraySpec)
            and self._dtype is other._dtype
            and self._shape.is_subtype_of(other._shape)
        )

    def most_specific_common_supertype(self, others: Sequence[object]) -> TensorArraySpec | None:
        """The narrowest spec that includes all; None if dtypes differ."""
        shape = self._shape
        for other in others:
            if not isinstance(other, TensorArraySpec) or other._dtype is not self._dtype:
                return None
            shape = shape.most_specific_compatible_shape(other._shape)
        return TensorArraySpec(shape, self._dtype, self._dynamic_size, self._infer_shape)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """A scalar of dtype variant: the underlying list."""
        return (TensorSpec(Shape(()), dtypes.variant),)

    def to_components(self, value: object) -> tuple[object, ...]:
        """The list beneath."""
        assert isinstance(value, TensorArray)  # noqa: S101 (the caller asked for its spec)
        return (value.flow,)

    def from_components(self, components: Sequence[object]) -> object:
        """The array over a list."""
        (flow,) = components
        return TensorArray(
            self._dtype,
            flow=flow,
            size=self._size,
            dynamic_size=self._dynamic_size,
            infer_shape=self._infer_shape,
            element_shape=self._shape,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorArraySpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return (self._shape.dims, self._dtype, self._dynamic_size, self._infer_shape)

    def __repr__(self) -> str:
        parts = (self._shape, self._dtype, self._dynamic_size, self._infer_shape)
        return f"TensorArraySpec({', '.join(map(repr, parts))})"


class TensorArray:
    """A list of tensors of one dtype.

    Every method that changes it returns the changed array, which must be used from then on: outside
    of `function` it is the same object, inside it is a new one.

    Args:
        dtype: dtype of the elements.
        size: how many there are, an int32 scalar.
        dynamic_size: whether writing past the end makes it longer.
        clear_after_read: whether an element may be read once only, so that its memory is freed;
            outside of
            `function` True if None.
        tensor_array_name: accepted for TensorFlow's sake.
        handle: accepted for TensorFlow's sake.
        flow: the list beneath, of another array.
        infer_shape: whether all elements must have one shape.
        element_shape: the shape of every element, as far as it is known.
        colocate_with_first_write_call: accepted for TensorFlow's sake.
        name: accepted for TensorFlow's sake.

    Example:
        >>> array = TensorArray(float32, size=3)
        >>> for i in range(3):
        ...     array = array.write(i, float(i * i))
        >>> array.stack()
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([0., 1., 4.], dtype=float32)>

    Source:
        TensorFlow ops `TensorListReserve`, `TensorListSetItem` and their kin (list_ops.cc).
    """

    _is_composite = True

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        del name
        why = "an array is a value, and no resource"
        ignored("TensorArray", why, handle=handle, tensor_array_name=tensor_array_name)
        ignored(
            "TensorArray", why, True, colocate_with_first_write_call=colocate_with_first_write_call
        )
        self._dtype = dtypes.as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._clear = True if clear_after_read is None else clear_after_read
        self._infer = infer_shape
        self._element_shape = Shape(element_shape)
        self._flow: Tensor | None = None
        # Outside of `function`: the elements; None for one that was never written.
        self._items: list[Tensor | None] | None = None
        self._cleared: set[int] = set()
        self._size: int | None = None
        if flow is not None:
            self._adopt(flow, size)
            return
        size = 0 if size is None else size
        if isinstance(size, SymbolicTensor) or state.tracer is not None:
            if not isinstance(size, Tensor) and not self._dynamic:
                self._size = int(size)
            self._flow = execute(
                tensor_lists.RESERVE,
                element_shape_tensor(self._element_shape),
                _int32(size),
                element_dtype=self._dtype,
            )
        else:
            count = int(size)
            if count < 0:
                raise ValueError(f"TensorArray: size must not be negative, got {count}")
            self._items = [None] * count

    def _adopt(self, flow: Any, size: Any) -> None:
        """Set the array's content to the list `flow`."""
        self._size = size if isinstance(size, int) else None
        if isinstance(flow, SymbolicTensor) or state.tracer is not None:
            self._flow = flow
            return
        held = flow._array[()]
        found = held.snapshot()
        self._items = [
            wrap(found[i], self._dtype) if i in found else None for i in range(held.length)
        ]

    # Properties.

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def element_shape(self) -> Shape:
        """The shape of all elements, as far as known."""
        return self._element_shape

    @property
    def dynamic_size(self) -> bool:
        """Whether writing beyond the end extends the array."""
        return self._dynamic

    @property
    def handle(self) -> None:
        """None: only the arrays of TensorFlow 1 had a handle."""
        return

    @property
    def flow(self) -> Tensor:
        """The underlying list, a scalar of dtype variant."""
        if self._flow is not None:
            return self._flow
        items = {
            i: np.asarray(item._array) for i, item in enumerate(self._held()) if item is not None
        }
        made = TensorList(self._dtype, self._element_shape, len(self._held()), items)
        return wrap(handle_of_list(made), dtypes.variant)

    @property
    def spec(self) -> TensorArraySpec:
        """Its `TensorArraySpec`."""
        return TensorArraySpec(
            self._element_shape, self._dtype, self._dynamic, self._infer, self._size
        )

    def _held(self) -> list[Tensor | None]:
        assert self._items is not None  # noqa: S101 (asked outside of `function` only)
        return self._items

    def _list(self) -> Tensor | None:
        """The underlying list while a function is traced; None in eager mode."""
        if self._flow is None and state.tracer is not None:
            self._flow = self.flow
        return self._flow

    def _with(
        self, flow: Tensor, shape: Shape | None = None, size: int | None = None
    ) -> TensorArray:
        made = TensorArray.__new__(TensorArray)
        made._dtype = self._dtype
        made._dynamic = self._dynamic
        made._clear = self._clear
        made._infer = self._infer
        made._element_shape = self._element_shape if shape is None else shape
        made._flow = flow
        made._items = None
        made._cleared = set()
        made._size = self._size if size is None else size
        return made

    def _learn(self, shape: Shape, what: str) -> Shape:
        """The element shape, merged with that of an element being written."""
        if not self._element_shape.is_compatible_with(shape):
            raise ValueError(
                f"TensorArray.{what}: an element must have shape {self._element_shape.text}, "
                f"got {shape.text}"
            )
        return self._element_shape.merge_with(shape) if self._infer else self._element_shape

    # Single elements.

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with `value` as element `index`."""
        tensor = self._value(value, "write")
        shape = self._learn(tensor.shape, "write")
        flow = self._list()
        if flow is not None:
            made = execute(
                tensor_lists.SET_ITEM,
                flow,
                _int32(index),
                tensor,
                resize_if_index_out_of_bounds=self._dynamic,
                name=name,
            )
            return self._with(made, shape)
        items = self._held()
        at = int(index)
        if at < 0 or (at >= len(items) and not self._dynamic):
            raise OutOfRangeError(
                f"TensorArray.write: index must be in [0, {len(items)}), got {at}"
            )
        while len(items) <= at:
            items.append(None)
        items[at] = tensor
        self._cleared.discard(at)
        self._element_shape = shape
        return self

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element `index`."""
        flow = self._list()
        if flow is not None:
            return execute_one(
                tensor_lists.GET_ITEM,
                flow,
                _int32(index),
                element_shape_tensor(self._element_shape),
                element_dtype=self._dtype,
                name=name,
            )
        items = self._held()
        at = int(index)
        if not 0 <= at < len(items):
            raise OutOfRangeError(f"TensorArray.read: index must be in [0, {len(items)}), got {at}")
        if at in self._cleared:
            raise InvalidArgumentError(
                f"TensorArray.read: element {at} was read before, and its memory was freed then.\n"
                "  Try: TensorArray(…, clear_after_read=False)"
            )
        found = items[at]
        if found is None:
            found = self._missing("read")
        if self._clear:
            items[at] = None
            self._cleared.add(at)
        return found

    def _missing(self, what: str) -> Tensor:
        if not self._element_shape.is_fully_defined():
            raise InvalidArgumentError(
                f"TensorArray.{what}: an element that was never written reads as zeros, which "
                "needs a "
                f"known element_shape, but it is {self._element_shape.text}"
            )
        return constants.zeros(self._element_shape, self._dtype)

    def _value(self, value: Any, what: str) -> Tensor:
        try:
            return convert_to_tensor(value, self._dtype)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"TensorArray.{what}: elements are {self._dtype.name}: {error}"
            ) from None

    # All elements.

    def stack(self, name: str | None = None) -> Tensor:
        """[size, ...element]: the elements along a new first axis."""
        flow = self._list()
        if flow is not None:
            return execute_one(
                tensor_lists.STACK,
                flow,
                element_shape_tensor(self._element_shape),
                element_dtype=self._dtype,
                num_elements=-1 if self._size is None else self._size,
                name=name,
            )
        items = self._held()
        if not items:
            sizes = self._element_shape
            if not sizes.is_fully_defined():
                sizes = Shape(())
            return constants.zeros(Shape([0]).concatenate(sizes), self._dtype)
        return joining.stack([self._missing("stack") if x is None else x for x in items])

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """[n, ...element]: the elements at `indices`."""
        flow = self._list()
        if flow is not None:
            return execute_one(
                tensor_lists.GATHER,
                flow,
                _int32(indices),
                element_shape_tensor(self._element_shape),
                element_dtype=self._dtype,
                name=name,
            )
        items = self._held()
        chosen = []
        for at in np.asarray(convert_to_tensor(indices)._array).reshape(-1).tolist():
            if not 0 <= at < len(items):
                raise OutOfRangeError(
                    f"TensorArray.gather: index must be in [0, {len(items)}), got {at}"
                )
            item = items[at]
            chosen.append(self._missing("gather") if item is None else item)
        return joining.stack(chosen)

    def concat(self, name: str | None = None) -> Tensor:
        """The elements, concatenated along their first axis."""
        flow = self._list()
        if flow is not None:
            shape = self._element_shape
            if shape.rank:
                shape = Shape([None, *shape[1:]])
            joined = execute(
                tensor_lists.CONCAT,
                flow,
                element_shape_tensor(shape),
                constants.constant(np.zeros([0], np.int64)),
                element_dtype=self._dtype,
                name=name,
            )
            return joined[0]  # type: ignore[no-any-return]
        items = self._held()
        return joining.concat([self._missing("concat") if x is None else x for x in items], 0)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array whose elements are the rows of `value`."""
        tensor = self._value(value, "unstack")
        rank = tensor.shape.rank
        if rank == 0:
            raise ValueError("TensorArray.unstack: value must have at least one axis, got a scalar")
        shape = self._learn(Shape(None) if rank is None else tensor.shape[1:], "unstack")
        flow = self._list()
        if flow is not None:
            made = execute(tensor_lists.FROM_TENSOR, tensor, element_shape_tensor(shape), name=name)
            return self._with(made, shape, None if self._dynamic else tensor.shape[0])
        count = len(tensor)
        items = self._held()
        if count > len(items) and not self._dynamic:
            raise ValueError(f"TensorArray.unstack: {count} rows do not fit size {len(items)}")
        self._items = [tensor[i] for i in range(count)]
        self._cleared = set()
        self._element_shape = shape
        return self

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of `value` as the elements at `indices`."""
        tensor = self._value(value, "scatter")
        rank = tensor.shape.rank
        shape = self._learn(Shape(None) if rank is None else tensor.shape[1:], "scatter")
        flow = self._list()
        if flow is not None:
            made = execute(tensor_lists.SCATTER_INTO, flow, tensor, _int32(indices), name=name)
            return self._with(made, shape)
        positions = np.asarray(convert_to_tensor(indices)._array).reshape(-1).tolist()
        for row, at in enumerate(positions):
            self.write(at, tensor[row])
        return self

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array whose elements are pieces of `value` along its first axis."""
        tensor = self._value(value, "split")
        flow = self._list()
        if flow is not None:
            rank = tensor.shape.rank
            shape = Shape(None) if rank is None else Shape([None, *tensor.shape[1:]])
            sizes = _int64(lengths)
            made = execute(
                tensor_lists.SPLIT, tensor, element_shape_tensor(shape), sizes, name=name
            )
            return self._with(made, self._element_shape)
        pieces = np.asarray(convert_to_tensor(lengths)._array).reshape(-1).tolist()
        if sum(pieces) != len(tensor):
            raise InvalidArgumentError(
                f"TensorArray.split: lengths must add up to {len(tensor)}, got {pieces}"
            )
        start = 0
        for at, size in enumerate(pieces):
            self.write(at, tensor[start : start + size])
            start += size
        return self

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, an int32 scalar."""
        flow = self._list()
        if flow is not None:
            if self._size is not None and not self._dynamic:
                return constants.constant(self._size)
            return execute_one(tensor_lists.LENGTH, flow, name=name)
        return constants.constant(len(self._held()))

    # TensorFlow's further methods.

    def identity(self) -> TensorArray:
        """The array."""
        return self

    def close(self, name: str | None = None) -> None:
        """Does nothing: memory is freed with the array."""
        del name

    def grad(self, source: Any, flow: Any = None, name: str | None = None) -> NoReturn:
        """Raises an error: gradients flow through arrays without it."""
        raise NotImplementedError(
            "TensorArray.grad: gradients flow through arrays by themselves; use GradientTape"
        )

    def __repr__(self) -> str:
        return f"<TensorArray of {self._dtype.name}{self._element_shape.text}>"


def _int32(value: Any) -> Tensor:
    return _as_integers(value, dtypes.int32)


def _int64(value: Any) -> Tensor:
    return _as_integers(value, dtypes.int64)


def _as_integers(value: Any, dtype: DType) -> Tensor:
    tensor = convert_to_tensor(value, dtype_hint=dtype)
    return tensor if tensor.dtype is dtype else casting.cast(tensor, dtype)
