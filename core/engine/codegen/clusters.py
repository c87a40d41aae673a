"""Finds the elementwise steps of a plan that become one kernel.

A cluster runs at the place of its last step. So it may contain only steps that can wait until then:
nothing outside it may use their results before that. Every value in it has the same shape, seen as
[rows, width], or has one number per row (such as a mean, and values computed from it); an input is
such a value, a row, a column or a scalar broadcast to it, or rows that are each repeated.

Gradients need more outputs than full values: the divisor of each row is used again, and values that
were broadcast along an axis are summed over it. Clusters outside of loops also output values per
row, and totals over all rows (`engine.codegen.totals`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinnace.engine.codegen import forms, totals
from pinnace.engine.steps import uses_of
from pinnace.framework import dtypes
from pinnace.ops.opdef import calls_slow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.engine.steps import Step
    from pinnace.graph.graph import Node, Value

    Sizes = Mapping[Value, tuple[int, ...]]

# The cost of calling a kernel, and per array of it; of calling a NumPy kernel, and per element.
# Measured on one machine: only the order of magnitude matters.
_ENTRY_US, _ARRAY_US = 2.0, 0.5
_CALL_US, _COSTLY_CALL_US, _ELEMENT_US = 0.5, 1.5, 0.00012
# The cost of a select in NumPy, relative to an addition: it writes booleans and branches on them.
_CHOICE = 6
# Fewest elements of a row for a kernel.
_SHORTEST = 8
# Numbers of a row up to which several rows are joined: the overhead of a row equals that of some
# dozen numbers. The least repetitions of a joined row, each of which is read instead of written.
_WIDE, _OFTEN = 512, 4
# Elements from which a single step is shared between threads, and from which a costly one is faster
# than NumPy's in one.
_LARGE, _LARGE_COSTLY = 1 << 19, 1 << 14


@dataclass(eq=False)
class Cluster:
    """Elementwise steps that become one kernel.

    Attributes:
        shape: the shape of its full values.
        split: axes before it are rows, the others the width; None while any split is possible.
        members: indices of steps in the plan, ascending.
        inputs: the values that it reads.
        outputs: the values that it computes for others.
        totals: outputs that are sums over all rows, and the summed values.
        end: the index at which it runs, if not that of its last member.
        reduces: whether a reduction fixes the split.
    """

    shape: tuple[int, ...]
    split: int | None = None
    members: list[int] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    totals: dict[Value, Value] = field(default_factory=dict)
    end: int | None = None
    reduces: bool = False

    @property
    def place(self) -> int:
        """The index in the plan at which it runs."""
        return self.members[-1] if self.end is None else self.end

    @property
    def rows(self) -> int:
        """The number of rows."""
        return math.prod(self.shape[: self.at])

    @property
    def width(self) -> int:
        """Elements in a row."""
        return math.prod(self.shape[self.at :])

    @property
    def at(self) -> int:
        """`split`, or the largest one with enough rows to share."""
        if self.split is not None:
            return self.split
        return next((n for n in range(len(self.shape)) if math.prod(self.shape[:n]) >= 8), 0)

    def can_split(self, at: int, sizes: Sizes) -> bool:
        """Whether all inputs can be read with the axes before this one as rows."""
        return all(_kind(sizes[value], self.shape, at)[0] for value in self.inputs)

    def kind(self, value: Value, sizes: Sizes) -> str:
        """The kind of an input: full, row, column, scalar, or shared: rows that are repeated."""
        return _kind(sizes[value], self.shape, self.at)[0]

    def repetition(self, value: Value, sizes: Sizes, joined: int = 1) -> tuple[int, int]:
        """For a shared input: the repetitions of a block of rows, and the rows of a block.

        Row r of the cluster is row `r // (often * block) * block + r % block` of the input.

        Args:
            value: the input.
            sizes: the shapes of the plan's values.
            joined: rows that form one: of a block, or the repetitions of a single row.
        """
        size = _aligned(sizes[value], self.shape)[: self.at]
        lone = [n for n, one in enumerate(size) if one != self.shape[n]]
        often = math.prod(self.shape[lone[0] : lone[-1] + 1])
        block = math.prod(self.shape[lone[-1] + 1 : self.at])
        return (often // joined, 1) if block == 1 else (often, block // joined)

    def rows_at_once(self, sizes: Sizes) -> int:
        """The number of rows that the kernel treats as one; 1 if there are values per row."""
        kinds = {value: self.kind(value, sizes) for value in self.inputs}
        if self.reduces or "column" in kinds.values():
            return 1
        if any(value not in self.totals and sizes[value] != self.shape for value in self.outputs):
            return 1
        repeated = [
            self.repetition(value, sizes) for value, kind in kinds.items() if kind == "shared"
        ]

        def fits(joined: int) -> bool:
            return self.rows % joined == 0 and all(
                often % joined == 0 and often >= _OFTEN * joined
                if block == 1
                else block % joined == 0
                for often, block in repeated
            )

        joined = 1
        while self.width * joined * 2 <= _WIDE and fits(2 * joined):
            joined *= 2
        return joined


def find(
    steps: Sequence[Step],
    sizes: Sizes,
    results: Sequence[Value],
    taken: Collection[int] = (),
    *,
    alone: bool = False,
) -> list[Cluster]:
    """The clusters for which a kernel pays off.

    Args:
        steps: the plan's steps.
        sizes: the shape of each value, where it is known.
        results: the plan's results.
        taken: indices of steps in other regions.
        alone: allow values per row, totals, booleans and repeated rows; not if shapes may differ at
            another call.
    """
    uses = uses_of(steps)
    left_out: set[int] = set(taken)
    while True:
        found = _grown(steps, sizes, uses, left_out, alone)
        for cluster in found:
            _name_borders(cluster, steps, uses, set(results))
        if alone:
            break
        # A kernel outputs only full values: steps with other results that are used outside are
        # removed.
        lost = {
            place
            for cluster in found
            if any(sizes[value] != cluster.shape for value in cluster.outputs)
            for place in cluster.members
            if forms.reduced_axes(steps[place].node, _first(steps[place].node, sizes)) is not None
        }
        if not lost - left_out:
            break
        left_out |= lost
    if alone:
        totals.add(found, steps, sizes, results, left_out, uses)
    return [cluster for cluster in found if _worthwhile(cluster, steps, sizes)]


def _first(node: Node, sizes: Sizes) -> tuple[int, ...]:
    return sizes.get(node.inputs[0], ()) if node.inputs else ()


def _grown(
    steps: Sequence[Step],
    sizes: Sizes,
    uses: Mapping[Value, Sequence[int]],
    left_out: set[int],
    alone: bool,
) -> list[Cluster]:
    """Clusters grown as large as possible, in the plan's order.

    Args:
        steps: the plan's steps.
        sizes: the shape of each value.
        uses: the indices of consumers of a value.
        left_out: indices of steps that join no cluster.
        alone: see `find`.
    """
    places = {step.node: place for place, step in enumerate(steps)}
    of: dict[int, Cluster] = {}
    for place, step in enumerate(steps):
        joined = None if place in left_out else single(place, step.node, sizes, alone=alone)
        if joined is None:
            continue
        makers = [places[value.node] for value in step.node.inputs if value.node in places]
        for other in {id(of[maker]): of[maker] for maker in makers if maker in of}.values():
            trial = _union(joined, other, sizes, alone)
            if trial is not None and _closed(trial, steps, uses):
                joined = trial
        for member in joined.members:
            of[member] = joined
    return list({id(cluster): cluster for cluster in of.values()}.values())


def _kind(size: tuple[int, ...], shape: tuple[int, ...], at: int | None) -> tuple[str, int | None]:
    """The broadcast of a value of this size, and the split it needs; "" if there is none."""
    if size == shape:
        return "full", at
    if math.prod(size) == 1:
        return "scalar", at
    size = _aligned(size, shape)
    # Axes of size 1 belong to rows and columns alike.
    row = column = at
    if row is None or column is None:
        wide = [n for n, one in enumerate(size) if one != 1]
        row, column = wide[0], wide[-1] + 1
    if math.prod(size[:row]) == 1 and size[row:] == shape[row:]:
        return "row", row
    if math.prod(size[column:]) == 1 and size[:column] == shape[:column]:
        return "column", column
    last = _last_split(size, shape) if at is None else at
    return ("shared", last) if _is_shared(size, shape, last) else ("", at)


def _last_split(size: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The last split with rows that are long enough for a kernel, or else the last of all.

    An example is group normalisation with few channels: [images, 1, 1, groups, 2] in [images,
    height, width, groups, 2].
    """
    last = len(shape) - 1
    found = next((n for n in range(last, 0, -1) if math.prod(shape[n:]) >= _SHORTEST), last)
    return found if _is_shared(size, shape, found) else last


def _is_shared(size: tuple[int, ...], shape: tuple[int, ...], at: int) -> bool:
    """Whether full rows are repeated along adjacent axes."""
    if len(size) != len(shape):
        return False
    if any(one not in {1, of} for one, of in zip(size, shape, strict=True)):
        return False
    repeated = [n for n, one in enumerate(size) if one == 1 != shape[n]]
    if not repeated or repeated[-1] >= at:
        return False
    return all(size[n] == 1 for n in range(repeated[0], repeated[-1] + 1))


def _aligned(size: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The size with as many axes as the shape."""
    return (1,) * (len(shape) - len(size)) + size


def single(place: int, node: Node, sizes: Sizes, *, alone: bool = False) -> Cluster | None:
    """A cluster of one step, if the step can be in a cluster.

    Args:
        place: index of the step.
        node: the step.
        sizes: the shape of each value.
        alone: see `find`.
    """
    if any(value not in sizes for value in (*forms.operands(node), *node.outputs)):
        return None
    axis = forms.reduced_axes(node, _first(node, sizes))
    if axis is not None:
        whole = node.inputs[0]
        return Cluster(sizes[whole], axis, [place], [whole], reduces=True)
    if forms.template(node, chooses=alone) is None and not (alone and forms.repeats(node)):
        return None
    cluster = Cluster(sizes[node.outputs[0]], members=[place])
    return cluster if _fits(cluster, node, sizes, alone) else None


def _fits(cluster: Cluster, node: Node, sizes: Sizes, alone: bool) -> bool:
    """Whether a step fits; its rows and columns fix the split."""
    operands = forms.operands(node)
    kinds = {value: _kind(sizes[value], cluster.shape, None)[0] for value in operands}
    # Shared rows fit any split after the repeated axes: the other inputs choose it. If these need
    # an earlier one, they may be shared rows themselves.
    for is_first in (False, True):
        order = sorted(operands, key=lambda value: (kinds[value] == "shared") != is_first)
        split = cluster.split
        for value in order:
            kind, needed = _kind(sizes[value], cluster.shape, split)
            if not kind or (kind == "shared" and not alone):
                break
            if kind == "scalar" and value.dtype is dtypes.bool:
                return False
            if kind in {"row", "column", "shared"}:
                split = needed
        else:
            cluster.split = split
            cluster.inputs += operands
            return True
        if "shared" not in kinds.values():
            return False
    return False


def _union(cluster: Cluster, other: Cluster, sizes: Sizes, alone: bool) -> Cluster | None:
    """The union of two clusters, if their shapes and splits are compatible."""
    split = other.split if cluster.split is None else cluster.split
    if cluster.shape != other.shape:
        # Operations on one number per row.
        split = other.split
        kinds = [_kind(sizes[value], other.shape, split)[0] for value in cluster.inputs]
        numbers = _kind(cluster.shape, other.shape, split)[0]
        if split is None or numbers != "column" or not set(kinds) <= {"column", "scalar"}:
            return None
    elif None not in {cluster.split, other.split} and cluster.split != other.split:
        if not alone or cluster.reduces == other.reduces:
            return None
        # Operations on scalars need no split: another cluster may read their inputs.
        fixed, free = (cluster, other) if cluster.reduces else (other, cluster)
        split = fixed.split
        if split is None or not free.can_split(split, sizes):
            return None
    members = sorted({*cluster.members, *other.members})
    inputs = list(dict.fromkeys([*other.inputs, *cluster.inputs]))
    reduces = cluster.reduces or other.reduces
    return Cluster(other.shape, split, members, inputs, reduces=reduces)


def _closed(cluster: Cluster, steps: Sequence[Step], uses: Mapping[Value, Sequence[int]]) -> bool:
    """Whether no value is used outside before the cluster runs."""
    members, end = set(cluster.members), cluster.members[-1]
    made = {steps[place].node.outputs[0] for place in cluster.members}
    cluster.inputs = [value for value in cluster.inputs if value not in made]
    return not any(user < end and user not in members for one in made for user in uses.get(one, ()))


def _name_borders(
    cluster: Cluster,
    steps: Sequence[Step],
    uses: Mapping[Value, Sequence[int]],
    results: set[Value],
) -> None:
    members = set(cluster.members)
    made = [steps[place].node.outputs[0] for place in cluster.members]
    cluster.inputs = list(
        dict.fromkeys(
            value
            for place in cluster.members
            for value in forms.operands(steps[place].node)
            if value not in set(made)
        )
    )
    cluster.outputs = [
        value
        for value in made
        if value in results or any(user not in members for user in uses.get(value, ()))
    ]


def _worthwhile(cluster: Cluster, steps: Sequence[Step], sizes: Sizes) -> bool:
    if not cluster.outputs or any(not cluster.kind(value, sizes) for value in cluster.inputs):
        return False
    if cluster.width * cluster.rows_at_once(sizes) < _SHORTEST:
        return False
    if any(not _is_given(cluster, value, sizes) for value in cluster.outputs):
        return False
    size = math.prod(cluster.shape)
    saved = -_ENTRY_US - _ARRAY_US * (len(cluster.inputs) + len(cluster.outputs))
    whole = is_slow = False
    for place in cluster.members:
        node = steps[place].node
        is_row = forms.reduced_axes(node, _first(node, sizes)) is not None
        template = forms.template(node, chooses=True) or ""
        is_slow = calls_slow(template)
        costly = is_row or is_slow
        # NumPy needs several passes for it.
        passes = len(node.inputs) - 1 if node.op.sums else 1
        whole = whole or node.op in forms.SOFTMAXES or " if " in template or passes > 1
        each = _ELEMENT_US * (8 if costly else _CHOICE if " if " in template else 1)
        saved += (_COSTLY_CALL_US if costly else _CALL_US) + passes * size * each
    # A single step is one pass in either case, but a kernel's is shared by threads.
    large = size >= (_LARGE_COSTLY if is_slow else _LARGE)
    return (len(cluster.members) > 1 or whole or large) and saved > 1


def _is_given(cluster: Cluster, value: Value, sizes: Sizes) -> bool:
    """Whether a kernel can output a value: full, one number per row, or a total over all rows."""
    if sizes[value] == cluster.shape or value in cluster.totals:
        return True
    return cluster.kind(value, sizes) == "column"
