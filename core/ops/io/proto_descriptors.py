"""Descriptors of protobuf messages: from a file, from bytes, or of TensorFlow's formats."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType

# The package of the formats' messages here, and in TensorFlow.
_OURS, _THEIRS = "pinnace.proto.", "tensorflow."
_LOCAL = {"", "local://"}
_BYTES = b"bytes://"

_WIDE = {"int32": (dtypes.int32, dtypes.int64), "uint32": (dtypes.uint32, dtypes.uint64)}
# `FieldDescriptorProto.Type` -> the dtypes that a field's values may be read as.
_DTYPES: dict[int, tuple[DType, ...]] = {
    1: (dtypes.float64,),
    2: (dtypes.float32, dtypes.float64),
    3: (dtypes.int64,),
    4: (dtypes.uint64,),
    5: _WIDE["int32"],
    6: (dtypes.uint64,),
    7: _WIDE["uint32"],
    8: (dtypes.bool,),
    9: (dtypes.string,),
    10: (dtypes.string,),
    11: (dtypes.string,),
    12: (dtypes.string,),
    13: _WIDE["uint32"],
    14: (dtypes.int32,),
    15: _WIDE["int32"],
    16: (dtypes.int64,),
    17: _WIDE["int32"],
    18: (dtypes.int64,),
}
_TYPE_NAMES = (
    *("", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string"),
    *("group", "message", "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64"),
)


def is_file(source: str | bytes) -> bool:
    """Whether a descriptor source is a path."""
    return not (source in _LOCAL or _as_bytes(source).startswith(_BYTES))


def message(op: str, source: str | bytes, name: str) -> Any:
    """The descriptor of a message.

    Args:
        op: name of the op in messages.
        source: "local://" or "", a path of a FileDescriptorSet, or "bytes://" and such a set.
        name: the message's full name.

    Raises:
        InvalidArgumentError: there is no such message, or the source is no set of descriptors,
            or no file.
    """
    found = _local(name) if source in _LOCAL else _of_set(op, source, name)
    if found is None:
        hint = "  Try: a descriptor_source with it, `protoc --include_imports --descriptor_set_out`"
        raise InvalidArgumentError(f"{op}: no descriptor found for message type {name}\n{hint}")
    return found


def _as_bytes(source: str | bytes) -> bytes:
    return source if isinstance(source, bytes) else source.encode()


def _of_set(op: str, source: str | bytes, name: str) -> Any:
    data = _as_bytes(source)
    if data.startswith(_BYTES):
        data = data[len(_BYTES) :]
    else:
        path = data.decode()
        try:
            data = Path(path).read_bytes()
        except (OSError, ValueError) as error:
            raise InvalidArgumentError(
                f"{op}: descriptor_source {path!r} cannot be read: {error}"
            ) from error
    try:
        return _pool(op, data).FindMessageTypeByName(name)
    except KeyError:
        return None


@functools.lru_cache(maxsize=16)
def _pool(op: str, data: bytes) -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool
    from google.protobuf.message import DecodeError

    pool = descriptor_pool.DescriptorPool()
    try:
        given = descriptor_pb2.FileDescriptorSet.FromString(data)
        for file in given.file:
            pool.Add(file)
        for file in given.file:
            pool.FindFileByName(file.name)  # parses the file, and raises if it is invalid
    except (DecodeError, KeyError, TypeError) as error:
        raise InvalidArgumentError(
            f"{op}: descriptor_source must be a FileDescriptorSet with its imports: {error}"
        ) from error
    return pool


def _local(name: str) -> Any:
    from google.protobuf import descriptor_pool

    _import_formats()
    own = _OURS + name.removeprefix(_THEIRS) if name.startswith(_THEIRS) else name
    try:
        return descriptor_pool.Default().FindMessageTypeByName(own)
    except KeyError:
        return None


@functools.cache
def _import_formats() -> None:
    from pinnace import proto

    for module in pkgutil.iter_modules(proto.__path__):
        if module.name.endswith("_pb2"):
            importlib.import_module(f"{proto.__name__}.{module.name}")


def field(op: str, found: Any, name: str, *, extensions: bool) -> Any:
    """The descriptor of a field, or of an extension by its full name.

    Raises:
        InvalidArgumentError: the message has no such field.
    """
    one = found.fields_by_name.get(name)
    if one is None and extensions:
        known = found.file.pool.FindAllExtensions(found)
        one = next((each for each in known if each.full_name == name), None)
    if one is None:
        raise InvalidArgumentError(
            f"{op}: unknown field: {name} in message type {found.full_name}; it has "
            f"{', '.join(found.fields_by_name) or 'none'}"
        )
    return one


def check_dtype(op: str, one: Any, dtype: DType) -> None:
    """Raise InvalidArgumentError unless a field's values may have the dtype."""
    allowed = _DTYPES[one.type]
    if dtype not in allowed:
        raise InvalidArgumentError(
            f"{op}: {one.full_name} is {_TYPE_NAMES[one.type]}: its dtype must be "
            f"{' or '.join(each.name for each in allowed)}, got {dtype.name}"
        )


def default(one: Any) -> Any:
    """The default value of a field; b"" for messages."""
    value = one.default_value
    if one.type in {10, 11}:
        return b""
    if value is None or value == []:  # repeated fields have no default
        return b"" if one.type in {9, 12} else 0
    return value.encode() if isinstance(value, str) else value


def is_repeated(one: Any) -> bool:
    """Whether a field may have several values."""
    return bool(one.is_repeated) if hasattr(one, "is_repeated") else one.label == one.LABEL_REPEATED


def is_packed(one: Any) -> bool:
    """Whether a field's values are written as one packed run."""
    return bool(one.is_packed) if hasattr(one, "is_packed") else bool(one.GetOptions().packed)
