"""Steps on the replicas of a strategy: distributes batches, and combines results.

With several replicas in a process, batches are split here, tensor by tensor. With replicas in
several processes, each takes its part of a batch before the tensors are created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.data.dataset import Dataset
from pinnace.distribute import feeding
from pinnace.distribute.inputs import DistributedDataset, DistributedIterator
from pinnace.distribute.values import DistributedValues, PerReplica, select
from pinnace.framework import jobs, structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.training.batches import Batch, Batches
from pinnace.ops.array import joining, reshaping
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def dealt(strategy: Any, function: Callable[..., Any], whole: bool) -> Callable[..., Any]:
    """A function of a batch's tensors that passes PerReplica parts to another.

    Args:
        strategy: the strategy with the replicas.
        function: takes the pieces.
        whole: whether each replica is given all of the batch.
    """
    if strategy.extended._spans_processes:
        return function  # the batch is this process' own
    count = strategy.num_replicas_in_sync

    def run(*tensors: Any) -> Any:
        return function(*[_pieces(tensor, count, whole) for tensor in tensors])

    return run


def _pieces(value: Any, count: int, whole: bool) -> PerReplica:
    if isinstance(value, PerReplica):  # of a distributed dataset
        return value
    if whole:
        return PerReplica([value] * count)
    return PerReplica(feeding.pieces(value, count))


def first_replicas(batch: Any) -> Any:
    """A batch, or the first replica's part of a distributed one."""
    return select(0, batch)


def on_replicas(
    strategy: Any, step: Callable[..., Any], joins: bool, quiet: bool
) -> Callable[..., Any]:
    """A step of all replicas, whose results are combined into one.

    Args:
        strategy: the strategy with the replicas.
        step: takes the data of one.
        joins: whether results are joined along their first axis; else their mean is taken.
        quiet: whether the results are not needed.
    """

    def run(data: Any) -> Any:
        results = strategy.run(step, args=(data,))
        if quiet:
            return None
        if strategy.extended._spans_processes:
            return _of_processes(strategy, results, joins)
        combined = _joined if joins else _mean
        return structure.map_structure(
            lambda x: combined(x.values) if isinstance(x, DistributedValues) else x, results
        )

    return run


def on_the_only_replica(strategy: Any, step: Callable[..., Any]) -> Callable[..., Any]:
    """Run a step in the replica context of a strategy with one replica."""

    def run(data: Any) -> Any:
        return structure.map_structure(
            lambda x: x.values[0] if isinstance(x, DistributedValues) else x,
            strategy.run(step, args=(data,)),
        )

    return run


def _of_processes(strategy: Any, results: Any, joins: bool) -> Any:
    """The results of all processes combined, in one exchange."""
    flat = [convert_to_tensor(x) for x in structure.flatten(results)]
    if joins:
        flat = [reshaping.reshape(x, [1]) if x.shape.rank == 0 else x for x in flat]
        found = strategy.extended._gathered(flat, 0) if flat else flat
    else:
        found = strategy.extended.batch_reduce_to("MEAN", [(x, x) for x in flat]) if flat else flat
    return structure.pack_sequence_as(results, found)


class OwnPieces(Batches):
    """One process's pieces of batches that all processes of the job compute identically.

    Args:
        batches: batches for all processes together.
        rank: the number of this process.
        size: how many there are.
    """

    def __init__(self, batches: Batches, rank: int, size: int) -> None:
        self._batches = batches
        self._rank, self._size = rank, size
        self.alike = batches.alike

    @property
    def count(self) -> int | None:  # type: ignore[override]  # asked each time: it may change
        """The number of batches in an epoch."""
        return self._batches.count

    def restart(self) -> None:
        """See `Batches.restart`."""
        self._batches.restart()

    def epoch(self) -> Iterator[Batch]:
        """The parts of one epoch's batches."""
        for batch in self._batches.epoch():
            yield structure.map_structure(self._piece, batch)

    def _piece(self, value: Any) -> Any:
        return None if value is None else feeding.pieces(value, self._size)[self._rank]

    def end_epoch(self) -> None:
        """An epoch is over."""
        self._batches.end_epoch()


def distributed(strategy: Any, given: Any) -> Any:
    """A Dataset distributed to processes by the strategy; any other value unchanged."""
    if strategy.extended._spans_processes and isinstance(given, Dataset):
        return strategy.experimental_distribute_dataset(given)
    return given


def own_batches(strategy: Any, batches: Batches, given: Any) -> Batches:
    """The batches of this process, where the replicas are in several.

    Args:
        strategy: the strategy with the replicas.
        batches: the batches of the data that `fit` or its like was given.
        given: that; a distributed dataset has pieces already.
    """
    if not strategy.extended._spans_processes:
        return batches
    if isinstance(given, (DistributedDataset, DistributedIterator)):
        return batches
    batches.shuffle_as(lambda seed: jobs.agreed(seed, "the seed of a shuffle"))
    numbers = strategy.extended._replica_numbers
    return OwnPieces(batches, numbers.start, strategy.num_replicas_in_sync)


def _mean(values: Sequence[Any]) -> Any:
    return reduction.reduce_mean(joining.stack(list(values)), axis=0)


def _joined(values: Sequence[Any]) -> Any:
    if values[0].shape.rank == 0:
        return joining.stack(list(values))
    return joining.concat(list(values), 0)
