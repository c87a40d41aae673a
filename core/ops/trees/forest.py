"""Decision forests as arrays: the leaf that each row reaches, and the leaves' values."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from pinnace.ops.kernels import compiled
from pinnace.ops.trees.leaf_words import LeafWords, leaf_words
from pinnace.ops.trees.nodes import (
    CONTAINS,
    CONTAINS_ANY,
    HIGHER,
    LEAF,
    MISSING,
    MISSING_CATEGORY,
    MISSING_SET,
    OBLIQUE,
    Features,
    Nodes,
)
from pinnace.ops.trees.row_pieces import FEW, share_rows
from pinnace.ops.trees.steps import KINDS, Steps, steps_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array

# The function from the sums over all trees to predictions.
Link: TypeAlias = Literal["none", "mean", "share", "sigmoid", "softmax", "exp", "isolation"]

# Kinds of nodes by what they test: numbers, categories, sets.
_OF_NUMBERS = (HIGHER, MISSING)
_OF_CATEGORIES = (CONTAINS, MISSING_CATEGORY)
_OF_SETS = (CONTAINS_ANY, MISSING_SET)

# Pairs of rows and trees that are evaluated at once: their positions fit in the L2 cache.
_AT_ONCE = 1 << 15
# ydf's bound for exponents, for counts.
MOST_EXPONENT = 19.0
# Pairs of a row and a tree from which threads share the rows.
_SHARED = 1 << 15


class Forest:
    """A decision forest, ready for evaluation.

    Args:
        nodes: nodes of all trees.
        roots: [trees], the first node of each.
        depth: steps from a root to the farthest leaf.
        slots: [nodes] of int32: the number of a leaf, counted through all trees; -1 of others.
        values: [leaves, outputs] of float32: what leaves give.
        stride: with more than one, tree t gives to sum t % stride alone, a number of each leaf.
        start: initial value of the sums.
        link: the function applied to the sums.
        denominator: for "isolation": the mean path of a tree of as many rows.
        labels: labels of the outputs.
        cuts: the highest value of each column of categories, plus 1.
        set_cuts: the same of columns of sets.
    """

    def __init__(
        self,
        nodes: Nodes,
        roots: Array,
        depth: int,
        slots: Array,
        values: Array,
        stride: int,
        start: Array,
        link: Link,
        denominator: float,
        labels: tuple[bytes, ...],
        cuts: Array,
        set_cuts: Array,
    ) -> None:
        self.nodes = nodes
        self.roots = roots
        self.depth = depth
        self.slots = slots
        self.values = values
        self.stride = stride
        self.start = start
        self.link = link
        self.denominator = denominator
        self.labels = labels
        self.cuts = cuts
        self.set_cuts = set_cuts

    @functools.cached_property
    def _kinds(self) -> frozenset[int]:
        return frozenset(np.unique(self.nodes.kind).tolist())

    def predict(self, features: Features, rows: int) -> Array:
        """The forest's prediction for each row, [rows, labels] of float32."""
        sums = np.empty((rows, self.start.size), np.float64)
        if not self._walked(features, sums):
            step = max(1, _AT_ONCE // max(1, self.roots.size * self.values.shape[1]))
            for first in range(0, rows, step):
                last = min(first + step, rows)
                self._sum(self.reached(features, first, last), sums[first:last])
        return self._linked(sums).astype(np.float32)

    def _walked(self, features: Features, sums: Array) -> bool:
        """Fill `sums` by compiled code; False if there is none."""
        sums[:] = self.start
        if len(sums) >= FEW and self._words is not None:
            return self._words.add(features, sums)
        if self._steps is not None:
            return self._steps.add(features, sums)
        kernel = compiled.made("forest")
        if kernel is not None:
            self._walk(kernel, features, sums)
        return kernel is not None

    @functools.cached_property
    def _words(self) -> LeafWords | None:
        """The forest as words of leaves, if testing all conditions costs less than descending."""
        if not self._kinds <= KINDS:
            return None
        return leaf_words(self.nodes, self.roots, self.slots, self.values, self.stride, self.cuts)

    @functools.cached_property
    def _steps(self) -> Steps | None:
        """The forest as steps of a descent; None if it has conditions on sets or weighted sums."""
        if not self._kinds <= KINDS:
            return None
        return steps_of(self.nodes, self.roots, self.slots, self.values, self.stride, self.cuts)

    def _walk(self, kernel: Callable[..., None], features: Features, sums: Array) -> None:
        """Add to `sums` by the general compiled code, with rows shared among threads."""
        rows, trees = len(sums), max(1, self.roots.size)
        numbers, categories, items, bounds = (
            np.ascontiguousarray(one).reshape(-1)
            for one in (features.numbers, features.categories, features.items, features.bounds)
        )
        width = features.numbers.shape[1], features.categories.shape[1], features.set_columns
        given = (
            *width, self.values.shape[1], self.stride, numbers, categories, items, bounds,
            *self._packed, sums.reshape(-1),
        )  # fmt: skip

        def work(first: int, stop: int) -> None:
            kernel(first, stop, *given)

        share_rows(rows, work, are_many=rows * trees >= _SHARED)

    @functools.cached_property
    def _packed(self) -> tuple[Array, ...]:
        """The arrays for compiled code; `engine/codegen/forests.py` describes them."""
        nodes = self.nodes
        words = np.empty((len(nodes.kind), 4), np.int32)
        column = np.where(nodes.kind == LEAF, 0, nodes.column)  # read but unused for leaves
        words[:, 0] = nodes.kind.astype(np.int32) | nodes.missing << 4 | column << 5
        words[:, 1] = nodes.threshold.view(np.int32)
        words[:, 2] = nodes.positive
        words[:, 3] = nodes.start
        flat = words.reshape(-1)
        return (
            flat, flat.view(np.float32), nodes.terms, nodes.bits, nodes.columns, nodes.weights,
            nodes.replacements, self.cuts, self.set_cuts, self.roots, self.slots,
            self.values.reshape(-1),
        )  # fmt: skip

    def leaves(self, features: Features, rows: int) -> Array:
        """The index of the leaf that each row reaches in each tree: [rows, trees] of int32."""
        firsts = np.array([self._first_leaf(root) for root in self.roots.tolist()], np.int32)
        return np.asarray(self.slots[self.reached(features, 0, rows)] - firsts, np.int32)

    def _first_leaf(self, root: int) -> int:
        """The slot of a tree's first leaf; the negative child of a node follows it."""
        while self.slots[root] < 0:
            root += 1
        return int(self.slots[root])

    def reached(self, features: Features, first: int, last: int) -> Array:
        """The nodes that rows first, ..., last - 1 reach in each tree, [rows, trees]."""
        nodes = self.nodes
        at = np.tile(self.roots, (last - first, 1))
        rows = np.broadcast_to(np.arange(first, last)[:, None], at.shape)
        flat, rows = at.reshape(-1), rows.reshape(-1)
        going = np.arange(flat.size)
        for _ in range(self.depth):
            here = flat[going]
            inner = nodes.kind[here] != LEAF
            if not inner.all():
                going, here = going[inner], here[inner]
            if not going.size:
                break
            up = self._holds(features, here, rows[going])
            flat[going] = np.where(up, nodes.positive[here], here + 1)
        return flat.reshape(at.shape)

    def _holds(self, features: Features, here: Array, rows: Array) -> Array:
        """Whether the conditions of nodes hold for rows."""
        if self._kinds <= {LEAF, HIGHER}:
            return self._numbers(features, here, rows)
        kinds = self.nodes.kind[here]
        found = np.zeros(here.size, np.bool_)
        for group, answer in (
            (_OF_NUMBERS, self._numbers),
            (_OF_CATEGORIES, self._categories),
            (_OF_SETS, self._sets),
            ((OBLIQUE,), self._oblique),
        ):
            if self._kinds.isdisjoint(group):
                continue
            mine = np.flatnonzero(np.isin(kinds, group))
            if mine.size:
                found[mine] = answer(features, here[mine], rows[mine])
        return found

    def _numbers(self, features: Features, here: Array, rows: Array) -> Array:
        x = features.numbers[rows, self.nodes.column[here]]
        lacks = np.isnan(x)
        if MISSING in self._kinds:
            high = (x >= self.nodes.threshold[here]) & (self.nodes.kind[here] == HIGHER)
        else:
            high = x >= self.nodes.threshold[here]
        return np.asarray(np.where(lacks, self.nodes.missing[here], high))

    def _categories(self, features: Features, here: Array, rows: Array) -> Array:
        nodes = self.nodes
        column = nodes.column[here]
        x = features.categories[rows, column]
        lacks = x == -1
        x = np.where((x < 0) | (x >= self.cuts[column]), 0, x)
        has = self._bit(nodes.start[here] + x) & (nodes.kind[here] == CONTAINS)
        return np.asarray(np.where(lacks, nodes.missing[here], has))

    def _bit(self, places: Array) -> Array:
        return np.asarray((self.nodes.bits[places >> 3] >> (places & 7)) & 1, np.bool_)

    def _sets(self, features: Features, here: Array, rows: Array) -> Array:
        nodes = self.nodes
        column = nodes.column[here]
        cell = rows * features.set_columns + column
        begin, end = features.bounds[cell], features.bounds[cell + 1]
        sizes = end - begin
        lacks = np.zeros(here.size, np.bool_)
        filled = np.flatnonzero(sizes)
        lacks[filled] = features.items[begin[filled]] == -1
        # All items of all sets, with the number of their set.
        owner = np.repeat(np.arange(here.size), sizes)
        place = np.arange(owner.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        x = features.items[begin[owner] + place]
        x = np.where((x < 0) | (x >= self.set_cuts[column[owner]]), 0, x)
        has = np.zeros(here.size, np.bool_)
        has[owner[self._bit(nodes.start[here[owner]] + x)]] = True
        has &= nodes.kind[here] == CONTAINS_ANY
        return np.asarray(np.where(lacks, nodes.missing[here], has))

    def _oblique(self, features: Features, here: Array, rows: Array) -> Array:
        nodes = self.nodes
        start, count = nodes.start[here], nodes.terms[here]
        total = np.zeros(here.size, np.float32)
        lacks = np.zeros(here.size, np.bool_)
        for k in range(int(count.max())):
            mine = np.flatnonzero(count > k)
            place = start[mine] + k
            x = features.numbers[rows[mine], nodes.columns[place]]
            x = np.where(np.isnan(x), nodes.replacements[place], x)
            lacks[mine] |= np.isnan(x)
            total[mine] += x * nodes.weights[place]
        return np.asarray(np.where(lacks, nodes.missing[here], total >= nodes.threshold[here]))

    def _sum(self, reached: Array, out: Array) -> None:
        """The sums of the leaves' values over trees."""
        slots = self.slots[reached]
        if self.stride == 1:
            np.add.reduce(self.values[slots], axis=1, dtype=np.float64, out=out)
        else:
            given = self.values[slots, 0].astype(np.float64)
            for output in range(self.stride):
                np.add.reduce(given[:, output :: self.stride], axis=1, out=out[:, output])
        out += self.start

    def _linked(self, sums: Array) -> Array:
        """Predictions from the sums."""
        if self.link == "mean":
            return np.asarray(sums / self.roots.size)
        if self.link == "share":
            # The first class is the one of out-of-vocabulary words, not a prediction.
            return np.asarray(sums[:, 1:] / sums.sum(axis=1, keepdims=True))
        if self.link == "sigmoid":
            p = 1 / (1 + np.exp(-sums))
            return np.concatenate([1 - p, p], axis=1)
        if self.link == "softmax":
            powers = np.exp(sums - sums.max(axis=1, keepdims=True))
            return np.asarray(powers / powers.sum(axis=1, keepdims=True))
        if self.link == "exp":
            return np.asarray(np.exp(np.clip(sums, -MOST_EXPONENT, MOST_EXPONENT)))
        if self.link == "isolation":
            if not self.denominator:
                return np.zeros_like(sums)
            return np.asarray(np.exp2(-sums / self.roots.size / self.denominator))
        return sums
