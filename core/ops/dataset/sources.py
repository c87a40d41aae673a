"""Sources of datasets in graphs: tensors, their slices, ranges.

The random numbers are not TensorFlow's; the same seeds reproduce them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError, OutOfRangeError
from pinnace.ops.dataset.recipes import ELEMENT, INFINITE, METADATA, dataset_op, made
from pinnace.ops.dataset.shuffling import SeedGenerator, generator_of
from pinnace.ops.opdef import attr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.tensor import Array
    from pinnace.ops.dataset.recipes import Leaves, Turn

__all__: list[str] = []

_SHAPES = {"output_shapes": ELEMENT["output_shapes"], **METADATA}
_SPLIT = {"replicate_on_split": attr("bool", default=False)}


def _tensor_kernel(components: tuple[Array, ...]) -> Array:
    def begin(turn: Turn) -> Iterator[Leaves]:
        del turn
        yield components

    return made(begin, 1)


TENSOR = dataset_op(
    "TensorDataset", "components: (Toutput_types)", _tensor_kernel, _SHAPES, effect="read"
)


def _slices_kernel(components: tuple[Array, ...]) -> Array:
    op = "TensorSliceDataset"
    if not components or any(not one.ndim for one in components):
        raise InvalidArgumentError(
            f"{op}: components must have a first axis, got {[list(c.shape) for c in components]}"
        )
    count = len(components[0])
    if any(len(one) != count for one in components):
        raise InvalidArgumentError(
            f"{op}: components must have first axes of one size, got "
            f"{[len(one) for one in components]}"
        )

    def begin(turn: Turn) -> Iterator[Leaves]:
        del turn
        for index in range(count):
            yield tuple([one[index, ...] for one in components])

    return made(begin, count)


SLICES = dataset_op(
    "TensorSliceDataset",
    "components: (Toutput_types)",
    _slices_kernel,
    {**_SHAPES, **_SPLIT, "is_files": attr("bool", default=False)},
    effect="read",
)


def _range_kernel(start: Array, stop: Array, step: Array, *, output_types: Any) -> Array:
    if not int(step):
        raise InvalidArgumentError("RangeDataset: step must not be 0")
    numbers = range(int(start), int(stop), int(step))
    kind = output_types[0].numpy

    def begin(turn: Turn) -> Iterator[Leaves]:
        del turn
        for number in numbers:
            yield (np.array(number, kind),)

    return made(begin, len(numbers))


RANGE = dataset_op(
    "RangeDataset",
    "start: int64, stop: int64, step: int64",
    _range_kernel,
    {**ELEMENT, **METADATA, **_SPLIT},
    effect="read",
)


def _list_kernel(tensors: tuple[Array, ...], *, output_types: Any) -> Array:
    op, width = "ListDataset", len(output_types)
    if len(tensors) % width:
        raise InvalidArgumentError(
            f"{op}: the number of tensors must be a multiple of {width}, got {len(tensors)}"
        )
    rows = [tensors[start : start + width] for start in range(0, len(tensors), width)]
    return made(lambda _: iter(rows), len(rows))


LIST = dataset_op(
    "ListDataset",
    "tensors: (Tinput_types)",
    _list_kernel,
    {**ELEMENT, **METADATA},
    effect="read",
)


def _generator_kernel(
    init_func_other_args: tuple[Array, ...],
    next_func_other_args: tuple[Array, ...],
    finalize_func_other_args: tuple[Array, ...],
    *,
    init_func: Any,
    next_func: Any,
    finalize_func: Any,
) -> Array:
    def begin(turn: Turn) -> Iterator[Leaves]:
        state = turn.call(init_func, *init_func_other_args)
        try:
            while True:
                try:
                    element = turn.call(next_func, *state, *next_func_other_args)
                except OutOfRangeError:
                    return
                yield element
        finally:
            turn.call(finalize_func, *state, *finalize_func_other_args)

    return made(begin)


GENERATOR = dataset_op(
    "GeneratorDataset",
    "init_func_other_args: (Tinit_func_args), next_func_other_args: (Tnext_func_args), "
    "finalize_func_other_args: (Tfinalize_func_args)",
    _generator_kernel,
    {
        **ELEMENT,
        **METADATA,
        **dict.fromkeys(("init_func", "next_func", "finalize_func"), attr("func")),
    },
    effect="read",
)


def _random(seeds: SeedGenerator) -> Array:
    def begin(turn: Turn) -> Iterator[Leaves]:
        del turn
        rng = seeds.next_pass()
        while True:
            for number in rng.integers(0, 2**32, 256, np.int64):
                yield (np.asarray(number),)

    return made(begin, INFINITE)


def _random_kernel(seed: Array, seed2: Array) -> Array:
    return _random(SeedGenerator(int(seed), int(seed2), reshuffle=False))


RANDOM = dataset_op("RandomDataset", "seed: int64, seed2: int64", _random_kernel, effect="random")


def _random_v2_kernel(
    seed: Array, seed2: Array, seed_generator: Array, *, rerandomize_each_iteration: bool
) -> Array:
    again = rerandomize_each_iteration
    seeds = generator_of(seed_generator, int(seed), int(seed2), reshuffle=again)
    return _random(seeds)


RANDOM_V2 = dataset_op(
    "RandomDatasetV2",
    "seed: int64, seed2: int64, seed_generator: resource",
    _random_v2_kernel,
    {**ELEMENT, **METADATA, "rerandomize_each_iteration": attr("bool", default=False)},
    effect="random",
)
