"""Where the elements of a graph's dataset come from: tensors, their slices, ranges of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.dataset.recipes import ELEMENT, METADATA, dataset_op, made
from pinnace.ops.opdef import attr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.tensor import Array
    from pinnace.ops.dataset.recipes import Leaves, Turn

__all__: list[str] = []

_SHAPES = {"output_shapes": ELEMENT["output_shapes"], **METADATA}
_SPLIT = {"replicate_on_split": attr("bool", default=False)}


def _tensor_kernel(components: tuple[Array, ...]) -> Array:
    def begin(turn: Turn) -> Iterator[Leaves]:
        del turn
        yield components

    return made(begin, 1)


TENSOR = dataset_op(
    "TensorDataset", "components: (Toutput_types)", _tensor_kernel, _SHAPES, effect="read"
)


def _slices_kernel(components: tuple[Array, ...]) -> Array:
    op = "TensorSliceDataset"
    if not components or any(not one.ndim for one in components):
        raise InvalidArgumentError(
            f"{op}: components must have a first axis, got {[list(c.shape) for c in components]}"
        )
    count = len(components[0])
    if any(len(one) != count for one in components):
        raise InvalidArgumentError(
            f"{op}: components must have first axes of one size, got "
            f"{[len(one) for one in components]}"
        )

    def begin(turn: Turn) -> Iterator[Leaves]:
        del turn
        for index in range(count):
            yield tuple([one[index, ...] for one in components])

    return made(begin, count)


SLICES = dataset_op(
    "TensorSliceDataset",
    "components: (Toutput_types)",
    _slices_kernel,
    {**_SHAPES, **_SPLIT, "is_files": attr("bool", default=False)},
    effect="read",
)


def _range_kernel(start: Array, stop: Array, step: Array, *, output_types: Any) -> Array:
    if not int(step):
        raise InvalidArgumentError("RangeDataset: step must not be 0")
    numbers = range(int(start), int(stop), int(step))
    kind = output_types[0].numpy

    def begin(turn: Turn) -> Iterator[Leaves]:
        del turn
        for number in numbers:
            yield (np.array(number, kind),)

    return made(begin, len(numbers))


RANGE = dataset_op(
    "RangeDataset",
    "start: int64, stop: int64, step: int64",
    _range_kernel,
    {**ELEMENT, **METADATA, **_SPLIT},
    effect="read",
)
