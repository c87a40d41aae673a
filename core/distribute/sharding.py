"""A process's share of a dataset: files of its own, or pieces of each batch.

Source:
    TensorFlow `tf.data.experimental.AutoShardPolicy`, `tf.data.experimental.DistributeOptions`.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.batch import Batched, PaddedBatched
from pinnace.data.composites import groups_of
from pinnace.data.counting import Shard
from pinnace.data.elements import INFINITE, UNKNOWN, leaf_array
from pinnace.data.interleave import FlatMapped, Interleaved
from pinnace.data.map import Mapped
from pinnace.data.options import AutoShardPolicy
from pinnace.data.records import Files
from pinnace.data.stage import Bindable, Run, Stage
from pinnace.distribute import feeding
from pinnace.framework import structure
from pinnace.framework.errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.data.dataset import Dataset
    from pinnace.data.elements import Element
    from pinnace.distribute.processes import Processes

_TOO_FEW = (
    "Could not apply FILE based sharding: the dataset only has {count} file(s), which is not "
    "enough for the required {size} shards/workers\n"
    "  Try: AutoShardPolicy.DATA, where each process reads all files and takes its pieces of each "
    "batch"
)


def share_of(dataset: Dataset, processes: Processes) -> Stage:
    """The stage with a process's share of a dataset's global batches.

    Args:
        dataset: its options say how it is shared out: by files if its policy is AUTO and all of it
            is read from files, else by pieces of each batch.
        processes: the job's processes.

    Raises:
        NotFoundError: the policy is FILE, and not all of it is read from files.
        InvalidArgumentError: there are fewer files than processes.
        ValueError: the elements are no batches.
    """
    options: Any = dataset.options()
    given = options.experimental_distribute.auto_shard_policy
    policy = AutoShardPolicy.AUTO if given is None else AutoShardPolicy(given)
    stage = dataset.stage
    rank, size = processes.rank, processes.size
    own: Stage | None = None
    if policy in {AutoShardPolicy.AUTO, AutoShardPolicy.FILE}:
        own = by_files(stage, rank, size)
        if own is None and policy is AutoShardPolicy.FILE:
            raise NotFoundError(
                "experimental_distribute_dataset: Found an unshardable source dataset: "
                "AutoShardPolicy.FILE needs a dataset that is read from files (TFRecordDataset, "
                "TextLineDataset, FixedLengthRecordDataset), all of it\n"
                "  Try: AutoShardPolicy.AUTO or DATA"
            )
    if own is not None:
        cut: Stage = Recut(own, rank, size)
    elif policy in {AutoShardPolicy.OFF, AutoShardPolicy.HINT}:
        cut = Recut(stage, rank, size)
    else:
        cut = Piece(stage, rank, size)
    # The chief's seeds: all processes shuffle alike, so that no sample is seen twice.
    same = policy not in {AutoShardPolicy.OFF, AutoShardPolicy.HINT}
    return InStep(cut, processes, same_seeds=same)


def by_files(stage: Stage, rank: int, size: int) -> Stage | None:
    """A pipeline that reads every `size`-th file, from number `rank`; None if it reads no files.

    Raises:
        InvalidArgumentError: there are fewer files than processes.
    """
    found: dict[int, Stage] = {}
    if not _find_readers(stage, rank, size, found):
        return None
    return stage.bound(dict(found))


def _find_readers(stage: Stage, rank: int, size: int, found: dict[int, Stage]) -> bool:
    """Collect stages that read files or replace such; return whether there are no other sources."""
    if id(stage) in found:
        return True
    if isinstance(stage, Files):
        found[id(stage)] = _own_files(stage, rank, size)
        return True
    if isinstance(stage, (FlatMapped, Interleaved)) and _makes_readers(stage._maker):
        twin = copy.copy(stage)
        twin._source = NotEmpty(Shard(stage._source, size, rank), size)
        found[id(stage)] = twin
        return True
    sources = list(_sources(vars(stage).values()))
    return bool(sources) and all(_find_readers(one, rank, size, found) for one in sources)


def _sources(parts: Any) -> Iterator[Stage]:
    for part in parts:
        if isinstance(part, Stage):
            yield part
        elif type(part) in {tuple, list}:
            yield from _sources(part)


def _makes_readers(thing: Any) -> bool:
    """Whether a function returns datasets that read files."""
    if isinstance(thing, Files):
        return True
    if isinstance(thing, (Stage, Bindable)):
        return any(_makes_readers(part) for part in vars(thing).values())
    return type(thing) in {tuple, list} and any(_makes_readers(part) for part in thing)


def _own_files(stage: Files, rank: int, size: int) -> Files:
    twin = copy.copy(stage)
    if isinstance(stage._names, Stage):
        twin._names = NotEmpty(Shard(stage._names, size, rank), size)
        return twin
    names = np.asarray(stage._names, object).ravel()
    if len(names) < size:
        raise InvalidArgumentError(_TOO_FEW.format(count=len(names), size=size))
    twin._names = names[rank::size]
    return twin


class NotEmpty(Stage):
    """The elements of a shard of files, which must not be empty.

    Args:
        source: the shard.
        size: how many shards there are.
    """

    def __init__(self, source: Stage, size: int) -> None:
        super().__init__(source.spec)
        self._source = source
        self._size = size

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements; raises an error if there are none."""
        empty = True
        for element in self._source.open(run):
            empty = False
            yield element
        if empty:
            raise InvalidArgumentError(
                _TOO_FEW.format(count=f"fewer than {self._size}", size=self._size)
            )

    def cardinality(self) -> int:
        """The number of elements in the shard."""
        return self._source.cardinality()


class Piece(Stage):
    """One process's piece of each batch: of n rows, ceil(n / processes) or the remainder.

    Args:
        source: its elements are batches.
        rank: the number of the process.
        size: how many there are.
    """

    def __init__(self, source: Stage, rank: int, size: int) -> None:
        super().__init__(_open_batches(source))
        self._source = source
        self._rank, self._size = rank, size

    def elements(self, run: Run) -> Iterator[Element]:
        """A piece of each batch, possibly empty."""
        groups = groups_of(self._source.spec)
        for element in self._source.open(run):
            yield _cut(element, groups, lambda n: feeding.bounds(n, self._rank, self._size))

    def cardinality(self) -> int:
        """The number of batches."""
        return self._source.cardinality()


class Recut(Stage):
    """Global batches, re-cut into batches of one process, dealt to all in turn.

    Args:
        source: its elements are batches.
        rank: the number of the process.
        size: how many there are.
    """

    def __init__(self, source: Stage, rank: int, size: int) -> None:
        super().__init__(_open_batches(source))
        self._source = source
        self._rank, self._size = rank, size
        self._sizes = _sizes_for(batch_size_of(source), rank, size)

    def elements(self, run: Run) -> Iterator[Element]:
        """The pieces of each batch."""
        groups = groups_of(self._source.spec)
        for element in self._source.open(run):
            count = _rows_of(element, groups)
            for start, stop in self._bounds(count):
                yield _cut(element, groups, lambda _, piece=(start, stop): piece)

    def _bounds(self, count: int) -> Iterator[tuple[int, int]]:
        if self._sizes is None:
            for piece in range(self._size):
                yield feeding.bounds(count, piece, self._size)
            return
        start = 0
        for length in self._sizes:
            if start < count and length:
                yield start, min(start + length, count)
            start += length

    def cardinality(self) -> int:
        """Unknown: the last batch may have fewer pieces."""
        return INFINITE if self._source.cardinality() == INFINITE else UNKNOWN


def _sizes_for(batch: int | None, rank: int, size: int) -> list[int] | None:
    """The rows of a batch's pieces, so that all processes together consume one batch per step.

    None if the size of batches is not known.
    """
    if batch is None:
        return None
    least, more = divmod(batch, size)
    first = [least + (piece < more) for piece in range(size)]
    return first[rank:] + first[:rank]


def batch_size_of(stage: Stage) -> int | None:
    """The number of rows in all batches but the last; None if unknown."""
    sizes = {leaf.shape[0] if leaf.shape.rank else None for leaf in stage.leaves}
    if len(sizes) == 1 and None not in sizes:
        return sizes.pop()
    while True:
        if isinstance(stage, (Batched, PaddedBatched)):
            return stage._size if isinstance(stage._size, int) else None
        source = getattr(stage, "_source", None)
        # Functions of whole batches, filters and the like may change how many rows there are.
        if not isinstance(source, Stage) or isinstance(stage, (Mapped, FlatMapped, Interleaved)):
            return None
        if source.leaves != stage.leaves:
            return None
        stage = source


def _open_batches(source: Stage) -> Any:
    def opened(leaf: Any) -> Any:
        if leaf.shape.rank == 0:
            raise ValueError(
                "Call the `batch` method on the input Dataset in order to be able to split your "
                f"input across processes: it has elements of {source.spec}"
            )
        return feeding.resized(leaf, None)

    return structure.map_structure(opened, source.spec)


def _rows_of(element: Element, groups: Any) -> int:
    part, place = groups[0]
    return feeding.rows_of(part, _components(element, place))


def _components(element: Element, place: Any) -> tuple[Any, ...]:
    return tuple([np.asarray(leaf_array(leaf)) for leaf in element[place]])


def _cut(element: Element, groups: Any, bounds: Any) -> Element:
    leaves: list[Any] = []
    for part, place in groups:
        leaves.extend(feeding.cut(part, _components(element, place), bounds))
    return tuple(leaves)


class InStep(Stage):
    """Elements for as long as any process of the job has some: the others get empty batches.

    Args:
        source: the data of this process.
        processes: the job's processes.
        same_seeds: whether it shuffles as the chief does.
    """

    def __init__(self, source: Stage, processes: Processes, *, same_seeds: bool = False) -> None:
        self._ends = source.cardinality() != INFINITE
        spec = source.spec
        if self._ends:
            spec = structure.map_structure(_opened, spec)
        super().__init__(spec)
        self._source = source
        self._processes = processes
        self._same = same_seeds

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements, then empty batches until all processes have finished."""
        if self._same:
            own = Run(self._source).bases(self._source)
            seeds = self._processes.agreed(own, "the seeds of a pass over a dataset")
            run = Run(self._source, seeds)
        source = self._source.open(run)
        if not self._ends:
            yield from source
            return
        empty: Element | None = None
        while True:
            found = next(source, None)
            if not self._processes.any(found is not None, "the next batch of a dataset"):
                return
            if found is None:
                empty = empty or self._empty()
                found = empty
            yield found

    def _empty(self) -> Element:
        leaves: list[Any] = []
        for part, _ in groups_of(self._source.spec):
            sizes = [size or 0 for size in part.shape] if part.shape.rank else []
            if sizes:
                sizes[0] = 0
            leaves.extend(feeding.zeros(part, sizes))
        return tuple(leaves)

    def cardinality(self) -> int:
        """The number of pieces, if it is the same in all processes."""
        return self._source.cardinality()


def _opened(leaf: Any) -> Any:
    return feeding.resized(leaf, None) if leaf.shape.rank else leaf
