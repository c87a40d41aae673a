"""Decision forests with simple conditions, descended by compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from pinnace.ops.trees.row_pieces import FEW, share_rows

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

KINDS = frozenset({LEAF, HIGHER, MISSING, CONTAINS, MISSING_CATEGORY})
# Pairs of a row and a tree from which threads share the rows: some 150 us of one thread.
_SHARED = 1 << 15
# The most bits of rewritten categories, each with one for missing values.
_MOST_BITS = 1 << 26
_NONE = np.zeros(0, np.int32)


class Steps:
    """A forest with conditions of `KINDS`.

    Args:
        arrays: the kernel's inputs; `engine/codegen/compared_forests.py` describes them.
        trees: the number of trees.
        outputs: numbers that a leaf gives.
        stride: with more than one, tree t gives to sum t % stride alone.
        is_mixed: whether some conditions are on categories.
    """

    def __init__(
        self, arrays: tuple[Array, ...], trees: int, outputs: int, stride: int, is_mixed: bool
    ) -> None:
        self._arrays = arrays
        self._trees = trees
        self._outputs = outputs
        self._stride = stride
        self._is_mixed = is_mixed

    def add(self, features: Features, sums: Array) -> bool:
        """Add the trees' values to each row in order; False if it was not done.

        Args:
            features: features of the rows.
            sums: [rows, sums] of float64, contiguous.
        """
        kernel = compiled.made("forest steps")
        if kernel is None:
            return False
        numbers, rows = features.numbers, len(sums)
        categories, width = _NONE, 0
        if self._is_mixed:
            categories = np.ascontiguousarray(features.categories).reshape(-1)
            width = features.categories.shape[1]
        given = (
            int(rows < FEW), int(self._is_mixed), numbers.shape[1], width, self._outputs,
            self._stride, np.ascontiguousarray(numbers).reshape(-1), categories, *self._arrays,
            sums.reshape(-1),
        )  # fmt: skip

        def work(first: int, stop: int) -> None:
            kernel(first, stop, *given)

        share_rows(rows, work, are_many=rows * self._trees >= _SHARED)
        return True


def steps_of(
    nodes: Nodes, roots: Array, slots: Array, values: Array, stride: int, cuts: Array
) -> Steps | None:
    """The forest as steps of a descent; None if it has too many category bits.

    Args:
        nodes: in preorder, the negative child first, of kinds `KINDS`.
        roots: [trees], the first node of each.
        slots: [nodes], the number of a leaf, counted through all trees.
        values: [leaves, outputs]: what leaves give.
        stride: with more than one, tree t gives to sum t % stride alone.
        cuts: the highest value of each column of categories, plus 1.
    """
    numeric = np.flatnonzero((nodes.kind == HIGHER) | (nodes.kind == MISSING))
    looking = np.flatnonzero((nodes.kind == CONTAINS) | (nodes.kind == MISSING_CATEGORY))
    column = nodes.column[looking].astype(np.int64)
    widths = cuts[column] + 1
    if widths.sum() > _MOST_BITS:
        return None
    starts = np.cumsum(widths) - widths
    bits = np.zeros(int(widths.sum()) + 1, np.uint8)
    for one in np.unique(column).tolist():
        mine = np.flatnonzero(column == one)
        place = starts[mine, None] + np.arange(int(cuts[one]) + 1)
        bits[place] = categories_of(nodes, looking[mine], int(cuts[one]))
    of = Comparisons(nodes, numeric)
    sources, columns = unique_sources(
        np.concatenate([of.column, column]),
        np.concatenate([of.form, np.full(looking.size, WORDS)]),
    )
    inner, is_mixed = np.concatenate([numeric, looking]), looking.size > 0
    words = np.zeros((nodes.kind.size, 4), np.int32)
    words[:, 2] = words[:, 3] = np.arange(nodes.kind.size)
    words[inner, 0] = columns << int(is_mixed)
    words[looking, 0] |= 1
    words[numeric, 1] = of.threshold.view(np.int32)
    words[looking, 1] = starts
    words[inner, 2] = inner + 1
    words[inner, 3] = nodes.positive[inner]
    leaf = np.flatnonzero(nodes.kind == LEAF)
    is_single = values.shape[1] == 1
    words[leaf, 1] = values[slots[leaf], 0].view(np.int32) if is_single else slots[leaf]
    flat = words.reshape(-1)
    arrays = (
        cuts, sources, flat, flat.view(np.float32), np.packbits(bits, bitorder="little"), roots,
        depths_of(nodes, roots), values.reshape(-1),
    )  # fmt: skip
    return Steps(arrays, roots.size, values.shape[1], stride, is_mixed)
