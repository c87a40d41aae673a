"""Counts the fields of a message in its bytes, before it is parsed.

Parsing a field of two bytes can create hundreds of objects, while other threads wait. Nested
messages, map entries and sizes of shapes are counted, at any depth. Numbers and strings are not:
they take at most some sixteen times their bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from pinnace.serving.messages.wire_format import LENGTH, VARINT, end_of_run, field_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from google.protobuf.descriptor import Descriptor

# A field: its number, the bytes that contain it, and its position in them.
_Part: TypeAlias = "tuple[int, bytes, int, int]"

_NARROW = 32  # other fields; if there are more, the parser's loop is faster
_DEEPEST = 16
_STEPS = 64  # fields before the last one of a message, at each level

# Lists of numbers that are short in legitimate messages, and whose bytes are counted.
_SHAPES = frozenset({"pinnace.inference.ModelInferRequest.InferInputTensor.shape"})


class Level:
    """The limits for one kind of message.

    Attributes:
        inner: the fields whose occurrences count, by number; with their kind of message if that can
            contain many fields, too.
        shapes: the fields whose bytes count.
    """

    __slots__ = ("_kind", "inner", "shapes", "thin")

    def __init__(self, kind: Descriptor) -> None:
        self._kind = kind
        self.inner: dict[int, Level | None] = {}
        self.shapes: set[int] = set()
        self.thin: type[Message] | None = None  # created on first use

    def parts(self, data: bytes) -> Iterator[_Part]:
        """Yield the fields that count; only these become objects.

        Raises:
            DecodeError: the bytes are not such a message.
        """
        if self.thin is None:
            self.thin = _thin(self._kind, [*self.inner, *self.shapes])
        message = self.thin.FromString(data)
        for number in (*self.inner, *self.shapes):
            for part in getattr(message, f"f{number}"):
                yield number, part, 0, len(part)


def has_few_fields(data: bytes, most: int) -> bool:
    """Whether a message has at most this many fields, without nested ones."""
    begin, end = 0, len(data)
    for _ in range(most):
        if begin >= end:
            return True
        found = field_at(data, begin)
        if found is None:
            return True  # a group, which the parser handles
        begin = found[3]
    return begin >= end


def has_few_messages(data: bytes, kind: type[Message], most: int) -> bool:
    """Whether a message contains at most this many others, at all depths.

    Args:
        data: the message's bytes.
        kind: the kind of message.
        most: limit of messages, map entries and bytes of shapes together.

    Raises:
        DecodeError: the bytes are not such a message.
    """
    return _left(data, 0, len(data), _level(kind), most, _DEEPEST) >= 0


def last_part(data: bytes, paths: Collection[tuple[int, ...]]) -> tuple[tuple[int, ...], int]:
    """Find the start of the last field within the last field, and so on.

    Args:
        data: the message's bytes.
        paths: field numbers, from the outermost, that lead to the wanted field.

    Returns:
        One of the paths, and where the bytes of its field begin; an empty path if another field is
        the last, or many precede it.
    """
    begin, end = 0, len(data)
    path: tuple[int, ...] = ()
    while path not in paths:
        last = (0, VARINT, begin, begin)
        for _ in range(_STEPS):
            if last[3] >= end:
                break
            found = field_at(data, last[3])
            if found is None:
                return (), end
            last = found
        number, kind, begin, stop = last
        path = (*path, number)
        if stop != end or kind != LENGTH or not any(p[: len(path)] == path for p in paths):
            return (), end
    return path, begin


def _level(kind: type[Message]) -> Level:
    level = _LEVELS.get(kind.DESCRIPTOR.full_name)
    if level is None:
        descriptor: Any = kind.DESCRIPTOR  # of one of two classes; the stubs of fields know one
        level = _LEVELS[kind.DESCRIPTOR.full_name] = _levels_of(descriptor, {})
    return level


_LEVELS: dict[str, Level] = {}  # by the message's name


def _levels_of(kind: Descriptor, known: dict[str, Level]) -> Level:
    """The level of a kind of message; kinds may be recursive."""
    level = known.get(kind.full_name)
    if level is not None:
        return level
    level = known[kind.full_name] = Level(kind)
    for field in kind.fields:
        if field.full_name in _SHAPES:
            level.shapes.add(field.number)
        elif field.message_type is not None:
            within = _levels_of(field.message_type, known)
            holds = _holds_many(field.message_type, set())
            if holds or field.is_repeated:
                level.inner[field.number] = within if holds else None
    return level


def _holds_many(kind: Descriptor, seen: set[str]) -> bool:
    if kind.full_name in seen:
        return False
    seen.add(kind.full_name)
    return any(
        field.full_name in _SHAPES
        or (field.message_type is not None and field.is_repeated)
        or (field.message_type is not None and _holds_many(field.message_type, seen))
        for field in kind.fields
    )


def _left(data: bytes, begin: int, end: int, level: Level, left: int, depth: int) -> int:
    """The number of messages still allowed; negative if there are too many.

    Args:
        data: the bytes that contain it.
        begin: its start.
        end: its end.
        level: its level.
        left: the number of messages that are still allowed.
        depth: the nesting depth that is still allowed.
    """
    if not depth:
        return -1
    for number, part, start, stop in _parts(data, begin, end, level, left):
        left -= stop - start if number in level.shapes else 1
        within = level.inner.get(number)
        if within is not None and left >= 0:
            left = _left(part, start, stop, within, left, depth - 1)
        if left < 0:
            break
    return left


def _parts(data: bytes, begin: int, end: int, level: Level, most: int) -> Iterable[_Part]:
    """The fields of a message that count, at least the first `most` and one more."""
    found: list[_Part] = []
    inner, shapes = level.inner, level.shapes
    counted = inner.keys() | shapes
    at, steps = begin, 0
    while at < end and len(found) <= most:
        if steps > _NARROW + 2 * len(found):
            after = at if data[at] >> 3 in counted else end_of_run(data, at, end)
            if after == at:
                return level.parts(data[begin:end])
            at = after
            continue
        steps += 1
        # Most fields that count have a tag and a length of one byte each.
        tag, start = data[at], at + 2
        if tag & 0x87 == LENGTH and start <= end and data[at + 1] < 128:
            at = start + data[at + 1]
            number = tag >> 3
        else:
            field = field_at(data, at)
            if field is None:
                return level.parts(data[begin:end])
            number, kind, start, at = field
            if kind != LENGTH:
                continue
        if number in counted:
            found.append((number, data, start, min(at, end)))
    return found


def _thin(kind: Descriptor, numbers: list[int]) -> type[Message]:
    """A message class that has these fields of another one as bytes, and no others."""
    name = kind.full_name.replace(".", "_")
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", syntax="proto3")
    message = file.message_type.add(name=name)
    for number in numbers:
        message.field.add(
            name=f"f{number}",
            number=number,
            type=FieldDescriptor.TYPE_BYTES,
            label=FieldDescriptor.LABEL_REPEATED,
        )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
