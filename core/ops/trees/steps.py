"""Decision forests that only compare numbers, descended by machine code."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels import compiled
from pinnace.ops.trees.comparisons import Comparisons, unique_sources
from pinnace.ops.trees.nodes import LEAF, Nodes, depths_of
from pinnace.ops.trees.row_pieces import FEW, share_rows

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

# Pairs of a row and a tree from which threads share rows: some 150 us of one.
_SHARED = 1 << 15


class Steps:
    """A forest whose conditions are all of kinds HIGHER and MISSING.

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
        self._values = values
        self._stride = stride

    def add(self, numbers: Array, sums: Array) -> bool:
        """Add what the trees give, one after another, to each row; False if it was not done.

        Args:
            numbers: [rows, columns] of float32, NaN where one is missing.
            sums: [rows, sums] of float64, contiguous.
        """
        kernel = compiled.made("forest steps")
        if kernel is None:
            return False
        rows = len(sums)
        given = (
            int(rows < FEW), numbers.shape[1], self._values.shape[1], self._stride,
            np.ascontiguousarray(numbers).reshape(-1), *self._arrays, sums.reshape(-1),
        )  # fmt: skip

        def work(first: int, stop: int) -> None:
            kernel(first, stop, *given)

        share_rows(rows, work, are_many=rows * self._roots.size >= _SHARED)
        return True

    @functools.cached_property
    def _arrays(self) -> tuple[Array, ...]:
        """What the kernel reads: `engine/codegen/compared_forests.py` tells how."""
        nodes = self._nodes
        inner = np.flatnonzero(nodes.kind != LEAF)
        of = Comparisons(nodes, inner)
        sources, columns = unique_sources(of.column, of.form)
        words = np.zeros((nodes.kind.size, 4), np.int32)
        words[:, 2] = words[:, 3] = np.arange(nodes.kind.size)
        words[inner, 0] = columns
        words[inner, 1] = of.threshold.view(np.int32)
        words[inner, 2] = inner + 1
        words[inner, 3] = nodes.positive[inner]
        leaf = np.flatnonzero(nodes.kind == LEAF)
        slots = self._slots[leaf]
        is_single = self._values.shape[1] == 1
        words[leaf, 1] = self._values[slots, 0].view(np.int32) if is_single else slots
        flat, depths = words.reshape(-1), depths_of(nodes, self._roots)
        values = self._values.reshape(-1)
        return sources, flat, flat.view(np.float32), self._roots, depths, values
