"""Strategy: running a program on several replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.distribute import inputs
from pinnace.distribute.options import RunOptions
from pinnace.distribute.reductions import ReduceOp, divided, known_op, total
from pinnace.distribute.scope import Scope
from pinnace.distribute.values import DistributedValues, PerReplica, local_values, select
from pinnace.framework import structure
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.places import current, require_between_replicas
from pinnace.functions.function import Function
from pinnace.ops.array import joining, shapes
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.data.dataset import Dataset
    from pinnace.distribute.extended import StrategyExtended


class Strategy:
    """The base class of strategies: `MirroredStrategy` and others run a program on replicas.

    Args:
        extended: its implementation, a StrategyExtended.
    """

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended

    @property
    def extended(self) -> StrategyExtended:
        """The strategy's extended interface, which libraries use."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas whose gradients are summed."""
        return self._extended._num_replicas

    @property
    def cluster_resolver(self) -> Any:
        """The resolver of the cluster's processes; None for a strategy of one process."""
        return self._extended._cluster_resolver

    def scope(self) -> Any:
        """A block whose variables have a copy per replica; Keras models belong in it.

        Raises:
            RuntimeError: inside a replica, or in the block of another strategy.
        """
        return Scope(self, self._extended._creator)

    def run(
        self,
        fn: Callable[..., Any],
        args: Any = (),
        kwargs: dict[str, Any] | None = None,
        options: RunOptions | None = None,
    ) -> Any:
        """Call a function once per replica.

        The replicas take turns: one thread runs at a time, and they share the cores.

        Args:
            fn: a Python function or a `function`. Of a PerReplica among its arguments it gets what
                is its replica's.
            args: its arguments.
            kwargs: keyword arguments, likewise.
            options: hints for TPUs.

        Returns:
            The result of `fn`, in its structure; PerReplica where the replicas' values are
            different objects. With one replica, the result itself.

        Raises:
            RuntimeError: inside a replica, or in the scope of another strategy; the replicas meet
                a different number of times.
        """
        if options is not None and not isinstance(options, RunOptions):
            raise TypeError(f"run: options must be RunOptions, got {options!r}")
        if not callable(fn):
            raise TypeError(f"run: fn: {type(fn).__name__!r} object is not callable, got {fn!r}")
        if not isinstance(args, (tuple, list)):
            raise TypeError(f"run: args must be a tuple or list, got {type(args).__name__}")
        function = fn
        if state.convert is not None and not isinstance(fn, Function):
            function = state.convert(fn)
        with self.scope():
            return self._extended.call_for_each_replica(function, tuple(args), kwargs)

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: Any) -> Any:
        """The sum or mean of a value over the replicas.

        Args:
            reduce_op: a ReduceOp or its name.
            value: a PerReplica, or a structure of them.
            axis: an axis, or several, that are summed or averaged too; None leaves all. A mean
                counts rows: a replica with more of them weighs more.

        Returns:
            The structure of `value`, of tensors.

        Raises:
            RuntimeError: inside a replica.
            ValueError: the sum of a value that all replicas share: once, or once for each?
            InvalidArgumentError: shapes that differ after `axis` is gone.
        """
        require_between_replicas("Strategy.reduce")
        op = known_op(reduce_op)
        with self.scope():
            return structure.map_structure(lambda leaf: self._reduced(op, leaf, axis), value)

    def _reduced(self, op: ReduceOp, value: Any, axis: Any) -> Any:
        if axis is None:
            return self._extended.reduce_to(op, value, value)
        axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
        local = self.experimental_local_results(value)
        if len(local) == 1:  # all replicas have the same value
            local *= len(self._extended._replica_numbers)
        tensors = [convert_to_tensor(one) for one in local]
        sums = total([reduction.reduce_sum(one, axis=axes) for one in tensors])
        sums = self._extended._summed(sums)
        if op is ReduceOp.SUM:
            return sums
        rows: Any = self._extended._summed(total([_rows(one, axes) for one in tensors]))
        return divided(sums, rows)

    def gather(self, value: Any, axis: int) -> Any:
        """The values of the replicas one after the other.

        Args:
            value: a PerReplica of tensors, or a structure of them.
            axis: the axis to join along; all others must have equal sizes.

        Raises:
            RuntimeError: inside a replica.
            ValueError: a scalar.
            InvalidArgumentError: other sizes differ.
        """
        place = current()
        if place is not None and place.replica is not None:
            raise RuntimeError(
                "tf.distribute.Strategy.gather method requires cross-replica context, use "
                "get_replica_context().all_gather() instead"
            )

        def gathered(leaf: Any) -> Any:
            tensors = [convert_to_tensor(one) for one in self.experimental_local_results(leaf)]
            if any(one.shape.rank == 0 for one in tensors):
                raise ValueError(f"gather: a scalar has no axis {axis} to join along, got {leaf}")
            joined = tensors[0] if len(tensors) == 1 else joining.concat(tensors, axis)
            return self._extended._gathered([joined], axis)[0]

        return structure.map_structure(gathered, value)

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """An older name of `experimental_local_results`."""
        return self.experimental_local_results(value)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas of this process, in their order.

        Args:
            value: a PerReplica, a variable, or a structure of them.

        Returns:
            A value per replica; for a value that does not differ between replicas, a single one.
        """
        leaves = structure.flatten(value)
        if not any(isinstance(leaf, DistributedValues) for leaf in leaves):
            return (value,)
        count = next(len(x.values) for x in leaves if isinstance(x, DistributedValues))
        if not structure.is_nested(value):
            return tuple(local_values(value, count))
        return tuple(select(replica, value) for replica in range(count))

    def experimental_distribute_dataset(
        self, dataset: Dataset, options: inputs.InputOptions | None = None
    ) -> Any:
        """A dataset of batches whose batches are split over the replicas.

        A batch of n samples is cut into pieces of ceil(n / replicas): the last replicas get fewer,
        or none.

        Args:
            dataset: its batches are for all replicas together.
            options: hints for devices of other kinds.

        Returns:
            An iterable of PerReplica elements, outside and inside of a `function`; with one
            replica, of the dataset's elements.

        Raises:
            ValueError: the elements are no batches.
            NotImplementedError: `options` ask for a pipeline per replica.
        """
        return self._extended._distributed_dataset(self, dataset, options)

    def distribute_datasets_from_function(
        self,
        dataset_fn: Callable[[inputs.InputContext], Dataset],
        options: inputs.InputOptions | None = None,
    ) -> Any:
        """A dataset whose elements go to the replicas in turn.

        Args:
            dataset_fn: takes an InputContext and gives a dataset, batched for one replica.
            options: hints for devices of other kinds; with `InputReplicationMode.PER_REPLICA`
                `dataset_fn` is called for each replica, which reads its own dataset.

        Returns:
            An iterable of PerReplica elements.
        """
        return self._extended._dataset_from_function(self, dataset_fn, options)

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def experimental_distribute_values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        """A PerReplica made by a function.

        Args:
            value_fn: takes a ValueContext, and gives the value of that replica, or a structure.

        Raises:
            RuntimeError: inside a replica.
        """
        require_between_replicas("Strategy.experimental_distribute_values_from_function")
        count = self.num_replicas_in_sync
        numbers = self._extended._replica_numbers
        values = [value_fn(inputs.ValueContext(replica, count)) for replica in numbers]
        if not self._extended._wraps_one:
            return values[0]
        return structure.map_structure(lambda *leaves: PerReplica(leaves), *values)

    def update_config_proto(self, config_proto: Any) -> Any:
        """The configuration unchanged, since there are no servers.

        Args:
            config_proto: the message.
        """
        return config_proto

    def __deepcopy__(self, memo: dict[int, Any]) -> Strategy:
        return self  # a copy of a variable stays in its strategy


def _rows(tensor: Any, axes: tuple[int, ...]) -> Any:
    """The number of elements summed into one along these axes, an int64 scalar."""
    sizes = shapes.shape(tensor, out_type="int64")
    rank = tensor.shape.rank
    return reduction.reduce_prod(joining.stack([sizes[axis % rank] for axis in axes]))
