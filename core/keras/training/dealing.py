"""Steps of a model on the replicas of a strategy: batches are dealt out, results become one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.distribute import feeding
from pinnace.distribute.values import DistributedValues, PerReplica, select
from pinnace.framework import structure
from pinnace.ops.array import joining
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def dealt(strategy: Any, function: Callable[..., Any], whole: bool) -> Callable[..., Any]:
    """A function of the tensors of a batch that hands PerReplica pieces of them to another.

    Args:
        strategy: whose replicas.
        function: takes the pieces.
        whole: whether each replica is given all of the batch.
    """
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
    """A batch, or what is the first replica's of one that was dealt out already."""
    return select(0, batch)


def on_replicas(strategy: Any, step: Callable[..., Any], joins: bool) -> Callable[..., Any]:
    """A step of all replicas, whose results are one.

    Args:
        strategy: whose replicas.
        step: takes the data of one.
        joins: whether results are joined along their first axis; else their mean is taken.
    """

    def run(data: Any) -> Any:
        results = strategy.run(step, args=(data,))
        combined = _joined if joins else _mean
        return structure.map_structure(
            lambda x: combined(x.values) if isinstance(x, DistributedValues) else x, results
        )

    return run


def _mean(values: Sequence[Any]) -> Any:
    return reduction.reduce_mean(joining.stack(list(values)), axis=0)


def _joined(values: Sequence[Any]) -> Any:
    if values[0].shape.rank == 0:
        return joining.stack(list(values))
    return joining.concat(list(values), 0)
