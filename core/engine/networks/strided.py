"""Offsets and strides of values that are slices of others, or transposed.

Attention, programs and copies access such values in place, so that the steps in between disappear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.codegen.strides import Loop, contiguous, key_of, loops_of, sliced
from pinnace.ops.array.slicing import SLICE, STRIDED_SLICE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

SLICING = frozenset({STRIDED_SLICE, SLICE})


class Strided(NamedTuple):
    """The location of a value's numbers.

    Attributes:
        base: the value in whose memory they are.
        first: offset of its first number there.
        along: strides along each of its axes.
    """

    base: Value
    first: int
    along: tuple[int, ...]


def lies(reader: Reader, value: Value) -> Strided:
    """The location of a value: in its own memory, or in that of another."""
    found = reader.strided.get(value)
    return Strided(value, 0, contiguous(reader.sizes[value])) if found is None else found


def is_somewhere(reader: Reader, value: Value) -> bool:
    """Whether a value is an available float32 tensor that changes between calls, or part of one."""
    return value in reader.strided or reader.is_moving(value)


def is_made(reader: Reader, value: Value) -> bool:
    """Whether the network computes such a value."""
    return is_somewhere(reader, value) and reader.root(value) in reader.made


def slice_of(reader: Reader, node: Node) -> Strided | None:
    """The location of a slice; None if it is unknown, or the slice has a negative step."""
    x, out = node.inputs[0], node.outputs[0]
    key = key_of(node, reader.sizes[x])
    if key is None or out not in reader.sizes:
        return None
    base, first, along = lies(reader, x)
    ahead, shape, steps = sliced(reader.sizes[x], along, key)
    if shape != reader.sizes[out] or any(step < 0 for step in steps):
        return None
    return Strided(base, first + ahead, steps)


def outside_slice(reader: Reader, value: Value) -> Strided | None:
    """The location of a slice of an input, which need not be computed if it is read in place.

    Such a slice is not contiguous as an array, and would be copied.
    """
    node = value.node
    if node.op not in SLICING or value in reader.made or not reader.may_pass(node):
        return None
    base = node.inputs[0]
    if not reader.is_moving(base) or reader.root(base) in reader.made:
        return None
    return slice_of(reader, node)


def reshaped(strided: Strided, given: Sequence[int], wanted: Sequence[int]) -> Strided | None:
    """The location of a reshaped value; None if axes would be merged that are not contiguous."""
    left = loops_of(given, [strided.along])
    along: list[int] = []
    for n in reversed(wanted):
        # The innermost axes are parts of the innermost loop.
        size, (step,) = left[-1]
        if size % n:
            return None
        along.insert(0, 0 if n == 1 else step)
        left[-1] = Loop(size // n, (step * n,))
        if size == n and len(left) > 1:
            left.pop()
    return strided._replace(along=tuple(along))


def spread_to(
    strided: Strided, given: Sequence[int], wanted: Sequence[int]
) -> tuple[int, ...] | None:
    """The strides of a value that is broadcast to a shape.

    Args:
        strided: the value's location.
        given: its shape.
        wanted: the shape to broadcast to.

    Returns:
        The strides, 0 along broadcast axes; None if the value cannot be broadcast.
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
