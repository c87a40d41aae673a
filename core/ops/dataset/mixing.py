"""Selection among datasets of graphs: by another dataset, at random, or by errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE
from pinnace.framework.errors import CancelledError, InvalidArgumentError
from pinnace.ops.dataset.recipes import (
    ELEMENT,
    INFINITE,
    UNKNOWN,
    dataset_of,
    dataset_op,
    made,
)
from pinnace.ops.dataset.shuffling import SeedGenerator
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, attr
from pinnace.ops.registry import define, scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.tensor import Array
    from pinnace.ops.dataset.recipes import Leaves, Turn

__all__: list[str] = []


def _directed_kernel(
    selector_input_dataset: Array,
    data_input_datasets: tuple[Array, ...],
    *,
    stop_on_empty_dataset: bool = False,
) -> Array:
    op = "DirectedInterleaveDataset"
    selector = dataset_of(op, selector_input_dataset)
    sources = [dataset_of(op, one) for one in data_input_datasets]

    def begin(turn: Turn) -> Iterator[Leaves]:
        opened: list[Iterator[Leaves] | None] = [turn.take(one) for one in sources]
        for leaf, *_ in turn.take(selector):
            place = int(leaf)
            if not 0 <= place < len(opened):
                raise InvalidArgumentError(
                    f"{op}: Selector index out of range: {place} >= {len(opened)}"
                )
            chosen = opened[place]
            element = None if chosen is None else next(chosen, None)
            if element is not None:
                yield element
                continue
            opened[place] = None
            if stop_on_empty_dataset or not any(opened):
                return

    return made(begin)


DIRECTED = dataset_op(
    "DirectedInterleaveDataset",
    "selector_input_dataset: variant, data_input_datasets: N*variant",
    _directed_kernel,
    {**ELEMENT, "stop_on_empty_dataset": attr("bool", default=False)},
)


def _sampling_kernel(input_dataset: Array, rate: Array, seed: Array, seed2: Array) -> Array:
    source = dataset_of("SamplingDataset", input_dataset)
    seeds, share = SeedGenerator(int(seed), int(seed2), reshuffle=False), float(rate)

    def begin(turn: Turn) -> Iterator[Leaves]:
        rng = seeds.next_pass()
        return filter(lambda _: rng.random() < share, turn.take(source))

    return made(begin, INFINITE if source.cardinality() == INFINITE else UNKNOWN)


SAMPLING = dataset_op(
    "SamplingDataset",
    "input_dataset: variant, rate: float32, seed: int64, seed2: int64",
    _sampling_kernel,
    ELEMENT,
)


def _ignore_kernel(input_dataset: Array) -> Array:
    source = dataset_of("IgnoreErrorsDataset", input_dataset)

    def begin(turn: Turn) -> Iterator[Leaves]:
        elements = turn.take(source)
        while True:
            try:
                element = next(elements)
            except StopIteration:
                return
            except CancelledError:
                raise
            except Exception:  # any error of an element
                turn.ctx.check()
                continue
            yield element

    return made(begin)


IGNORE_ERRORS = dataset_op(
    "IgnoreErrorsDataset",
    "input_dataset: variant",
    _ignore_kernel,
    {**ELEMENT, "log_warning": attr("bool", default=False)},
)


def _slices_kernel(indices: Array, values: Array, dense_shape: Array) -> Array:
    op = "SparseTensorSliceDataset"
    if indices.ndim != 2 or values.ndim != 1 or dense_shape.ndim != 1 or not len(dense_shape):
        raise InvalidArgumentError(
            f"{op}: indices, values and dense_shape must be those of a sparse tensor with an axis, "
            f"got shapes {[list(x.shape) for x in (indices, values, dense_shape)]}"
        )
    rows = indices[:, 0]
    if (np.diff(rows) < 0).any():
        raise InvalidArgumentError(f"{op}: indices must be in order")
    count = int(dense_shape[0])

    def begin(turn: Turn) -> Iterator[Leaves]:
        del turn
        for row in range(count):
            first, last = np.searchsorted(rows, [row, row + 1])
            yield indices[first:last, 1:], values[first:last], dense_shape[1:]

    return made(begin, count)


SPARSE_SLICES = define(
    name="SparseTensorSliceDataset",
    signature="indices: int64, values: Tvalues, dense_shape: int64 -> handle: variant",
    types={"Tvalues": ANY_VALUE},
    infer=scalar,
    kernel=_slices_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="read",
)
