"""Datasets of graphs that apply functions: map, filter, scan, flat_map."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.dataset.recipes import (
    ELEMENT,
    METADATA,
    UNKNOWN,
    dataset_of,
    dataset_op,
    made,
    whole,
)
from pinnace.ops.opdef import attr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.tensor import Array
    from pinnace.ops.dataset.recipes import Leaves, Turn
    from pinnace.ops.opdef import AttrDef

__all__: list[str] = []

_TAKES = "input_dataset: variant, other_arguments: (Targuments)"
_FUNCTION = {**ELEMENT, **METADATA, "f": attr("func")}
_PREDICATE = {**ELEMENT, **METADATA, "predicate": attr("func")}
_KEEPS = {"preserve_cardinality": attr("bool", default=False)}
_THREADS = {"use_inter_op_parallelism": attr("bool", default=True)}
_ORDER = {"deterministic": attr("string", default="default")}


def _mapped(op: str, variant: Array, captured: tuple[Array, ...], f: Any) -> Array:
    source = dataset_of(op, variant)

    def begin(turn: Turn) -> Iterator[Leaves]:
        def image(element: Leaves) -> Leaves:
            return turn.call(f, *element, *captured)

        # Unlike a generator, `map` can continue after an element whose function failed.
        return map(image, turn.take(source))

    return made(begin, source.cardinality())


def _map_kernel(input_dataset: Array, other_arguments: tuple[Array, ...], *, f: Any) -> Array:
    return _mapped("MapDataset", input_dataset, other_arguments, f)


MAP = dataset_op(
    "MapDataset",
    _TAKES,
    _map_kernel,
    {**_FUNCTION, **_KEEPS, **_THREADS, "force_synchronous": attr("bool", default=False)},
)


def _parallel_map_kernel(
    input_dataset: Array,
    other_arguments: tuple[Array, ...],
    num_parallel_calls: Array,
    *,
    f: Any,
) -> Array:
    del num_parallel_calls  # elements are computed sequentially, in the same order
    return _mapped("ParallelMapDataset", input_dataset, other_arguments, f)


PARALLEL_MAP = dataset_op(
    "ParallelMapDataset",
    f"{_TAKES}, num_parallel_calls: int32",
    _parallel_map_kernel,
    {**_FUNCTION, **_KEEPS, **_THREADS, "sloppy": attr("bool", default=False)},
)
PARALLEL_MAP_V2 = dataset_op(
    "ParallelMapDatasetV2",
    f"{_TAKES}, num_parallel_calls: int64",
    _parallel_map_kernel,
    {
        **_FUNCTION,
        **_KEEPS,
        **_THREADS,
        **_ORDER,
        "use_unbounded_threadpool": attr("bool", default=False),
    },
)


def _filtered(op: str, variant: Array, captured: tuple[Array, ...], predicate: Any) -> Array:
    source = dataset_of(op, variant)

    def begin(turn: Turn) -> Iterator[Leaves]:
        return filter(
            lambda element: bool(turn.call(predicate, *element, *captured)[0]), turn.take(source)
        )

    return made(begin)


def _filter_kernel(
    input_dataset: Array, other_arguments: tuple[Array, ...], *, predicate: Any
) -> Array:
    return _filtered("FilterDataset", input_dataset, other_arguments, predicate)


FILTER = dataset_op("FilterDataset", _TAKES, _filter_kernel, _PREDICATE)


def _parallel_filter_kernel(
    input_dataset: Array,
    other_arguments: tuple[Array, ...],
    num_parallel_calls: Array,
    *,
    predicate: Any,
) -> Array:
    del num_parallel_calls  # elements are computed sequentially, in the same order
    return _filtered("ParallelFilterDataset", input_dataset, other_arguments, predicate)


PARALLEL_FILTER = dataset_op(
    "ParallelFilterDataset",
    f"{_TAKES}, num_parallel_calls: int64",
    _parallel_filter_kernel,
    {**_PREDICATE, **_ORDER},
)


def _take_while_kernel(
    input_dataset: Array, other_arguments: tuple[Array, ...], *, predicate: Any
) -> Array:
    source = dataset_of("TakeWhileDataset", input_dataset)

    def begin(turn: Turn) -> Iterator[Leaves]:
        for element in turn.take(source):
            if not turn.call(predicate, *element, *other_arguments)[0]:
                return
            yield element

    return made(begin)


TAKE_WHILE = dataset_op("TakeWhileDataset", _TAKES, _take_while_kernel, _PREDICATE)


def _scan_kernel(
    input_dataset: Array,
    initial_state: tuple[Array, ...],
    other_arguments: tuple[Array, ...],
    *,
    f: Any,
) -> Array:
    source, count = dataset_of("ScanDataset", input_dataset), len(initial_state)

    def begin(turn: Turn) -> Iterator[Leaves]:
        state = initial_state
        for element in turn.take(source):
            found = turn.call(f, *state, *element, *other_arguments)
            state = found[:count]
            yield found[count:]

    return made(begin, source.cardinality())


SCAN = dataset_op(
    "ScanDataset",
    "input_dataset: variant, initial_state: (Tstate), other_arguments: (Targuments)",
    _scan_kernel,
    {**_FUNCTION, **_KEEPS, "use_default_device": attr("bool", default=True)},
)


def _inner(op: str, turn: Turn, f: Any, arrays: tuple[Array, ...]) -> Iterator[Leaves]:
    """The elements of the dataset that a function returns."""
    return turn.take(dataset_of(op, turn.call(f, *arrays)[0]))


def _flat_map_kernel(input_dataset: Array, other_arguments: tuple[Array, ...], *, f: Any) -> Array:
    op = "FlatMapDataset"
    source = dataset_of(op, input_dataset)

    def begin(turn: Turn) -> Iterator[Leaves]:
        for element in turn.take(source):
            yield from _inner(op, turn, f, (*element, *other_arguments))

    return made(begin)


FLAT_MAP = dataset_op("FlatMapDataset", _TAKES, _flat_map_kernel, _FUNCTION)

# Far more inputs than are read in parallel anywhere.
_MOST_AT_ONCE = 1 << 16


def _interleaved(
    op: str, variant: Array, captured: tuple[Array, ...], cycle: Array, block: Array, f: Any
) -> Array:
    source = dataset_of(op, variant)
    if int(cycle) > _MOST_AT_ONCE or int(cycle) == 0 or int(cycle) < -1:
        raise InvalidArgumentError(
            f"{op}: cycle_length must be in [1, {_MOST_AT_ONCE}], got {int(cycle)}"
        )
    # TensorFlow: -1 lets the runtime choose; a fixed width keeps the order the same on all
    # machines.
    width = max(int(cycle), 1)
    length = whole(op, "block_length", block, 1)

    def begin(turn: Turn) -> Iterator[Leaves]:
        elements = turn.take(source)
        slots: list[Iterator[Leaves] | None] = [None] * width
        place, ended = 0, False
        while not ended or any(slots):
            slot = slots[place]
            if slot is None and not ended:
                arrays = next(elements, None)
                if arrays is not None:
                    slot = slots[place] = _inner(op, turn, f, (*arrays, *captured))
                ended = arrays is None
            if slot is not None:
                count = 0
                for found in itertools.islice(slot, length):
                    count += 1
                    yield found
                if count < length:
                    slots[place] = None
            place = (place + 1) % width

    return made(begin, UNKNOWN)


def _interleave_kernel(
    input_dataset: Array,
    other_arguments: tuple[Array, ...],
    cycle_length: Array,
    block_length: Array,
    *,
    f: Any,
) -> Array:
    op = "InterleaveDataset"
    return _interleaved(op, input_dataset, other_arguments, cycle_length, block_length, f)


_CYCLE = "cycle_length: int64, block_length: int64"
INTERLEAVE = dataset_op("InterleaveDataset", f"{_TAKES}, {_CYCLE}", _interleave_kernel, _FUNCTION)


def _parallel_interleave_kernel(
    input_dataset: Array,
    other_arguments: tuple[Array, ...],
    cycle_length: Array,
    block_length: Array,
    buffer_output_elements: Array,
    prefetch_input_elements: Array,
    num_parallel_calls: Array,
    *,
    f: Any,
) -> Array:
    del buffer_output_elements, prefetch_input_elements, num_parallel_calls
    op = "ParallelInterleaveDatasetV4"
    return _interleaved(op, input_dataset, other_arguments, cycle_length, block_length, f)


PARALLEL_INTERLEAVE = dataset_op(
    "ParallelInterleaveDatasetV4",
    f"{_TAKES}, {_CYCLE}, buffer_output_elements: int64, prefetch_input_elements: int64, "
    "num_parallel_calls: int64",
    _parallel_interleave_kernel,
    {**_FUNCTION, **_ORDER},
)


def _earlier_interleave(name: str, more: str, attrs: dict[str, AttrDef]) -> None:
    """An older form of the op, whose further inputs only configure TensorFlow's execution."""

    def kernel(
        input_dataset: Array,
        other_arguments: tuple[Array, ...],
        cycle_length: Array,
        block_length: Array,
        *rest: Array,
        f: Any,
    ) -> Array:
        del rest
        return _interleaved(name, input_dataset, other_arguments, cycle_length, block_length, f)

    dataset_op(name, f"{_TAKES}, {_CYCLE}, {more}", kernel, {**_FUNCTION, **attrs})


_BUFFERS = "buffer_output_elements: int64, prefetch_input_elements: int64"
_CALLS = "num_parallel_calls: int64"
_earlier_interleave("ParallelInterleaveDataset", f"sloppy: bool, {_BUFFERS}", {})
_earlier_interleave("ParallelInterleaveDatasetV2", _CALLS, {"sloppy": attr("bool", default=False)})
_earlier_interleave("ParallelInterleaveDatasetV3", _CALLS, _ORDER)
_earlier_interleave("LegacyParallelInterleaveDatasetV2", _BUFFERS, _ORDER)


def _unique_kernel(input_dataset: Array) -> Array:
    op = "UniqueDataset"
    source = dataset_of(op, input_dataset)

    def begin(turn: Turn) -> Iterator[Leaves]:
        seen = set()
        for element in turn.take(source):
            if len(element) != 1:
                raise InvalidArgumentError(
                    f"{op}: elements must have one component, got {len(element)}"
                )
            leaf = np.asarray(element[0])
            key = (
                leaf.shape,
                tuple(leaf.ravel().tolist()) if leaf.dtype == object else leaf.tobytes(),
            )
            if key not in seen:
                seen.add(key)
                yield element

    return made(begin)


UNIQUE = dataset_op("UniqueDataset", "input_dataset: variant", _unique_kernel)
