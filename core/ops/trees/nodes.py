"""The nodes of a decision forest and the features of rows, as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

# Kinds of nodes. A leaf leads to itself.
LEAF, HIGHER, MISSING, CONTAINS, MISSING_CATEGORY, CONTAINS_ANY, MISSING_SET, OBLIQUE = range(8)


class Features(NamedTuple):
    """The features of rows.

    Args:
        numbers: [rows, columns] of float32; NaN is missing. Booleans are 0 and 1.
        categories: [rows, columns] of int32; -1 is missing.
        items: items of all sets, int32.
        bounds: [rows * columns + 1]: the set of a row and a column is `items[bounds[k] :
            bounds[k + 1]]`, k = row * columns + column; one that begins with -1 is missing.
        set_columns: how many columns of sets there are.
    """

    numbers: Array
    categories: Array
    items: Array
    bounds: Array
    set_columns: int


class Nodes(NamedTuple):
    """The nodes of all trees, [nodes] each.

    Args:
        kind: uint8.
        column: int32, of the numbers, categories or sets.
        threshold: float32; what is at least as great goes to the positive child.
        missing: whether what is missing goes to the positive child.
        positive: int32, that child; the negative one is the next node.
        start: int32; of CONTAINS: the first bit in `bits`; of OBLIQUE: the first weight.
        terms: int32; how many weights.
        bits: uint8, one bit for each category of each CONTAINS, 1 where it goes to the positive.
        columns: int32, of the weights.
        weights: float32.
        replacements: float32, what stands for a missing number; NaN where nothing does.
    """

    kind: Array
    column: Array
    threshold: Array
    missing: Array
    positive: Array
    start: Array
    terms: Array
    bits: Array
    columns: Array
    weights: Array
    replacements: Array


def depths_of(nodes: Nodes, roots: Array) -> Array:
    """The distance from each root to its farthest leaf, int32 [trees]."""
    depths = np.zeros(roots.size, np.int32)
    here, trees = roots.astype(np.int64), np.arange(roots.size)
    while True:
        inner = nodes.kind[here] != LEAF
        here, trees = here[inner], trees[inner]
        if not here.size:
            return depths
        depths[trees] += 1  # once per tree, although indices repeat
        here = np.concatenate([here + 1, nodes.positive[here]])
        trees = np.concatenate([trees, trees])


def categories_of(nodes: Nodes, chosen: Array, cut: int) -> Array:
    """Whether each category leads to the positive child, uint8 [nodes, cut + 1].

    A missing category is one more, behind the others.

    Args:
        nodes: nodes of a forest.
        chosen: indices of the chosen ones: of kinds CONTAINS and MISSING_CATEGORY, on one column.
        cut: the highest category of the column, plus 1.
    """
    found = np.zeros((chosen.size, cut + 1), np.uint8)
    has = nodes.kind[chosen] == CONTAINS
    bit = nodes.start[chosen[has], None].astype(np.int64) + np.arange(cut)
    found[has, :cut] = (nodes.bits[bit >> 3] >> (bit & 7)) & 1
    found[:, cut] = nodes.missing[chosen]
    return found
