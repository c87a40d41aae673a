"""The fields of a message counted in its bytes, before anything is made of them.

Reading a field of two bytes can create hundreds of objects, and other threads wait meanwhile.
Nested messages, map entries and sizes of shapes are counted, at any depth. Numbers and strings are
not: they take at most some sixteen times their bytes.
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

# A field: its number, the bytes that it is in, and its place in them.
_Part: TypeAlias = "tuple[int, bytes, int, int]"

_NARROW = 32  # fields beside those that count; where there are more, the parser's loop is quicker
_DEEPEST = 16
_STEPS = 64  # fields that stand before the last one of a message, at each level

# Lists of numbers of which an honest message has few, and whose bytes are counted.
_SHAPES = frozenset({"pinnace.inference.ModelInferRequest.InferInputTensor.shape"})


class Level:
    """The limits for one kind of message.

    Attributes:
        inner: the fields whose occurrences count, by number; with the kind of message that they
            hold where that can hold many too.
        shapes: the fields whose bytes count.
    """

    __slots__ = ("_kind", "inner", "shapes", "thin")

    def __init__(self, kind: Descriptor) -> None:
        self._kind = kind
        self.inner: dict[int, Level | None] = {}
        self.shapes: set[int] = set()
        self.thin: type[Message] | None = None  # made when it is needed

    def parts(self, data: bytes) -> Iterator[_Part]:
        """The fields that count; only they become objects.

        Raises:
            DecodeError: it is no such message.
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
            return True  # a group: the parser sees to it
        begin = found[3]
    return begin >= end


def has_few_messages(data: bytes, kind: type[Message], most: int) -> bool:
    """Whether a message contains at most this many others, at all depths.

    Args:
        data: of it.
        kind: of message.
        most: messages, entries of maps and bytes of shapes together.

    Raises:
        DecodeError: it is no message of this kind.
    """
    return _left(data, 0, len(data), _level(kind), most, _DEEPEST) >= 0


def last_part(data: bytes, paths: Collection[tuple[int, ...]]) -> tuple[tuple[int, ...], int]:
    """The start of the last field within the last field, and so on.

    Args:
        data: of the message.
        paths: numbers of fields, from the outermost on, that lead to what is looked for.

    Returns:
        One of the paths, and where the bytes of its field begin; no numbers where another field is
        the last, or many stand before it.
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


_LEVELS: dict[str, Level] = {}  # by the name of the message


def _levels_of(kind: Descriptor, known: dict[str, Level]) -> Level:
    """The level of a kind of message; kinds may hold themselves."""
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
        data: that it is in.
        begin: of it.
        end: of it.
        level: its kind.
        left: how many more it may hold.
        depth: of messages that it may hold.
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
    """The fields of a message that count, or more than `most` of them."""
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
    """A message with these fields of another kind as bytes, and nothing else."""
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
