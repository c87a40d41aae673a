"""Decision forests that only compare numbers: their arrays for machine code, and which code.

A missing number is replaced ahead by one that leads where it leads, so that all that is left of a
condition is `number >= threshold`. A column is prepared once for each way in which it is asked.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.ops.kernels import compiled
from pinnace.ops.trees.nodes import LEAF, MISSING, Nodes
from pinnace.ops.trees.row_pieces import share_rows

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

# What a prepared column has: the number itself; infinity where it is missing, which is at least any
# threshold; 1 where it is missing and 0 elsewhere.
_ITSELF, _AT_LEAST, _IS_MISSING = range(3)
# Leaves of a word, and rows from which they are worth it: a block takes as long as seven that
# descend.
_LEAVES, _FEW = 32, 8
# So many conditions of a tree are asked in the time of a step of a row that descends it.
_OF_A_STEP = 20
# Pairs of a row and a tree from which threads share rows: some 150 us of one.
_SHARED_WORDS, _SHARED_STEPS = 1 << 18, 1 << 15
# The numbers of leaves, with those that fill up the words, that are kept for words.
_MOST_VALUES = 1 << 24


class _Words(NamedTuple):
    """What the kernel "forest words" reads.

    Args:
        operations: [operations * 3]: the prepared column, the threshold, the leaves that remain
            where the number is at least that.
        parts: [parts + 1], the first operation of each. A part is a word of leaves of a tree; the
            first leaves of a tree are its last part, which has the last word.
        trees: [trees + 1], the first part of each.
        values: [parts * outputs * 32]: what leaves give.
    """

    operations: Array
    parts: Array
    trees: Array
    values: Array


class Comparisons:
    """A forest whose conditions are all of kinds HIGHER and MISSING, ready for machine code.

    Args:
        nodes: in preorder, the negative child first.
        roots: [trees], the first node of each.
        slots: [nodes], the number of a leaf, counted through all trees.
        values: [leaves, outputs]: what leaves give.
        stride: with more than one, tree t gives to sum t % stride alone.
    """

    def __init__(
        self, nodes: Nodes, roots: Array, slots: Array, values: Array, stride: int
    ) -> None:
        self._nodes = nodes
        self._roots = roots
        self._slots = slots
        self._values = values.reshape(-1)
        self._outputs = values.shape[1]
        self._stride = stride
        self._inner = np.flatnonzero(nodes.kind != LEAF)
        leads = nodes.missing[self._inner]
        threshold = nodes.threshold[self._inner]
        # No number is at least NaN.
        never = (nodes.kind[self._inner] == MISSING) | np.isnan(threshold)
        form = np.where(leads, np.where(never, _IS_MISSING, _AT_LEAST), _ITSELF)
        self._thresholds = np.where(never, np.where(leads, 0.5, np.nan), threshold).astype("f4")
        sources = nodes.column[self._inner] * 4 + form
        asked, self._columns = np.unique(sources, return_inverse=True)
        self._sources = np.stack([asked // 4, asked % 4], axis=1).astype(np.int32).reshape(-1)

    def add(self, numbers: Array, sums: Array) -> bool:
        """Add what the trees give, one after another, to each row; False if it was not done.

        Args:
            numbers: [rows, columns] of float32, NaN where one is missing.
            sums: [rows, sums] of float64, contiguous.
        """
        rows = len(sums)
        words = self._words if rows >= _FEW else None
        kernel = compiled.made("forest steps" if words is None else "forest words")
        if kernel is None:
            return False
        read = np.ascontiguousarray(numbers).reshape(-1)
        given: tuple[Any, ...] = (
            numbers.shape[1], self._outputs, self._stride, read, self._sources,
        )  # fmt: skip
        if words is None:
            given, least = (int(rows < _FEW), *given, *self._steps), _SHARED_STEPS
        else:
            given, least = (*given, *words), _SHARED_WORDS
        flat = sums.reshape(-1)

        def work(first: int, stop: int) -> None:
            kernel(first, stop, *given, flat)

        share_rows(rows, work, are_many=rows * self._roots.size >= least)
        return True

    @functools.cached_property
    def _depths(self) -> Array:
        """The steps from each root to the farthest leaf."""
        nodes = self._nodes
        depths = np.zeros(self._roots.size, np.int32)
        here, trees = self._roots.astype(np.int64), np.arange(self._roots.size)
        while True:
            inner = nodes.kind[here] != LEAF
            here, trees = here[inner], trees[inner]
            if not here.size:
                return depths
            depths[trees] += 1  # once for each tree, however often it is named
            here = np.concatenate([here + 1, nodes.positive[here]])
            trees = np.concatenate([trees, trees])

    @functools.cached_property
    def _steps(self) -> tuple[Array, ...]:
        """What the kernel "forest steps" reads behind the prepared columns."""
        count, inner = self._nodes.kind.size, self._inner
        words = np.zeros((count, 4), np.int32)
        words[:, 2] = words[:, 3] = np.arange(count)
        words[inner, 0] = self._columns
        words[inner, 1] = self._thresholds.view(np.int32)
        words[inner, 2] = inner + 1
        words[inner, 3] = self._nodes.positive[inner]
        leaf = np.flatnonzero(self._nodes.kind == LEAF)
        slots = self._slots[leaf]
        words[leaf, 1] = self._values[slots].view(np.int32) if self._outputs == 1 else slots
        flat = words.reshape(-1)
        return flat, flat.view(np.float32), self._roots, self._depths, self._values

    @functools.cached_property
    def _words(self) -> _Words | None:
        """The conditions by words of leaves; None if that is more work than descending."""
        nodes, inner, _trees = self._nodes, self._inner, self._roots.size
        is_leaf = nodes.kind == LEAF
        before = np.cumsum(is_leaf) - is_leaf
        firsts = before[self._roots]
        leaves = np.diff(firsts, append=is_leaf.sum())
        parts = -(-leaves // _LEAVES)
        starts = np.concatenate([[0], np.cumsum(parts)])
        if starts[-1] * _LEAVES * self._outputs > max(_MOST_VALUES, 2 * self._values.size):
            return None
        # The leaves of the negative child, of all in the tree: they are the next ones.
        tree = np.searchsorted(self._roots, inner, side="right") - 1
        begin = before[inner] - firsts[tree]
        end = before[nodes.positive[inner]] - firsts[tree]
        # A condition is an operation in each word with such leaves.
        first = begin // _LEAVES
        several = (end - 1) // _LEAVES - first + 1
        if several.sum() > _OF_A_STEP * self._depths.sum():
            return None
        of = np.repeat(np.arange(inner.size), several)
        word = np.arange(of.size) - np.repeat(np.cumsum(several) - several, several) + first[of]
        low = np.maximum(begin[of] - _LEAVES * word, 0).astype(np.uint64)
        high = np.minimum(end[of] - _LEAVES * word, _LEAVES).astype(np.uint64)
        one = np.uint64(1)
        ruled_out = (one << high) - (one << low)
        part = starts[tree[of] + 1] - 1 - word
        order = np.argsort(part, kind="stable")
        operations = np.empty((of.size, 3), np.int32)
        operations[:, 0] = self._columns[of][order]
        operations[:, 1] = self._thresholds[of][order].view(np.int32)
        operations[:, 2] = (~ruled_out[order]).astype(np.uint32).view(np.int32)
        values = np.zeros((starts[-1], self._outputs, _LEAVES), np.float32)
        leaf = np.flatnonzero(is_leaf)
        tree = np.searchsorted(self._roots, leaf, side="right") - 1
        place = before[leaf] - firsts[tree]
        given = self._values.reshape(-1, self._outputs)[self._slots[leaf]]
        values[starts[tree + 1] - 1 - place // _LEAVES, :, place % _LEAVES] = given
        bounds = np.searchsorted(part[order], np.arange(starts[-1] + 1))
        return _Words(
            operations.reshape(-1),
            bounds.astype(np.int32),
            starts.astype(np.int32),
            values.reshape(-1),
        )
