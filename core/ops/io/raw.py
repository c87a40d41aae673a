"""Conversion between bytes and tensors: DecodePaddedRaw, SerializeTensor, ParseTensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import ANY, DType, as_dtype
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import UNKNOWN, Shape, from_list_with_minus_one
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.io.files import string_of
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define, scalar
from pinnace.ops.strings import encoding
from pinnace.ops.tensor_fields import VALUE_FIELDS
from pinnace.storage.varints import varint

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.proto.tensor_pb2 import TensorProto

__all__ = ["decode_raw", "parse_tensor", "serialize_tensor"]


@takes_composites(values=1)
def decode_raw(
    input_bytes: TensorLike,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Tensor:
    """The bytes of every string reinterpreted as numbers.

    Args:
        input_bytes: [...], string, all of one length unless `fixed_length` is given.
        out_type: dtype of the numbers.
        little_endian: the order of the bytes of a number.
        fixed_length: how many bytes to take of each string; shorter ones are filled with zeros.
        name: name of the node while tracing.

    Returns:
        [..., length / size of a number].

    Raises:
        InvalidArgumentError: lengths that differ, or are no multiple of the size of a number.

    Source:
        TensorFlow ops `DecodeRaw`, `DecodePaddedRaw` (parsing_ops.cc).
    """
    kind = as_dtype(out_type)
    if fixed_length is None:
        return encoding.decode_raw(input_bytes, kind, little_endian, name)
    return execute_one(
        DECODE_PADDED_RAW,
        input_bytes,
        fixed_length,
        out_type=kind,
        little_endian=little_endian,
        name=name,
    )


_PADDED_RAW = (dtypes.FLOATS | dtypes.INTEGERS) - {dtypes.uint32, dtypes.uint64}


def _numbers(data: bytes, kind: DType, little_endian: bool) -> Array:
    found = np.dtype(kind.numpy)
    array = np.frombuffer(data, found)
    if found.itemsize == 1 or little_endian == np.dtype("<i4").isnative:
        return array
    if found.kind == "V" or found.num >= 256:
        return np.frombuffer(data, np.uint16).byteswap().view(found)
    return array.byteswap()


def _decode_padded_kernel(
    input_bytes: Array, fixed_length: Array, *, out_type: DType, little_endian: bool
) -> Array:
    length = int(fixed_length)
    size = np.dtype(out_type.numpy).itemsize
    if length < 1 or length % size:
        raise InvalidArgumentError(
            f"DecodePaddedRaw: fixed_length must be a positive multiple of {size} for "
            f"{out_type.name}, got {length}"
        )
    items = np.asarray(input_bytes, object).ravel().tolist()
    data = b"".join(item[:length].ljust(length, b"\0") for item in items)
    return _numbers(data, out_type, little_endian).reshape(*np.shape(input_bytes), length // size)


def _infer_padded(call: InferCall) -> Shape:
    length = call.constant(1)
    size = np.dtype(call.attrs["out_type"].numpy).itemsize
    return call.spec(0).shape + Shape((None if length is None else int(length) // size,))


DECODE_PADDED_RAW = define(
    name="DecodePaddedRaw",
    signature="input_bytes: string, fixed_length: int32 -> output: out_type",
    types={"out_type": _PADDED_RAW},
    attrs={"little_endian": attr("bool", default=True)},
    infer=_infer_padded,
    kernel=_decode_padded_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """A tensor as the bytes of a TensorProto.

    Args:
        tensor: [...], any dtype but resource and variant.
        name: name of the node while tracing.

    Returns:
        [], string.
    """
    return execute_one(SERIALIZE_TENSOR, tensor, name=name)


def _serialize_kernel(tensor: Array, *, T: DType) -> Array:  # noqa: N803 (the attribute's name)
    if T in {dtypes.resource, dtypes.variant}:
        raise UnimplementedError(f"SerializeTensor: a {T.name} tensor has no bytes")
    array = np.asarray(tensor)
    from pinnace.proto.tensor_pb2 import TensorProto

    message = TensorProto(dtype=T.enum)  # type: ignore[arg-type]  # the stubs want the enum's own int
    message.tensor_shape.SetInParent()  # an empty shape is present, since scalars have a shape
    for n in array.shape:
        message.tensor_shape.dim.add(size=n)
    if T is dtypes.string:
        message.string_val.extend(array.ravel().tolist())
    else:
        message.tensor_content = np.ascontiguousarray(array).tobytes()
    out = np.empty((), object)
    out[()] = message.SerializeToString()
    return out


SERIALIZE_TENSOR = define(
    name="SerializeTensor",
    signature="tensor: T -> serialized: string",
    types={"T": ANY},
    infer=scalar,
    kernel=_serialize_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _message_from(data: bytes) -> TensorProto | None:
    """The message in these bytes; None if they are invalid."""
    # `import pinnace` does without protobuf, a twentieth of what it takes.
    from google.protobuf.message import DecodeError

    from pinnace.proto.tensor_pb2 import TensorProto

    try:
        return TensorProto.FromString(data)
    except DecodeError:
        return None


_MOST = 1 << 31


def _texts_of(message: TensorProto, count: int) -> Array:
    """The elements of a string tensor, from either of two fields."""
    if not message.tensor_content:
        return _filled(message.string_val, count, np.dtype(object))
    found = _texts(message.tensor_content, count)
    out = np.empty(count, object)
    out[:] = found
    return out


def _texts(data: bytes, count: int) -> list[bytes]:
    """The strings that `packed` put into one field."""
    if count > len(data):
        raise InvalidArgumentError(f"ParseTensor: {count} texts do not fit into {len(data)} bytes")
    lengths: list[int] = []
    at = 0
    while len(lengths) < count:
        number = shift = 0
        while True:
            if at == len(data) or shift > 63:
                raise InvalidArgumentError(f"ParseTensor: the lengths of {count} texts are damaged")
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        lengths.append(number)
    if at + sum(lengths) != len(data):
        raise InvalidArgumentError(
            f"ParseTensor: {count} texts take {at + sum(lengths)} bytes, got {len(data)}"
        )
    found = []
    for length in lengths:
        found.append(data[at : at + length])
        at += length
    return found


def _filled(values: Any, count: int, kind: np.dtype[Any]) -> Array:
    """`count` values, of which the last given one is repeated."""
    out = np.zeros(count, kind) if kind.kind != "O" else np.full(count, b"", object)
    given = min(len(values), count)
    if given:
        out[:given] = list(values)[:given]
        out[given:] = out[given - 1]
    return out


def parse_tensor(serialized: TensorLike, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor in the bytes of a TensorProto; the inverse of `serialize_tensor`.

    Args:
        serialized: [], string.
        out_type: its dtype.
        name: name of the node while tracing.

    Returns:
        A tensor of a shape that is known when it runs.

    Raises:
        InvalidArgumentError: the bytes are no tensor, or one of another dtype.
    """
    return execute_one(PARSE_TENSOR, serialized, out_type=as_dtype(out_type), name=name)


def _infer_parsed(call: InferCall) -> Shape:
    known = call.constant(0)
    if known is None or call.spec(0).shape.rank != 0:
        return UNKNOWN
    message = _message_from(string_of(known))
    if message is None:
        return UNKNOWN  # the kernel will raise
    return from_list_with_minus_one(dim.size for dim in message.tensor_shape.dim)


def _parse_kernel(serialized: Array, *, out_type: DType) -> Array:
    return unpacked(string_of(serialized), out_type)


PARSE_TENSOR = define(
    name="ParseTensor",
    signature="serialized: string -> output: out_type",
    types={"out_type": ANY},
    infer=_infer_parsed,
    kernel=_parse_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def packed(array: Array, dtype: DType) -> bytes:
    """A TensorProto with all elements in one field; of strings, lengths followed by bytes."""
    from pinnace.proto.tensor_pb2 import TensorProto

    message = TensorProto(dtype=dtype.enum)  # type: ignore[arg-type]  # the stubs want the enum's own int
    message.tensor_shape.SetInParent()
    for n in array.shape:
        message.tensor_shape.dim.add(size=n)
    if dtype is dtypes.string:
        texts = array.ravel().tolist()
        lengths = b"".join(varint(len(text)) for text in texts)
        message.tensor_content = lengths + b"".join(texts)
    else:
        message.tensor_content = np.ascontiguousarray(array).tobytes()
    return message.SerializeToString()


def unpacked(data: bytes, out_type: DType) -> Array:
    """The tensor in a TensorProto.

    Raises:
        InvalidArgumentError: the bytes are none, or one of another dtype.
    """
    message = _message_from(data)
    if message is None:
        raise InvalidArgumentError("ParseTensor: the bytes are no TensorProto")
    if message.dtype != out_type.enum:
        raise InvalidArgumentError(
            f"ParseTensor: out_type must be the dtype of the tensor, got {out_type.name} for one "
            f"of {as_dtype(int(message.dtype)).name if message.dtype else 'no dtype'}"
        )
    shape = tuple(dim.size for dim in message.tensor_shape.dim)
    if message.tensor_shape.unknown_rank or any(n < 0 for n in shape):
        raise InvalidArgumentError(
            f"ParseTensor: the shape must be known in full, got {list(shape)}"
        )
    count = math.prod(shape)
    if out_type is dtypes.string:
        return _texts_of(message, count).reshape(shape)
    kind = np.dtype(out_type.numpy)
    if message.tensor_content:
        if len(message.tensor_content) != count * kind.itemsize:
            raise InvalidArgumentError(
                f"ParseTensor: {out_type.name}{list(shape)} takes {count * kind.itemsize} bytes, "
                f"got {len(message.tensor_content)}"
            )
        return np.frombuffer(message.tensor_content, kind).reshape(shape)
    if count * kind.itemsize > _MOST:
        raise InvalidArgumentError(f"ParseTensor: the tensor {list(shape)} is too large")
    values: Any = getattr(message, VALUE_FIELDS.get(out_type, "int_val"))
    if out_type in {dtypes.float16, dtypes.bfloat16}:
        return _filled(np.array(values, np.uint16).view(kind), count, kind).reshape(shape)
    if out_type.is_complex:
        halves = np.array(values, np.dtype(f"f{kind.itemsize // 2}"))
        return _filled(halves[: len(halves) // 2 * 2].view(kind), count, kind).reshape(shape)
    return _filled(
        np.array(values, np.int64).astype(kind) if out_type.is_integer else values, count, kind
    ).reshape(shape)
