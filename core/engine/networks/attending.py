"""Attention: two products of activations, with scaling, mask and softmax in between."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.engine.codegen import equations
from pinnace.engine.codegen.strides import contiguous
from pinnace.engine.networks import fields
from pinnace.engine.networks.layers import Attending, Layer, Strides
from pinnace.engine.networks.strided import is_somewhere, lies
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.array.permutations import TRANSPOSE
from pinnace.ops.array.selecting import SELECT_V2
from pinnace.ops.math.arithmetic import ADD, ADD_V2, MUL
from pinnace.ops.math.division import REAL_DIV
from pinnace.ops.math.einstein import EINSUM
from pinnace.ops.math.products import BATCH_MAT_MUL_V2
from pinnace.ops.nn.softmaxes import SOFTMAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.codegen.equations import Products
    from pinnace.engine.networks.reading import Reader
    from pinnace.engine.networks.table import Table
    from pinnace.graph.graph import Node, Value

# Most batch axes of the products: images and heads.
_MOST_BATCH = 2
# Most scores in a row: a thread's memory grows with it.
_MOST_KEYS = 1 << 13
# Adding the same number to all scores does not change their softmax. `transformers` adds 1e-9 so
# that XLA does not merge some steps. Up to this size, such an addition is left out.
_MOST_SHIFT = 1e-6
# Queries per block, as a multiple of a tile's rows on any processor.
_TILES = 42
# Scores computed per block, which fit in the L2 cache.
_SCORES = 1 << 15
# Keys are padded to a multiple of the widest tile's columns.
_COLUMNS = 32
# Multiplications from which queries are shared between threads; the cost of reading a number, in
# multiplications.
_PIECE, _READING = 1 << 18, 16


class _Matrices(NamedTuple):
    """A batched product of two tensors.

    Attributes:
        left: the left factor, with axes [batch, rows, shared].
        right: the right factor, with axes [batch, shared, columns].
        out: the product, with axes [batch, rows, columns].
        axes: where these axes are in left, right and out.
    """

    left: Value
    right: Value
    out: Value
    axes: Products


@dataclass
class _Scores:
    """The effect of the steps between the first product and the softmax."""

    factor: float = 1.0
    masking: str = "UNMASKED"
    mask: list[Value] = field(default_factory=list)
    filler: float = 0.0


def read_attention(reader: Reader, place: int, node: Node) -> bool:
    """Whether the product at a place, and the steps to the second product, have become a layer."""
    for swapped in (False, True):
        first = _product(reader, node, swapped=swapped)
        if first is None or first.axes.output != tuple(range(len(first.axes.output))):
            continue
        between = _softmax_of(reader, first.out)
        if between is None:
            continue
        places, scores, weights = between
        (end,) = reader.uses[weights]
        # The values may be split into heads here, after the softmax.
        early = _takers(reader, range(place + 1, end), places)
        if not reader.read_early(early):
            return False
        second = _second(reader, end, weights)
        layer = None if second is None else _layer(reader, end, first, second, scores)
        if second is None or layer is None:
            reader.put_back(early)
            return False
        reader.claim([*places, end])
        after = _turned_after(reader, end, second, layer)
        if after is not None:
            reader.claim([after])
        return reader.add(layer)
    return False


def attends(reader: Reader, place: int, value: Value) -> bool:
    """Whether a step seems to be one of attention's two products, with this value as a factor."""
    if place < 0:
        return False
    node = reader.steps[place].node
    if node.op not in {EINSUM, BATCH_MAT_MUL_V2} or node.controls or len(node.inputs) != 2:
        return False
    if any(one.node.op is SOFTMAX for one in node.inputs if one is not value):
        return True
    return _softmax_of(reader, node.outputs[0]) is not None


def _turned_after(reader: Reader, place: int, second: _Matrices, layer: Layer) -> int | None:
    """Merge a transpose that is the result's only consumer; returns its place, None without one.

    Args:
        reader: the network so far.
        place: index of the second product in the plan.
        second: the second product.
        layer: the attention; its output becomes that of the transpose.
    """
    takers = reader.uses.get(second.out, ())
    if len(takers) != 1 or takers[0] < 0 or layer.attending is None:
        return None
    (at,) = takers
    node = reader.steps[at].node
    order = constant_of(node.inputs[1]) if node.op is TRANSPOSE and not node.controls else None
    if order is None or _takers(reader, range(place + 1, at), [at]):
        return None
    out = node.outputs[0]
    along = contiguous(reader.sizes[out])
    places = [int(axis) % len(order) for axis in order]
    result = _ordered([along[places.index(axis)] for axis in range(len(order))], second.axes.output)
    if result.step != 1:
        return None
    layer.attending = layer.attending._replace(result=result)
    layer.out, layer.place = out, at
    return at


def _takers(reader: Reader, between: range, places: Sequence[int]) -> list[int]:
    """Other steps between two places that consume values of the network.

    Such a step might end the network before the second place.
    """
    found: list[int] = []
    made: set[Value] = set()  # values computed by those steps
    for place in between:
        if place not in reader.running or place in places:
            continue
        node = reader.steps[place].node
        if any(reader.root(value) in reader.made or value in made for value in node.inputs):
            found.append(place)
            made.update(node.outputs)
    return found


def _product(
    reader: Reader, node: Node, *, swapped: bool, by_left: bool = False
) -> _Matrices | None:
    """The product that a step computes, if neither factor is constant."""
    if not all(is_somewhere(reader, value) for value in node.inputs):
        return None
    ranks = [len(reader.sizes[value]) for value in (*node.inputs, node.outputs[0])]
    if node.op is EINSUM:
        axes = equations.products(node.attrs["equation"], swapped=swapped, by_left=by_left)
    elif node.op is BATCH_MAT_MUL_V2 and not swapped and len(set(ranks)) == 1:
        axes = _batch_axes(ranks[0], adj_x=node.attrs["adj_x"], adj_y=node.attrs["adj_y"])
    else:
        axes = None
    if axes is None or not 1 <= len(axes.output) - 2 <= _MOST_BATCH:
        return None
    left, right = axes.ordered(node.inputs)
    found = _Matrices(left, right, node.outputs[0], axes)
    sizes = [
        [reader.sizes[value][axis] for axis in order[:-2]]
        for value, order in ((left, axes.left), (right, axes.right), (found.out, axes.output))
    ]
    return found if sizes[0] == sizes[1] == sizes[2] else None  # none of them is broadcast


def _batch_axes(rank: int, *, adj_x: bool, adj_y: bool) -> Products | None:
    if rank < 3:
        return None
    batch, straight = tuple(range(rank - 2)), (rank - 2, rank - 1)
    return equations.Products(
        swapped=False,
        left=batch + (straight[::-1] if adj_x else straight),
        right=batch + (straight[::-1] if adj_y else straight),
        output=batch + straight,
    )


def _softmax_of(reader: Reader, value: Value) -> tuple[list[int], _Scores, Value] | None:
    """The steps from a product to the softmax, their effect on scores, and the softmax's result."""
    scores = _Scores()
    places: list[int] = []
    while True:
        takers = reader.uses.get(value, ())
        if len(takers) != 1 or takers[0] < 0:
            return None
        place = takers[0]
        node = reader.steps[place].node
        if node.controls or len(node.outputs) != 1:
            return None
        places.append(place)
        (out,) = node.outputs
        if node.op is SOFTMAX:
            ends = len(reader.uses.get(out, ())) == 1 and reader.uses[out][0] >= 0
            return (places, scores, out) if ends else None
        if reader.sizes.get(out) != reader.sizes[value] or not _follows(
            reader, node, value, scores
        ):
            return None
        value = out


def _follows(reader: Reader, node: Node, value: Value, scores: _Scores) -> bool:
    """Whether a step scales or masks scores, or adds a negligible number."""
    if node.op in {ADD_V2, ADD}:
        shift = _constant(node.inputs[1 if node.inputs[0] is value else 0])
        if shift is not None and abs(shift) <= _MOST_SHIFT:
            return True
    if scores.masking != "UNMASKED":
        return False
    if node.op in {MUL, REAL_DIV}:
        other = node.inputs[1 if node.inputs[0] is value else 0]
        number = _constant(other)
        if number is None or (node.op is REAL_DIV and (node.inputs[0] is not value or number == 0)):
            return False
        scores.factor = scores.factor * number if node.op is MUL else scores.factor / number
        return True
    if node.op in {ADD_V2, ADD}:
        mask = node.inputs[1 if node.inputs[0] is value else 0]
        if mask is value or mask.dtype is not dtypes.float32 or not _is_mask(reader, mask, value):
            return False
        scores.masking, scores.mask = "ADDED", [mask]
        return True
    if node.op is SELECT_V2 and node.inputs[1] is value:
        mask, filler = node.inputs[0], _constant(node.inputs[2])
        if filler is None or not _is_mask(reader, mask, value):
            return False
        scores.masking, scores.mask, scores.filler = "SELECTED", [mask], filler
        return True
    return False


def _constant(value: Value) -> float | None:
    array = constant_of(value)
    return float(array.reshape(())) if array is not None and np.size(array) == 1 else None


def _is_mask(reader: Reader, mask: Value, scores: Value) -> bool:
    """Whether a mask is a constant or an input, and broadcasts to the scores."""
    shape = reader.shape(mask)
    if shape is None or reader.root(mask) in reader.made:
        return False
    whole = reader.sizes[scores]
    if len(shape) > len(whole) or math.prod(shape) == 0:
        return False
    ends = whole[len(whole) - len(shape) :]
    return all(size in {1, wanted} for size, wanted in zip(shape, ends, strict=True))


def _second(reader: Reader, place: int, weights: Value) -> _Matrices | None:
    node = reader.steps[place].node
    if node.controls or len(node.inputs) != 2 or node.inputs[0] is node.inputs[1]:
        return None
    found = _product(reader, node, swapped=node.inputs[1] is weights, by_left=True)
    if found is None or found.left is not weights:
        return None
    return found if found.axes.left == tuple(range(len(found.axes.left))) else None


def _layer(
    reader: Reader, place: int, first: _Matrices, second: _Matrices, scores: _Scores
) -> Layer | None:
    x, queries = _strides(reader, first.left, first.axes.left)
    k, keys = _strides(reader, first.right, first.axes.right)
    z, values = _strides(reader, second.right, second.axes.right)
    result = _ordered(contiguous(reader.sizes[second.out]), second.axes.output)
    if values.step != 1 or result.step != 1:
        return None  # tiles read and write rows
    # The right matrix is read along the summed axis, which for keys is the head's depth.
    keys = keys._replace(row=keys.step, step=keys.row)
    whole = reader.sizes[first.out]
    batch = (1,) * (_MOST_BATCH + 2 - len(whole)) + whole[:-2]
    depth = reader.sizes[first.left][first.axes.left[-1]]
    width = reader.sizes[second.out][second.axes.output[-1]]
    xs = [x, k, z]
    if whole[-1] > _MOST_KEYS or not any(reader.root(value) in reader.made for value in xs):
        return None
    sizes = (batch[0], batch[1], whole[-2], whole[-1], depth, width)
    layer = Layer("ATTENTION", place, reader.steps[place].node, second.out, xs)
    mask = Strides(0, 0, 0, 0)
    for value in scores.mask:
        if value in reader.made:  # computed by a step that was read early
            return None
        mask = _mask_strides(reader.shape(value) or ())
        if reader.is_steady(value):
            layer.mask = value
        else:
            xs.append(value)
    layer.attending = Attending(
        sizes, queries, keys, values, result, scores.factor, scores.masking, mask, scores.filler
    )
    return layer


def _strides(reader: Reader, value: Value, order: Sequence[int]) -> tuple[Value, Strides]:
    """The value to read, and its strides along the axes in this order."""
    base, first, along = lies(reader, value)
    return base, _ordered(along, order)._replace(first=first)


def _ordered(along: Sequence[int], order: Sequence[int]) -> Strides:
    """Strides between images and heads, if there are any, between rows, and within a row."""
    *batch, row, step = (along[axis] for axis in order)
    image, head = [0] * (_MOST_BATCH - len(batch)) + batch
    return Strides(image, head, row, step)


def _mask_strides(shape: Sequence[int]) -> Strides:
    along = contiguous(shape)
    found = [0 if size == 1 else step for size, step in zip(shape, along, strict=True)]
    whole = [0] * (_MOST_BATCH + 2 - len(found)) + found
    return _ordered(whole, range(len(whole)))


def attention_row(table: Table, number: int, layer: Layer, row: dict[str, int]) -> None:
    """Fill in the columns of attention.

    Args:
        table: the row's table.
        number: index of the row.
        layer: the attention.
        row: the columns.
    """
    one = layer.attending
    assert one is not None  # noqa: S101 - for mypy: a layer of this kind has it
    images, heads, queries, keys, depth, width = one.sizes
    block = max(_TILES, _SCORES // keys // _TILES * _TILES)
    block = min(block, -(-queries // _TILES) * _TILES)
    pairs, threads = images * heads, table.threads
    work = pairs * max(queries, _READING) * keys * (depth + width)
    cuts, pieces = 1, 1
    if threads > 1 and work >= threads * _PIECE:
        # Whole heads, whose keys are packed once; parts of their queries if heads are few.
        cuts = 1 if pairs % threads == 0 or pairs >= 4 * threads else threads
        cuts = min(cuts, -(-queries // _TILES))
        pieces = min(pairs * cuts, 4 * threads)
        pieces -= pieces % threads if pieces > threads else 0
    row |= {
        "IMAGES": images,
        "HEADS": heads,
        "ROWS_": queries,
        "KEYS": keys,
        "DEPTH": depth,
        "WIDTH": width,
        "BLOCK": block,
        "CUTS": cuts,
        "PIECES": pieces,
        "MASKING": fields.MASKING[one.masking],
    }
    operands = ("X", one.queries), ("K", one.keys), ("Z", one.values), ("Y", one.result)
    for name, strides in (*operands, ("MASK", one.mask)):
        for what, step in zip(("IMAGE", "HEAD", "ROW", "STEP"), strides[:4], strict=True):
            row[f"{name}_{what}"] = step
    padded = -(-keys // _COLUMNS) * _COLUMNS
    table.need(3 * (block + 16) + 1, padded * depth + (block + 16) * keys)
    # The scale of scores, and the score of masked elements.
    row["BIAS"] = table.keep(np.array((one.factor, one.filler), np.float32))
    firsts = one.queries.first, one.keys.first, one.values.first, 0
    for name, key, first in zip(("X", "K", "Z", "MASK"), layer.xs, firsts, strict=False):
        table.address(number, name, key, first)
    table.address(number, "Y", layer.out)
    if layer.mask is not None:
        row["MASK"] = table.keep(np.ascontiguousarray(table.array(layer.mask)))
