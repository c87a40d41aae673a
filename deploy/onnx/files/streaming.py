"""An ONNX file streamed to disk: the graph first, then weight by weight.

A protobuf message is the concatenation of its fields, in any order. So the message without weights
is serialised as usual, and each weight is appended directly from its memory, without a message that
contains all of them. Weights of a kilobyte or more are aligned to eight bytes, so that a reader
that maps the file can use them in place.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
import onnx

from pinnace.deploy.onnx.ir.graph import Value, sizes_of
from pinnace.deploy.onnx.ir.inference import SMALL
from pinnace.deploy.onnx.ir.messages import onnx_number, tensor_message
from pinnace.deploy.program.mapped_weights import pieces
from pinnace.framework import dtypes
from pinnace.framework.errors import InternalError
from pinnace.framework.tensor import Array

# The limit of a protobuf message in bytes.
LIMIT = (1 << 31) - 1
ALIGNMENT = 8
# Alignment of weights in a file of their own: pages, and for large arrays 64 KiB, so that every
# system can map them.
_PAGE, _LARGE_PAGE, _LARGE = 1 << 12, 1 << 16, 1 << 20

_GRAPH, _INITIALIZER = 7, 5  # of ModelProto, of GraphProto
_DIMS, _TYPE, _NAME, _RAW = 1, 2, 8, 9  # of TensorProto
_NUMBER, _BYTES = 0, 2  # wire types


@dataclass(frozen=True, slots=True)
class Draft:
    """A model before it is written.

    Attributes:
        skeleton: the message without initializers.
        weights: the initializers, in order.
    """

    skeleton: onnx.ModelProto
    weights: Sequence[Value]

    @property
    def weight_bytes(self) -> int:
        """The size of all weights."""
        return sum(array_of(value).nbytes for value in self.weights)

    @property
    def has_large(self) -> bool:
        """Whether a weight is large enough to be external."""
        return any(_is_raw(value) for value in self.weights)

    @property
    def fits(self) -> bool:
        """Whether one message can hold the model."""
        described = self.skeleton.ByteSize() + 128 * len(self.weights)
        return self.weight_bytes + described < LIMIT


def write_whole(file: IO[bytes], draft: Draft) -> None:
    """Write the model as one file."""
    head = onnx.ModelProto()
    head.CopyFrom(draft.skeleton)
    head.ClearField("graph")
    before = head.SerializeToString(deterministic=True)
    graph = draft.skeleton.graph.SerializeToString(deterministic=True)
    # The length of the graph comes before it, and the weights' offsets depend on how many bytes
    # that takes: the longest form is reserved.
    most = len(graph) + sum(_most_bytes(value) for value in draft.weights)
    width = len(_varint(most))
    start = len(before) + 1 + width + len(graph)
    headers: list[bytes] = []
    at = start
    for value in draft.weights:
        header = _header(value, at)
        headers.append(header)
        at += len(header) + (array_of(value).nbytes if _is_raw(value) else 0)
    length = len(graph) + at - start
    file.write(before + _tag(_GRAPH, _BYTES) + _varint(length, width) + graph)
    for value, header in zip(draft.weights, headers, strict=True):
        file.write(header)
        if _is_raw(value):
            write_array(file, array_of(value), value.factor)


def write_aside(file: IO[bytes], draft: Draft, location: str) -> onnx.ModelProto:
    """Write the weights to a file of their own; return the message that refers to it.

    Args:
        file: the file for the weights.
        draft: the model.
        location: the name of the weights' file, in the model's folder.
    """
    model = onnx.ModelProto()
    model.CopyFrom(draft.skeleton)
    at = 0
    for value in draft.weights:
        array = array_of(value)
        if not _is_raw(value):
            model.graph.initializer.append(tensor_message(array, value.name, value.dtype))
            continue
        place = _up(at, _LARGE_PAGE if array.nbytes >= _LARGE else _PAGE)
        file.write(bytes(place - at))
        tensor = model.graph.initializer.add(
            name=value.name, data_type=onnx_number(value.dtype), dims=sizes_of(value.shape)
        )
        refer(tensor, location, place, array.nbytes)
        write_array(file, array, value.factor)
        at = place + array.nbytes
    return model


def refer(tensor: onnx.TensorProto, location: str, offset: int, length: int) -> None:
    """Let the tensor refer to bytes in another file."""
    del tensor.external_data[:]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, text in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(text))


def write_array(file: IO[bytes], array: Array, factor: Array | None = None) -> None:
    """Write the elements in order, scaled by the factor of their row, little-endian."""
    for piece in pieces(array, factor):
        little = piece if sys.byteorder == "little" else piece.byteswap()
        file.write(little.view(np.uint8).data)


def array_of(value: Value) -> Array:
    """The array of a constant, reshaped to its shape if it is small."""
    if value.array is None:
        raise InternalError(f"{value.name!r} is not a constant")
    if value.array.nbytes <= SMALL:
        return value.array.reshape(sizes_of(value.shape))
    return value.array


def _is_raw(value: Value) -> bool:
    """Whether its bytes are written directly from its memory."""
    return array_of(value).nbytes > SMALL and value.dtype is not dtypes.string


def _header(value: Value, at: int) -> bytes:
    """The bytes before a weight's data, or all of a small one, for the offset `at`."""
    array = array_of(value)
    if not _is_raw(value):
        whole = tensor_message(array, value.name, value.dtype).SerializeToString(deterministic=True)
        return _tag(_INITIALIZER, _BYTES) + _varint(len(whole)) + whole
    name = value.name.encode()
    dims = b"".join(_tag(_DIMS, _NUMBER) + _varint(size) for size in sizes_of(value.shape))
    named = _tag(_NAME, _BYTES) + _varint(len(name)) + name
    raw = _tag(_RAW, _BYTES) + _varint(array.nbytes)
    number = onnx_number(value.dtype)
    for padding in range(2 * ALIGNMENT):
        # A varint may be padded up to ten bytes.
        first, second = min(padding, ALIGNMENT), max(padding - ALIGNMENT, 0)
        kind = _tag(_TYPE, _NUMBER) + _varint(number, len(_varint(number)) + first)
        length = len(dims) + len(kind) + len(named) + len(raw) + array.nbytes
        begin = _tag(_INITIALIZER, _BYTES) + _varint(length, len(_varint(length)) + second)
        header = begin + dims + kind + named + raw
        if (at + len(header)) % ALIGNMENT == 0:
            return header
    raise InternalError(f"no header length fits {value.name!r}")


def _most_bytes(value: Value) -> int:
    array = array_of(value)
    if _is_raw(value):
        return array.nbytes + len(value.name.encode()) + 10 * value.rank + 64
    return len(_header(value, 0))


def _tag(field: int, kind: int) -> bytes:
    return bytes([field << 3 | kind])


def _varint(number: int, width: int = 0) -> bytes:
    """A varint, padded to `width` bytes."""
    found = bytearray()
    while number > 127 or len(found) + 1 < width:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def tensors_of(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """The initializers, including those of bodies."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from tensors_of(attribute.g)
