"""Embedding lookups as layers; indices are read in place.

Integers are not values of a network. Steps on indices before the lookup become part of how they are
read: a column of a matrix, a reshape, and Keras's handling of negative ones, `where(i < 0, i + n,
i)`. Such steps do not run if nothing else uses their results.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.engine.networks.layers import Indices, Layer
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.array.gathering import GATHER_V2
from pinnace.ops.array.selecting import SELECT_V2
from pinnace.ops.array.slicing import STRIDED_SLICE
from pinnace.ops.math.arithmetic import ADD, ADD_V2
from pinnace.ops.math.comparison import LESS

if TYPE_CHECKING:
    from pinnace.engine.networks.reading import Reader
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

_WHOLE = frozenset({dtypes.int32, dtypes.int64})
# Most indices whose offsets in their source are searched for.
_MOST_PLACES = 1 << 16


class _Found(NamedTuple):
    """The source of indices, how they are read, and the values in between."""

    base: Value
    first: int
    step: int
    wraps: int
    between: tuple[Value, ...]


def read_lookup(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place is a lookup in a constant table, and has become a layer."""
    table, indices = node.inputs[:2]
    if node.attrs["batch_dims"] or not reader.is_steady(table):
        return False
    if node.op is GATHER_V2:
        axis = constant_of(node.inputs[2])
        if axis is None or int(axis.reshape(-1)[0]) != 0:
            return False
    shape, out = reader.sizes.get(indices), node.outputs[0]
    if indices.dtype not in _WHOLE or shape is None or reader.is_steady(indices):
        return False
    found = _read_from(reader, indices)
    count = math.prod(shape)
    layer = Layer("LOOKUP", place, node, out, [found.base], weights=table)
    width = math.prod(reader.sizes[out]) // count
    layer.indices = Indices(found.first, found.step, count, found.wraps, width)
    reader.passed.update(found.between)
    return reader.add(layer)


def _read_from(reader: Reader, value: Value) -> _Found:
    """How indices are read from their source."""
    base, wraps = _wrapped(reader, value)
    between = () if base is value else (value, *value.node.inputs[:2])
    count = math.prod(reader.sizes[value])
    chain: list[Value] = []
    while _is_part(reader, base.node):
        chain.append(base)
        base = base.node.inputs[0]
    # Back to the earliest value in which they have a constant stride.
    while chain:
        found = _progression(_places(reader, base, chain), count)
        if found is not None:
            return _Found(base, *found, wraps, (*between, *chain))
        base = chain.pop()
    return _Found(base, 0, 1, wraps, between)


def _wrapped(reader: Reader, value: Value) -> tuple[Value, int]:
    """The indices before negative ones are wrapped, and the offset; else the value and 0."""
    node = value.node
    if node.op is not SELECT_V2 or node.controls:
        return value, 0
    condition, other, base = node.inputs
    less, more = condition.node, other.node
    if less.op is not LESS or more.op not in {ADD, ADD_V2} or less.controls or more.controls:
        return value, 0
    if less.inputs[0] is not base or _number(less.inputs[1]) != 0:
        return value, 0
    if reader.sizes.get(base) != reader.sizes[value]:
        return value, 0
    added = [one for one in more.inputs if one is not base]
    number = _number(added[0]) if len(added) == 1 else None
    return (value, 0) if number is None or number < 0 else (base, number)


def _number(value: Value) -> int | None:
    array = constant_of(value)
    return int(array.reshape(())) if array is not None and np.size(array) == 1 else None


def _is_part(reader: Reader, node: Node) -> bool:
    """Whether a step only selects elements of an integer input, by constants."""
    if node.controls or not node.inputs:
        return False
    base = node.inputs[0]
    if base.dtype not in _WHOLE or not 0 < math.prod(reader.sizes.get(base, (0,))) <= _MOST_PLACES:
        return False
    if node.op is STRIDED_SLICE:
        return all(constant_of(value) is not None for value in node.inputs[1:])
    return node.op.view == "reshaped"


def _places(reader: Reader, base: Value, chain: list[Value]) -> Array:
    """The offsets in `base` of the elements of a chain's result; its last step comes first."""
    found: Array = np.arange(math.prod(reader.sizes[base])).reshape(reader.sizes[base])
    for value in reversed(chain):
        node = value.node
        if node.op is STRIDED_SLICE:
            limits = [constant_of(one) for one in node.inputs[1:]]
            options = {name: node.attrs[name] for name in node.op.kernel_attrs}
            assert node.op.kernel is not None  # noqa: S101 - for mypy
            found = node.op.kernel(found, *limits, **options)
        else:
            found = found.reshape(reader.sizes[value])
    return found.reshape(-1)


def _progression(places: Array, count: int) -> tuple[int, int] | None:
    """The first offset and the stride; None if it is not constant."""
    if places.size != count:
        return None
    steps = np.diff(places)
    if steps.size and (steps != steps[0]).any():
        return None
    return int(places[0]), int(steps[0]) if steps.size else 1


def look_up(layer: Layer, table: Array, base: Array, shape: tuple[int, ...]) -> None:
    """Run a lookup by its op, whose error names the index that is out of range.

    Args:
        layer: of the kind LOOKUP.
        table: what the step takes rows of: an array, or the handle of a variable.
        base: the source of indices.
        shape: of the indices.

    Raises:
        InvalidArgumentError: an index is out of range.
    """
    assert layer.indices is not None  # noqa: S101 - for mypy: lookups have indices
    first, step, count, wraps, _ = layer.indices
    indices = base.reshape(-1)[first + step * np.arange(count)].reshape(shape)
    if wraps:
        indices = np.where(indices < 0, indices + indices.dtype.type(wraps), indices)
    op, attrs = layer.node.op, layer.node.attrs
    others = [constant_of(value) for value in layer.node.inputs[2:]]
    assert op.kernel is not None  # noqa: S101 - for mypy: a plan was made of it
    op.kernel(table, indices, *others, **{name: attrs[name] for name in op.kernel_attrs})
