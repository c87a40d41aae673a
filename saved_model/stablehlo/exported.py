"""Files of `jax.export`: a module of StableHLO with the structure of its inputs and outputs.

`Exported.serialize()` returns a FlatBuffer, whose tables JAX defines in serialization.fbs. It is
read here without JAX: offsets are checked against the bytes, and no code is run.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import TYPE_CHECKING, NoReturn

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# By number; a float0, which has no value, is passed as a boolean. Others are float8 and float4.
_DTYPES = (
    *(dtypes.bool, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    *(dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
    *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128),
    *(dtypes.bfloat16, dtypes.int4, dtypes.uint4),
)
_FLOAT0 = 22
# The magic number of MLIR bytecode.
MAGIC = b"ML\xefR"
# Limits: nesting of structures, their parts, inputs or outputs.
_DEPTH, _MOST_PARTS, _MOST_VALUES = 64, 1 << 16, 1 << 14
# The size limit of a table's vtable in bytes.
_MOST_FIELDS = 256
_LEAF, _NONE, _TUPLE, _LIST, _DICT, _CUSTOM = range(6)
# Fields of the tables, by the position of their offset in the vtable.
_KIND = 4
_CHILDREN, _NAMES = 6, 8
_SHAPE, _DTYPE = 6, 8
_NAME, _IN_TREE, _IN_VALUES, _OUT_TREE, _DEVICES_SHORT, _PLATFORMS = 6, 8, 10, 12, 16, 22
_ORDERED, _MODULE, _KEPT, _DEVICES, _VALUES, _IN_INDICES = 24, 30, 34, 40, 42, 48


def refuse(why: str) -> NoReturn:
    """Raise the error for bytes that are not a file of jax.export.

    Raises:
        InvalidArgumentError: always.
    """
    raise InvalidArgumentError(f"jax.export file: {why}")


@dataclasses.dataclass(frozen=True, slots=True)
class Exported:
    """A function that JAX exported.

    Attributes:
        name: the Python function's.
        inputs: the input specs, by name.
        outputs: the output names, in order.
        kept: the numbers of the inputs that the module takes; the others are unused.
        platforms: the module's platforms, as JAX names them.
        module: the StableHLO module as MLIR bytecode.
    """

    name: str
    inputs: dict[str, TensorSpec]
    outputs: tuple[str, ...]
    kept: tuple[int, ...]
    platforms: tuple[str, ...]
    module: bytes


def is_standalone(start: bytes) -> bool:
    """Whether a file that starts with these bytes is a module, or written by `jax.export`.

    Args:
        start: its first bytes; those of a FlatBuffer must include its root table.
    """
    if start.startswith(MAGIC):
        return True
    try:
        size = _root(start).width()
    except InvalidArgumentError:
        return False
    # The fields of the first version, and an upper limit.
    return _KEPT < size <= _MOST_FIELDS


def decode_exported(data: bytes) -> Exported:
    """Decode a file of `jax.export`.

    Args:
        data: the file's content.

    Raises:
        InvalidArgumentError: the file is not valid.
        UnimplementedError: the function needs several devices, or has effects.
    """
    try:
        return _decoded(_root(data))
    except (struct.error, UnicodeDecodeError) as error:
        refuse(f"it is damaged: {error}")


def _decoded(root: _Table) -> Exported:
    name = root.text(_NAME) or "exported"
    module = root.octets(_MODULE)
    if module is None or not module.startswith(MAGIC):
        refuse("it has no StableHLO module")
    devices = root.number(_DEVICES, "<I") or root.number(_DEVICES_SHORT, "<H")
    if devices > 1:
        raise UnimplementedError(
            f"jax.export file: {name!r} runs on {devices} devices at once\n"
            "  Try: the function exported for one device"
        )
    effects = [one.text(_KIND) for one in root.tables(_ORDERED)]
    if effects:
        raise UnimplementedError(
            f"jax.export file: {name!r} has unsupported effects ({', '.join(effects)})\n"
            "  Try: the function exported without callbacks and prints"
        )
    specs = _specs(root)
    inputs = _names(root, _IN_TREE, _argument)
    if len(inputs) != len(specs):
        refuse(f"it has {len(specs)} types for {len(inputs)} inputs")
    kept = root.numbers(_KEPT, "<H")
    if any(index >= len(inputs) for index in kept) or len(set(kept)) != len(kept):
        refuse("its kept inputs are repeated or out of range")
    return Exported(
        name,
        dict(zip(inputs, specs, strict=True)),
        tuple(_names(root, _OUT_TREE, _result)),
        tuple(kept),
        tuple(root.texts(_PLATFORMS)),
        module,
    )


def _specs(root: _Table) -> list[TensorSpec]:
    """The types of the inputs, from the list of all types or, in older files, one by one."""
    indices = root.numbers(_IN_INDICES, "<I")
    if indices:
        known = [_spec(one) for one in root.tables(_VALUES)]
        if max(indices) >= len(known):
            refuse("the type of an input is out of range")
        return [known[index] for index in indices]
    return [_spec(one) for one in root.tables(_IN_VALUES)]


def _spec(value: _Table) -> TensorSpec:
    if value.number(_KIND, "<b"):
        raise UnimplementedError("jax.export file: it passes tokens, which order effects")
    # Unknown sizes are expressions: `b`, `2*b + 1`.
    shape = [int(size) if size.isdecimal() else None for size in value.texts(_SHAPE)]
    kind = value.number(_DTYPE, "<b")
    if 0 <= kind < len(_DTYPES):
        return TensorSpec(shape, _DTYPES[kind])
    return TensorSpec(shape, dtypes.bool if kind == _FLOAT0 else dtypes.float32)


def _names(root: _Table, field: int, name: Callable[[tuple[str, ...]], str]) -> list[str]:
    """Return a unique name for each leaf of a structure, as TensorFlow would name them."""
    tree = root.table(field)
    if tree is None:
        refuse("it lacks the structure of its inputs or outputs")
    found: dict[str, None] = {}
    for path in _leaves(tree):
        chosen = "".join(letter if letter.isalnum() else "_" for letter in name(path))
        if chosen in found:
            chosen = f"{chosen}_{len(found)}"
        if chosen in found:
            refuse("the names of its inputs or outputs are not unique")
        found[chosen] = None
        if len(found) > _MOST_VALUES:
            refuse("it has too many inputs or outputs")
    return list(found)


def _argument(path: tuple[str, ...]) -> str:
    """Positional arguments by number, as in MLIR; keywords by name."""
    side, *rest = path or ("0",)
    if side == "1":
        return "_".join(rest)
    return "_".join([f"arg{rest[0]}", *rest[1:]]) if rest else "arg"


def _result(path: tuple[str, ...]) -> str:
    if not path or path[0].isdecimal():
        return "_".join(("output", *path)) if path else "output_0"
    return "_".join(path)


def _leaves(tree: _Table) -> Iterator[tuple[str, ...]]:
    """The paths to the leaves, in order."""
    waiting: list[tuple[_Table, tuple[str, ...]]] = [(tree, ())]
    parts = 0
    while waiting:
        part, path = waiting.pop()
        parts += 1
        if parts > _MOST_PARTS or len(path) > _DEPTH:
            refuse("a structure has too many parts, or nests too deeply")
        kind = part.number(_KIND, "<b")
        if kind == _LEAF:
            yield path
            continue
        children = list(part.tables(_CHILDREN))
        keys = [str(index) for index in range(len(children))]
        if kind == _DICT:
            keys = list(part.texts(_NAMES))
        elif kind not in {_NONE, _TUPLE, _LIST, _CUSTOM}:
            refuse(f"a structure is of unknown kind {kind}")
        if len(keys) != len(children):
            refuse("a dictionary has different numbers of names and values")
        pairs = [(child, (*path, key)) for child, key in zip(children, keys, strict=True)]
        waiting.extend(reversed(pairs))


class _Table:
    """A table of a FlatBuffer; every offset is checked before it is read."""

    __slots__ = ("_data", "_offsets", "_place", "_size")

    def __init__(self, data: bytes, place: int) -> None:
        self._data = data
        self._place = place
        (back,) = self._read("<i", place)
        self._offsets = place - back
        self._size, _ = self._read("<HH", self._offsets)
        if self._offsets + self._size > len(data):
            refuse("a table reaches beyond the end")

    def width(self) -> int:
        """The number of bytes of its vtable."""
        return self._size

    def _read(self, form: str, place: int) -> tuple[int, ...]:
        if not 0 <= place <= len(self._data) - struct.calcsize(form):
            refuse("an offset leads beyond the end")
        return struct.unpack_from(form, self._data, place)

    def _field(self, field: int) -> int | None:
        """The position of a field, None if it is omitted."""
        if field + 2 > self._size:
            return None
        (offset,) = self._read("<H", self._offsets + field)
        return self._place + offset if offset else None

    def _follow(self, place: int) -> int:
        (offset,) = self._read("<I", place)
        return place + offset

    def number(self, field: int, form: str) -> int:
        """An integer, 0 if it is omitted."""
        place = self._field(field)
        return 0 if place is None else self._read(form, place)[0]

    def table(self, field: int) -> _Table | None:
        """A table inside."""
        place = self._field(field)
        return None if place is None else _Table(self._data, self._follow(place))

    def _vector(self, field: int, width: int) -> tuple[int, int]:
        """The position of a list's elements, and their number."""
        place = self._field(field)
        if place is None:
            return 0, 0
        start = self._follow(place)
        (count,) = self._read("<I", start)
        if count * width > len(self._data) - start - 4:
            refuse(f"a list of {count} elements reaches beyond the end")
        return start + 4, count

    def octets(self, field: int) -> bytes | None:
        """A list of bytes, None if it is omitted or empty."""
        start, count = self._vector(field, 1)
        return self._data[start : start + count] if count else None

    def text(self, field: int) -> str:
        """A string, empty if it is omitted."""
        return (self.octets(field) or b"").decode()

    def numbers(self, field: int, form: str) -> list[int]:
        """A list of integers."""
        width = struct.calcsize(form)
        start, count = self._vector(field, width)
        if count > _MOST_VALUES:
            refuse("it has too many inputs or outputs")
        return [self._read(form, start + width * index)[0] for index in range(count)]

    def tables(self, field: int) -> Iterator[_Table]:
        """A list of tables."""
        start, count = self._vector(field, 4)
        for index in range(count):
            yield _Table(self._data, self._follow(start + 4 * index))

    def texts(self, field: int) -> Iterator[str]:
        """A list of strings."""
        start, count = self._vector(field, 4)
        for index in range(count):
            place = self._follow(start + 4 * index)
            (length,) = self._read("<I", place)
            if length > len(self._data) - place - 4:
                refuse("a string reaches beyond the end")
            yield self._data[place + 4 : place + 4 + length].decode()


def _root(data: bytes) -> _Table:
    if len(data) < 8:
        refuse("it is too short")
    (offset,) = struct.unpack_from("<I", data)
    return _Table(data, offset)
