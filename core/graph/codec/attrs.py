"""Attributes of nodes ↔ AttrValue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from pinnace.framework.dtypes import DType
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.shapes import decode_shape, encode_shape
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
from pinnace.graph.function_ref import FunctionRef
from pinnace.proto.attr_value_pb2 import AttrValue, NameAttrList

NameOf: TypeAlias = Callable[[FunctionRef], str]
RefOf: TypeAlias = Callable[[str, str], FunctionRef]

# Kind of an attribute -> the field that holds it.
_FIELDS = {
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}
_KINDS = {field: kind for kind, field in _FIELDS.items()}


def encode_attr(
    value: Any, kind: str = "", name_of: NameOf | None = None, dtype: DType | None = None
) -> AttrValue:
    """An attribute as an AttrValue.

    Args:
        value: a value as nodes hold it.
        kind: as the op defines it; if empty, that of the value.
        name_of: the name under which a function is written; its own if None.
        dtype: dtype of a tensor, where it is not that of its array.
    """
    if kind.startswith("list(") or (not kind and isinstance(value, (tuple, list))):
        return _encode_list(value, kind[5:-1], name_of)
    field = _FIELDS[kind or kind_of(value)]
    return AttrValue(**{field: _encode_one(value, field, name_of, dtype)})


def decode_attr(message: AttrValue, kind: str, where: str, ref: RefOf) -> Any:
    """The inverse of `encode_attr`.

    Args:
        message: the attribute.
        kind: as the op defines it; empty accepts any.
        where: the node and attribute, for errors.
        ref: looks up a function by name.

    Raises:
        InvalidArgumentError: the attribute is of another kind, or has an invalid value.
    """
    field = message.WhichOneof("value")
    if kind.startswith("list(") or (not kind and field == "list"):
        if field not in ("list", None):
            raise InvalidArgumentError(f"{where} must be a {kind}, got {_described(field)}")
        return _decode_list(message, kind[5:-1], where, ref)
    if field is None or field == "list" or (kind and _FIELDS[kind] != field):
        raise InvalidArgumentError(
            f"{where} must be {_described(_FIELDS.get(kind))}, got {_described(field)}"
        )
    if field == "placeholder":
        raise UnimplementedError(f"{where} is a placeholder of a function's template")
    return _decode_one(getattr(message, field), field, where, ref)


def kind_of(value: Any) -> str:
    """The kind of attribute that a value is."""
    # bool before int: it is one.
    for kind, types in _TYPES:
        if isinstance(value, types):
            return kind
    raise InvalidArgumentError(f"no attribute can hold {value!r} ({type(value).__name__})")


_TYPES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("bool", (bool, np.bool_)),
    ("int", (int, np.integer)),
    ("float", (float, np.floating)),
    ("string", (str, bytes)),
    ("type", (DType,)),
    ("shape", (Shape,)),
    ("tensor", (np.ndarray,)),
    ("func", (FunctionRef,)),
)


def _encode_list(values: Any, kind: str, name_of: NameOf | None) -> AttrValue:
    message = AttrValue(list=AttrValue.ListValue())
    items = list(values)
    if items:
        field = _FIELDS[kind or kind_of(items[0])]
        encoded = [_encode_one(item, field, name_of, None) for item in items]
        getattr(message.list, field).extend(encoded)
    return message


def _decode_list(message: AttrValue, kind: str, where: str, ref: RefOf) -> tuple[Any, ...]:
    values = message.list
    filled = [(known, field) for field, known in _KINDS.items() if getattr(values, field)]
    if not filled:
        return ()
    if len(filled) > 1 or (kind and filled[0][0] != kind):
        got = " and ".join(known for known, _ in filled)
        raise InvalidArgumentError(f"{where} must be a list({kind or '...'}), got a list of {got}")
    field = filled[0][1]
    items = getattr(values, field)
    if field in ("i", "f", "b"):
        return tuple(items)
    return tuple([_decode_one(item, field, where, ref) for item in items])


def _encode_one(value: Any, field: str, name_of: NameOf | None, dtype: DType | None) -> Any:
    if field == "s":
        return value.encode() if isinstance(value, str) else bytes(value)
    if field == "type":
        return value.enum
    if field == "shape":
        return encode_shape(value if isinstance(value, Shape) else Shape(value))
    if field == "tensor":
        return encode_tensor(np.asarray(value), dtype)
    if field == "func":
        return NameAttrList(name=value.name if name_of is None else name_of(value))
    return {"i": int, "f": float, "b": bool}[field](value)


def _decode_one(value: Any, field: str, where: str, ref: RefOf) -> Any:
    if field == "s":
        return decode_text(value)
    if field == "type":
        return decode_dtype(value, where)
    if field == "shape":
        return decode_shape(value, where)
    if field == "tensor":
        return decode_tensor(value, where)
    if field == "func":
        return ref(value.name, where)
    return value


def decode_text(value: bytes) -> str | bytes:
    """Bytes decoded as UTF-8 if possible, else unchanged."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _described(field: str | None) -> str:
    if field is None:
        return "nothing"
    return {"list": "a list", "placeholder": "a placeholder"}.get(
        field, f"of kind {_KINDS.get(field, field)}"
    )
