"""Datasets of graphs batched and unbatched: batches, padded batches, windows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops import memory
from pinnace.ops.dataset.recipes import (
    ELEMENT,
    METADATA,
    UNKNOWN,
    dataset_of,
    dataset_op,
    keep,
    made,
    whole,
)
from pinnace.ops.opdef import attr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.dataset.recipes import Leaves, Turn

__all__: list[str] = []

_SOURCE = "input_dataset: variant"
_COPY = {"parallel_copy": attr("bool", default=False)}
_ORDER = {"deterministic": attr("string", default="default")}


def groups(elements: Iterator[Leaves], size: int, *, whole_only: bool) -> Iterator[list[Leaves]]:
    """Lists of `size` elements, and the remainder unless it is dropped."""
    while True:
        found = [keep(element) for element in itertools.islice(elements, size)]
        if not found or (whole_only and len(found) < size):
            return
        yield found


def count_of(there: int, size: int, *, whole_only: bool) -> int:
    """The number of groups."""
    return there if there < 0 else there // size if whole_only else -(-there // size)


def stacked(op: str, elements: Sequence[Leaves]) -> Leaves:
    """The elements as one, with a new first axis.

    Raises:
        InvalidArgumentError: their shapes differ.
    """
    memory.claim(sum(leaf.nbytes for element in elements for leaf in element))
    columns = []
    for place, column in enumerate(zip(*elements, strict=True)):
        shape = column[0].shape
        for number, leaf in enumerate(column):
            if leaf.shape != shape:
                raise InvalidArgumentError(
                    f"{op}: the elements of a batch must have one shape, component {place} has "
                    f"{list(shape)} in the first and {list(leaf.shape)} in element {number}"
                )
        columns.append(np.stack(column))
    return tuple(columns)


def batches(op: str, variant: Array, batch_size: Array, *, whole_only: bool) -> Array:
    """The dataset of batches of another."""
    source, size = dataset_of(op, variant), whole(op, "batch_size", batch_size, 1)

    def begin(turn: Turn) -> Iterator[Leaves]:
        for group in groups(turn.take(source), size, whole_only=whole_only):
            yield stacked(op, group)

    return made(begin, count_of(source.cardinality(), size, whole_only=whole_only))


def _batch_kernel(input_dataset: Array, batch_size: Array) -> Array:
    return batches("BatchDataset", input_dataset, batch_size, whole_only=False)


BATCH = dataset_op("BatchDataset", f"{_SOURCE}, batch_size: int64", _batch_kernel)


def _batch_v2_kernel(input_dataset: Array, batch_size: Array, drop_remainder: Array) -> Array:
    return batches("BatchDatasetV2", input_dataset, batch_size, whole_only=bool(drop_remainder))


BATCH_V2 = dataset_op(
    "BatchDatasetV2",
    f"{_SOURCE}, batch_size: int64, drop_remainder: bool",
    _batch_v2_kernel,
    {**ELEMENT, **METADATA, **_COPY},
)


def _parallel_batch_kernel(
    input_dataset: Array, batch_size: Array, num_parallel_calls: Array, drop_remainder: Array
) -> Array:
    del num_parallel_calls  # elements are computed sequentially, in the same order
    op = "ParallelBatchDataset"
    return batches(op, input_dataset, batch_size, whole_only=bool(drop_remainder))


PARALLEL_BATCH = dataset_op(
    "ParallelBatchDataset",
    f"{_SOURCE}, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool",
    _parallel_batch_kernel,
    {**ELEMENT, **METADATA, **_COPY, **_ORDER},
)


def _padded(
    op: str,
    variant: Array,
    batch_size: Array,
    shapes: Sequence[Array],
    values: Sequence[Array],
    *,
    whole_only: bool,
) -> Array:
    source, size = dataset_of(op, variant), whole(op, "batch_size", batch_size, 1)
    wanted = [one.tolist() for one in shapes]

    def begin(turn: Turn) -> Iterator[Leaves]:
        for group in groups(turn.take(source), size, whole_only=whole_only):
            columns = zip(*group, strict=True)
            yield tuple(
                [
                    _filled(op, place, column, wanted[place], values[place])
                    for place, column in enumerate(columns)
                ]
            )

    return made(begin, count_of(source.cardinality(), size, whole_only=whole_only))


def _filled(
    op: str, place: int, column: Sequence[Array], wanted: Sequence[int], value: Array
) -> Array:
    """The arrays of a batch, padded to one shape; -1 is the largest size in the batch."""
    if any(leaf.ndim != len(wanted) for leaf in column):
        raise InvalidArgumentError(
            f"{op}: component {place} must have {len(wanted)} axes as padded_shapes has, got "
            f"{[list(leaf.shape) for leaf in column][:8]}"
        )
    sizes = [
        max(leaf.shape[axis] for leaf in column) if size < 0 else size
        for axis, size in enumerate(wanted)
    ]
    for leaf in column:
        if any(there > size for there, size in zip(leaf.shape, sizes, strict=True)):
            raise InvalidArgumentError(
                f"{op}: an element of shape {list(leaf.shape)} does not fit into {sizes}, "
                f"the padded shape of component {place}"
            )
    first = column[0]
    total = len(column) * int(np.prod(sizes, dtype=object))
    memory.claim(total * first.itemsize)
    out = np.full((len(column), *sizes), value[()], first.dtype)
    for number, leaf in enumerate(column):
        corner: Any = (number, *[slice(n) for n in leaf.shape])
        out[corner] = leaf
    return out


def _padded_kernel(
    input_dataset: Array,
    batch_size: Array,
    padded_shapes: tuple[Array, ...],
    padding_values: tuple[Array, ...],
) -> Array:
    op = "PaddedBatchDataset"
    return _padded(op, input_dataset, batch_size, padded_shapes, padding_values, whole_only=False)


_PADDED = f"{_SOURCE}, batch_size: int64, padded_shapes: N*int64, padding_values: (Toutput_types)"
_SHAPES = {"output_shapes": ELEMENT["output_shapes"], **METADATA}
PADDED_BATCH = dataset_op("PaddedBatchDataset", _PADDED, _padded_kernel, _SHAPES)


def _padded_v2_kernel(
    input_dataset: Array,
    batch_size: Array,
    padded_shapes: tuple[Array, ...],
    padding_values: tuple[Array, ...],
    drop_remainder: Array,
) -> Array:
    op, only = "PaddedBatchDatasetV2", bool(drop_remainder)
    return _padded(op, input_dataset, batch_size, padded_shapes, padding_values, whole_only=only)


PADDED_BATCH_V2 = dataset_op(
    "PaddedBatchDatasetV2",
    f"{_PADDED}, drop_remainder: bool",
    _padded_v2_kernel,
    {**_SHAPES, **_COPY},
)


def _unbatch_kernel(input_dataset: Array) -> Array:
    op = "UnbatchDataset"
    source = dataset_of(op, input_dataset)

    def begin(turn: Turn) -> Iterator[Leaves]:
        for element in turn.take(source):
            if any(not leaf.ndim or len(leaf) != len(element[0]) for leaf in element):
                raise InvalidArgumentError(
                    f"{op}: the components of an element must have a first axis of one size, got "
                    f"{[list(leaf.shape) for leaf in element]}"
                )
            for index in range(len(element[0])):
                yield tuple([leaf[index, ...] for leaf in element])

    return made(begin, UNKNOWN)


UNBATCH = dataset_op("UnbatchDataset", _SOURCE, _unbatch_kernel)


def _window_kernel(
    input_dataset: Array, size: Array, shift: Array, stride: Array, drop_remainder: Array
) -> Array:
    op = "WindowDataset"
    source = dataset_of(op, input_dataset)
    width, step = whole(op, "size", size, 1), whole(op, "shift", shift, 1)
    apart = whole(op, "stride", stride, 1)
    only = bool(drop_remainder)
    reach = (width - 1) * apart + 1  # source elements from the first to the last of a window

    def begin(turn: Turn) -> Iterator[Leaves]:
        for window in _windows(turn.take(source), reach, step, apart, whole_only=only):
            yield tuple(map(_window, zip(*window, strict=True)))

    return made(begin, _window_count(source.cardinality(), reach, step, whole_only=only))


def _windows(
    elements: Iterator[Leaves], reach: int, step: int, apart: int, *, whole_only: bool
) -> Iterator[list[Leaves]]:
    """Every `apart`-th of `reach` elements, starting again every `step` elements."""
    waiting: list[Leaves] = []
    while True:
        missing = reach - len(waiting)
        waiting += [keep(one) for one in itertools.islice(elements, max(missing, 0))]
        if not waiting or (whole_only and len(waiting) < reach):
            return
        yield waiting[:reach:apart]
        if step >= len(waiting):
            turned = sum(1 for _ in itertools.islice(elements, step - len(waiting)))
            if turned < step - len(waiting):
                return
        waiting = waiting[step:]


def _window_count(there: int, reach: int, step: int, *, whole_only: bool) -> int:
    """The number of windows."""
    if there < 0:
        return there
    return max(0, -(-(there - (reach - 1 if whole_only else 0)) // step))


def _window(column: tuple[Array, ...]) -> Array:
    """The dataset of one component's values in a window."""
    return made(lambda _: ((value,) for value in column), len(column))


WINDOW = dataset_op(
    "WindowDataset",
    f"{_SOURCE}, size: int64, shift: int64, stride: int64, drop_remainder: bool",
    _window_kernel,
)


def _sliding_kernel(
    input_dataset: Array,
    window_size: Array,
    window_shift: Array,
    window_stride: Array,
    *,
    drop_remainder: bool = True,
) -> Array:
    op = "SlidingWindowDataset"
    source = dataset_of(op, input_dataset)
    width, step = (
        whole(op, "window_size", window_size, 1),
        whole(op, "window_shift", window_shift, 1),
    )
    apart = whole(op, "window_stride", window_stride, 1)
    reach = (width - 1) * apart + 1

    def begin(turn: Turn) -> Iterator[Leaves]:
        for window in _windows(turn.take(source), reach, step, apart, whole_only=drop_remainder):
            yield stacked(op, window)

    return made(begin, _window_count(source.cardinality(), reach, step, whole_only=drop_remainder))


SLIDING_WINDOW = dataset_op(
    "SlidingWindowDataset",
    f"{_SOURCE}, window_size: int64, window_shift: int64, window_stride: int64",
    _sliding_kernel,
    {**ELEMENT, "drop_remainder": attr("bool", default=True)},
)


def _window_op_kernel(inputs: tuple[Array, ...]) -> Array:
    op = "WindowOp"
    lengths = {len(one) if one.ndim else None for one in inputs}
    if len(lengths) != 1 or None in lengths:
        raise InvalidArgumentError(
            f"{op}: inputs must have first axes of one size, got "
            f"{[list(one.shape) for one in inputs]}"
        )
    count = len(inputs[0])
    return made(
        lambda _: (tuple([one[index, ...] for one in inputs]) for index in range(count)), count
    )


WINDOW_OP = dataset_op("WindowOp", "inputs: (Tinputs)", _window_op_kernel, ELEMENT)


def _map_and_batch_kernel(
    input_dataset: Array,
    other_arguments: tuple[Array, ...],
    batch_size: Array,
    num_parallel_calls: Array,
    drop_remainder: Array,
    *,
    f: Any,
) -> Array:
    del num_parallel_calls
    op = "MapAndBatchDataset"
    source, size = dataset_of(op, input_dataset), whole(op, "batch_size", batch_size, 1)
    only = bool(drop_remainder)

    def begin(turn: Turn) -> Iterator[Leaves]:
        mapped = (turn.call(f, *one, *other_arguments) for one in turn.take(source))
        for group in groups(mapped, size, whole_only=only):
            yield stacked(op, group)

    return made(begin, count_of(source.cardinality(), size, whole_only=only))


MAP_AND_BATCH = dataset_op(
    "MapAndBatchDataset",
    f"{_SOURCE}, other_arguments: (Targuments), batch_size: int64, num_parallel_calls: int64, "
    "drop_remainder: bool",
    _map_and_batch_kernel,
    {**ELEMENT, **METADATA, "f": attr("func"), "preserve_cardinality": attr("bool", default=False)},
)
