"""Elementwise steps of a plan that become one kernel: which ones, and its text.

A cluster runs where its last step stood. So it may hold only steps that can wait until then:
nothing outside it may use what they make before that place. Every value in it has one shape, seen
as [rows, width]; an input is that, a row, a column or a scalar of it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.plan import Step
    from pinnace.graph.graph import Node, Value

    Sizes = Mapping[Value, tuple[int, ...]]

# What a fused form may call: `codegen.mathematics` has it as vector code.
_QUICK = frozenset({"T", "abs", "max", "min", "sqrt"})
_COSTLY = frozenset({"erf", "erfc", "exp", "tanh"})
_CALLS = re.compile(r"([a-z_A-Z]\w*)\(")
_BIAS_ADD = "{value} + {bias}"
# LLVM checks each pair of arrays for overlap before a vector loop, and gives up at too many.
_MOST_INPUTS = 8
_MOST_OUTPUTS = 3
# What it takes to enter a kernel, and for each array of it; what a kernel of NumPy takes to enter,
# and for each element. Measured on one machine: only the order of magnitude matters.
_ENTRY_US, _ARRAY_US = 2.0, 0.5
_CALL_US, _COSTLY_CALL_US, _ELEMENT_US = 0.5, 1.5, 0.00012


@dataclass(eq=False)
class Cluster:
    """Steps that become one kernel.

    Attributes:
        shape: of every value in it.
        split: axes before it are rows, the others are the width; None while both will do.
        members: places in the plan, ascending.
    """

    shape: tuple[int, ...]
    split: int | None = None
    members: list[int] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)

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

    def kind(self, value: Value, sizes: Sizes) -> str:
        """full, row, column or scalar."""
        return _kind(sizes[value], self.shape, self.at)[0]


def find(steps: Sequence[Step], sizes: Sizes, results: Sequence[Value]) -> list[Cluster]:
    """The clusters that are worth a kernel.

    Args:
        steps: a plan's.
        sizes: the shape of each value, where it is known.
        results: what the plan returns.
    """
    places = {step.node: place for place, step in enumerate(steps)}
    uses: dict[Value, list[int]] = {}
    for place, step in enumerate(steps):
        for value in step.node.inputs:
            uses.setdefault(value, []).append(place)
    of: dict[int, Cluster] = {}
    for place, step in enumerate(steps):
        joined = _alone(place, step.node, sizes)
        if joined is None:
            continue
        makers = [places[value.node] for value in step.node.inputs if value.node in places]
        for other in {id(of[maker]): of[maker] for maker in makers if maker in of}.values():
            trial = _union(joined, other)
            if trial is not None and _closed(trial, steps, uses):
                joined = trial
        for member in joined.members:
            of[member] = joined
    found = list({id(cluster): cluster for cluster in of.values()}.values())
    for cluster in found:
        _name_borders(cluster, steps, uses, set(results))
    return [cluster for cluster in found if _worthwhile(cluster, steps, sizes)]


def template(node: Node) -> str | None:
    """The scalar expression of an op on float32 numbers; None if there is none, or none quick."""
    op = node.op
    if len(node.outputs) != 1 or node.controls:
        return None
    if any(value.dtype is not dtypes.float32 for value in (*node.inputs, *node.outputs)):
        return None
    if op.name == "BiasAdd":
        return _BIAS_ADD if node.attrs.get("data_format") != "NCHW" else None
    if op.fuse is None or not set(_CALLS.findall(op.fuse)) <= _QUICK | _COSTLY:
        return None
    return op.fuse


def text(cluster: Cluster, steps: Sequence[Step], sizes: Sizes) -> str:
    """The kernel: `kernel(start, stop, width, *inputs, *outputs)` for rows from start to stop."""
    names: dict[Value, str] = {}
    lines = ["    for r in range(start, stop):", "        base = r * width"]
    inner, types = [], []
    for index, value in enumerate(cluster.inputs):
        kind = cluster.kind(value, sizes)
        names[value] = f"a{index}" if kind in {"full", "row"} else f"x{index}"
        types.append({"scalar": "float32", "full": "ROWS"}.get(kind, "READ"))
        if kind == "full":
            lines.append(f"        r{index} = row(x{index}, r, width)")
            inner.append(f"a{index} = r{index}[c]")
        elif kind == "row":
            inner.append(f"a{index} = x{index}[c]")
        elif kind == "column":
            names[value] = f"a{index}"
            lines.append(f"        a{index} = x{index}[r]")
    lines += [
        f"        z{index} = y{index}[base : base + width]" for index in range(len(cluster.outputs))
    ]
    lines.append("        for c in range(width):")
    for index, place in enumerate(cluster.members):
        node = steps[place].node
        written = template(node) or ""
        arguments = {
            argument.name: names[value]
            for argument, value in zip(node.op.inputs, node.inputs, strict=True)
        }
        written = re.sub(r"\bmax\(", "maximum(", re.sub(r"\bmin\(", "minimum(", written))
        inner.append(f"t{index} = T({written.format(**arguments)})")
        names[node.outputs[0]] = f"t{index}"
    inner += [f"z{index}[c] = {names[v]}" for index, v in enumerate(cluster.outputs)]
    lines += [f"            {line}" for line in inner]
    arrays = [f"x{n}" for n in range(len(cluster.inputs))]
    arrays += [f"y{n}" for n in range(len(cluster.outputs))]
    types += ["WRITTEN"] * len(cluster.outputs)
    return (
        "T = np.float32\n\n\n"
        f"@njit([void(int64, int64, int64, {', '.join(types)})],\n"
        '      cache=True, nogil=True, error_model="numpy", fastmath={"contract"})\n'
        f"def kernel(start, stop, width, {', '.join(arrays)}):\n" + "\n".join(lines) + "\n"
    )


def _kind(size: tuple[int, ...], shape: tuple[int, ...], at: int | None) -> tuple[str, int | None]:
    """How a value of this size lies in the shape, and the split that it needs; "" if it cannot."""
    if size == shape:
        return "full", at
    if math.prod(size) == 1:
        return "scalar", at
    size = (1,) * (len(shape) - len(size)) + size
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
    return "", at


def _alone(place: int, node: Node, sizes: Sizes) -> Cluster | None:
    """A cluster of one step, if the step can be in one."""
    if template(node) is None:
        return None
    shape = sizes.get(node.outputs[0])
    if shape is None or any(value not in sizes for value in node.inputs):
        return None
    cluster = Cluster(shape, members=[place])
    return cluster if _fits(cluster, node, sizes) else None


def _fits(cluster: Cluster, node: Node, sizes: Sizes) -> bool:
    """Whether a step fits, by itself; its rows and columns fix the split."""
    for value in node.inputs:
        kind, split = _kind(sizes[value], cluster.shape, cluster.split)
        if not kind:
            return False
        if kind in {"row", "column"}:
            cluster.split = split
        cluster.inputs.append(value)
    return True


def _union(cluster: Cluster, other: Cluster) -> Cluster | None:
    """Both as one, if their shapes and splits agree and it does not grow too wide."""
    if cluster.shape != other.shape:
        return None
    if None not in {cluster.split, other.split} and cluster.split != other.split:
        return None
    split = other.split if cluster.split is None else cluster.split
    members = sorted({*cluster.members, *other.members})
    inputs = list(dict.fromkeys([*other.inputs, *cluster.inputs]))
    return Cluster(cluster.shape, split, members, inputs)


def _closed(cluster: Cluster, steps: Sequence[Step], uses: Mapping[Value, Sequence[int]]) -> bool:
    """Whether nothing outside uses a value before the cluster runs, and it is not too wide."""
    members, end = set(cluster.members), cluster.members[-1]
    made = {steps[place].node.outputs[0] for place in cluster.members}
    cluster.inputs = [value for value in cluster.inputs if value not in made]
    if len(cluster.inputs) > _MOST_INPUTS:
        return False
    outside = 0
    for place in cluster.members:
        value = steps[place].node.outputs[0]
        users = [user for user in uses.get(value, ()) if user not in members]
        if any(user < end for user in users):
            return False
        outside += bool(users)
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
            for value in steps[place].node.inputs
            if value not in set(made)
        )
    )
    cluster.outputs = [
        value
        for value in made
        if value in results or any(user not in members for user in uses.get(value, ()))
    ]


def _worthwhile(cluster: Cluster, steps: Sequence[Step], sizes: Sizes) -> bool:
    if not 0 < len(cluster.outputs) <= _MOST_OUTPUTS or cluster.width < 8:
        return False
    if any(not cluster.kind(value, sizes) for value in cluster.inputs):
        return False
    size = math.prod(cluster.shape)
    saved = -_ENTRY_US - _ARRAY_US * (len(cluster.inputs) + len(cluster.outputs))
    for place in cluster.members:
        costly = bool(set(_CALLS.findall(template(steps[place].node) or "")) & _COSTLY)
        saved += (_COSTLY_CALL_US if costly else _CALL_US) + size * _ELEMENT_US * (
            8 if costly else 1
        )
    return len(cluster.members) > 1 and saved > 1
