"""Strides of tensors, of their slices, and the loops over several of them at once."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.graph import constant_of
from pinnace.ops.array.slicing import MASKS, SLICE, index_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    if not shape:
        return ()
    return tuple(itertools.accumulate(shape[:0:-1], operator.mul, initial=1))[::-1]


class Part(NamedTuple):
    """The location of a slice's numbers.

    Attributes:
        first: offset of the first one in the whole.
        shape: the slice's shape.
        along: strides along its axes.
    """

    first: int
    shape: tuple[int, ...]
    along: tuple[int, ...]

    @property
    def step(self) -> int | None:
        """The distance from each number to the next one; None if it is not the same everywhere."""
        loops = loops_of(self.shape, [self.along])
        return loops[0].steps[0] if len(loops) == 1 else None


def sliced(shape: Sequence[int], along: Sequence[int], key: Sequence[Any]) -> Part:
    """A slice of a tensor.

    Args:
        shape: the tensor's shape.
        along: its strides.
        key: an index as NumPy takes it.
    """
    # An array of bytes: its strides are in numbers. Nothing is read.
    byte = np.empty(1, np.int8)
    whole = np.lib.stride_tricks.as_strided(byte, shape, along, writeable=False)
    part = whole[(*key, ...)]  # with the Ellipsis a single number is an array, too
    return Part(part.ctypes.data - whole.ctypes.data, part.shape, part.strides)


def key_of(
    node: Node,
    shape: tuple[int, ...],
    constant: Callable[[Value], Array | None] = constant_of,
) -> list[Any] | None:
    """The index of each axis in a StridedSlice or a Slice; None if it is unknown.

    Args:
        node: the step.
        shape: the shape of its input.
        constant: returns the array of a value that never changes, or None.
    """
    vectors = [constant(value) for value in node.inputs[1:]]
    if any(one is None for one in vectors):
        return None
    begin, *others = (np.asarray(one).tolist() for one in vectors)
    if node.op is SLICE:
        return [
            slice(first, n if count == -1 else first + count)
            for first, count, n in zip(begin, *others, shape, strict=True)
        ]
    masks: Any = tuple(int(node.attrs[name]) for name in MASKS)
    try:
        *key, _ = index_of(node.op.name, shape, (begin, *others), masks)
    except InvalidArgumentError:
        return None  # the plan raises the error
    return key


class Loop(NamedTuple):
    """One of the loops over several values at once.

    Attributes:
        size: number of iterations.
        steps: the stride of each value.
    """

    size: int
    steps: tuple[int, ...]


def loops_of(
    shape: Sequence[int], along: Sequence[Sequence[int]], most: int | None = None
) -> list[Loop]:
    """The fewest loops that cover all values; the last one is the innermost.

    Args:
        shape: the result's shape.
        along: strides of each value along these axes.
        most: limit for the innermost loop, unless it is a single axis.
    """
    found: list[Loop] = []
    for axis in reversed(range(len(shape))):
        size, steps = shape[axis], tuple(one[axis] for one in along)
        if size == 1:
            continue
        if found:
            inner, given = found[0]
            fits = len(found) > 1 or most is None or size * inner <= most
            if fits and all(a == b * inner for a, b in zip(steps, given, strict=True)):
                found[0] = Loop(size * inner, given)
                continue
        found.insert(0, Loop(size, steps))
    return found or [Loop(1, (1,) * len(along))]
