"""Names of dtypes in the Open Inference Protocol, and its binary form of tensors.

Source: docs/reference/serving_api.md 4, binary tensor data extension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.serving.requests.expansion import check_reply, joined, raw_bytes
from pinnace.serving.requests.long_values import Long, as_they_lie, raw_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.serving.running.signatures import Array

BY_NAME: dict[str, DType] = {
    "BOOL": dtypes.bool,
    "UINT8": dtypes.uint8,
    "UINT16": dtypes.uint16,
    "UINT32": dtypes.uint32,
    "UINT64": dtypes.uint64,
    "INT8": dtypes.int8,
    "INT16": dtypes.int16,
    "INT32": dtypes.int32,
    "INT64": dtypes.int64,
    "FP16": dtypes.float16,
    "FP32": dtypes.float32,
    "FP64": dtypes.float64,
    "BF16": dtypes.bfloat16,
    "BYTES": dtypes.string,
}
_NAMES = {dtype: name for name, dtype in BY_NAME.items()}
MAX_RANK = 32
SLICE = 2**15  # elements that become Python numbers at once, while other threads wait
_MAX_SIZE = 2**63
_MAX_ELEMENTS = 2**58  # NumPy counts bytes in 63 bits, also for arrays without elements


def datatype(dtype: DType) -> str:
    """Return the protocol's name of a dtype.

    Raises:
        UnimplementedError: the dtype has none, such as complex numbers.
    """
    name = _NAMES.get(dtype)
    if name is None:
        raise UnimplementedError(f"The Open Inference Protocol has no tensors of {dtype.name}")
    return name


def dtype_named(name: object) -> DType:
    """Return the dtype of a protocol's name.

    Raises:
        InvalidArgumentError: the name is unknown.
    """
    dtype = BY_NAME.get(name) if isinstance(name, str) else None
    if dtype is None:
        known = ", ".join(BY_NAME)
        raise InvalidArgumentError(f"datatype must be one of {known}, got {str(name)[:40]!r}")
    return dtype


def datatype_of(array: Array) -> str:
    """The protocol's name of an array's dtype."""
    return datatype(dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype))


def checked_shape(name: str, shape: object) -> tuple[int, ...]:
    """Return a shape from a request, after checking it.

    Raises:
        InvalidArgumentError: it is not a short list of sizes.
    """
    if (
        not isinstance(shape, list | tuple)
        or len(shape) > MAX_RANK
        or any(type(size) is not int or not 0 <= size < _MAX_SIZE for size in shape)
    ):
        shown = str(shape[:MAX_RANK] if isinstance(shape, list | tuple) else type(shape).__name__)
        raise InvalidArgumentError(
            f"shape of tensor '{name[:200]}' must be a list of at most {MAX_RANK} sizes, "
            f"got {shown[:100]}"
        )
    if count([size for size in shape if size]) > _MAX_ELEMENTS:
        raise InvalidArgumentError(
            f"shape of tensor '{name[:200]}' is larger than any tensor can be: {str(shape)[:100]}"
        )
    return tuple(shape)


def count(shape: Sequence[int]) -> int:
    """The number of elements of a shape, however large."""
    product = 1
    for size in shape:
        product *= size
    return product


def read_tensor(name: str, dtype: DType, shape: tuple[int, ...], raw: memoryview) -> Array:
    """Return a tensor from its bytes.

    Args:
        name: its name, for messages.
        dtype: its dtype.
        shape: its shape.
        raw: little-endian and row-major; each string with its length as uint32 before it.

    Returns:
        A read-only array.

    Raises:
        InvalidArgumentError: the number of bytes does not match the shape.
    """
    if dtype is dtypes.string:
        return _read_strings(name, shape, raw)
    kind = np.dtype(dtype.numpy)
    needed = count(shape) * kind.itemsize
    if len(raw) != needed:
        raise InvalidArgumentError(
            f"tensor '{name}' of {dtype.name}{list(shape)} takes {needed} bytes, got {len(raw)}"
        )
    array = np.frombuffer(raw, kind).reshape(shape)
    if dtype is dtypes.bool and np.frombuffer(raw, np.uint8).max(initial=0) > 1:
        raise InvalidArgumentError(f"tensor '{name}' of bools must have bytes 0 and 1 only")
    return array if array.flags.aligned else array.copy()


def write_tensor(array: Array) -> bytes:
    """Return the bytes of a tensor, as `read_tensor` takes them.

    Raises:
        ResourceExhaustedError: the answer would be too large.
    """
    if array.dtype != object:
        return raw_bytes(array)
    texts = raw_texts(array)
    check_reply(texts.size)
    return joined(texts.parts)


def long_tensor(array: Array) -> Long:
    """The same as bytes that are written later."""
    return raw_texts(array) if array.dtype == object else as_they_lie(array)


def _read_strings(name: str, shape: tuple[int, ...], raw: memoryview) -> Array:
    wanted = count(shape)
    if wanted * 4 > len(raw):
        raise InvalidArgumentError(
            f"tensor '{name}' of {wanted} strings takes at least {wanted * 4} bytes, got {len(raw)}"
        )
    items = np.empty(wanted, dtype=object)
    begin = 0
    for i in range(wanted):
        end = begin + 4
        size = int.from_bytes(raw[begin:end], "little")
        begin, end = end, end + size
        if end > len(raw):
            raise InvalidArgumentError(f"string {i} of tensor '{name}' ends after the tensor does")
        items[i] = bytes(raw[begin:end])
        begin = end
    if begin != len(raw):
        raise InvalidArgumentError(
            f"tensor '{name}' has {len(raw) - begin} bytes after its {wanted} strings"
        )
    return items.reshape(shape)
