"""Arrays ↔ TensorProto."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.shapes import decode_shape, encode_shape
from pinnace.ops.tensor_fields import VALUE_FIELDS
from pinnace.proto.tensor_pb2 import TensorProto

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

# A constant whose last value repeats may expand to this many bytes, not more.
MOST_BYTES = 1 << 31
# From this many bytes on, a constant with a single repeated value is a broadcast view.
_SPREAD = 1 << 16
_SLICE = 1 << 15
_MOST_AXES = 64  # NumPy's limit

_BITS16 = frozenset({dtypes.float16, dtypes.bfloat16})
_BITS8 = frozenset(
    {
        dtypes.float8_e5m2,
        dtypes.float8_e4m3fn,
        dtypes.float8_e4m3fnuz,
        dtypes.float8_e4m3b11fnuz,
        dtypes.float8_e5m2fnuz,
    }
)
_HANDLES = frozenset({dtypes.resource, dtypes.variant})
_HOST_IS_LITTLE = np.dtype("<i4").isnative


def encode_tensor(value: Array, dtype: DType | None = None) -> TensorProto:
    """An array as TensorFlow writes it.

    A single value, or an array of equal values, is a list of one; others are raw bytes; strings are
    a list.

    Args:
        value: any array of a known dtype; bytes in an object array for strings.
        dtype: the dtype, if it is not that of the array: quantised integers.

    Raises:
        UnimplementedError: a resource or variant.
    """
    array = np.asarray(value)
    kind = dtypes.from_numpy(array.dtype) if dtype is None else dtype
    if kind in _HANDLES:
        raise UnimplementedError(f"a {kind.name} tensor cannot be written into a file")
    message = TensorProto(
        dtype=kind.enum,  # type: ignore[arg-type]  # the stubs want the enum's own int
        tensor_shape=encode_shape(Shape.of(array.shape)),
    )
    if kind is dtypes.string:
        strings = [_bytes(item) for item in array.ravel().tolist()]
        if len(strings) > 1 and all(item == strings[0] for item in strings):
            del strings[1:]
        message.string_val.extend(strings)
    elif array.size == 1 or _is_one_value(array):
        _put_value(message, array.reshape(-1)[:1], kind)
    elif array.size:
        message.tensor_content = _little_endian(array).tobytes()
    return message


def list_tensor(value: Array) -> TensorProto:
    """An array with every value in the typed list, as servers send it to clients.

    Args:
        value: any array of a known dtype; bytes in an object array for strings.

    Raises:
        UnimplementedError: a resource or variant.
    """
    array = np.asarray(value)
    dtype = dtypes.string if array.dtype == object else dtypes.from_numpy(array.dtype)
    message = TensorProto(
        dtype=dtype.enum,  # type: ignore[arg-type]  # the stubs want the enum's own int
        tensor_shape=encode_shape(Shape.of(array.shape)),
    )
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype is dtypes.string:
        message.string_val.extend(flat.tolist())
    else:
        _put_value(message, flat, dtype)
    return message


def decode_tensor(message: TensorProto, where: str = "TensorProto") -> Array:
    """The inverse of `encode_tensor`: a read-only array.

    Raises:
        InvalidArgumentError: the shape is not known in full, or the values do not fit it.
        UnimplementedError: a resource or variant.
    """
    dtype = decode_dtype(message.dtype, f"{where}.dtype")
    if dtype in _HANDLES:
        raise UnimplementedError(f"{where}: a {dtype.name} tensor cannot be read from a file")
    shape = _full_shape(message, dtype, where)
    count = math.prod(shape)
    content = message.tensor_content
    if content and dtype is not dtypes.string:
        return _from_bytes(content, dtype, shape, where)
    values = _listed(message, dtype, where, shape)
    array = _spread(values, count, dtype).reshape(shape) if count else np.empty(shape, dtype.numpy)
    return _read_only(array)


def _full_shape(message: TensorProto, dtype: DType, where: str) -> tuple[int, ...]:
    shape = decode_shape(message.tensor_shape, f"{where}.tensor_shape")
    dims = shape.dims
    if dims is None or None in dims:
        raise InvalidArgumentError(f"{where}: shape {shape.text} of a value must be known")
    sizes = tuple([n for n in dims if n is not None])
    # NumPy multiplies the sizes that are not zero, also of an array without elements.
    if math.prod(n for n in sizes if n) * dtype.numpy.itemsize > MOST_BYTES:
        raise InvalidArgumentError(
            f"{where}: {dtype.name}{shape.text} is larger than {MOST_BYTES} bytes"
        )
    if len(sizes) > _MOST_AXES:
        raise InvalidArgumentError(f"{where}: a value has at most {_MOST_AXES} axes")
    return sizes


def _from_bytes(content: bytes, dtype: DType, shape: tuple[int, ...], where: str) -> Array:
    needed = math.prod(shape) * dtype.numpy.itemsize
    if len(content) != needed:
        raise InvalidArgumentError(
            f"{where}: {dtype.name}{list(shape)} needs {needed} bytes, tensor_content has "
            f"{len(content)}"
        )
    if dtype is dtypes.bool_:
        # Any byte but 0 is true; an array of bools must not hold other bytes than 0 and 1.
        return _read_only((np.frombuffer(content, np.uint8) != 0).reshape(shape))
    stored = np.frombuffer(content, np.uint8)
    if not _HOST_IS_LITTLE:
        stored = _swapped(stored, dtype)
    return stored.view(dtype.numpy).reshape(shape)


def _swapped(stored: Array, dtype: DType) -> Array:
    part = dtype.numpy.itemsize // (2 if dtype.is_complex else 1)
    return stored.view(f"u{part}").byteswap().view(np.uint8)


def _little_endian(array: Array) -> Array:
    order = array.dtype.byteorder
    if order == ">" or (order == "=" and not _HOST_IS_LITTLE):
        return array.astype(array.dtype.newbyteorder("<"))
    return array


def _listed(message: TensorProto, dtype: DType, where: str, shape: tuple[int, ...]) -> Array:
    """The values of the typed list in the message, at most as many as the shape has elements."""
    name = "float8_val" if dtype in _BITS8 else VALUE_FIELDS.get(dtype, "int_val")
    field: Any = getattr(message, name)
    given = len(field) // 2 if dtype.is_complex else len(field)
    if given > math.prod(shape):  # before objects are made of them
        raise InvalidArgumentError(
            f"{where}: {given} values do not fit shape {list(shape)} of {math.prod(shape)}"
        )
    if dtype in _BITS8:
        return np.frombuffer(field, np.uint8).view(dtype.numpy)
    if dtype is dtypes.string:
        return listed(field, object)
    if dtype.is_complex:
        if len(field) % 2:
            raise InvalidArgumentError(f"{where}: an odd number of parts of complex numbers")
        part = np.float32 if dtype is dtypes.complex64 else np.float64
        return listed(field, part).view(dtype.numpy)
    if dtype in _BITS16:
        return listed(field, np.int64).astype(np.uint16).view(dtype.numpy)
    if dtype in VALUE_FIELDS:
        return listed(field, dtype.numpy)
    return listed(field, np.int64).astype(dtype.numpy)


def listed(values: Sequence[Any], dtype: Any) -> Array:
    """A repeated field as an array, converted piece by piece to limit Python objects."""
    if len(values) <= _SLICE:
        return np.array(values, dtype)
    array = np.empty(len(values), dtype)
    for begin in range(0, len(values), _SLICE):  # other threads wait for each of them
        array[begin : begin + _SLICE] = values[begin : begin + _SLICE]
    return array


def _spread(values: Array, count: int, dtype: DType) -> Array:
    """`count` values: the given ones, then the last one repeated; zeros if there are none."""
    if len(values) == count:
        return values
    if len(values) == 0:
        values = np.array([b""], object) if dtype is dtypes.string else np.zeros(1, dtype.numpy)
    if len(values) == 1 and count * dtype.numpy.itemsize > _SPREAD:
        return np.broadcast_to(values, count)
    array = np.empty(count, values.dtype)
    array[: len(values)] = values
    array[len(values) :] = values[-1]
    return array


def _put_value(message: TensorProto, one: Array, dtype: DType) -> None:
    if dtype in _BITS8:
        message.float8_val = one.view(np.uint8).tobytes()
        return
    if dtype.is_complex:
        values = one.view(np.float32 if dtype is dtypes.complex64 else np.float64).tolist()
    elif dtype in _BITS16:
        values = one.view(np.uint16).tolist()
    else:
        values = one.astype(np.int64).tolist() if dtype not in VALUE_FIELDS else one.tolist()
    getattr(message, VALUE_FIELDS.get(dtype, "int_val")).extend(values)


def _is_one_value(array: Array) -> bool:
    """Whether all elements have the same bits."""
    if array.size < 2 or array.dtype == object:
        return False
    if 0 in array.strides and set(array.strides) == {0}:
        return True
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
    return bool((flat[0] == flat[-1]).all() and (flat == flat[0]).all())


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _bytes(item: object) -> bytes:
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return item.encode()
    raise InvalidArgumentError(f"an element of a string tensor must be bytes, got {item!r}")
