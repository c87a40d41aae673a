"""Distributed datasets: each element holds a value per replica."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pinnace.data.dataset import Dataset
from pinnace.data.iterator import IteratorSpec
from pinnace.distribute import feeding
from pinnace.distribute.values import PerReplica, PerReplicaSpec
from pinnace.framework import structure
from pinnace.framework.composite import CompositeSpec, CompositeTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.data.stage import Stage


_PER_REPLICA = (
    "InputReplicationMode.PER_REPLICA is only supported in `distribute_datasets_from_function`."
)


class InputReplicationMode(Enum):
    """Whether there is one input pipeline for all replicas, or one for each."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class _InputOptions(NamedTuple):
    experimental_fetch_to_device: bool
    experimental_replication_mode: InputReplicationMode
    experimental_place_dataset_on_device: bool
    experimental_per_replica_buffer_size: int


class InputOptions(_InputOptions):
    """Options for the transfer of elements to devices.

    Args:
        experimental_fetch_to_device: whether they are copied ahead; True if None. Without effect:
            there is one memory.
        experimental_replication_mode: an InputReplicationMode.
        experimental_place_dataset_on_device: whether the pipeline runs there; without effect.
        experimental_per_replica_buffer_size: how many are copied ahead; without effect.
    """

    __slots__ = ()

    def __new__(
        cls,
        experimental_fetch_to_device: bool | None = None,
        experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
        experimental_place_dataset_on_device: bool = False,
        experimental_per_replica_buffer_size: int = 1,
    ) -> Self:
        """The options, defaults filled in."""
        fetches = True if experimental_fetch_to_device is None else experimental_fetch_to_device
        return super().__new__(
            cls,
            fetches,
            experimental_replication_mode,
            experimental_place_dataset_on_device,
            experimental_per_replica_buffer_size,
        )


class InputContext:
    """The context of a function that creates a dataset.

    Args:
        num_input_pipelines: how many such datasets there are.
        input_pipeline_id: index of this one, from 0.
        num_replicas_in_sync: how many replicas there are.
    """

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self._num_input_pipelines = num_input_pipelines
        self._input_pipeline_id = input_pipeline_id
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_input_pipelines(self) -> int:
        """The number of input pipelines."""
        return self._num_input_pipelines

    @property
    def input_pipeline_id(self) -> int:
        """The index of this input pipeline, from 0."""
        return self._input_pipeline_id

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return self._num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The share of a replica in a batch.

        Args:
            global_batch_size: samples in a batch of all replicas.

        Raises:
            ValueError: the samples cannot be divided evenly.
        """
        count = self._num_replicas_in_sync
        if global_batch_size % count:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by "
                f"`num_replicas_in_sync` {count}"
            )
        return global_batch_size // count

    def __str__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self._input_pipeline_id}, "
            f"total: {self._num_input_pipelines})"
        )


class ValueContext:
    """The context of a function that creates a replica's value.

    Args:
        replica_id_in_sync_group: the replica, from 0.
        num_replicas_in_sync: how many there are.
    """

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1) -> None:
        self._replica_id = replica_id_in_sync_group
        self._num_replicas = num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of the replica, from 0."""
        return self._replica_id

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return self._num_replicas

    def __str__(self) -> str:
        return (
            f"tf.distribute.ValueContext(replica id {self._replica_id}, "
            f"total replicas in sync: {self._num_replicas})"
        )


class DistributedDataset:
    """A dataset with an element per replica at each step.

    Made by `experimental_distribute_dataset` and `distribute_datasets_from_function`; iterated over
    by `for`, also inside of a `function`, where it may be an argument.

    Args:
        parts: a dataset of tuples: an element for each replica.
    """

    def __init__(self, parts: Dataset) -> None:
        self.parts = parts

    @property
    def element_spec(self) -> Any:
        """The structure of an element, with a spec at each leaf: a PerReplicaSpec."""
        return _spec_of_parts(self.parts.element_spec)

    @property
    def cardinality(self) -> Any:
        """The number of steps; -1 for infinite, -2 if unknown."""
        return self.parts.cardinality().numpy()

    def __iter__(self) -> DistributedIterator:
        return DistributedIterator(iter(self.parts))

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any]) -> Any:
        """Reduce the elements to a state by a function, in order.

        Args:
            initial_state: the first state, a structure of tensors.
            reduce_func: takes a state and an element, gives the next state.
        """
        return self.parts.reduce(
            initial_state, lambda before, parts: reduce_func(before, joined(parts))
        )


class DistributedIterator(CompositeTensor):
    """One pass over a DistributedDataset.

    Args:
        parts: an iterator over tuples: an element for each replica.
    """

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    @property
    def element_spec(self) -> Any:
        """The structure of an element, with a spec at each leaf."""
        return _spec_of_parts(self.parts.element_spec)

    @property
    def spec(self) -> DistributedIteratorSpec:
        """The spec of the iterator as a function's argument."""
        # Inside of a function the parts are a traced iterator, which has no spec of its own.
        return DistributedIteratorSpec(IteratorSpec(self.parts.element_spec))

    def __iter__(self) -> DistributedIterator:
        return self

    def __next__(self) -> Any:
        return joined(next(self.parts))

    def get_next(self) -> Any:
        """The next element; OutOfRangeError after the last."""
        return joined(self.parts.get_next())

    def get_next_as_optional(self) -> Any:
        """The next element, or an empty Optional."""
        return _Optional(self.parts.get_next_as_optional(), self.element_spec)


class _Optional:
    """An Optional of the elements for all replicas."""

    def __init__(self, parts: Any, element_spec: Any) -> None:
        self.parts = parts
        self._spec = element_spec

    @property
    def element_spec(self) -> Any:
        """The spec of the element."""
        return self._spec

    def has_value(self, name: str | None = None) -> Any:
        """Whether there is a value."""
        return self.parts.has_value(name)

    def get_value(self, name: str | None = None) -> Any:
        """The value; InvalidArgumentError if there is none."""
        return joined(self.parts.get_value(name))


class DistributedIteratorSpec(CompositeSpec):
    """The spec of a DistributedIterator: that of its iterator over parts.

    Args:
        parts: the spec of the iterator over parts.
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: Any) -> None:
        self._parts = parts

    @property
    def value_type(self) -> type:
        """`DistributedIterator`."""
        return DistributedIterator

    @property
    def element_spec(self) -> Any:
        """The structure of an element, with a spec at each leaf."""
        return _spec_of_parts(self._parts.element_spec)

    def _serialize(self) -> tuple[Any, ...]:
        return (self._parts,)

    def component_specs(self) -> tuple[Any, ...]:
        """The spec of the iterator over parts."""
        return (self._parts,)

    def to_components(self, value: Any) -> tuple[object, ...]:
        """The iterator over parts."""
        return (value.parts,)

    def from_components(self, components: Sequence[Any]) -> DistributedIterator:
        """The DistributedIterator of this iterator."""
        return DistributedIterator(components[0])


def joined(parts: Sequence[Any]) -> Any:
    """An element for each replica as one element.

    Args:
        parts: an element of each.
    """
    if len(parts) == 1:
        return parts[0]
    return structure.map_structure(lambda *leaves: PerReplica(leaves), *parts)


def _spec_of_parts(specs: Sequence[Any]) -> Any:
    if len(specs) == 1:
        return specs[0]
    return structure.map_structure(lambda *leaves: PerReplicaSpec(*leaves), *specs)


def split_over_replicas(
    strategy: Any, dataset: Any, options: InputOptions | None
) -> DistributedDataset:
    """See `Strategy.experimental_distribute_dataset`."""
    who = "experimental_distribute_dataset"
    _require_dataset(who, dataset)
    if _mode(who, options) is InputReplicationMode.PER_REPLICA:
        raise NotImplementedError(_PER_REPLICA)
    return DistributedDataset(feeding.split(dataset, strategy.num_replicas_in_sync))


def _require_dataset(who: str, dataset: Any) -> None:
    if not isinstance(dataset, Dataset):
        raise TypeError(
            f"{who}: dataset must be a Dataset, got {type(dataset).__name__}\n"
            "  Try: tf.data.Dataset.from_tensor_slices(...).batch(...)"
        )


def from_function(
    strategy: Any, dataset_fn: Callable[[InputContext], Any], options: InputOptions | None
) -> DistributedDataset:
    """See `Strategy.distribute_datasets_from_function`."""
    who = "distribute_datasets_from_function"
    count = strategy.num_replicas_in_sync
    each = _mode(who, options) is InputReplicationMode.PER_REPLICA
    made = []
    for number in range(count if each else 1):
        dataset = dataset_fn(InputContext(count if each else 1, number, count))
        if not isinstance(dataset, Dataset):
            raise TypeError(f"{who}: dataset_fn must give a Dataset, gave {type(dataset).__name__}")
        made.append(dataset)
    return DistributedDataset(Dataset.zip(tuple(made)) if each else feeding.dealt(made[0], count))


def _mode(who: str, options: Any) -> InputReplicationMode:
    if options is None:
        return InputReplicationMode.PER_WORKER
    if not isinstance(options, InputOptions):
        raise TypeError(f"{who}: options must be InputOptions, got {options!r}")
    return options.experimental_replication_mode


def shared_out(processes: Any, dataset: Any, options: InputOptions | None) -> DistributedDataset:
    """One process's shard of a dataset; see `experimental_distribute_dataset`."""
    from pinnace.distribute import sharding  # for jobs of several processes

    who = "experimental_distribute_dataset"
    _require_dataset(who, dataset)
    if _mode(who, options) is InputReplicationMode.PER_REPLICA:
        raise NotImplementedError(_PER_REPLICA)
    return _alone(sharding.share_of(dataset, processes))


def from_function_of_process(
    processes: Any, dataset_fn: Callable[[InputContext], Any], options: InputOptions | None
) -> DistributedDataset:
    """A dataset for each process; see `distribute_datasets_from_function`."""
    from pinnace.distribute import sharding

    who = "distribute_datasets_from_function"
    _mode(who, options)
    count = processes.size
    dataset = dataset_fn(InputContext(count, processes.rank, count))
    if not isinstance(dataset, Dataset):
        raise TypeError(f"{who}: dataset_fn must give a Dataset, gave {type(dataset).__name__}")
    return _alone(sharding.InStep(dataset.stage, processes))


def _alone(stage: Stage) -> DistributedDataset:
    """The elements of a single replica."""
    return DistributedDataset(Dataset.zip((Dataset(stage),)))
