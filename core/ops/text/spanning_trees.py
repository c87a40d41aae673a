"""Arborescences of maximal weight in directed graphs: MaxSpanningTree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.framework.dtypes import float32, float64, int32
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

__all__: list[str] = []

_OP = "MaxSpanningTree"
_MOST_NODES = 32767
_GONE = -1


class _Arc(NamedTuple):
    source: int
    target: int
    score: Array


class _Solver:
    """Tarjan's algorithm for dense graphs, which contracts cycles of best arcs to nodes.

    A node 0 is put before the others, with an arc to each one that may be a root. Column s of a row
    is the best arc from s into that node, or into one of those that it was made of.

    Args:
        scores: [target, source]; of roots on the diagonal. What is not finite is no arc.
        forest: whether there may be several roots.
    """

    def __init__(self, scores: Array, *, forest: bool) -> None:
        count = len(scores)
        self._forest, self._count = forest, count
        size = 2 * count + 1
        self._exists = np.zeros((size, count + 1), np.bool_)
        self._scores = np.zeros((size, count + 1), scores.dtype)
        self._targets = np.zeros((size, count + 1), np.int64)
        self._scores[1 : count + 1, 1:] = scores
        self._scores[1 : count + 1, 0] = scores.diagonal()
        self._exists[: count + 1] = np.isfinite(self._scores[: count + 1])
        self._exists[0] = False
        diagonal = np.arange(1, count + 1)
        self._exists[diagonal, diagonal] = False
        self._targets[: count + 1] = np.arange(count + 1)[:, None]
        self._used = count + 1
        self._weak = np.arange(count + 1)
        self._strong = np.arange(count + 1)
        self._within = np.arange(size)  # the node that each one has been merged into
        self._parents = np.zeros(size, np.int64)
        self._best: list[_Arc] = [_Arc(0, 0, scores[:0])]

    def solve(self) -> Array:
        """The source of the arc into each node; the node itself for a root."""
        self._penalize()
        target = 1
        while target < self._used:
            arc = self._best_into(target)
            self._best.append(arc)
            if arc.source:
                ends = self._weak[arc.source], self._weak[arc.target]
                if ends[0] == ends[1]:
                    self._contract(target)
                else:
                    self._weak[self._weak == ends[1]] = ends[0]
            target += 1
        return self._expanded()

    def _penalize(self) -> None:
        """Adjust scores so that trees with one root beat all with two."""
        known = self._scores[self._exists]
        if not self._forest and known.size:
            spread = known.max() - known.min()
            penalty = known.dtype.type(1) + known.dtype.type(self._count + 1) * spread
            self._scores[self._exists[:, 0], 0] -= penalty

    def _best_into(self, node: int) -> _Arc:
        sources = np.flatnonzero(self._exists[node])
        if not len(sources):
            raise FailedPreconditionError(f"{_OP}: Infeasible digraph: no arc leads into a node")
        scores = self._scores[node, sources]
        last = len(scores) - 1 - int(scores[::-1].argmax())
        source = int(sources[last])
        return _Arc(source, int(self._targets[node, source]), self._scores[node, source])

    def _contract(self, node: int) -> None:
        """Contract a cycle to one node, with arcs adjusted by the cost of breaking it."""
        made = self._used
        self._used += 1
        cycle = []
        one = node
        while one != made:
            arc = self._best[one]
            cycle.append((one, arc.score))
            self._strong[self._strong == self._strong[arc.target]] = self._strong[arc.source]
            after = int(self._within[arc.source])
            self._within[self._within == one] = made
            self._parents[one] = made
            one = int(self._within[after])
        for one, score in cycle:
            outside = self._strong != self._strong[self._targets[one]]
            new = self._scores[one] - score
            better = ~self._exists[made] | (self._scores[made] < new)
            taken = self._exists[one] & outside & better
            self._scores[made, taken] = new[taken]
            self._targets[made, taken] = self._targets[one, taken]
            self._exists[made] |= taken

    def _expanded(self) -> Array:
        """Break each cycle at the arc that enters it, outermost first."""
        for node in range(self._used - 1, self._count, -1):
            if self._parents[node] != _GONE:
                arc = self._best[node]
                self._best[arc.target] = arc
                inner = int(self._parents[arc.target])
                while inner not in {_GONE, node}:
                    self._parents[inner], inner = _GONE, int(self._parents[inner])
        found = np.array([arc.source - 1 for arc in self._best[1 : self._count + 1]])
        roots = np.flatnonzero(found < 0)
        found[roots] = roots
        if not self._forest and len(roots) != 1:
            raise FailedPreconditionError(f"{_OP}: Infeasible digraph: it has no tree of one root")
        return found


def _kernel(num_nodes: Array, scores: Array, *, forest: bool) -> tuple[Array, Array]:
    if num_nodes.ndim != 1 or scores.ndim != 3 or scores.shape[1] != scores.shape[2]:
        raise InvalidArgumentError(
            f"{_OP}: num_nodes must be a vector and scores [batch, n, n], got the shapes "
            f"{list(num_nodes.shape)} and {list(scores.shape)}"
        )
    if len(num_nodes) != len(scores):
        raise InvalidArgumentError(f"{_OP}: {len(num_nodes)} num_nodes for {len(scores)} graphs")
    sums = np.zeros(len(scores), scores.dtype)
    sources = np.full(scores.shape[:2], -1, np.int32)
    for index, (count, table) in enumerate(zip(num_nodes.tolist(), scores, strict=True)):
        if not 0 < count <= min(scores.shape[1], _MOST_NODES):
            raise InvalidArgumentError(
                f"{_OP}: graph {index} has {count} nodes; there have to be 1 to "
                f"{min(scores.shape[1], _MOST_NODES)}"
            )
        with np.errstate(over="ignore"):  # integers wrap, as in TensorFlow Text
            found = _Solver(table[:count, :count], forest=forest).solve()
            for target, source in enumerate(found):
                sums[index] += table[target, source]
        sources[index, :count] = found
    return sums, sources


def _infer(call: InferCall) -> tuple[Shape, Shape]:
    dims = call.spec(1).shape.dims
    if dims is None:
        return Shape([None]), Shape([None, None])
    if len(dims) != 3:
        call.fail(f"scores must have 3 axes, got {len(dims)}")
    return Shape(dims[:1]), Shape(dims[:2])


MAX_SPANNING_TREE = define(
    name=_OP,
    signature="num_nodes: int32, scores: T -> max_scores: T, argmax_sources: int32",
    types={"T": frozenset({int32, float32, float64})},
    attrs={"forest": attr("bool", default=False)},
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
