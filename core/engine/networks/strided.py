"""Where values lie that are parts of others, or have their axes in another order.

Attention, programs and copies read and write such values where they are, so that the steps between
are none at all.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.engine.networks.sampled import key_of
from pinnace.ops.array.slicing import SLICE, STRIDED_SLICE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

SLICING = frozenset({STRIDED_SLICE, SLICE})


class Strided(NamedTuple):
    """Where the numbers of a value lie.

    Attributes:
        base: among the numbers of this one.
        first: the place of its first number there.
        along: numbers from one to the next along each of its axes.
    """

    base: Value
    first: int
    along: tuple[int, ...]


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Numbers from one to the next along each axis of a tensor that lies by itself."""
    if not shape:
        return ()
    return tuple(itertools.accumulate(shape[:0:-1], operator.mul, initial=1))[::-1]


def lies(reader: Reader, value: Value) -> Strided:
    """Where a value lies."""
    found = reader.strided.get(value)
    return Strided(value, 0, contiguous(reader.sizes[value])) if found is None else found


def is_somewhere(reader: Reader, value: Value) -> bool:
    """Whether it is a float32 tensor that differs from call to call, perhaps a part of another."""
    return value in reader.strided or reader.is_moving(value)


def is_made(reader: Reader, value: Value) -> bool:
    """Whether it is such a tensor, and the network makes it."""
    return is_somewhere(reader, value) and reader.root(value) in reader.made


def slice_of(reader: Reader, node: Node) -> Strided | None:
    """Where a slice lies; None if that is not known, or it goes backwards."""
    x, out = node.inputs[0], node.outputs[0]
    key = key_of(node, reader.sizes[x])
    if key is None or out not in reader.sizes:
        return None
    base, first, along = lies(reader, x)
    # An array of bytes: its strides are the numbers'. Nothing is read.
    byte = np.empty(1, np.int8)
    whole = np.lib.stride_tricks.as_strided(byte, reader.sizes[x], along, writeable=False)
    part = whole[tuple(key)]
    if part.shape != reader.sizes[out] or any(step < 0 for step in part.strides):
        return None
    return Strided(base, first + part.ctypes.data - whole.ctypes.data, part.strides)


def outside_slice(reader: Reader, value: Value) -> Strided | None:
    """Where a slice of a tensor from outside lies, which need not be made if that is read.

    As an array whose parts lie apart it would be copied.
    """
    node = value.node
    if node.op not in SLICING or value in reader.made or not reader.may_pass(node):
        return None
    base = node.inputs[0]
    if not reader.is_moving(base) or reader.root(base) in reader.made:
        return None
    return slice_of(reader, node)


def reshaped(strided: Strided, given: Sequence[int], wanted: Sequence[int]) -> Strided | None:
    """Where a value lies in another shape; None if axes would be one that do not lie so."""
    old = [(n, step) for n, step in zip(given, strided.along, strict=True) if n != 1]
    new = [n for n in wanted if n != 1]
    steps: list[int] = []
    while old:
        # As many axes of both as have the same size together.
        (size, step), *old = old
        count, made = 1, new[0]
        while size != made:
            if made < size:
                made *= new[count]
                count += 1
            else:
                (more, inner), *old = old
                if step != more * inner:
                    return None
                size, step = size * more, inner
        some, new = new[:count], new[count:]
        steps += [step * n for n in contiguous(some)]
    left = iter(steps)
    return strided._replace(along=tuple(0 if n == 1 else next(left) for n in wanted))


def spread_to(
    strided: Strided, given: Sequence[int], wanted: Sequence[int]
) -> tuple[int, ...] | None:
    """Numbers from one to the next along the axes of a shape that a value is spread to.

    Args:
        strided: where the value lies.
        given: its shape.
        wanted: the shape.

    Returns:
        0 along axes on which it has one; None if it cannot be spread so.
    """
    missing = len(wanted) - len(given)
    if missing < 0:
        return None
    found = [0] * missing
    for size, step, whole in zip(given, strided.along, wanted[missing:], strict=True):
        if size not in {1, whole}:
            return None
        found.append(step if size == whole else 0)
    return tuple(found)


class Loop(NamedTuple):
    """One of the loops over some values at once.

    Attributes:
        size: how often it is gone through.
        steps: each value's numbers from one to the next.
    """

    size: int
    steps: tuple[int, ...]


def loops_of(
    shape: Sequence[int], along: Sequence[Sequence[int]], most: int | None = None
) -> list[Loop]:
    """As few loops as go over all values; the last one is the innermost.

    Args:
        shape: of the result.
        along: of each value, numbers from one to the next along these axes.
        most: numbers of the innermost loop, unless it is but the last axis.
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


def numbers_of(loops: Sequence[Loop]) -> int:
    """How often what is innermost is done."""
    return math.prod(loop.size for loop in loops)
