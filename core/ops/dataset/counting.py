"""Datasets of graphs: selection and repetition of elements, and options."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.ops.dataset.recipes import (
    ELEMENT,
    INFINITE,
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
    from collections.abc import Callable, Iterator

    from pinnace.framework.tensor import Array
    from pinnace.ops.dataset.recipes import Leaves, Turn
    from pinnace.ops.opdef import AttrDef, Effect

__all__: list[str] = []

_SOURCE = "input_dataset: variant"


def _take_kernel(input_dataset: Array, count: Array) -> Array:
    source = dataset_of("TakeDataset", input_dataset)
    wanted = int(count)
    if wanted < 0:  # all
        return input_dataset
    there = source.cardinality()
    size = wanted if there == INFINITE else UNKNOWN if there == UNKNOWN else min(wanted, there)
    return made(lambda turn: itertools.islice(turn.take(source), wanted), size)


TAKE = dataset_op("TakeDataset", f"{_SOURCE}, count: int64", _take_kernel)


def _skip_kernel(input_dataset: Array, count: Array) -> Array:
    source = dataset_of("SkipDataset", input_dataset)
    left_out = int(count)
    if left_out < 0:  # all
        return made(lambda _: iter(()), 0)
    there = source.cardinality()
    size = there if there < 0 else max(there - left_out, 0)
    return made(lambda turn: itertools.islice(turn.take(source), left_out, None), size)


SKIP = dataset_op("SkipDataset", f"{_SOURCE}, count: int64", _skip_kernel)


def _repeat_kernel(input_dataset: Array, count: Array) -> Array:
    source = dataset_of("RepeatDataset", input_dataset)
    times, there = int(count), source.cardinality()

    def begin(turn: Turn) -> Iterator[Leaves]:
        for _ in itertools.count() if times < 0 else range(times):
            ended = True
            for element in turn.take(source):
                ended = False
                yield element
            if ended and times < 0:
                return  # an empty source repeated without end is empty

    if not (times and there):
        size = 0
    elif times < 0:
        size = there if there == UNKNOWN else INFINITE
    else:
        size = there if there < 0 else there * times
    return made(begin, size)


REPEAT = dataset_op("RepeatDataset", f"{_SOURCE}, count: int64", _repeat_kernel)


def _shard_kernel(
    input_dataset: Array, num_shards: Array, index: Array, *, require_non_empty: bool
) -> Array:
    op = "ShardDataset"
    source = dataset_of(op, input_dataset)
    parts = whole(op, "num_shards", num_shards, 1)
    first = whole(op, "index", index, 0)
    if first >= parts:
        raise InvalidArgumentError(f"{op}: index must be below num_shards, got {first} of {parts}")

    def begin(turn: Turn) -> Iterator[Leaves]:
        empty = True
        for element in itertools.islice(turn.take(source), first, None, parts):
            empty = False
            yield element
        if empty and require_non_empty:
            raise InvalidArgumentError(
                f"{op}: part {first} of {parts} has no elements, and require_non_empty is set"
            )

    there = source.cardinality()
    return made(begin, there if there < 0 else len(range(first, there, parts)))


SHARD = dataset_op(
    "ShardDataset",
    f"{_SOURCE}, num_shards: int64, index: int64",
    _shard_kernel,
    {**ELEMENT, **METADATA, "require_non_empty": attr("bool", default=False)},
)


def _zip_kernel(input_datasets: tuple[Array, ...]) -> Array:
    sources = [dataset_of("ZipDataset", one) for one in input_datasets]

    def begin(turn: Turn) -> Iterator[Leaves]:
        for elements in zip(*[turn.take(one) for one in sources], strict=False):
            yield tuple(itertools.chain.from_iterable(elements))

    sizes = [one.cardinality() for one in sources]
    finite = [size for size in sizes if size != INFINITE]
    return made(begin, UNKNOWN if UNKNOWN in sizes else min(finite, default=INFINITE))


ZIP = dataset_op("ZipDataset", "input_datasets: N*variant", _zip_kernel)


def _concatenate_kernel(input_dataset: Array, another_dataset: Array) -> Array:
    op = "ConcatenateDataset"
    sources = [dataset_of(op, one) for one in (input_dataset, another_dataset)]
    sizes = [one.cardinality() for one in sources]
    size = next((one for one in (INFINITE, UNKNOWN) if one in sizes), sum(sizes))
    return made(lambda turn: itertools.chain.from_iterable(turn.take(one) for one in sources), size)


CONCATENATE = dataset_op(
    "ConcatenateDataset", f"{_SOURCE}, another_dataset: variant", _concatenate_kernel
)


class _Kept:
    """A cache: the elements of the first complete pass."""

    def __init__(self, op: str, variant: Array, filename: Array) -> None:
        if filename.item():
            raise InvalidArgumentError(
                f"{op}: elements are kept in memory alone, got the file name {filename.item()!r}"
            )
        self._source = dataset_of(op, variant)
        self._elements: list[Leaves] | None = None

    def begin(self, turn: Turn) -> Iterator[Leaves]:
        if self._elements is not None:
            yield from self._elements
            return
        found = []
        for element in turn.take(self._source):
            found.append(keep(element))
            yield element
        self._elements = found

    def dataset(self) -> Array:
        return made(self.begin, self._source.cardinality())


def _cache_kernel(input_dataset: Array, filename: Array) -> Array:
    return _Kept("CacheDataset", input_dataset, filename).dataset()


CACHE = dataset_op("CacheDataset", f"{_SOURCE}, filename: string", _cache_kernel)


def _cache_v2_kernel(input_dataset: Array, filename: Array, cache: Array) -> Array:
    del cache  # the elements are kept by the dataset itself
    return _Kept("CacheDatasetV2", input_dataset, filename).dataset()


CACHE_V2 = dataset_op(
    "CacheDatasetV2",
    f"{_SOURCE}, filename: string, cache: resource",
    _cache_v2_kernel,
    effect="read",
)


def _assert_cardinality_kernel(input_dataset: Array, cardinality: Array) -> Array:
    op = "AssertCardinalityDataset"
    source, wanted = dataset_of(op, input_dataset), int(cardinality)

    def begin(turn: Turn) -> Iterator[Leaves]:
        count = 0
        for element in turn.take(source):
            count += 1
            if 0 <= wanted < count:
                break
            yield element
        if wanted != UNKNOWN and count != wanted:
            told = "infinitely many elements" if wanted == INFINITE else f"{wanted} elements"
            raise FailedPreconditionError(
                f"{op}: the dataset was asserted to have {told}, it has "
                f"{'more' if 0 <= wanted < count else count}"
            )

    return made(begin, wanted)


ASSERT_CARDINALITY = dataset_op(
    "AssertCardinalityDataset",
    f"{_SOURCE}, cardinality: int64",
    _assert_cardinality_kernel,
    ELEMENT,
)


def _passed_on(input_dataset: Array, *_rest: Array) -> Array:
    """The same elements: the op only configures how TensorFlow produces them."""
    return np.asarray(input_dataset)


def _hint(
    name: str,
    more: str = "",
    attrs: dict[str, AttrDef] | None = None,
    effect: Effect | None = None,
) -> None:
    kernel: Callable[..., Array] = _passed_on
    dataset_op(name, f"{_SOURCE}{more}", kernel, {**ELEMENT, **(attrs or {})}, effect=effect)


_NUMBER = attr("int", default=0)
_hint(
    "PrefetchDataset",
    ", buffer_size: int64",
    {
        "slack_period": _NUMBER,
        "legacy_autotune": attr("bool", default=True),
        "buffer_size_min": _NUMBER,
        **METADATA,
    },
)
_hint("ModelDataset", "", dict.fromkeys(("algorithm", "cpu_budget", "ram_budget"), _NUMBER))
_hint(
    "OptimizeDataset",
    ", optimizations: string",
    {"optimization_configs": attr("list(string)", default=())},
)
_hint("OptionsDataset", "", {"serialized_options": attr("string"), **METADATA})
_hint("RewriteDataset", ", rewrite_name: string")
_hint(
    "OptimizeDatasetV2",
    ", optimizations_enabled: string, optimizations_disabled: string, "
    "optimizations_default: string",
    {"optimization_configs": attr("list(string)", default=())},
)
_hint("NonSerializableDataset")
_hint("MaxIntraOpParallelismDataset", ", max_intra_op_parallelism: int64")
_hint("PrivateThreadPoolDataset", ", num_threads: int64")
_hint("ThreadPoolDataset", ", thread_pool: resource", effect="read")
_hint("FinalizeDataset", "", {"has_captured_ref": attr("bool", default=False)})
