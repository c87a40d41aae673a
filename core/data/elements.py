"""Elements of a dataset: internally a tuple of leaves, for the user a structure of tensors.

Between stages a leaf is an array, a NumPy scalar, `bytes` for a scalar string, or a Stage where an
element holds a dataset (`window`). No Tensor is made before an element leaves the pipeline.

Lists are not structures here, unlike elsewhere: as in TensorFlow's datasets, `[1, 2]` is a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.data.dataset_spec import DatasetSpec
from pinnace.data.nothing import NoneTensorSpec
from pinnace.framework import dtypes, structure
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec, TypeSpec
from pinnace.framework.tensor import Array, Operands, SymbolicTensor, Tensor, wrap
from pinnace.ops.composites.sparse.tensor import SparseTensor, SparseTensorValue

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType

Element: TypeAlias = tuple[Any, ...]
Columns: TypeAlias = tuple[Array, ...]
Nest: TypeAlias = Any

AUTOTUNE = -1
INFINITE = -1
UNKNOWN = -2


def as_leaf(value: Any) -> Any:
    """Convert to a tensor; ragged and sparse tensors are unchanged."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor(*value)
    return value if is_composite(value) else convert_to_tensor(value, _dtype_of_arrays(value))


def _dtype_of_arrays(value: Any) -> DType | None:
    """The dtype of all arrays of a list, as datasets of TensorFlow keep it; None of other values.

    `tf.constant` would make int32 of lists of int64 or uint8 arrays, for only numbers count there.
    """
    if isinstance(value, list) and value:
        kinds = {_dtype_of_arrays(item) for item in value}
        return kinds.pop() if len(kinds) == 1 else None
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return dtypes.from_numpy(value.dtype)
    return None


def leaves_of(value: Nest) -> list[Any]:
    """The leaves of a structure; of ragged and sparse tensors, or their specs, the components.

    None is not a leaf, nor is its spec.
    """
    leaves: list[Any] = []
    for part in structure.flatten(value):
        if _is_dataset(part):
            leaves.append(part)
        else:
            leaves += structure.flatten(part, expand_composites=True)
    return [leaf for leaf in leaves if leaf is not None]


def _is_dataset(part: Any) -> bool:
    """Whether it is a dataset or a spec of one: a single leaf, which is not expanded."""
    return isinstance(part, (DatasetSpec, DatasetSpec._value_type))


def packed(spec: Nest, leaves: Iterable[Any]) -> Nest:
    """Leaves in the structure of `spec`, the inverse of `leaves_of`."""
    parts = structure.flatten(spec)
    if not any(map(_is_dataset, parts)):
        return structure.pack_sequence_as(spec, leaves, expand_composites=True)
    rest = iter(leaves)
    made = [
        next(rest) if _is_dataset(part) else packed(part, [next(rest) for _ in leaves_of(part)])
        for part in parts
    ]
    return structure.pack_sequence_as(spec, made)


def normalised(value: Nest, convert: Callable[[Any], Any] = as_leaf) -> Nest:
    """`value` with tensors as leaves; lists are leaves, and None in a tuple is kept.

    Args:
        value: tuples, named tuples and mappings of whatever becomes a tensor.
        convert: makes a tensor of a leaf.
    """
    if isinstance(value, Mapping):
        return _like(value, {key: _part(item, convert) for key, item in value.items()})
    if isinstance(value, tuple) and not isinstance(value, SparseTensorValue):
        items = [_part(item, convert) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return convert(value)


def _part(value: Nest, convert: Callable[[Any], Any]) -> Nest:
    return None if value is None else normalised(value, convert)


def _like(mapping: Mapping[Any, Any], items: dict[Any, Any]) -> Mapping[Any, Any]:
    kind = type(mapping)
    if kind is dict or not issubclass(kind, dict) or hasattr(kind, "_plain_type"):
        return items
    return items if hasattr(mapping, "default_factory") else kind(items)


def is_unpacked(spec: Nest) -> bool:
    """Whether an element is a plain tuple, which functions get as several arguments."""
    return type(spec) is tuple


def leaf_array(leaf: Any) -> Any:
    """The leaf as an array or NumPy scalar."""
    if type(leaf) is bytes:
        array = np.empty((), object)
        array[()] = leaf
        return array
    return leaf


def array_of_tensor(tensor: Tensor) -> Any:
    """The array of an eager tensor, as stages exchange them."""
    return np.asarray(tensor._array)


def tensor_arrays(value: Nest) -> Element:
    """The leaves of a structure of tensors."""
    return tuple([array_of_tensor(leaf) for leaf in leaves_of(value)])


def spec_of(tensor: Any) -> Any:
    """The spec of a tensor, without a name; a composite value's own spec."""
    if tensor is None:
        return NoneTensorSpec()
    if is_composite(tensor):
        return tensor.spec
    if isinstance(tensor, TypeSpec) and not isinstance(tensor, TensorSpec):
        return tensor
    return TensorSpec.of(tensor.shape, tensor.dtype)


def columns_of(elements: Sequence[Element], specs: Sequence[Any], who: str) -> Columns:
    """Elements stacked into columns.

    Raises:
        InvalidArgumentError: elements of different shapes.
    """
    return tuple(
        [
            stacked(column, spec, index, who)
            for index, (column, spec) in enumerate(
                zip(zip(*elements, strict=True), specs, strict=True)
            )
        ]
    )


def stacked(leaves: Sequence[Any], spec: Any, component: int, who: str) -> Array:
    """The leaves of one component, stacked."""
    if not isinstance(spec, TensorSpec):
        raise InvalidArgumentError(
            f"{who}: component {component} is {spec}, which has no batches; only tensors have"
        )
    first = leaves[0]
    if type(first) is bytes:
        return strings(leaves)
    shape = first.shape
    if not shape and isinstance(first, np.generic):
        return np.array(leaves, first.dtype)
    if len({leaf.shape for leaf in leaves}) > 1:
        refuse_ragged(leaves, component, who)
    if not shape:
        return (
            np.array([leaf[()] for leaf in leaves], first.dtype)
            if first.dtype != object
            else strings([leaf[()] for leaf in leaves])
        )
    if not shape[0]:
        return np.zeros((len(leaves), *shape), first.dtype)
    # np.stack takes three times as long.
    return np.concatenate(leaves).reshape(len(leaves), *shape)


def refuse_ragged(leaves: Sequence[Any], component: int, who: str) -> None:
    """Raise for the first leaf whose shape differs from that of the first leaf."""
    expected = leaves[0].shape
    index, found = next((i, leaf.shape) for i, leaf in enumerate(leaves) if leaf.shape != expected)
    raise InvalidArgumentError(
        f"{who}: elements of one batch must have equal shapes, component {component} has not\n"
        f"  element 0: {Shape.of(expected).text}   element {index}: {Shape.of(found).text}\n"
        "  Try: padded_batch, or ragged_batch"
    )


def strings(items: Iterable[Any]) -> Array:
    """A vector of strings."""
    flat = list(items)
    out = np.empty(len(flat), object)
    out[:] = flat
    return out


def rows_of(columns: Columns) -> Iterable[Element]:
    """The elements of a block."""
    return zip(*columns, strict=True)


def tensors_of(column: Array, dtype: DType) -> list[Tensor]:
    """The rows of a column as tensors."""
    needed = dtype if dtype in {dtypes.resource, dtypes.variant} or dtype.is_quantized else None
    if needed is not None:
        return [wrap(row, needed) for row in column]
    # Strings as views of rank 0: making an array for each takes twice as long.
    texts = column.ndim == 1 and column.dtype == object
    rows = [column[i, ...] for i in range(len(column))] if texts else column
    tensors = [_new(Tensor) for _ in range(len(column))]
    for tensor, row in zip(tensors, rows, strict=True):
        tensor._array = row
    return tensors


_new = Tensor.__new__


def compatible(spec: Nest, other: Nest) -> bool:
    """Whether an element could conform to both specs."""
    try:
        structure.assert_same_structure(spec, other)
    except (TypeError, ValueError):
        return False
    pairs = zip(structure.flatten(spec), structure.flatten(other), strict=True)
    return all(a.is_compatible_with(b) for a, b in pairs)


def merged(spec: Nest, other: Nest) -> Nest:
    """The narrowest spec for elements of both; None if structures or dtypes differ."""
    try:
        structure.assert_same_structure(spec, other)
    except (TypeError, ValueError):
        return None
    joined = [
        a.most_specific_common_supertype([b])
        for a, b in zip(structure.flatten(spec), structure.flatten(other), strict=True)
    ]
    return None if None in joined else structure.pack_sequence_as(spec, joined)


def spec_text(spec: Nest) -> str:
    """An element spec in a message."""
    if isinstance(spec, tuple):
        return f"({', '.join(spec_text(part) for part in spec)})"
    if isinstance(spec, Mapping):
        return "{" + ", ".join(f"{key!r}: {spec_text(part)}" for key, part in spec.items()) + "}"
    return getattr(spec, "text", None) or str(spec)


def whole_number(value: Any, who: str, name: str, least: int | None = None) -> Any:
    """An integer argument: an int, or a symbolic scalar.

    Raises:
        TypeError: the argument is no integer.
        InvalidArgumentError: the integer is below `least`.
    """
    if isinstance(value, Operands):
        value = value._as_tensor()  # of a variable its value
    if isinstance(value, SymbolicTensor):
        return value
    if isinstance(value, Tensor):
        value = array_of_tensor(value)[()]
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{who}: {name} must be an integer, got {value!r} ({type(value).__name__})")
    number = int(value)
    if least is not None and number < least:
        raise InvalidArgumentError(f"{who}: {name} must be at least {least}, got {number}")
    return number


def known(value: Any) -> int | None:
    """The integer; None if it is known only when the function runs."""
    return value if isinstance(value, int) else None


def parallel_calls(value: Any, who: str) -> int | None:
    """The argument num_parallel_calls."""
    if value is None:
        return None
    number: int = whole_number(value, who, "num_parallel_calls", -1)
    if number == 0:
        raise InvalidArgumentError(
            f"{who}: num_parallel_calls must be at least 1 or AUTOTUNE, got 0"
        )
    return number


def text_of(value: Any, who: str, name: str) -> str:
    """A string argument."""
    if isinstance(value, Tensor) and not isinstance(value, SymbolicTensor):
        value = array_of_tensor(value)[()]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value
    if hasattr(value, "__fspath__"):
        return str(value.__fspath__())
    raise TypeError(f"{who}: {name} must be a string, got {value!r} ({type(value).__name__})")


STRING = TensorSpec.of(Shape(()), dtypes.string)
INT64 = TensorSpec.of(Shape(()), dtypes.int64)


def alone(leaf: Any) -> Array:
    """The array of one element, [1, ...], that a leaf is."""
    if type(leaf) is bytes:
        array = np.empty(1, object)
        array[0] = leaf
        return array
    return np.asarray(leaf)[np.newaxis]
