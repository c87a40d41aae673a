"""A written ONNX file without its weights; large ones are references to their offsets.

ONNX's checker and ONNX Runtime then read the written bytes, and map the weights instead of copying
them several times.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import onnx

from pinnace.deploy.onnx.files.streaming import ALIGNMENT, refer
from pinnace.deploy.onnx.ir.inference import SMALL
from pinnace.framework.errors import DataLossError

_GRAPH, _INITIALIZER, _RAW = 7, 5, 9
_NUMBER, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_FIXED = {_EIGHT: 8, _FOUR: 4}


class _Field(NamedTuple):
    number: int
    kind: int
    begin: int  # of its tag
    start: int  # of its content
    end: int


def outline(path: Path, location: str) -> onnx.ModelProto:
    """The ModelProto of a file, with references in place of its large weights.

    Args:
        path: the file.
        location: the name of the file in the references.

    Raises:
        DataLossError: the file is not a protobuf message.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        model = onnx.ModelProto()
        for field in _fields(data, 0, len(data)):
            if field.number == _GRAPH and field.kind == _BYTES:
                _graph(data, field, location, model.graph)
            else:
                model.MergeFromString(data[field.begin : field.end])
    return model


def _graph(data: mmap.mmap, whole: _Field, location: str, graph: onnx.GraphProto) -> None:
    described = bytearray()
    tensors = []
    for field in _fields(data, whole.start, whole.end):
        if field.number == _INITIALIZER and field.kind == _BYTES:
            tensors.append(_tensor(data, field, location))
        else:
            described += data[field.begin : field.end]
    graph.MergeFromString(bytes(described))
    graph.initializer.extend(tensors)


def _tensor(data: mmap.mmap, whole: _Field, location: str) -> onnx.TensorProto:
    described = bytearray()
    place = None
    for field in _fields(data, whole.start, whole.end):
        large = field.end - field.start > SMALL and field.start % ALIGNMENT == 0
        if field.number == _RAW and field.kind == _BYTES and large:
            place = field
        else:
            described += data[field.begin : field.end]
    tensor = onnx.TensorProto.FromString(bytes(described))
    if place is not None:
        refer(tensor, location, place.start, place.end - place.start)
    return tensor


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[_Field]:
    at = start
    while at < end:
        begin = at
        tag, at = _varint(data, at, end)
        number, kind = tag >> 3, tag & 7
        first = at
        if kind == _NUMBER:
            _, at = _varint(data, at, end)
        elif kind == _BYTES:
            length, first = _varint(data, at, end)
            at = first + length
        elif kind in _FIXED:
            at += _FIXED[kind]
        else:
            raise DataLossError(f"byte {begin} of the file: {kind} is not a wire type")
        if at > end:
            raise DataLossError(f"byte {begin} of the file: field {number} is truncated")
        yield _Field(number, kind, begin, first, at)


def _varint(data: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """A varint, and the offset behind it."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise DataLossError(f"byte {at} of the file: a varint does not end")
