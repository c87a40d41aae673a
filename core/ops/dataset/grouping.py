"""Elements of graphs' datasets grouped by key, or rebatched."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.dataset.recipes import (
    ELEMENT,
    INFINITE,
    METADATA,
    UNKNOWN,
    dataset_of,
    dataset_op,
    keep,
    made,
)
from pinnace.ops.opdef import attr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.dataset.recipes import Leaves, Turn

__all__: list[str] = []


def _key(op: str, turn: Turn, function: Any, arrays: Sequence[Array]) -> int:
    found = np.asarray(turn.call(function, *arrays)[0])
    if found.ndim:
        raise InvalidArgumentError(f"{op}: key_func must give a scalar, got {list(found.shape)}")
    return int(found)


def _held(elements: Sequence[Leaves]) -> Array:
    """The dataset of given elements."""
    rows = tuple(elements)
    return made(lambda _: iter(rows), len(rows))


def _window_kernel(
    input_dataset: Array,
    key_func_other_arguments: tuple[Array, ...],
    reduce_func_other_arguments: tuple[Array, ...],
    window_size_func_other_arguments: tuple[Array, ...],
    *,
    key_func: Any,
    reduce_func: Any,
    window_size_func: Any,
) -> Array:
    op = "GroupByWindowDataset"
    source = dataset_of(op, input_dataset)

    def reduced(turn: Turn, key: int, group: Sequence[Leaves]) -> Iterator[Leaves]:
        given = (np.array(key, np.int64), _held(group), *reduce_func_other_arguments)
        return turn.take(dataset_of(op, turn.call(reduce_func, *given)[0]))

    def size_of(turn: Turn, key: int) -> int:
        given = (np.array(key, np.int64), *window_size_func_other_arguments)
        size = int(turn.call(window_size_func, *given)[0])
        if size < 1:
            raise InvalidArgumentError(
                f"{op}: Window size must be greater than zero, but got {size}."
            )
        return size

    def begin(turn: Turn) -> Iterator[Leaves]:
        groups: dict[int, list[Leaves]] = {}
        sizes: dict[int, int] = {}
        for element in turn.take(source):
            key = _key(op, turn, key_func, (*element, *key_func_other_arguments))
            group = groups.setdefault(key, [])
            if not group:
                sizes[key] = size_of(turn, key)
            group.append(keep(element))
            if len(group) >= sizes[key]:
                del groups[key]
                yield from reduced(turn, key, group)
        for key in sorted(groups):
            yield from reduced(turn, key, groups[key])

    return made(begin, INFINITE if source.cardinality() == INFINITE else UNKNOWN)


GROUP_BY_WINDOW = dataset_op(
    "GroupByWindowDataset",
    "input_dataset: variant, key_func_other_arguments: (Tkey_func_other_arguments), "
    "reduce_func_other_arguments: (Treduce_func_other_arguments), "
    "window_size_func_other_arguments: (Twindow_size_func_other_arguments)",
    _window_kernel,
    {
        **ELEMENT,
        **METADATA,
        **dict.fromkeys(("key_func", "reduce_func", "window_size_func"), attr("func")),
    },
)


def _reducer_kernel(
    input_dataset: Array,
    key_func_other_arguments: tuple[Array, ...],
    init_func_other_arguments: tuple[Array, ...],
    reduce_func_other_arguments: tuple[Array, ...],
    finalize_func_other_arguments: tuple[Array, ...],
    *,
    key_func: Any,
    init_func: Any,
    reduce_func: Any,
    finalize_func: Any,
) -> Array:
    op = "GroupByReducerDataset"
    source = dataset_of(op, input_dataset)

    def begin(turn: Turn) -> Iterator[Leaves]:
        states: dict[int, Leaves] = {}
        for element in turn.take(source):
            key = _key(op, turn, key_func, (*element, *key_func_other_arguments))
            state = states.get(key)
            if state is None:
                state = turn.call(init_func, np.array(key, np.int64), *init_func_other_arguments)
            states[key] = keep(
                turn.call(reduce_func, *state, *element, *reduce_func_other_arguments)
            )
        for key in sorted(states):
            yield turn.call(finalize_func, *states[key], *finalize_func_other_arguments)

    return made(begin)


GROUP_BY_REDUCER = dataset_op(
    "GroupByReducerDataset",
    "input_dataset: variant, key_func_other_arguments: (Tkey_func_other_arguments), "
    "init_func_other_arguments: (Tinit_func_other_arguments), "
    "reduce_func_other_arguments: (Treduce_func_other_arguments), "
    "finalize_func_other_arguments: (Tfinalize_func_other_arguments)",
    _reducer_kernel,
    {
        **ELEMENT,
        **dict.fromkeys(("key_func", "init_func", "reduce_func", "finalize_func"), attr("func")),
    },
    effect="write",
)


def _rebatch_kernel(input_dataset: Array, batch_sizes: Array, drop_remainder: Array) -> Array:
    op = "RebatchDatasetV2"
    source, only = dataset_of(op, input_dataset), bool(drop_remainder)
    sizes = [int(n) for n in batch_sizes.reshape(-1)]
    if not sizes or min(sizes) < 0 or not any(sizes):
        raise InvalidArgumentError(
            f"{op}: batch_sizes must be at least 0, and not all 0, got {sizes}"
        )

    def begin(turn: Turn) -> Iterator[Leaves]:
        wanted = itertools.cycle(sizes)
        size, waiting, have = next(wanted), [], 0
        for element in turn.take(source):
            if any(not leaf.ndim or len(leaf) != len(element[0]) for leaf in element):
                raise InvalidArgumentError(
                    f"{op}: the components of a batch must have a first axis of one size, got "
                    f"{[list(leaf.shape) for leaf in element]}"
                )
            start, length = 0, len(element[0])
            while have + length - start >= size:
                stop = start + size - have
                waiting.append(tuple([leaf[start:stop] for leaf in element]))
                yield _joined(waiting)
                waiting, have, start = [], 0, stop
                size = next(wanted)
            if start < length:
                waiting.append(keep(tuple([leaf[start:] for leaf in element])))
                have += length - start
        if waiting and not only:
            yield _joined(waiting)

    return made(begin)


def _joined(parts: Sequence[Leaves]) -> Leaves:
    if len(parts) == 1:
        return parts[0]
    return tuple([np.concatenate(column) for column in zip(*parts, strict=True)])


REBATCH_V2 = dataset_op(
    "RebatchDatasetV2",
    "input_dataset: variant, batch_sizes: int64, drop_remainder: bool",
    _rebatch_kernel,
    ELEMENT,
)
