"""Elementwise steps of a plan that become one kernel: which ones, and its text.

A cluster runs where its last step stood. So it may hold only steps that can wait until then:
nothing outside it may use what they make before that place. Every value in it has one shape, seen
as [rows, width], or is one number for each row (a mean, and what is made of it); an input is
that, a row, a column or a scalar of it, or some of its rows, each of which serves several.

Gradients want more than the whole values: what each row was divided by is needed again, and what
is repeated in one direction is summed in the other. Clusters that no product takes into itself
give such numbers of rows, too, and the totals of values over all rows (`engine.codegen.totals`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinnace.engine.codegen import forms, totals
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.engine.steps import Step
    from pinnace.graph.graph import Node, Value

    Sizes = Mapping[Value, tuple[int, ...]]

# LLVM checks each pair of arrays for overlap before a vector loop, and gives up at too many.
# Numbers have nothing to overlap with, and cost a little each to be passed.
_MOST_INPUTS, _MOST_WITH_NUMBERS = 8, 16
_MOST_OUTPUTS = 4
# What it takes to enter a kernel, and for each array of it; what a kernel of NumPy takes to enter,
# and for each element. Measured on one machine: only the order of magnitude matters.
_ENTRY_US, _ARRAY_US = 2.0, 0.5
_CALL_US, _COSTLY_CALL_US, _ELEMENT_US = 0.5, 1.5, 0.00012
# A choice takes as long as this many sums by NumPy, which writes a truth value for each number and
# branches by it.
_CHOICE = 6
# Elements of a row that a kernel is worth it for.
_SHORTEST = 8
# Elements from which a single step is worth sharing.
_LARGE = 1 << 19


@dataclass(eq=False)
class Cluster:
    """Steps that become one kernel.

    Attributes:
        shape: of every value in it.
        split: axes before it are rows, the others are the width; None while both will do.
        members: places in the plan, ascending.
        inputs: what it takes.
        outputs: what it gives.
        totals: those of the outputs that are sums over all rows, and of what.
        end: the place where it runs, if that is not the last of its members.
        reduces: whether a reduction wants this split and no other.
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
        """Where in the plan it runs."""
        return self.members[-1] if self.end is None else self.end

    @property
    def rows(self) -> int:
        """How many rows the values have."""
        return math.prod(self.shape[: self.at])

    @property
    def width(self) -> int:
        """Elements in a row."""
        return math.prod(self.shape[self.at :])

    @property
    def at(self) -> int:
        """`split`, or where there are enough rows to share them."""
        if self.split is not None:
            return self.split
        return next((n for n in range(len(self.shape)) if math.prod(self.shape[:n]) >= 8), 0)

    def can_split(self, at: int, sizes: Sizes) -> bool:
        """Whether all inputs can be read where the axes before this one are the rows."""
        return all(_kind(sizes[value], self.shape, at)[0] for value in self.inputs)

    def kind(self, value: Value, sizes: Sizes) -> str:
        """full, row, column, scalar, or shared: rows that serve several rows each."""
        return _kind(sizes[value], self.shape, self.at)[0]

    def repetition(self, value: Value, sizes: Sizes) -> tuple[int, int]:
        """Of a shared input: how often a block of its rows is repeated, and the rows of a block.

        Row r of the cluster is row `r // (often * block) * block + r % block` of the input.
        """
        size = _aligned(sizes[value], self.shape)[: self.at]
        lone = [n for n, one in enumerate(size) if one != self.shape[n]]
        return (
            math.prod(self.shape[lone[0] : lone[-1] + 1]),
            math.prod(self.shape[lone[-1] + 1 : self.at]),
        )


def find(
    steps: Sequence[Step],
    sizes: Sizes,
    results: Sequence[Value],
    taken: Collection[int] = (),
    *,
    alone: bool = False,
) -> list[Cluster]:
    """The clusters that are worth a kernel.

    Args:
        steps: a plan's.
        sizes: the shape of each value, where it is known.
        results: what the plan returns.
        taken: places that run in something else.
        alone: they may give numbers of rows and totals, read truth values, and rows that serve
            several; not where shapes may be others at another call.
    """
    uses: dict[Value, list[int]] = {}
    for place, step in enumerate(steps):
        for value in step.node.inputs:
            uses.setdefault(value, []).append(place)
    left_out: set[int] = set(taken)
    while True:
        found = _grown(steps, sizes, uses, left_out, alone)
        for cluster in found:
            _name_borders(cluster, steps, uses, set(results))
        if alone:
            break
        # A kernel gives only whole values: what others need one number a row of is theirs.
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
        totals.add(found, steps, sizes, results, left_out)
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
    """Clusters as large as they get, in the order of the plan.

    Args:
        steps: a plan's.
        sizes: the shape of each value.
        uses: the places that use a value.
        left_out: places that go into none.
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
            if trial is not None and _closed(trial, steps, uses, sizes):
                joined = trial
        for member in joined.members:
            of[member] = joined
    return list({id(cluster): cluster for cluster in of.values()}.values())


def _kind(size: tuple[int, ...], shape: tuple[int, ...], at: int | None) -> tuple[str, int | None]:
    """How a value of this size lies in the shape, and the split that it needs; "" if it cannot."""
    if size == shape:
        return "full", at
    if math.prod(size) == 1:
        return "scalar", at
    size = _aligned(size, shape)
    ahead = next((n for n, one in enumerate(size) if one != 1), len(size))
    if size[ahead:] == shape[ahead:] and (at is None or at == ahead):
        return "row", ahead
    behind = next((n for n in range(len(size), 0, -1) if size[n - 1] != 1), 0)
    if size[:behind] == shape[:behind] and (at is None or at == behind):
        return "column", behind
    # Axes of size 1 in the shape belong to rows and columns alike.
    if at is not None:
        if math.prod(size[:at]) == 1 and size[at:] == shape[at:]:
            return "row", at
        if math.prod(size[at:]) == 1 and size[:at] == shape[:at]:
            return "column", at
    last = _last_split(size, shape) if at is None else at
    return ("shared", last) if _is_shared(size, shape, last) else ("", at)


def _last_split(size: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The last split at which rows are long enough for a kernel; the last of all if there is none.

    As in group normalisation of few channels: [images, 1, 1, groups, 2] in [images, height, width,
    groups, 2].
    """
    last = len(shape) - 1
    found = next((n for n in range(last, 0, -1) if math.prod(shape[n:]) >= _SHORTEST), last)
    return found if _is_shared(size, shape, found) else last


def _is_shared(size: tuple[int, ...], shape: tuple[int, ...], at: int) -> bool:
    """Whether whole rows are repeated, along axes that lie together."""
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
    """A cluster of one step, if the step can be in one.

    Args:
        place: of the step.
        node: the step's.
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
    """Whether a step fits, by itself; its rows and columns fix the split."""
    operands = forms.operands(node)
    # Shared rows fit any split behind what is repeated: others are asked first.
    kinds = {value: _kind(sizes[value], cluster.shape, None)[0] for value in operands}
    for value in sorted(operands, key=lambda value: kinds[value] == "shared"):
        kind, split = _kind(sizes[value], cluster.shape, cluster.split)
        if not kind or (kind == "shared" and not alone):
            return False
        if kind == "scalar" and value.dtype is dtypes.bool:
            return False
        if kind in {"row", "column", "shared"}:
            cluster.split = split
    cluster.inputs += operands
    return True


def _union(cluster: Cluster, other: Cluster, sizes: Sizes, alone: bool) -> Cluster | None:
    """Both as one, if their shapes and splits agree, or can."""
    split = other.split if cluster.split is None else cluster.split
    if cluster.shape != other.shape:
        # What is done to one number of each row.
        split = other.split
        kinds = [_kind(sizes[value], other.shape, split)[0] for value in cluster.inputs]
        numbers = _kind(cluster.shape, other.shape, split)[0]
        if split is None or numbers != "column" or not set(kinds) <= {"column", "scalar"}:
            return None
    elif None not in {cluster.split, other.split} and cluster.split != other.split:
        if not alone or cluster.reduces == other.reduces:
            return None
        # What is done to single numbers needs no split: its inputs may be read by another.
        fixed, free = (cluster, other) if cluster.reduces else (other, cluster)
        split = fixed.split
        if split is None or not free.can_split(split, sizes):
            return None
    members = sorted({*cluster.members, *other.members})
    inputs = list(dict.fromkeys([*other.inputs, *cluster.inputs]))
    reduces = cluster.reduces or other.reduces
    return Cluster(other.shape, split, members, inputs, reduces=reduces)


def _closed(
    cluster: Cluster, steps: Sequence[Step], uses: Mapping[Value, Sequence[int]], sizes: Sizes
) -> bool:
    """Whether nothing outside uses a value before the cluster runs, and it is not too wide."""
    members, end = set(cluster.members), cluster.members[-1]
    made = {steps[place].node.outputs[0] for place in cluster.members}
    cluster.inputs = [value for value in cluster.inputs if value not in made]
    arrays = sum(math.prod(sizes[value]) != 1 for value in cluster.inputs)
    if arrays > _MOST_INPUTS or len(cluster.inputs) > _MOST_WITH_NUMBERS:
        return False
    outside = 0
    for place in cluster.members:
        value = steps[place].node.outputs[0]
        users = [user for user in uses.get(value, ()) if user not in members]
        if any(user < end for user in users):
            return False
        outside += bool(users) and sizes[value] == cluster.shape
    return outside <= _MOST_OUTPUTS


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
    whole_outputs = sum(sizes[value] == cluster.shape for value in cluster.outputs)
    if not 0 < len(cluster.outputs) <= 2 * _MOST_OUTPUTS or cluster.width < _SHORTEST:
        return False
    if whole_outputs + len(cluster.totals) > _MOST_OUTPUTS:
        return False
    if any(not cluster.kind(value, sizes) for value in cluster.inputs):
        return False
    if any(not _is_given(cluster, value, sizes) for value in cluster.outputs):
        return False
    size = math.prod(cluster.shape)
    saved = -_ENTRY_US - _ARRAY_US * (len(cluster.inputs) + len(cluster.outputs))
    whole = False
    for place in cluster.members:
        node = steps[place].node
        is_row = forms.reduced_axes(node, _first(node, sizes)) is not None
        template = forms.template(node, chooses=True) or ""
        costly = is_row or forms.is_costly(template)
        # Several passes of NumPy by itself.
        passes = len(node.inputs) - 1 if node.op.sums else 1
        whole = whole or node.op.name == "Softmax" or " if " in template or passes > 1
        each = _ELEMENT_US * (8 if costly else _CHOICE if " if " in template else 1)
        saved += (_COSTLY_CALL_US if costly else _CALL_US) + passes * size * each
    # One step by itself is a pass in either case, but a kernel's is shared by threads.
    large = size >= _LARGE
    return (len(cluster.members) > 1 or whole or large) and saved > 1


def _is_given(cluster: Cluster, value: Value, sizes: Sizes) -> bool:
    """Whether a kernel can write it: whole, one number a row, or the total of all rows."""
    if sizes[value] == cluster.shape or value in cluster.totals:
        return True
    return cluster.kind(value, sizes) == "column"
