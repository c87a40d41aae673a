"""Tensor arrays with handles, as in TensorFlow 1's loops: TensorArrayV3 and related ops.

Newer loops carry a `TensorList` (`tensor_lists.py`). The number `flow` that is passed from op to op
has no content: it only orders the ops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from pinnace.framework.dtypes import ANY
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import SCALAR, UNKNOWN, Shape
from pinnace.ops.memory import ARRAY, claim
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define, scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

__all__: list[str] = []


class TensorArray:
    """Tensors of one dtype, each written once.

    Args:
        dtype: dtype of the elements.
        shape: a shape that every element fits.
        size: how many there are.
        grows: whether writing behind the end makes it longer.
        name: name in error messages.
    """

    def __init__(self, dtype: DType, shape: Shape, size: int, *, grows: bool, name: str) -> None:
        if size < 0:
            raise InvalidArgumentError(f"TensorArrayV3: size must not be negative, got {size}")
        self.dtype = dtype
        self.shape = shape
        self.size = size
        self._grows = grows
        self._name = name
        self._items: dict[int, Array] = {}

    def write(self, op: str, index: int, value: Array, dtype: DType) -> None:
        """Set an element."""
        if dtype is not self.dtype:
            self._fail(op, f"holds {self.dtype.name}, got {dtype.name}")
        if not 0 <= index < self.size:
            if index < 0 or not self._grows:
                self._fail(op, f"has {self.size} elements, there is no element {index} to write")
            self.size = index + 1
        if index in self._items:
            self._fail(op, f"element {index} was written before")
        if not self.shape.is_compatible_with(Shape.of(value.shape)):
            self._fail(op, f"has elements {self.shape.text}, got {list(value.shape)}")
        claim(ARRAY)
        self._items[index] = np.asarray(value)

    def read(self, op: str, index: int, dtype: DType) -> Array:
        """An element."""
        if dtype is not self.dtype:
            self._fail(op, f"holds {self.dtype.name}, not {dtype.name}")
        if not 0 <= index < self.size:
            self._fail(op, f"has {self.size} elements, there is no element {index} to read")
        found = self._items.get(index)
        if found is None:
            if not self.shape.is_fully_defined():
                self._fail(op, f"element {index} was never written, and its shape is not known")
            # TensorFlow: elements never written are zeros if their shape is known.
            return np.zeros(self.shape.as_list(), self.dtype.numpy)
        return found

    def all(self, op: str, indices: Sequence[int], dtype: DType, shape: Shape) -> list[Array]:
        """The elements at these indices, whose shapes must be equal."""
        found = [self.read(op, index, dtype) for index in indices]
        wanted = self.shape.merge_with(shape) if self.shape.is_compatible_with(shape) else None
        for index, item in zip(indices, found, strict=True):
            if wanted is None or not wanted.is_compatible_with(Shape.of(item.shape)):
                self._fail(op, f"element {index} is {list(item.shape)}, wanted is {shape.text}")
        return found

    def _fail(self, op: str, problem: str) -> NoReturn:
        raise InvalidArgumentError(f"{op}: TensorArray {self._name!r} {problem}")

    def __repr__(self) -> str:
        return f"<TensorArray {self._name!r} {self.dtype.name}{self.shape.text} x {self.size}>"


_ANY_SHAPE = attr("shape", default=UNKNOWN)

_FLOW = np.float32(0)


def _make_kernel(
    size: Array, *, dtype: DType, element_shape: Shape, dynamic_size: bool, tensor_array_name: str
) -> tuple[Array, Array]:
    handle = np.empty((), object)
    handle[()] = TensorArray(
        dtype, element_shape, int(size), grows=dynamic_size, name=tensor_array_name
    )
    return handle, _FLOW  # type: ignore[return-value]  # a scalar is an array of no axes


def _infer_make(call: InferCall) -> tuple[Shape, Shape]:
    if call.spec(0).shape.rank not in {0, None}:
        call.fail("size must be a scalar")
    # TensorFlow's files still declare handles of two values, their former shape; nothing reads
    # them.
    return Shape([2]), SCALAR


TENSOR_ARRAY = define(
    name="TensorArrayV3",
    signature="size: int32 -> handle: resource, flow: float32",
    types={"dtype": ANY},
    attrs={
        "element_shape": _ANY_SHAPE,
        "dynamic_size": attr("bool", default=False),
        "clear_after_read": attr("bool", default=True),
        "identical_element_shapes": attr("bool", default=False),
        "tensor_array_name": attr("string", default=""),
    },
    infer=_infer_make,
    kernel=_make_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _array(op: str, handle: Array) -> TensorArray:
    held = np.asarray(handle)[()]
    if not isinstance(held, TensorArray):
        raise InvalidArgumentError(f"{op}: the handle is not that of a TensorArray, got {held!r}")
    return held


def _write_kernel(handle: Array, index: Array, value: Array, flow_in: Array, *, T: DType) -> Array:  # noqa: N803 (the attribute's name)
    _array("TensorArrayWriteV3", handle).write("TensorArrayWriteV3", int(index), value, T)
    return flow_in


TENSOR_ARRAY_WRITE = define(
    name="TensorArrayWriteV3",
    signature="handle: resource, index: int32, value: T, flow_in: float32 -> flow_out: float32",
    types={"T": ANY},
    infer=scalar,
    kernel=_write_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _read_kernel(handle: Array, index: Array, flow_in: Array, *, dtype: DType) -> Array:
    del flow_in
    return _array("TensorArrayReadV3", handle).read("TensorArrayReadV3", int(index), dtype)


def _infer_unknown(call: InferCall) -> Shape:
    del call
    return UNKNOWN


TENSOR_ARRAY_READ = define(
    name="TensorArrayReadV3",
    signature="handle: resource, index: int32, flow_in: float32 -> value: dtype",
    types={"dtype": ANY},
    infer=_infer_unknown,
    kernel=_read_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _gather_kernel(
    handle: Array, indices: Array, flow_in: Array, *, dtype: DType, element_shape: Shape
) -> Array:
    del flow_in
    op = "TensorArrayGatherV3"
    array = _array(op, handle)
    items = array.all(op, indices.reshape(-1).tolist(), dtype, element_shape)
    if not items:
        return np.empty((0, *_sizes(op, array, element_shape)), dtype.numpy)
    if len({item.shape for item in items}) > 1:
        raise InvalidArgumentError(
            f"{op}: elements must have one shape, got {sorted({item.shape for item in items})}"
        )
    return np.stack(items)


def _sizes(op: str, array: TensorArray, shape: Shape) -> list[int]:
    """The shape of an element if there is none to inspect."""
    known = array.shape.merge_with(shape)
    if not known.is_fully_defined():
        raise InvalidArgumentError(f"{op}: no element, and their shape is only {known.text}")
    return [int(size) for size in known.as_list() if size is not None]


def _infer_gather(call: InferCall) -> Shape:
    return Shape([call.spec(1).shape.num_elements()]).concatenate(call.attrs["element_shape"])


TENSOR_ARRAY_GATHER = define(
    name="TensorArrayGatherV3",
    signature="handle: resource, indices: int32, flow_in: float32 -> value: dtype",
    types={"dtype": ANY},
    attrs={"element_shape": _ANY_SHAPE},
    infer=_infer_gather,
    kernel=_gather_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _scatter_kernel(
    handle: Array,
    indices: Array,
    value: Array,
    flow_in: Array,
    *,
    T: DType,  # noqa: N803 (the attribute's name)
) -> Array:
    op = "TensorArrayScatterV3"
    array = _array(op, handle)
    places = indices.reshape(-1).tolist()
    if not value.ndim or len(places) != len(value):
        raise InvalidArgumentError(
            f"{op}: {len(places)} indices need as many elements, got {list(value.shape)}"
        )
    for place, item in zip(places, value, strict=True):
        array.write(op, place, np.asarray(item, value.dtype), T)
    return flow_in


TENSOR_ARRAY_SCATTER = define(
    name="TensorArrayScatterV3",
    signature="handle: resource, indices: int32, value: T, flow_in: float32 -> flow_out: float32",
    types={"T": ANY},
    infer=scalar,
    kernel=_scatter_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _concat_kernel(
    handle: Array, flow_in: Array, *, dtype: DType, element_shape_except0: Shape
) -> tuple[Array, Array]:
    del flow_in
    op = "TensorArrayConcatV3"
    array = _array(op, handle)
    claim(array.size * ARRAY)
    items = array.all(op, range(array.size), dtype, UNKNOWN)
    if any(not item.ndim for item in items):
        raise InvalidArgumentError(f"{op}: elements must have an axis, got scalars")
    lengths = np.array([len(item) for item in items], np.int64)
    if not items:
        sizes = element_shape_except0.as_list() if element_shape_except0.is_fully_defined() else []
        return np.empty([0, *sizes], dtype.numpy), lengths
    if len({item.shape[1:] for item in items}) > 1:
        raise InvalidArgumentError(f"{op}: elements may only differ in their first axis")
    return np.concatenate(items), lengths


def _infer_concat(call: InferCall) -> tuple[Shape, Shape]:
    return Shape([None]).concatenate(call.attrs["element_shape_except0"]), Shape([None])


TENSOR_ARRAY_CONCAT = define(
    name="TensorArrayConcatV3",
    signature="handle: resource, flow_in: float32 -> value: dtype, lengths: int64",
    types={"dtype": ANY},
    attrs={"element_shape_except0": _ANY_SHAPE},
    infer=_infer_concat,
    kernel=_concat_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _split_kernel(
    handle: Array,
    value: Array,
    lengths: Array,
    flow_in: Array,
    *,
    T: DType,  # noqa: N803 (the attribute's name)
) -> Array:
    op = "TensorArraySplitV3"
    array = _array(op, handle)
    sizes = [int(one) for one in lengths.reshape(-1)]
    if not value.ndim or min(sizes, default=0) < 0 or sum(sizes) != len(value):
        raise InvalidArgumentError(f"{op}: lengths {sizes[:10]} do not add up to {value.shape}")
    start = 0
    for index, size in enumerate(sizes):
        array.write(op, index, value[start : start + size], T)
        start += size
    return flow_in


TENSOR_ARRAY_SPLIT = define(
    name="TensorArraySplitV3",
    signature="handle: resource, value: T, lengths: int64, flow_in: float32 -> flow_out: float32",
    types={"T": ANY},
    infer=scalar,
    kernel=_split_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _size_kernel(handle: Array, flow_in: Array) -> Array:
    del flow_in
    return np.int32(_array("TensorArraySizeV3", handle).size)  # type: ignore[return-value]  # a scalar is an array of no axes


TENSOR_ARRAY_SIZE = define(
    name="TensorArraySizeV3",
    signature="handle: resource, flow_in: float32 -> size: int32",
    infer=scalar,
    kernel=_size_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _close_kernel(handle: Array) -> None:
    _array("TensorArrayCloseV3", handle)


TENSOR_ARRAY_CLOSE = define(
    name="TensorArrayCloseV3",
    signature="handle: resource ->",
    infer=lambda _call: (),
    kernel=_close_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)
