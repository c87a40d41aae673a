"""ReplicaContext: a replica's id, and its collective operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pinnace.distribute.reductions import known_op
from pinnace.framework import structure
from pinnace.framework.context import state, tapes_hidden
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.places import ReplicaPlace, current, entered
from pinnace.framework.tensor import Tensor
from pinnace.ops.array import constants, joining, reshaping, shapes, slicing
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ReplicaContext:
    """The context of one replica while it runs; returned by `get_replica_context`.

    Args:
        strategy: the strategy.
        replica_id_in_sync_group: its number, from 0.
    """

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any) -> None:
        self._strategy = strategy
        self._replica_id = replica_id_in_sync_group

    @property
    def strategy(self) -> Any:
        """The strategy."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return self._strategy.num_replicas_in_sync  # type: ignore[no-any-return]

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of this replica, an int32 scalar."""
        return convert_to_tensor(self._replica_id)

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of this replica."""
        return (self._strategy.extended.worker_devices[self._replica_id],)

    def __enter__(self) -> Self:
        raise RuntimeError("ReplicaContext: strategy.run enters it; it cannot be entered by hand")

    def __exit__(self, *_: object) -> None:
        """Unreachable, since `__enter__` raises."""

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Wait for all replicas, and call a function once in cross-replica context.

        Args:
            merge_fn: takes the strategy, then `args` and `kwargs` of all replicas: where they
                differ, a PerReplica.
            args: this replica's arguments.
            kwargs: keyword arguments, likewise.

        Returns:
            The result of `merge_fn`; of a PerReplica, this replica's value.

        Raises:
            RuntimeError: not all replicas come here, or this one is inside of a graph that it
                traces for itself.
        """
        function = merge_fn if state.convert is None else state.convert(merge_fn)
        arguments, named = tuple(args), dict(kwargs or {})
        place, meeting = current(), state.meeting
        if place is not None and meeting is not None:
            return meeting.merge(place.replica, function, arguments, named)
        # Outside of `run` there are no other replicas to wait for.
        with entered(ReplicaPlace(self._strategy)):
            return function(self._strategy, *arguments, **named)

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """The sum or mean of a value over all replicas, for each of them.

        Gradients flow: that of a sum is the sum of the replicas' gradients.

        Args:
            reduce_op: a ReduceOp or its name.
            value: a tensor, indexed slices, or a structure of them; the same shapes in all
                replicas.
            options: hints, see `experimental.CommunicationOptions`.

        Returns:
            The same structure.
        """
        op = known_op(reduce_op)
        flat = [_as_value(leaf) for leaf in structure.flatten(value)]
        if self.num_replicas_in_sync == 1:
            return structure.pack_sequence_as(value, flat)

        def reduced(values: Sequence[Any]) -> list[Any]:
            def merge(strategy: Any, *groups: Any) -> list[Any]:
                pairs = [(group, group) for group in groups]
                found: list[Any] = strategy.extended.batch_reduce_to(op, pairs, options)
                return found

            results = self.merge_call(merge, args=tuple(map(_own, values)))
            # New tensors for the tapes of this replica.
            with tapes_hidden():
                return [
                    y if isinstance(y, IndexedSlices) else reshaping.identity(y) for y in results
                ]

        outputs = reduced(flat)
        # Slices are gradients already: nothing is differentiated through their sum.
        places = [i for i, x in enumerate(flat) if isinstance(x, Tensor)]
        made = [outputs[i] for i in places]

        def backward(*gradients: Tensor | None) -> list[Any]:
            found: list[Any] = self.all_reduce(op, _filled(gradients, made))
            return found

        for tape in state.tapes:
            tape.record_call(tuple(flat[i] for i in places), tuple(made), backward)
        return structure.pack_sequence_as(value, outputs)

    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """The values of all replicas one after the other, for each of them.

        Args:
            value: a tensor or a structure of them; shapes may differ along `axis` only.
            axis: the axis to join them along.
            options: hints, see `experimental.CommunicationOptions`.

        Returns:
            The same structure.

        Raises:
            InvalidArgumentError: shapes differ elsewhere.
            ValueError: a scalar, indexed slices.
        """
        del options
        flat = [_gatherable(leaf, axis) for leaf in structure.flatten(value)]
        if self.num_replicas_in_sync == 1:
            return structure.pack_sequence_as(value, flat)
        sizes = [reshaping.reshape(shapes.shape(leaf)[axis], [1]) for leaf in flat]

        def merge(strategy: Any, *groups: Any) -> tuple[list[Any], list[Any]]:
            tensors, lengths = groups[: len(flat)], groups[len(flat) :]
            joined = [strategy.gather(group, axis) for group in tensors]
            return joined, [strategy.gather(group, 0) for group in lengths]

        held, lengths = self.merge_call(merge, args=(*map(_own, flat), *sizes))
        with tapes_hidden():
            outputs = [reshaping.identity(y) for y in held]

        def backward(*gradients: Tensor | None) -> list[Any]:
            found = []
            summed = self.all_reduce("SUM", _filled(gradients, outputs))
            for x, dy, size in zip(flat, summed, lengths, strict=True):
                rank = x.shape.rank or 0
                start = reduction.reduce_sum(slicing.slice(size, [0], [self._replica_id]))
                begin = [start if place == axis % rank else 0 for place in range(rank)]
                found.append(slicing.slice(dy, joining.stack(begin), shapes.shape(x)))
            return found

        for tape in state.tapes:
            tape.record_call(tuple(flat), tuple(outputs), backward)
        return structure.pack_sequence_as(value, outputs)


def _as_value(leaf: Any) -> Any:
    return leaf if isinstance(leaf, IndexedSlices) else convert_to_tensor(leaf)


def _own(value: Any) -> Any:
    """A new object for this replica: an object shared by all counts as a single value."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(value.values, value.indices, value.dense_shape)
    with tapes_hidden():
        return reshaping.identity(value)


def _gatherable(leaf: Any, axis: int) -> Tensor:
    if isinstance(leaf, IndexedSlices):
        raise NotImplementedError("all_gather: IndexedSlices cannot be gathered, got one")
    tensor = convert_to_tensor(leaf)
    if tensor.shape.rank == 0:
        raise ValueError(f"all_gather: a scalar has no axis {axis} to join along, got {tensor!r}")
    return tensor


def _filled(gradients: Sequence[Tensor | None], like: Sequence[Tensor]) -> list[Tensor]:
    return [
        constants.zeros_like(y) if dy is None else dy for y, dy in zip(like, gradients, strict=True)
    ]
