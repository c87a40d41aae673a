"""Decision forests whose conditions are all tested, by compiled code, for trees with few leaves.

A condition on a category is computed as whether two words of 32 categories have a bit in common:
that of the row's category, and those that lead to the positive child.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.ops.kernels import compiled
from pinnace.ops.trees.comparisons import WORDS, Comparisons, unique_sources
from pinnace.ops.trees.nodes import (
    CONTAINS,
    HIGHER,
    LEAF,
    MISSING,
    MISSING_CATEGORY,
    Features,
    Nodes,
    categories_of,
    depths_of,
)
from pinnace.ops.trees.row_pieces import share_rows

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

# Leaves, or categories, per word.
_WORD = 32
# The number of conditions tested in the time of one step of a descent, if all compare numbers;
# descents with category look-ups have slower steps.
_OF_A_STEP, _OF_A_SLOW_STEP = 20, 40
# Pairs of a row and a tree from which threads share the rows: some 150 us of one thread.
_SHARED = 1 << 18
# The most leaves, padding of words included, and the most bits of categories.
_MOST_VALUES, _MOST_BITS = 1 << 24, 1 << 23


class _Conditions(NamedTuple):
    """The conditions of nodes, [conditions] each; a node is true if any of its conditions is.

    Args:
        node: the node of each condition.
        column: the column of numbers or categories that it reads.
        form: how the column is prepared: see `comparisons`.
        operand: int32, the bits of a threshold or the categories.
    """

    node: Array
    column: Array
    form: Array
    operand: Array


class LeafWords:
    """A forest that is evaluated for many rows.

    Args:
        arrays: the kernel's inputs; `engine/codegen/compared_forests.py` describes them.
        trees: the number of trees.
        outputs: numbers that a leaf gives.
        stride: with more than one, tree t gives to sum t % stride alone.
    """

    def __init__(self, arrays: tuple[Array, ...], trees: int, outputs: int, stride: int) -> None:
        self._arrays = arrays
        self._trees = trees
        self._outputs = outputs
        self._stride = stride

    def add(self, features: Features, sums: Array) -> bool:
        """Add the trees' values to each row in order; False if it was not done.

        Args:
            features: features of the rows.
            sums: [rows, sums] of float64, contiguous.
        """
        kernel = compiled.made("forest words")
        if kernel is None:
            return False
        numbers, categories = (
            np.ascontiguousarray(one).reshape(-1) for one in (features.numbers, features.categories)
        )
        width = features.numbers.shape[1], features.categories.shape[1]
        given = (
            *width, self._outputs, self._stride, numbers, categories, *self._arrays,
            sums.reshape(-1),
        )  # fmt: skip

        def work(first: int, stop: int) -> None:
            kernel(first, stop, *given)

        share_rows(len(sums), work, are_many=len(sums) * self._trees >= _SHARED)
        return True


def leaf_words(
    nodes: Nodes, roots: Array, slots: Array, values: Array, stride: int, cuts: Array
) -> LeafWords | None:
    """The forest by words of leaves; None if that is more work than descending.

    Args:
        nodes: in preorder, the negative child first; without conditions on sets or weighted sums.
        roots: [trees], the first node of each.
        slots: [nodes], the number of a leaf, counted through all trees.
        values: [leaves, outputs]: what leaves give.
        stride: with more than one, tree t gives to sum t % stride alone.
        cuts: the highest value of each column of categories, plus 1.
    """
    is_leaf, outputs = nodes.kind == LEAF, values.shape[1]
    before = np.cumsum(is_leaf) - is_leaf
    firsts = before[roots]
    parts = -(-np.diff(firsts, append=is_leaf.sum()) // _WORD)
    # A tree's words are in reverse order: the word with the lowest leaves is last, so its answer
    # prevails.
    starts = np.concatenate([[0], np.cumsum(parts)])
    asked = _conditions(nodes, cuts)
    if asked is None or starts[-1] * _WORD * outputs > max(_MOST_VALUES, 2 * values.size):
        return None
    # Within its tree, the leaves of a node's negative child follow directly.
    tree = np.searchsorted(roots, asked.node, side="right") - 1
    begin = before[asked.node] - firsts[tree]
    end = before[nodes.positive[asked.node]] - firsts[tree]
    # A condition takes an operation in each word that contains such leaves.
    first = begin // _WORD
    several = (end - 1) // _WORD - first + 1
    is_test = asked.form >= WORDS
    of_a_step = _OF_A_SLOW_STEP if is_test.any() else _OF_A_STEP
    if several.sum() > of_a_step * depths_of(nodes, roots).sum():
        return None
    of = np.repeat(np.arange(several.size), several)
    word = np.arange(of.size) - np.repeat(np.cumsum(several) - several, several) + first[of]
    low = np.maximum(begin[of] - _WORD * word, 0).astype(np.uint64)
    high = np.minimum(end[of] - _WORD * word, _WORD).astype(np.uint64)
    ruled_out = (np.uint64(1) << high) - (np.uint64(1) << low)
    # In each part, comparisons precede category tests.
    place = 2 * (starts[tree[of] + 1] - 1 - word) + is_test[of]
    order = np.argsort(place, kind="stable")
    sources, columns = unique_sources(asked.column, asked.form)
    operations = np.empty((of.size, 3), np.int32)
    operations[:, 0] = columns[of][order]
    operations[:, 1] = asked.operand[of][order]
    operations[:, 2] = (~ruled_out[order]).astype(np.uint32).view(np.int32)
    bounds = np.searchsorted(place[order], np.arange(2 * starts[-1] + 1)).astype(np.int32)
    table = np.zeros((starts[-1], outputs, _WORD), np.float32)
    leaf = np.flatnonzero(is_leaf)
    tree = np.searchsorted(roots, leaf, side="right") - 1
    number = before[leaf] - firsts[tree]
    table[starts[tree + 1] - 1 - number // _WORD, :, number % _WORD] = values[slots[leaf]]
    arrays = (
        cuts, sources, operations.reshape(-1), bounds, starts.astype(np.int32), table.reshape(-1),
    )  # fmt: skip
    return LeafWords(arrays, roots.size, outputs, stride)


def _conditions(nodes: Nodes, cuts: Array) -> _Conditions | None:
    """The conditions of all nodes; None if they test too many categories."""
    numeric = np.flatnonzero((nodes.kind == HIGHER) | (nodes.kind == MISSING))
    of = Comparisons(nodes, numeric)
    found = [_Conditions(numeric, of.column, of.form, of.threshold.view(np.int32))]
    on_category = (nodes.kind == CONTAINS) | (nodes.kind == MISSING_CATEGORY)
    for column in np.unique(nodes.column[on_category]).tolist():
        mine = np.flatnonzero(on_category & (nodes.column == column))
        if mine.size * (cuts[column] + _WORD) > _MOST_BITS:
            return None
        holds = categories_of(nodes, mine, int(cuts[column]))
        holds = np.pad(holds, ((0, 0), (0, -holds.shape[1] % _WORD)))
        words = np.packbits(holds, axis=1, bitorder="little").view("<u4")
        node, word = np.nonzero(words)
        operand = words[node, word].astype(np.uint32).view(np.int32)
        found.append(_Conditions(mine[node], np.full(node.size, column), word + WORDS, operand))
    return _Conditions(*(np.concatenate(one) for one in zip(*found, strict=True)))
