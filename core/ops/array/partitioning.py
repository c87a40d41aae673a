"""DynamicPartition, which distributes rows over tensors, and DynamicStitch, its inverse."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import constants, gathering, reshaping, shapes
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.math import ranges
from pinnace.ops.opdef import InferCall, OpCall
from pinnace.ops.registry import define

__all__ = ["dynamic_partition", "dynamic_stitch"]


@takes_composites(ragged="stacking:dynamic_partition")
def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The rows of `data` distributed over several tensors by `partitions`, each in order.

    Args:
        data: [p, q], groups of axes.
        partitions: [p], int32, from 0 to num_partitions - 1.
        num_partitions: how many tensors, at least 1.
        name: name of the node while tracing.

    Returns:
        `num_partitions` tensors [?, q], dtype of `data`.

    Raises:
        InvalidArgumentError: a number in `partitions` is out of range, or `data` does not begin
            with its shape.
    """
    return list(
        execute(DYNAMIC_PARTITION, data, partitions, num_partitions=int(num_partitions), name=name)
    )


def _partition_kernel(data: Array, partitions: Array, *, num_partitions: int) -> tuple[Array, ...]:
    if partitions.size and (partitions.min() < 0 or partitions.max() >= num_partitions):
        bad = (partitions < 0) | (partitions >= num_partitions)
        at = tuple(int(i) for i in np.unravel_index(int(bad.argmax()), partitions.shape))
        raise InvalidArgumentError(
            f"DynamicPartition: partitions{list(at)} = {int(partitions[at])} is not in [0, "
            f"{num_partitions})"
        )
    rows = data.reshape(partitions.size, *data.shape[partitions.ndim :])
    owner = partitions.reshape(-1)
    return tuple(rows[owner == i] for i in range(num_partitions))


def _infer_partition(call: InferCall) -> tuple[Shape, ...]:
    data, partitions = call.spec(0).shape, call.spec(1).shape
    count: int = call.attrs["num_partitions"]
    if count < 1:
        call.fail(f"num_partitions must be at least 1, got {count}")
    if data.rank is None or partitions.rank is None:
        return (Shape(None),) * count
    if not data[: partitions.rank].is_compatible_with(partitions):
        call.fail("data must begin with the shape of partitions")
    return (Shape([None, *list(data)[partitions.rank :]]),) * count


def _partition_gradient(call: OpCall, *dys: Tensor | None) -> tuple[Any, ...]:
    data, partitions = call.inputs
    places = reshaping.reshape(
        ranges.range(0, shapes.size(partitions), 1), shapes.sizes(partitions)
    )
    count = len(call.outputs)
    found = dynamic_partition(places, partitions, count)
    parts = [
        constants.zeros_like(y) if dy is None else dy
        for dy, y in zip(dys, call.outputs, strict=True)
    ]
    return reshaping.reshape(dynamic_stitch(found, parts), shapes.sizes(data)), None


DYNAMIC_PARTITION = define(
    name="DynamicPartition",
    signature="data: T, partitions: int32 -> outputs: num_partitions*T",
    types={"T": ANY_VALUE},
    infer=_infer_partition,
    kernel=_partition_kernel,
    gradient=_partition_gradient,
)


def _stitch_kernel(indices: tuple[Array, ...], data: tuple[Array, ...]) -> Array:
    count = 1 + max((int(i.max()) for i in indices if i.size), default=-1)
    rest = data[0].shape[indices[0].ndim :]
    out = np.full((count, *rest), b"" if data[0].dtype == object else 0, data[0].dtype)
    for i, rows in zip(indices, data, strict=True):
        if i.size and i.min() < 0:
            raise InvalidArgumentError(
                f"DynamicStitch: indices must be at least 0, got {int(i.min())}"
            )
        out[i.reshape(-1)] = rows.reshape(i.size, *rest)
    return out


def _infer_stitch(call: InferCall) -> Shape:
    indices, data = _shapes(call, 0), _shapes(call, 1)
    if len(indices) != len(data):
        call.fail("indices and data must be lists of the same length")
    rest = Shape(None)
    for i, rows in zip(indices, data, strict=True):
        if i.rank is None or rows.rank is None:
            continue
        if not rows[: i.rank].is_compatible_with(i):
            call.fail("each of data must begin with the shape of its indices")
        if not rest.is_compatible_with(rows[i.rank :]):
            call.fail("the axes after the shape of the indices must be equal in all of data")
        rest = rest.merge_with(rows[i.rank :])
    return Shape([None]).concatenate(rest)


def _shapes(call: InferCall, index: int) -> Sequence[Shape]:
    return [spec.shape for spec in call.specs(index)]


def _stitch_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    indices = call.inputs[0]
    # TensorFlow: an overwritten row gets the gradient of the row that replaced it.
    return (None,) * len(indices), [gathering.gather(dy, i) for i in indices]


_STITCH: dict[str, Any] = {
    "signature": "indices: N*int32, data: N*T -> merged: T",
    "types": {"T": ANY_VALUE},
    "infer": _infer_stitch,
    "kernel": _stitch_kernel,
    "gradient": _stitch_gradient,
}


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """The rows of all `data`, placed by `indices` in one tensor; the last of duplicates stays.

    Args:
        indices: tensors [p_i], int32, of any shapes.
        data: tensors [p_i, q], of one dtype.
        name: name of the node while tracing.

    Returns:
        [largest index + 1, q], dtype of `data`; rows without an index are 0.

    Raises:
        InvalidArgumentError: shapes do not fit, or an index is negative.
    """
    return execute_one(DYNAMIC_STITCH, list(indices), list(data), name=name)


DYNAMIC_STITCH = define(name="DynamicStitch", **_STITCH)
PARALLEL_DYNAMIC_STITCH = define(name="ParallelDynamicStitch", **_STITCH)
