"""Decision forests: TreeEnsembleRegressor of ai.onnx.ml, on numerical columns only.

A condition on a category becomes a column that is 1 if the category goes to the positive child: one
Gather per feature computes the columns of all its conditions. A condition on a weighted sum becomes
a column too, by one MatMul; an infinite number then also makes sums NaN that do not use it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.graph import Held
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.ops.trees.forest import MOST_EXPONENT
from pinnace.ops.trees.nodes import (
    CONTAINS,
    CONTAINS_ANY,
    LEAF,
    MISSING,
    MISSING_CATEGORY,
    MISSING_SET,
    OBLIQUE,
)

if TYPE_CHECKING:
    from pinnace.deploy.onnx.converters.node_view import NodeView
    from pinnace.deploy.onnx.ir.builder import GraphBuilder
    from pinnace.deploy.onnx.ir.graph import Value
    from pinnace.framework.tensor import Array
    from pinnace.ops.trees.forest import Forest
    from pinnace.ops.trees.forest_files import Columns

_OF_CATEGORIES = (CONTAINS, MISSING_CATEGORY)


def _forest(call: NodeView, handle: Value) -> tuple[Forest, Columns]:
    held = handle.held if isinstance(handle, Held) else None
    if held is None or not hasattr(held, "get"):
        call.fail("the forest must be known at export")
    found: tuple[Forest, Columns] = held.get(call.node.op.name)
    return found


class _Columns(NamedTuple):
    """The numerical columns for the trees in the file.

    Args:
        values: parts of the matrix [rows, columns].
        of: [nodes], the column of each node's condition.
    """

    values: list[Value]
    of: Array


@converts("SimpleMLInferenceOpWithHandle")
def predict(
    g: GraphBuilder,
    call: NodeView,
    numbers: Value,
    booleans: Value,
    categories: Value,
    _items: Value,
    _bounds: Value,
    _rows: Value,
    handle: Value,
) -> tuple[Value, Value]:
    """The sums over the trees' leaves, transformed as the loss requires."""
    forest, columns = _forest(call, handle)
    kinds = set(np.unique(forest.nodes.kind).tolist())
    if kinds & {CONTAINS_ANY, MISSING_SET}:
        call.fail("its conditions on sets of categories have no counterpart in ONNX")
    if not forest.roots.size:
        call.fail("it must have at least one tree")
    numeric = [x for x, home in ((numbers, columns.numerical), (booleans, columns.boolean)) if home]
    made = _Columns(numeric, forest.nodes.column.astype(np.int64))
    width = len(columns.numerical) + len(columns.boolean)
    width = _add_categories(g, forest, categories, made, width)
    if OBLIQUE in kinds:
        _add_sums(g, forest, g.concat(numeric, 1), made, width)
    x = made.values[0] if len(made.values) == 1 else g.concat(made.values, 1)
    outputs = forest.start.size
    spec = TensorSpec.of(Shape([x.shape[0], outputs]), dtypes.float32)
    sums = g.with_bodies("TreeEnsembleRegressor", [spec], x, **_attributes(forest, made.of))[0]
    labels = np.empty(len(forest.labels), object)
    labels[:] = forest.labels
    return _linked(g, forest, sums), g.constant(labels, dtype=dtypes.string)


def _add_categories(
    g: GraphBuilder, forest: Forest, categories: Value, made: _Columns, width: int
) -> int:
    """Add a column for each condition on categories; row 0 of its table is for missing values."""
    nodes = forest.nodes
    bits = np.unpackbits(nodes.bits, bitorder="little")
    for feature, cut in enumerate(forest.cuts.tolist()):
        mine = np.flatnonzero(np.isin(nodes.kind, _OF_CATEGORIES) & (nodes.column == feature))
        if not mine.size:
            continue
        tables: dict[bytes, int] = {}
        for node in mine.tolist():
            table = np.zeros(cut + 1, np.uint8)
            table[0] = nodes.missing[node]
            if nodes.kind[node] == CONTAINS:
                table[1:] = bits[nodes.start[node] : nodes.start[node] + cut]
            made.of[node] = width + tables.setdefault(table.tobytes(), len(tables))
        rows = np.stack([np.frombuffer(one, np.uint8) for one in tables], 1).astype(np.float32)
        index = g.constant(np.array([feature], np.int64))
        place = g.squeeze(g.op("Gather", g.as_int64(categories), index, axis=1), 1)
        # -1 is missing; invalid categories count as out of vocabulary.
        inside = g.op(
            "And",
            g.binary("GreaterOrEqual", place, -1),
            g.binary("Less", place, cut),
        )
        place = g.binary("Add", g.where(inside, place, g.constant(np.array(0, np.int64))), 1)
        made.values.append(g.op("Gather", g.constant(rows), place, axis=0))
        width += len(tables)
    return width


def _add_sums(g: GraphBuilder, forest: Forest, numbers: Value, made: _Columns, width: int) -> None:
    """Add a column for each weighted sum; NaN if a value without a replacement is missing."""
    nodes = forest.nodes
    mine = np.flatnonzero(nodes.kind == OBLIQUE)
    size = int(nodes.columns.max()) + 1
    weights = np.zeros((size, mine.size), np.float32)
    # The replacement of a missing value may differ between conditions, so it is weighted here.
    instead = np.zeros((size, mine.size), np.float32)
    needed = np.zeros((size, mine.size), np.float32)
    for column, node in enumerate(mine.tolist()):
        made.of[node] = width + column
        for place in range(nodes.start[node], nodes.start[node] + nodes.terms[node]):
            row, weight = nodes.columns[place], nodes.weights[place]
            weights[row, column] += weight
            if math.isnan(nodes.replacements[place]):
                needed[row, column] = 1
            else:
                instead[row, column] += weight * nodes.replacements[place]
    x = g.slice(numbers, 1, 0, size)
    lacks = g.op("IsNaN", x)
    zero = g.constant(np.array(0, np.float32))
    total = g.op("MatMul", g.where(lacks, zero, x), g.constant(weights))
    absent = g.cast(lacks, dtypes.float32)
    if instead.any():
        total = g.op("Add", total, g.op("MatMul", absent, g.constant(instead)))
    if needed.any():
        missing = g.binary("Greater", g.op("MatMul", absent, g.constant(needed)), 0)
        total = g.where(missing, g.constant(np.array(np.nan, np.float32)), total)
    made.values.append(total)


def _attributes(forest: Forest, column: Array) -> dict[str, Any]:
    """The attributes of TreeEnsembleRegressor: each node by its tree and its index there."""
    nodes, count = forest.nodes, len(forest.nodes.kind)
    tree = np.searchsorted(forest.roots, np.arange(count), side="right") - 1
    own = np.arange(count) - forest.roots[tree]
    is_leaf = nodes.kind == LEAF
    thresholds = nodes.threshold.astype(np.float32)
    # Conditions on categories and missing values: the columns are 0 and 1.
    of_categories = np.isin(nodes.kind, _OF_CATEGORIES)
    thresholds[of_categories] = 0.5
    # No number exceeds infinity; a missing value follows its own flag.
    never = (nodes.kind == MISSING) | np.isnan(thresholds)
    thresholds[never] = np.inf
    modes = np.where(is_leaf, b"LEAF", np.where(never, b"BRANCH_GT", b"BRANCH_GTE"))
    leaves = np.flatnonzero(is_leaf)
    rows = forest.values[forest.slots[leaves]]
    if forest.stride > 1:
        places, targets, weights = leaves, tree[leaves] % forest.stride, rows[:, 0]
    else:
        outputs = rows.shape[1]
        places = np.repeat(leaves, outputs)
        targets, weights = np.tile(np.arange(outputs), leaves.size), rows.reshape(-1)
    following = np.where(is_leaf, 0, own + 1)
    positive = np.where(is_leaf, 0, nodes.positive - forest.roots[tree])
    return {
        "aggregate_function": "SUM",
        "base_values": forest.start.astype(np.float32).tolist(),
        "n_targets": int(forest.start.size),
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": own.tolist(),
        "nodes_featureids": np.where(is_leaf, 0, column).tolist(),
        "nodes_values": np.where(is_leaf, 0, thresholds).tolist(),
        "nodes_modes": [mode.decode() for mode in modes.tolist()],
        "nodes_truenodeids": positive.tolist(),
        "nodes_falsenodeids": following.tolist(),
        "nodes_missing_value_tracks_true": (nodes.missing & ~is_leaf).astype(int).tolist(),
        "target_treeids": tree[places].tolist(),
        "target_nodeids": own[places].tolist(),
        "target_ids": targets.tolist(),
        "target_weights": weights.tolist(),
    }


def _linked(g: GraphBuilder, forest: Forest, sums: Value) -> Value:
    """`Forest._linked` in ONNX operators."""
    trees = forest.roots.size
    if forest.link == "mean":
        return g.binary("Div", sums, trees)
    if forest.link == "share":
        total = g.op("ReduceSum", sums, g.ints(1), keepdims=1)
        return g.op("Div", g.slice(sums, 1, 1, int(forest.start.size)), total)
    if forest.link == "sigmoid":
        p = g.op("Sigmoid", sums)
        return g.concat([g.op("Sub", g.constant(np.array(1, np.float32)), p), p], 1)
    if forest.link == "softmax":
        return g.op("Softmax", sums, axis=-1)
    if forest.link == "exp":
        most = np.array(MOST_EXPONENT, np.float32)
        low, high = g.constant(-most), g.constant(most)
        return g.op("Exp", g.op("Clip", sums, low, high))
    if forest.link == "isolation":
        power = g.binary("Mul", sums, -math.log(2) / trees / max(forest.denominator, 1e-30))
        return g.op("Exp", power) if forest.denominator else g.binary("Mul", sums, 0)
    return sums
