"""Ways to damage a file: its bytes, and the fields of its messages."""

from __future__ import annotations

import copy
import struct
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

# Values that break the reading of sizes and counts.
_ODD = (0, 1, -1, 2, 127, 128, 255, 1 << 15, (1 << 31) - 1, -(1 << 31), 1 << 32, (1 << 62) + 1)
_RUNS = (b"\0", b"\xff", b"\x80", b"\x7f", b"\x0a")
_MOST = 6


def damaged(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """`data` with some bytes changed, removed, repeated, or taken from `other`."""
    content = bytearray(data)
    for _ in range(draw.randint(1, _MOST)):
        size = len(content)
        at = draw.randrange(size) if size else 0
        length = min(draw.choice((1, 1, 2, 4, 8, 64, 700)), size - at)
        kind = draw.randrange(8)
        if kind == 0 and size:
            content[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            content[at : at + length] = draw.randbytes(length)
        elif kind == 2:
            del content[at : at + length]
        elif kind == 3:
            content[at:at] = content[at : at + length]
        elif kind == 4:
            content[at : at + length] = draw.choice(_RUNS) * length
        elif kind == 5 and other:
            start = draw.randrange(len(other))
            content[at : at + length] = other[start : start + length]
        elif kind == 6:
            number = draw.choice(_ODD)
            content[at : at + 8] = struct.pack("<q", number)[: max(size - at, 0)]
        elif draw.random() < 0.3:
            del content[at:]
    return bytes(content)


def changed(draw: random.Random, message: Any) -> None:
    """Change some fields of a message, at any depth."""
    for _ in range(draw.randint(1, 3)):
        _change(draw, message)


def _change(draw: random.Random, message: Any) -> None:
    inner = message
    while inner is not None:
        message = inner
        inner = _step(draw, message)


def _step(draw: random.Random, message: Any) -> Any:
    """Change a field here and return None, or return a nested message."""
    present = message.ListFields()
    if not present or draw.random() < 0.08:
        return _set_some(draw, message)
    field, value = draw.choice(present)
    if field.message_type is None:
        return _change_value(draw, message, field, value)
    if _is_map(field):
        return _step_into_map(draw, field, value)
    if _is_repeated(field):
        return _step_into_list(draw, value)
    if draw.random() < 0.05:
        return message.ClearField(field.name)
    return value


def _step_into_map(draw: random.Random, field: Any, value: Any) -> Any:
    key = draw.choice(sorted(value, key=repr))
    if draw.random() < 0.1:
        del value[key]
        return None
    holds_messages = field.message_type.fields_by_name["value"].message_type is not None
    return value[key] if holds_messages else None


def _step_into_list(draw: random.Random, value: Any) -> Any:
    index = draw.randrange(len(value))
    roll = draw.random()
    if roll < 0.08:
        del value[index]
    elif roll < 0.14:
        value.add().CopyFrom(draw.choice(value))
    elif roll < 0.2:
        value[index].CopyFrom(draw.choice(value))
    else:
        return value[index]
    return None


def _change_value(draw: random.Random, message: Any, field: Any, value: Any) -> None:
    if draw.random() < 0.15:
        message.ClearField(field.name)
    elif _is_repeated(field):
        index = draw.randrange(len(value))
        roll = draw.random()
        if roll < 0.25:
            del value[index]
        elif roll < 0.4:
            value.append(value[index])
        else:
            value[index] = _other(draw, field, value[index])
    else:
        setattr(message, field.name, _other(draw, field, value))


def _set_some(draw: random.Random, message: Any) -> None:
    """Set a field that was not set."""
    fields = [one for one in message.DESCRIPTOR.fields if not _is_repeated(one)]
    if fields:
        field = draw.choice(fields)
        if field.message_type is not None:
            getattr(message, field.name).SetInParent()
        else:
            setattr(message, field.name, _other(draw, field, getattr(message, field.name)))


_KINDS = FieldDescriptor
_UNSIGNED = {_KINDS.CPPTYPE_UINT32: 32, _KINDS.CPPTYPE_UINT64: 64}
_SIGNED = {_KINDS.CPPTYPE_INT32: 32, _KINDS.CPPTYPE_INT64: 64, _KINDS.CPPTYPE_ENUM: 32}


def _other(draw: random.Random, field: Any, value: Any) -> Any:
    kind = field.cpp_type
    if kind in _UNSIGNED:
        return draw.choice((*_ODD, value + 1)) % (1 << _UNSIGNED[kind])
    if kind in _SIGNED:
        bits = _SIGNED[kind]
        number = draw.choice((*_ODD, value + 1, value - 1, draw.randrange(70)))
        return (number + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    if kind == _KINDS.CPPTYPE_BOOL:
        return not value
    if kind in (_KINDS.CPPTYPE_FLOAT, _KINDS.CPPTYPE_DOUBLE):
        return draw.choice((0.0, -1.0, float("inf"), float("nan"), 1e30))
    if field.type == _KINDS.TYPE_BYTES:
        return damaged(draw, value, b"")
    text: str = value
    at = draw.randrange(len(text) + 1)
    return draw.choice(
        (text[:at], text + "_", text[:at] + ":0" + text[at:], "", "^" + text, "../x")
    )


def _is_repeated(field: Any) -> bool:
    return bool(field.is_repeated)


def _is_map(field: Any) -> bool:
    return bool(field.message_type.GetOptions().map_entry)


# JSON.

_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 10**6, 10**9, 1 << 40, -(1 << 63), 10**30),
    *(0.5, -1.0, 1e30, float("inf"), float("nan"), "", "x", "relu", "../x", "a/b", "Dense"),
    *([], {}, [None], [1, 2], [None, 4], [[]], {"class_name": "Dense", "config": {}}),
    *(
        {"class_name": "function", "config": "load_model"},
        {"class_name": "__tuple__", "items": [3]},
    ),
    {"class_name": "__numpy__", "config": {"value": [1.0], "dtype": "float32"}},
)


def changed_json(draw: random.Random, content: Any) -> None:
    """Change some values of a JSON document, at any depth."""
    for _ in range(draw.randint(1, 3)):
        places = list(_places(content))
        if not places:
            return
        owner, key = draw.choice(places)
        roll = draw.random()
        if roll < 0.5:
            owner[key] = copy.deepcopy(draw.choice(_VALUES))
        elif roll < 0.65:
            del owner[key]
        elif roll < 0.85:
            other, its = draw.choice(places)
            owner[key] = copy.deepcopy(other[its])
        elif isinstance(owner, list):
            owner.insert(key, copy.deepcopy(owner[key]))
        else:
            owner[f"{key}_"] = owner[key]


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every value of a document, as its container and its key there."""
    keys = content if isinstance(content, dict) else range(len(content))
    for key in keys:
        yield content, key
        if isinstance(content[key], (dict, list)):
            yield from _places(content[key])
