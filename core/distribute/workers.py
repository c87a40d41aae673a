"""MultiWorkerMirroredStrategy: one replica in each process of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.distribute import collectives, inputs
from pinnace.distribute.clusters import described_workers, resolver_of
from pinnace.distribute.extended import StrategyExtended
from pinnace.distribute.options import CollectiveCommunication, CommunicationOptions
from pinnace.distribute.reductions import ReduceOp, known_op
from pinnace.distribute.replica_context import ReplicaContext
from pinnace.distribute.starting import processes_of_job
from pinnace.distribute.strategy import Strategy
from pinnace.distribute.variables import (
    DistributedVariable,
    MirroredVariable,
    SyncOnReadVariable,
    made_in_scope,
)
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.places import require_between_replicas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor


class MultiWorkerMirroredStrategy(Strategy):
    """A replica in each process of a job, on one machine or several, each with a copy of variables.

    `mpirun` starts the processes, which run the same program; MPI says how many there are, and
    which one this is. They split each batch and add up their gradients, all of a step in one
    buffer. A process that was started alone is one replica, and needs no MPI.

    Every process takes part in all operations of the strategy: `fit`, `run`, `reduce`, and saving,
    where the first process, the chief, writes for all.

    Args:
        cluster_resolver: says which processes there are, if TF_CONFIG does not; both must agree
            with MPI.
        communication_options: only `timeout_seconds` has an effect: how long to wait for the
            others, at the start (300 if it is not given) and in each exchange (without end if it is
            not given).

    Raises:
        ImportError: several processes are described, and mpi4py is missing.
        ValueError: TF_CONFIG, or the resolver, describes another cluster than MPI has.
        DeadlineExceededError: not all processes have started in time.
    """

    def __init__(
        self,
        cluster_resolver: Any = None,
        communication_options: CommunicationOptions | None = None,
    ) -> None:
        options = communication_options or CommunicationOptions()
        super().__init__(WorkersExtended(self, type(self).__name__, cluster_resolver, options))


class OlderMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """`tf.distribute.MultiWorkerMirroredStrategy` with its former arguments.

    Args:
        communication: a CollectiveCommunication; how arrays travel is for MPI to say.
        cluster_resolver: says which processes there are, if TF_CONFIG does not.
    """

    def __init__(
        self,
        communication: Any = CollectiveCommunication.AUTO,
        cluster_resolver: Any = None,
    ) -> None:
        super().__init__(cluster_resolver, CommunicationOptions(implementation=communication))


OlderMultiWorkerMirroredStrategy.__name__ = "MultiWorkerMirroredStrategy"
OlderMultiWorkerMirroredStrategy.__qualname__ = "MultiWorkerMirroredStrategy"


class WorkersExtended(StrategyExtended):
    """The extended interface of a MultiWorkerMirroredStrategy, which libraries use.

    Args:
        container_strategy: the strategy it belongs to.
        who: name of the caller in messages.
        cluster_resolver: see the strategy.
        options: see the strategy.
    """

    def __init__(
        self,
        container_strategy: Strategy,
        who: str,
        cluster_resolver: Any,
        options: CommunicationOptions,
    ) -> None:
        super().__init__(container_strategy)
        if not isinstance(options, CommunicationOptions):
            raise TypeError(
                f"{who}: communication_options must be CommunicationOptions, got {options!r}"
            )
        described = described_workers(cluster_resolver)
        processes = processes_of_job(who, options.timeout_seconds, described)
        self._processes = processes
        self._cluster_resolver = resolver_of(who, cluster_resolver, processes.rank, processes.size)
        task = self._cluster_resolver
        self._devices = (
            f"/job:{task.task_type}/replica:0/task:{task.task_id}/device:CPU:0"
            if processes.size > 1
            else "/job:localhost/replica:0/task:0/device:CPU:0",
        )
        self._num_replicas = processes.size
        self._reducer = collectives.AllReduce(processes)

    @property
    def _replica_numbers(self) -> range:
        return range(self._processes.rank, self._processes.rank + 1)

    @property
    def should_checkpoint(self) -> bool:
        """Whether this process writes checkpoints: True for the chief."""
        return self._processes.rank == 0

    @property
    def should_save_summary(self) -> bool:
        """Whether this process writes summaries: True for the chief."""
        return self._processes.rank == 0

    def replica_context(self, replica: int | None) -> ReplicaContext:
        """The ReplicaContext of this process, which has a single replica."""
        del replica
        return _WorkerContext(self._container(), self._processes.rank)

    def _creator(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        if self._num_replicas > 1:
            options["initial_value"] = self._of_chief(
                options.get("initial_value"), options.get("dtype"), options.get("name")
            )
        kinds = (MirroredVariable, SyncOnReadVariable)
        return made_in_scope(kinds, self._container(), 1, next_creator, options)

    def _of_chief(self, value: Any, dtype: Any, name: Any) -> Any:
        """A variable's initial value as a function that gets it from the chief."""

        def first() -> Any:
            own = convert_to_tensor(value() if callable(value) else value, dtype=dtype)
            return self._sent(own, f"making variable {name!r}")

        return first if value is not None else None

    def _sent(self, tensor: Tensor, what: str) -> Tensor:
        return collectives.broadcast(self._processes, tensor, what)

    # Sums and gathers.

    def reduce_to(
        self, reduce_op: ReduceOp | str, value: Any, destinations: Any, options: Any = None
    ) -> Any:
        """The sum or mean of one value over the processes; see StrategyExtended.

        A value that is the same on all replicas counts once for each process.
        """
        if self._num_replicas == 1:
            return super().reduce_to(reduce_op, value, destinations, options)
        require_between_replicas("StrategyExtended.reduce_to")
        op = known_op(reduce_op)
        if isinstance(value, MirroredVariable) and op is ReduceOp.MEAN:
            return value.read_value()
        if isinstance(value, DistributedVariable):
            value = self._copies(op, value)
        return self._reducer.reduce(op, value, destinations, options)

    def batch_reduce_to(
        self,
        reduce_op: ReduceOp | str,
        value_destination_pairs: Sequence[tuple[Any, Any]],
        options: Any = None,
    ) -> list[Any]:
        """The sums or means of several values over the processes, in one exchange."""
        if self._num_replicas == 1:
            return super().batch_reduce_to(reduce_op, value_destination_pairs, options)
        require_between_replicas("StrategyExtended.batch_reduce_to")
        return self._reducer.batch_reduce(known_op(reduce_op), value_destination_pairs, options)

    def _summed(self, tensor: Tensor) -> Tensor:
        if self._num_replicas == 1:
            return tensor
        return collectives.summed(self._processes, [tensor])[0]

    def _gathered(self, tensors: Sequence[Tensor], axis: int) -> list[Tensor]:
        if self._num_replicas == 1:
            return list(tensors)
        return collectives.gathered(self._processes, tensors, axis)

    def _distributed_dataset(self, strategy: Strategy, dataset: Any, options: Any) -> Any:
        if self._num_replicas == 1:
            return super()._distributed_dataset(strategy, dataset, options)
        return inputs.shared_out(self._processes, dataset, options)

    def _dataset_from_function(self, strategy: Strategy, dataset_fn: Any, options: Any) -> Any:
        if self._num_replicas == 1:
            return super()._dataset_from_function(strategy, dataset_fn, options)
        return inputs.from_function_of_process(self._processes, dataset_fn, options)


class _WorkerContext(ReplicaContext):
    """The replica of this process."""

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of this replica."""
        found: tuple[str, ...] = self._strategy.extended.worker_devices
        return found
