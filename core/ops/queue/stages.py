"""Stages: elements that one part of a program leaves for another, by order or by key.

Ops of the same container and shared name speak of one stage; a capacity of 0 is none.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import as_dtype
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define, scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import OpDef
    from pinnace.ops.running import RunContext

__all__: list[str] = []

_STAGE = {
    "capacity": attr("int", default=0),
    "memory_limit": attr("int", default=0),
    "dtypes": attr("list(type)"),
    "container": attr("string", default=""),
    "shared_name": attr("string", default=""),
}
# How long a waiting call sleeps before it looks whether its run was cancelled, in seconds.
_LOOK_AFTER_S = 0.1
# The ops of elements by key, in the order in which `_maps` takes them.
_BY_KEY = {
    "Map": (
        *("MapStage", "MapPeek", "MapUnstage", "MapUnstageNoKey"),
        *("MapSize", "MapIncompleteSize", "MapClear"),
    ),
    "OrderedMap": (
        *("OrderedMapStage", "OrderedMapPeek", "OrderedMapUnstage", "OrderedMapUnstageNoKey"),
        *("OrderedMapSize", "OrderedMapIncompleteSize", "OrderedMapClear"),
    ),
}
# Components of an element by their place; some may not have come yet.
_Parts = dict[int, "Array"]


class Stage:
    """Elements in the order of their keys; numbers in the order of arrival where there are none.

    Args:
        capacity: how many elements it holds at most; 0 is any number.
        memory_limit: how many bytes they may have together; 0 is any number.
        ordered: whether the element of the least key is the first, not the one that came first.
    """

    def __init__(self, capacity: int, memory_limit: int, *, ordered: bool) -> None:
        self._capacity, self._limit, self._ordered = capacity, memory_limit, ordered
        self._whole: dict[int, _Parts] = {}
        self._begun: dict[int, _Parts] = {}
        self._bytes = 0
        self._count = 0
        self._changed = threading.Condition()

    def _wait(self, ctx: RunContext, holds: Callable[[], bool]) -> None:
        while not holds():
            ctx.check()
            self._changed.wait(_LOOK_AFTER_S)

    def _fits(self, size: int) -> bool:
        if not self._whole:
            return True
        room = not self._capacity or len(self._whole) < self._capacity
        return room and (not self._limit or self._bytes + size <= self._limit)

    def put(self, ctx: RunContext, op: str, key: int | None, parts: _Parts, width: int) -> None:
        """Leave components of an element; it is there once it has all of them."""
        size = sum(part.nbytes for part in parts.values())
        if self._limit and size > self._limit:
            raise InvalidArgumentError(
                f"{op}: an element of {size} bytes does not fit into memory_limit={self._limit}"
            )
        with self._changed:
            self._wait(ctx, lambda: self._fits(size))
            if key is None:
                key, self._count = self._count, self._count + 1
            if key in self._whole:
                raise InvalidArgumentError(f"{op}: there is an element of the key {key} already")
            held = self._begun.setdefault(key, {})
            if held.keys() & parts.keys():
                raise InvalidArgumentError(
                    f"{op}: the components {sorted(held.keys() & parts.keys())} of the key {key} "
                    "are there already"
                )
            held.update(parts)
            self._bytes += size
            if len(held) == width:
                self._whole[key] = self._begun.pop(key)
                self._changed.notify_all()

    def take(
        self, ctx: RunContext, op: str, key: int | None, wanted: Iterable[int], *, leave: bool
    ) -> tuple[int, list[Array]]:
        """Components of an element, once it is there: of that key, or of the first one."""
        with self._changed:
            self._wait(ctx, lambda: bool(self._whole) if key is None else key in self._whole)
            if key is None:
                key = min(self._whole) if self._ordered else next(iter(self._whole))
            held = self._whole[key]
            missing = [place for place in wanted if place not in held]
            if missing:
                raise InvalidArgumentError(
                    f"{op}: the element of the key {key} has no components {missing} any more"
                )
            found = [held[place] for place in wanted]
            if not leave:
                for place in set(wanted):
                    self._bytes -= held.pop(place).nbytes
                if not held:
                    del self._whole[key]
                self._changed.notify_all()
        return key, found

    def at(self, ctx: RunContext, index: int) -> _Parts:
        """The element at an index, once there are so many; it stays."""
        with self._changed:
            self._wait(ctx, lambda: len(self._whole) > index)
            return list(self._whole.values())[index]

    def clear(self) -> None:
        """Forget all elements."""
        with self._changed:
            self._whole.clear()
            self._begun.clear()
            self._bytes = 0
            self._changed.notify_all()

    @property
    def size(self) -> int:
        """How many elements are there."""
        with self._changed:
            return len(self._whole)

    @property
    def begun(self) -> int:
        """How many elements lack components."""
        with self._changed:
            return len(self._begun)


def _stage(kind: str, ctx: RunContext, options: dict[str, Any]) -> Stage:
    key = (kind, options["container"], options["shared_name"])
    ordered = kind != "Map"
    return ctx.stream(  # type: ignore[no-any-return]  # it is what is made here
        key, lambda: Stage(options["capacity"], options["memory_limit"], ordered=ordered)
    )


def _copies(values: Iterable[Array]) -> list[Array]:
    """A plan uses the memory of what it computes again."""
    return [np.array(value) for value in values]


def _checked(op: str, values: list[Array], places: list[int], types: tuple[DType, ...]) -> _Parts:
    if len(values) != len(places) or len(set(places)) != len(places):
        raise InvalidArgumentError(
            f"{op}: indices must name a component for each value once, got {places} for "
            f"{len(values)} values"
        )
    for value, place in zip(values, places, strict=True):
        if not 0 <= place < len(types):
            raise InvalidArgumentError(f"{op}: Index '{place}' for key is not in [0, {len(types)})")
        if value.dtype != types[place].numpy:
            raise InvalidArgumentError(
                f"{op}: component {place} must be {types[place].name}, got "
                f"{as_dtype(value.dtype).name}"
            )
    return dict(zip(places, values, strict=True))


def _places(op: str, indices: Array, types: tuple[DType, ...]) -> list[int]:
    found = [int(place) for place in indices.reshape(-1)]
    if any(not 0 <= place < len(types) for place in found):
        raise InvalidArgumentError(f"{op}: indices must be in [0, {len(types)}), got {found}")
    if found != sorted(set(found)):
        raise InvalidArgumentError(f"{op}: Indices are not strictly ordered, got {found}")
    return found


def _nothing(call: InferCall) -> tuple[Shape, ...]:
    del call
    return ()


def _values(call: InferCall) -> tuple[Shape, ...]:
    return (Shape(None),) * len(call.attrs["dtypes"])


def _key_and_values(call: InferCall) -> tuple[Shape, ...]:
    return (Shape(()), *_values(call))


def _op(name: str, signature: str, kernel: Any, infer: Any, **attrs: Any) -> OpDef:
    gives = "values: (dtypes)" in signature.partition("->")[2]
    return define(
        name=name,
        signature=signature,
        attrs={**_STAGE, **attrs},
        infer=infer,
        kernel=kernel,
        gradient=NO_GRADIENT_DEFINED if gives else NOT_DIFFERENTIABLE,
        # There is no handle, whose writes would be in order: the stage is found by its name.
        effect="io",
    )


def _of(
    kind: str, body: Callable[[Stage, RunContext, tuple[DType, ...], tuple[Array, ...]], Any]
) -> Any:
    """A kernel that finds its stage."""

    def kernel(
        *inputs: Array,
        capacity: int,
        memory_limit: int,
        dtypes: tuple[DType, ...],
        container: str,
        shared_name: str,
        ctx: RunContext,
    ) -> Any:
        options = {
            "capacity": capacity,
            "memory_limit": memory_limit,
            "container": container,
            "shared_name": shared_name,
        }
        return body(_stage(kind, ctx, options), ctx, tuple(dtypes), inputs)

    return kernel


def _lines() -> None:
    def put(stage: Stage, ctx: RunContext, types: Any, inputs: Any) -> None:
        values = _copies(inputs[0])
        stage.put(ctx, "Stage", None, dict(enumerate(values)), len(types))

    def take(stage: Stage, ctx: RunContext, types: Any, inputs: Any) -> tuple[Array, ...]:
        del inputs
        return tuple(stage.take(ctx, "Unstage", None, range(len(types)), leave=False)[1])

    def peek(stage: Stage, ctx: RunContext, types: Any, inputs: Any) -> tuple[Array, ...]:
        index = int(inputs[0])
        if index < 0:
            raise InvalidArgumentError(f"StagePeek: index must not be negative, got {index}")
        held = stage.at(ctx, index)
        return tuple(held[place] for place in range(len(types)))

    _op("Stage", "values: (dtypes) ->", _of("Stage", put), _nothing)
    _op("Unstage", "-> values: (dtypes)", _of("Stage", take), _values)
    _op("StagePeek", "index: int32 -> values: (dtypes)", _of("Stage", peek), _values)
    _counts("Stage", "StageSize", "StageClear")


def _counts(kind: str, size_name: str, clear_name: str) -> None:
    def size(stage: Stage, *_: Any) -> Array:
        return np.array(stage.size, np.int32)

    def clear(stage: Stage, *_: Any) -> None:
        stage.clear()

    _op(size_name, "-> size: int32", _of(kind, size), scalar)
    _op(clear_name, "->", _of(kind, clear), _nothing)


def _maps(kind: str) -> None:
    put_name, peek_name, take_name, first_name, size_name, begun_name, clear_name = _BY_KEY[kind]

    def put(stage: Stage, ctx: RunContext, types: Any, inputs: Any) -> None:
        op = put_name
        key, indices, values = inputs
        places = [int(place) for place in indices.reshape(-1)]
        stage.put(ctx, op, int(key), _checked(op, _copies(values), places, types), len(types))

    def reader(op: str, *, leave: bool) -> Any:
        def read(stage: Stage, ctx: RunContext, types: Any, inputs: Any) -> tuple[Array, ...]:
            key, indices = inputs
            places = _places(op, indices, types)
            return tuple(stage.take(ctx, op, int(key), places, leave=leave)[1])

        return _of(kind, read)

    def first(stage: Stage, ctx: RunContext, types: Any, inputs: Any) -> tuple[Any, ...]:
        op = first_name
        key, found = stage.take(ctx, op, None, _places(op, inputs[0], types), leave=False)
        return np.array(key, np.int64), *found

    def begun(stage: Stage, *_: Any) -> Array:
        return np.array(stage.begun, np.int32)

    given = "key: int64, indices: int32"
    _op(put_name, f"{given}, values: (fake_dtypes) ->", _of(kind, put), _nothing)
    for name, leave in ((peek_name, True), (take_name, False)):
        _op(name, f"{given} -> values: (dtypes)", reader(name, leave=leave), _values)
    _op(
        first_name,
        "indices: int32 -> key: int64, values: (dtypes)",
        _of(kind, first),
        _key_and_values,
    )
    _op(begun_name, "-> size: int32", _of(kind, begun), scalar)
    _counts(kind, size_name, clear_name)


_lines()
_maps("Map")
_maps("OrderedMap")
