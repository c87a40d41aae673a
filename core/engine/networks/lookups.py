"""Embedding lookups as layers; indices are read in place.

Integers are not values of a network. Steps on indices before the lookup become part of how they are
read: a column of a matrix, a reshape, Keras's handling of negative ones, `where(i < 0, i + n, i)`,
and JAX's handling of indices out of range: `clip(i, 0, n - 1)` before the lookup, and after it
`where((i >= 0) & (i <= n - 1), rows, nan)`. Such steps do not run if nothing else uses their
results.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.engine.codegen.strides import Part, contiguous, key_of, sliced
from pinnace.engine.networks.layers import Indices, Layer
from pinnace.engine.networks.strided import Strided, reshaped
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.array.gathering import GATHER_V2
from pinnace.ops.array.selecting import SELECT_V2
from pinnace.ops.array.slicing import STRIDED_SLICE
from pinnace.ops.math.arithmetic import ADD, ADD_V2, MAXIMUM, MINIMUM
from pinnace.ops.math.comparison import GREATER_EQUAL, LESS, LESS_EQUAL
from pinnace.ops.math.logic import LOGICAL_AND

if TYPE_CHECKING:
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

_WHOLE = frozenset({dtypes.int32, dtypes.int64})


class _Found(NamedTuple):
    """The source of indices, how they are read, whether clipped, and the values in between."""

    base: Value
    first: int
    step: int
    wraps: int
    is_clipped: bool
    between: tuple[Value, ...]


def read_lookup(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place is a lookup in a constant table and has become a layer."""
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
    found = _read_from(reader, indices, _rows(reader, table))
    count = math.prod(shape)
    layer = Layer("LOOKUP", place, node, out, [found.base], weights=table)
    width = math.prod(reader.sizes[out]) // count
    outside = "NEAREST" if found.is_clipped else "REFUSED"
    layer.indices = Indices(found.first, found.step, count, found.wraps, width, outside)
    reader.passed.update(found.between)
    return reader.add(layer)


def read_filled(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place fills the rows of a lookup whose indices are out of range."""
    condition, rows, other = node.inputs
    layer, filler = reader.open(rows), constant_of(other)
    if layer is None or layer.indices is None or layer.indices.outside != "NEAREST":
        return False
    if filler is None or np.size(filler) != 1 or layer.weights is None:
        return False
    count, indices = _rows(reader, layer.weights), layer.node.inputs[1]
    known = _clipped(indices, count)
    mask: tuple[Value, ...] = (condition,)
    while mask[-1].node.op.view == "reshaped" and not mask[-1].node.controls:
        mask = (*mask, mask[-1].node.inputs[0])
    shape, out = reader.sizes[indices], node.outputs[0]
    ones = (1,) * (len(reader.sizes[rows]) - len(shape))
    if known is None or count is None or reader.sizes.get(condition) != (*shape, *ones):
        return False
    if reader.sizes[out] != reader.sizes[rows] or not _is_inside(mask[-1], known, count):
        return False
    layer.indices = layer.indices._replace(outside="FILLED", filler=float(np.ravel(filler)[0]))
    reader.passed.update((*mask, *mask[-1].node.inputs))
    return reader.extend(layer, place, rows, out)


def _rows(reader: Reader, table: Value) -> int | None:
    """The number of rows of a table, if it is known."""
    shape = reader.shape(table)
    return shape[0] if shape else None


def _clipped(value: Value, rows: int | None) -> Value | None:
    """The indices that a value clips to the table's rows; None if it does not."""
    for outer, inner in ((MAXIMUM, MINIMUM), (MINIMUM, MAXIMUM)):
        last, first = value.node, value.node.inputs[0].node if value.node.inputs else value.node
        if last.op is not outer or first.op is not inner or last.controls or first.controls:
            continue
        limits = {outer: _number(last.inputs[1]), inner: _number(first.inputs[1])}
        if rows is not None and limits == {MAXIMUM: 0, MINIMUM: rows - 1}:
            return first.inputs[0]
    return None


def _is_inside(value: Value, indices: Value, rows: int) -> bool:
    """Whether a value says for each index whether it is in range."""
    node = value.node
    if node.op is not LOGICAL_AND or node.controls:
        return False
    limits = {}
    for one in node.inputs:
        if one.node.controls or not one.node.inputs or one.node.inputs[0] is not indices:
            return False
        limits[one.node.op] = _number(one.node.inputs[1])
    return limits in ({GREATER_EQUAL: 0, LESS_EQUAL: rows - 1}, {GREATER_EQUAL: 0, LESS: rows})


def _read_from(reader: Reader, value: Value, rows: int | None) -> _Found:
    """How indices are read, from which source, and whether they are clipped to the rows."""
    between: tuple[Value, ...] = ()
    known = _clipped(value, rows)
    if known is not None and reader.sizes.get(known) == reader.sizes[value]:
        between, value = (value, value.node.inputs[0]), known
    is_clipped = bool(between)
    base, wraps = _wrapped(reader, value)
    between += () if base is value else (value, *value.node.inputs[:2])
    chain: list[Value] = []
    while _is_part(reader, base.node):
        chain.append(base)
        base = base.node.inputs[0]
    # Find the earliest value in which they have a constant stride.
    while chain:
        found = _lies(reader, base, chain)
        if found is not None and found.step is not None:
            between = (*between, *chain)
            return _Found(base, found.first, found.step, wraps, is_clipped, between)
        base = chain.pop()
    return _Found(base, 0, 1, wraps, is_clipped, between)


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
    if base.dtype not in _WHOLE or not math.prod(reader.sizes.get(base, (0,))):
        return False
    if node.op is STRIDED_SLICE:
        return all(constant_of(value) is not None for value in node.inputs[1:])
    return node.op.view == "reshaped"


def _lies(reader: Reader, base: Value, chain: list[Value]) -> Part | None:
    """The part of `base` that a chain selects, its last step first; None if it is not strided."""
    shape = reader.sizes[base]
    found = Part(0, shape, contiguous(shape))
    for value in reversed(chain):
        if value.node.op is STRIDED_SLICE:
            key = key_of(value.node, found.shape)
            if key is None:
                return None
            part = sliced(found.shape, found.along, key)
            found = part._replace(first=found.first + part.first)
        else:
            view = reshaped(Strided(base, *found[::2]), found.shape, reader.sizes[value])
            if view is None:
                return None
            found = Part(view.first, reader.sizes[value], view.along)
    return found
