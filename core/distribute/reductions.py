"""Reductions over replicas: ReduceOp and CrossDeviceOps."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from pinnace.distribute.values import DistributedValues
from pinnace.framework import dtypes
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.no_effect import ignored
from pinnace.framework.variable import VariableAggregation
from pinnace.ops.array import casting, joining
from pinnace.ops.math import arithmetic, division

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ReduceOp(Enum):
    """The kind of reduction over replicas: sum or mean."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: VariableAggregation) -> ReduceOp:
        """The op for a variable's aggregation.

        Raises:
            ValueError: the aggregation is neither a sum nor a mean.
        """
        names = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}
        if aggregation not in names:
            raise ValueError(
                f"Could not convert from `tf.VariableAggregation` {aggregation} to"
                "`tf.distribute.ReduceOp` type: only SUM and MEAN are reductions"
            )
        return names[aggregation]


def known_op(given: Any) -> ReduceOp:
    """A ReduceOp, or its name in any case.

    Raises:
        ValueError: the name is that of no ReduceOp.
    """
    return ReduceOp(given.upper()) if isinstance(given, str) else ReduceOp(given)


def total(values: Sequence[Any]) -> Any:
    """The sum of tensors, of indexed slices (concatenated), or of numbers."""
    if len(values) == 1:
        return values[0]
    if any(isinstance(value, IndexedSlices) for value in values):
        parts = [value for value in values if isinstance(value, IndexedSlices)]
        if len(parts) < len(values):
            return arithmetic.add_n([convert_to_tensor(value) for value in values])
        return IndexedSlices(
            joining.concat([part.values for part in parts], 0),
            joining.concat([part.indices for part in parts], 0),
            parts[0].dense_shape,
        )
    for value in values:
        if is_composite(value) and not isinstance(value, DistributedValues):
            raise TypeError(
                f"reduce: {type(value).__name__} cannot be added, got {value!r}\n"
                "  Try: gather, or tensors"
            )
    return arithmetic.add_n([convert_to_tensor(value) for value in values])


def divided(value: Any, count: int) -> Any:
    """A sum divided by a number: in the dtype of the sum, float64 for integers."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(divided(value.values, count), value.indices, value.dense_shape)
    tensor = convert_to_tensor(value)
    kind = tensor.dtype
    if not (kind.is_floating or kind.is_complex):
        kind = dtypes.float32 if kind.size < 4 else dtypes.float64  # as integers are divided
    return division.truediv(casting.cast(tensor, kind), casting.cast(count, kind))


class CrossDeviceOps:
    """Combines values of several devices; subclasses define the `_implementation` methods.

    A strategy uses it for every sum and mean over its replicas; a strategy over several processes
    exchanges values here.
    """

    def reduce(
        self,
        reduce_op: Any,
        per_replica_value: Any,
        destinations: Any,
        options: Any = None,
    ) -> Any:
        """The sum or mean of a value over the replicas.

        Args:
            reduce_op: a ReduceOp or its name.
            per_replica_value: a PerReplica of tensors or indexed slices; a tensor stands for a
                value that is the same in all replicas.
            destinations: devices or values to be near to; all are one memory here.
            options: hints, see `experimental.CommunicationOptions`.

        Returns:
            The value.
        """
        op = known_op(reduce_op)
        return self.reduce_implementation(op, per_replica_value, destinations, options)

    def batch_reduce(
        self,
        reduce_op: Any,
        value_destination_pairs: Sequence[tuple[Any, Any]],
        options: Any = None,
    ) -> list[Any]:
        """The sums or means of several values.

        Args:
            reduce_op: a ReduceOp or its name.
            value_destination_pairs: (value, destinations) of each, as `reduce` takes them.
            options: hints.

        Returns:
            The values.
        """
        op = known_op(reduce_op)
        return self.batch_reduce_implementation(op, value_destination_pairs, options)

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """A tensor made available to all replicas.

        Args:
            tensor: the tensor.
            destinations: devices or values to be near to.
        """
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """See `reduce`."""
        raise NotImplementedError(f"{type(self).__name__} must define reduce_implementation")

    def batch_reduce_implementation(
        self,
        reduce_op: ReduceOp,
        value_destination_pairs: Sequence[tuple[Any, Any]],
        options: Any,
    ) -> list[Any]:
        """See `batch_reduce`; reduces values one by one unless a subclass overrides it."""
        return [
            self.reduce_implementation(reduce_op, value, destinations, options)
            for value, destinations in value_destination_pairs
        ]

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """See `broadcast`; all replicas share memory."""
        del destinations
        return tensor


class ReductionToOneDevice(CrossDeviceOps):
    """Sums on the device of one of the values.

    Args:
        reduce_to_device: accepted; all values are in one memory.
        accumulation_fn: takes the list of values and gives their sum; `add_n` if None.
    """

    def __init__(
        self,
        reduce_to_device: str | None = None,
        accumulation_fn: Callable[[Sequence[Any]], Any] | None = None,
    ) -> None:
        ignored(
            "ReductionToOneDevice",
            "all devices are parts of one CPU",
            reduce_to_device=reduce_to_device,
        )
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn or total

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """See `reduce`."""
        del destinations, options
        return _reduced(reduce_op, per_replica_value, self.accumulation_fn)


class _PackedAllReduce(CrossDeviceOps):
    """Adds in the order of the replicas; how many packs gradients travel in changes nothing."""

    _who: str

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"{self._who} requires num_packs >= 0, but {num_packs} is specified")
        self._num_packs = num_packs

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """See `reduce`."""
        del destinations, options
        return _reduced(reduce_op, per_replica_value, total)


class HierarchicalCopyAllReduce(_PackedAllReduce):
    """The sum over all replicas for all of them; with one memory, an addition.

    Args:
        num_packs: at least 0; gradients are not packed, since none travels.

    Raises:
        ValueError: a number below 0.
    """

    _who = "HierarchicalCopy"


class NcclAllReduce(_PackedAllReduce):
    """The sum over all replicas for all of them; without GPUs an addition, as in TensorFlow.

    Args:
        num_packs: at least 0; gradients are not packed, since none travels.

    Raises:
        ValueError: a number below 0.
    """

    _who = "NCCL all-reduce"


def _reduced(op: ReduceOp, value: Any, add: Callable[[Sequence[Any]], Any]) -> Any:
    if not isinstance(value, DistributedValues):
        return value
    values = value.values
    found = add(values)
    return divided(found, len(values)) if op is ReduceOp.MEAN else found
