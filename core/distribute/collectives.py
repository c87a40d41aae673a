"""Sums, gathers and broadcasts of tensors over the processes of a job, as ops of a graph.

They are Python functions that a graph calls in program order: all processes have the same graph,
and so run the exchanges in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.distribute.reductions import CrossDeviceOps, ReduceOp, divided
from pinnace.distribute.values import DistributedValues
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.shapes import Shape
from pinnace.ops.functional.python_calls import numpy_function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.distribute.processes import Processes
    from pinnace.framework.tensor import Array, Tensor


class AllReduce(CrossDeviceOps):
    """Sums over the processes of a job with one replica each.

    All tensors of a batch of values travel as one buffer for each dtype, after the last of them is
    computed; indexed slices are gathered.

    Args:
        processes: the job's processes.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """See `reduce`."""
        pairs = [(per_replica_value, destinations)]
        return self.batch_reduce_implementation(reduce_op, pairs, options)[0]

    def batch_reduce_implementation(
        self,
        reduce_op: ReduceOp,
        value_destination_pairs: Sequence[tuple[Any, Any]],
        options: Any,
    ) -> list[Any]:
        """See `batch_reduce`."""
        del options
        values = [_local(value) for value, _ in value_destination_pairs]
        found: list[Any] = list(values)
        dense = [i for i, x in enumerate(values) if not isinstance(x, IndexedSlices)]
        if dense:
            sums = summed(self._processes, [values[i] for i in dense])
            for index, one in zip(dense, sums, strict=True):
                found[index] = one
        for index, value in enumerate(values):
            if isinstance(value, IndexedSlices):
                found[index] = self._slices(value)
        if reduce_op is ReduceOp.MEAN:
            return [divided(one, self._processes.size) for one in found]
        return found

    def _slices(self, value: IndexedSlices) -> IndexedSlices:
        values, indices = gathered(self._processes, [value.values, value.indices], 0)
        return IndexedSlices(values, indices, value.dense_shape)


def _local(value: Any) -> Any:
    """The value of the one replica of this process."""
    if isinstance(value, DistributedValues):
        value = value.values[0]
    if isinstance(value, IndexedSlices):
        return value
    if is_composite(value):
        raise TypeError(
            f"reduce: {type(value).__name__} cannot be added, got {value!r}\n"
            "  Try: gather, or tensors"
        )
    return convert_to_tensor(value)


def summed(processes: Processes, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The sums of tensors over the processes.

    Args:
        processes: the job's processes.
        tensors: tensors of the same shapes and dtypes on all of them.
    """
    what = f"the sum of {len(tensors)} tensors over the processes"

    def add(*arrays: Array) -> list[Array]:
        return processes.sum([np.asarray(array) for array in arrays], what)

    return _called(add, tensors, [x.shape for x in tensors])


def gathered(processes: Processes, tensors: Sequence[Tensor], axis: int) -> list[Tensor]:
    """The tensors of all processes one after the other, in the order of the processes.

    Args:
        processes: the job's processes.
        tensors: tensors whose shapes may differ along `axis` only.
        axis: to join them along.
    """
    what = "a gather over the processes"

    def join(*arrays: Array) -> list[Array]:
        parts = processes.gather([np.asarray(array) for array in arrays], what)
        return [_joined(one, axis) for one in parts]

    return _called(join, tensors, [_open(x.shape, axis) for x in tensors])


def _joined(parts: Sequence[Array], axis: int) -> Array:
    try:
        return np.concatenate(parts, axis)
    except ValueError as error:
        shapes = ", ".join(str(list(part.shape)) for part in parts)
        raise InvalidArgumentError(
            f"gather: shapes may differ along axis {axis} only, the processes have {shapes}"
        ) from error


def broadcast(processes: Processes, tensor: Tensor, what: str) -> Tensor:
    """The chief's tensor, on every process.

    Args:
        processes: the job's processes.
        tensor: a tensor of the same shape and dtype on all of them.
        what: name in messages.
    """

    def send(array: Array) -> Array:
        return processes.broadcast(np.asarray(array), what)

    return _called(send, [tensor], [tensor.shape])[0]


def _called(
    function: Callable[..., Any], tensors: Sequence[Tensor], shapes: Sequence[Shape]
) -> list[Tensor]:
    found = numpy_function(function, list(tensors), [x.dtype for x in tensors])
    for one, shape in zip(found, shapes, strict=True):
        one.set_shape(shape)
    return list(found)


def _open(shape: Shape, axis: int) -> Shape:
    if shape.rank is None:
        return shape
    return Shape([None if i == axis % shape.rank else n for i, n in enumerate(shape)])
