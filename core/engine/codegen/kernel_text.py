"""The text of a cluster's kernel: one function over rows.

Without reductions a row is one loop over its columns. A sum or maximum of a row is there only when
a loop has ended, so what needs it is in the next one. What a later loop needs again is computed
again if that is a few sums and products; what was costly is kept, in the output it becomes or in a
row of scratch. Totals over all rows are added up in the order of the rows, in an array that the
caller has set to zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinnace.engine.codegen import forms
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.codegen.clusters import Cluster
    from pinnace.engine.steps import Step
    from pinnace.graph.graph import Value

    Sizes = Mapping[Value, tuple[int, ...]]

_STARTS = {"sum": "T(0)", "max": "T(-np.inf)"}
_JOINS = {"sum": "plus", "max": "larger"}
# Columns from which whole registers are quicker: what is left of a row is taken one by one.
_WHOLE = 32


@dataclass(eq=False)
class _Item:
    """A number of the kernel: one per column (`varies`) or one per row.

    Attributes:
        name: in the text.
        written: its expression; of a reduction, what becomes of the total.
        uses: what the expression names.
        varies: whether it differs from column to column.
        costly: whether to keep it rather than compute it again.
        reduced: "sum" or "max" of the only thing it uses.
        loads: whether it is an input.
        loop: the first loop that can compute it; a row's number is there before that loop.
    """

    name: str
    written: str
    uses: list[_Item]
    varies: bool
    costly: bool = False
    reduced: str = ""
    loads: bool = False
    loop: int = field(init=False)

    def __post_init__(self) -> None:
        self.loop = max((use.loop for use in self.uses), default=0) + bool(self.reduced)


def text(cluster: Cluster, steps: Sequence[Step], sizes: Sizes) -> str:
    """The kernel: `kernel(start, stop, width, *inputs, *outputs)` for rows from start to stop."""
    writer = _Writer(cluster, steps, sizes)
    arrays = [f"x{n}" for n in range(len(cluster.inputs))]
    arrays += writer.results
    types = [*writer.types, *["WRITTEN"] * len(cluster.outputs)]
    return (
        "T = np.float32\n\n\n"
        f"@njit([void(int64, int64, int64, {', '.join(types)})],\n"
        '      cache=True, nogil=True, error_model="numpy", fastmath={"contract"})\n'
        f"def kernel(start, stop, width, {', '.join(arrays)}):\n"
        + ("    whole_vectors()\n" if cluster.width >= _WHOLE else "")
        + "\n".join(writer.lines())
        + "\n"
    )


class _Writer:
    """The body of a kernel, from what its values are.

    Attributes:
        types: of the inputs.
        results: names of the outputs: whole values `y`, numbers of rows `v`, totals `s`.
    """

    def __init__(self, cluster: Cluster, steps: Sequence[Step], sizes: Sizes) -> None:
        self.types: list[str] = []
        self._per_row: list[str] = []
        self._items: list[_Item] = []
        self._cluster = cluster
        self._sizes = sizes
        of: dict[Value, _Item] = {}
        for index, value in enumerate(cluster.inputs):
            kind = cluster.kind(value, sizes)
            shared = cluster.repetition(value, sizes) if kind == "shared" else (1, 1)
            of[value] = self._input(index, kind, shared, value.dtype is dtypes.bool)
        for index, place in enumerate(cluster.members):
            node = steps[place].node
            if node.outputs[0] in cluster.totals:
                continue
            operands = [of[value] for value in forms.operands(node)]
            of[node.outputs[0]] = self._member(index, place, steps, operands)
        given = dict(enumerate(cluster.outputs))
        # Of the outputs: whole values, numbers of rows, and what is added up over all rows.
        self.results = [
            f"{'s' if value in cluster.totals else 'y' if of[value].varies else 'v'}{n}"
            for n, value in given.items()
        ]
        self._outputs = {
            of[value]: n
            for n, value in given.items()
            if value not in cluster.totals and of[value].varies
        }
        self._numbers = [
            (of[value], n)
            for n, value in given.items()
            if value not in cluster.totals and not of[value].varies
        ]
        self._totals_of = [
            (of[cluster.totals[value]], n) for n, value in given.items() if value in cluster.totals
        ]
        # The first loop that computes an item: from there on it can be read.
        self._written_in: dict[_Item, int] = {}

    def _input(self, index: int, kind: str, shared: tuple[int, int], chooses: bool) -> _Item:
        lies = {"scalar": "float32", "full": "ROWS", "shared": "ROWS"}.get(kind, "READ")
        self.types.append({"ROWS": "FLAG_ROWS", "READ": "FLAGS"}[lies] if chooses else lies)
        name = f"x{index}" if kind == "scalar" else f"a{index}"
        if lies == "ROWS":
            take = "flag_row" if chooses else "row"
            place = _shared_row(*shared) if kind == "shared" else "r"
            self._per_row.append(f"r{index} = {take}(x{index}, {place}, width)")
        elif kind == "column":
            self._per_row.append(f"{name} = x{index}[r]")
        source = f"r{index}[c]" if lies == "ROWS" else f"x{index}[c]"
        return self._add(_Item(name, source, [], kind not in {"scalar", "column"}, loads=True))

    def _add(self, item: _Item) -> _Item:
        self._items.append(item)
        return item

    def _member(
        self, index: int, place: int, steps: Sequence[Step], operands: list[_Item]
    ) -> _Item:
        node = steps[place].node
        name = f"t{index}"
        if node.op.name == "Softmax":
            (x,) = operands
            top = self._add(_Item(f"{name}m", "{total}", [x], False, reduced="max"))
            power = self._add(
                _Item(f"{name}e", f"exp({x.name} - {top.name})", [x, top], True, costly=True)
            )
            part = _Item(f"{name}s", "T(1) / {total}", [power], False, reduced="sum")
            self._add(part)
            return self._add(_Item(name, f"{power.name} * {part.name}", [power, part], True))
        if node.op.fuse_row is not None:
            kind, written = node.op.fuse_row
            return self._add(_Item(name, written, operands, False, reduced=kind))
        repeats = forms.repeats(node) and self._sizes[node.outputs[0]] == self._cluster.shape
        varies = repeats or any(one.varies for one in operands)
        names = [operand.name for operand in operands]
        form = names[0] if forms.repeats(node) else forms.written(node, names)
        written = f"T({form})"
        costly = forms.is_costly(node.op.fuse or "")
        return self._add(_Item(name, written, operands, varies, costly))

    def lines(self) -> list[str]:
        """The body."""
        last = max(item.loop for item in self._items)
        loops = [self._needed(loop) for loop in range(last + 1)]
        kept = {item: f"k{n}" for n, item in enumerate(self._kept(loops))}
        assert set(self._outputs) <= set(self._written_in)  # noqa: S101 - what is not written is garbage
        lines = [f"    {name} = np.empty(width, np.float32)" for name in kept.values()]
        lines += ["    for r in range(start, stop):", "        base = r * width"]
        lines += [f"        {line}" for line in self._per_row]
        lines += [f"        z{n} = y{n}[base : base + width]" for n in self._outputs.values()]
        places = {**{item: f"z{n}" for item, n in self._outputs.items()}, **kept}
        for loop, needed in enumerate(loops):
            before = [
                item
                for item in self._items
                if not item.varies and not item.loads and item.loop == loop
            ]
            for item in before:
                total = f"{item.name}_total"
                written = item.written.format(total=total) if item.reduced else item.written
                lines.append(f"        {item.name} = {written}")
                lines += [
                    f"        v{n}[r] = {item.name}" for one, n in self._numbers if one is item
                ]
            totals = self._totals(loop)
            lines += [f"        {t.name}_total = {_STARTS[t.reduced]}" for t in totals]
            if needed:
                lines.append("        for c in range(width):")
                lines += [f"            {line}" for line in self._inner(loop, needed, places)]
        return lines

    def _totals(self, loop: int) -> list[_Item]:
        """The reductions that a loop adds up."""
        return [item for item in self._items if item.reduced and item.uses[0].loop == loop]

    def _needed(self, loop: int) -> set[_Item]:
        """The values that a loop needs; to be asked loop by loop, from the first on."""
        pending = [item.uses[0] for item in self._totals(loop)]
        pending += [item for item in self._outputs if item.loop == loop]
        pending += [item for item, _ in self._totals_of if item.loop == loop]
        needed: set[_Item] = set()
        while pending:
            item = pending.pop()
            if not item.varies or item in needed:
                continue
            needed.add(item)
            if not self._is_read_back(item, loop):
                pending += item.uses
                self._written_in.setdefault(item, loop)
        return needed

    def _is_read_back(self, item: _Item, loop: int) -> bool:
        """Whether an earlier loop has computed it and put it where this one finds it.

        That it could have been computed there is not enough: a loop computes what it needs, and
        what is first needed behind a reduction is in no loop before.
        """
        is_kept = item.costly or item in self._outputs
        return is_kept and self._written_in.get(item, loop) < loop

    def _kept(self, loops: Sequence[set[_Item]]) -> list[_Item]:
        """The costly values, no outputs, that a loop after the one computing them needs."""
        found = {
            item: None
            for loop, needed in enumerate(loops)
            for item in self._items
            if item in needed and self._is_read_back(item, loop) and item not in self._outputs
        }
        return list(found)

    def _inner(self, loop: int, needed: set[_Item], places: dict[_Item, str]) -> list[str]:
        lines = []
        for item in self._items:
            if item not in needed:
                continue
            if self._is_read_back(item, loop):
                lines.append(f"{item.name} = {places[item]}[c]")
                continue
            lines.append(f"{item.name} = {item.written}")
            if item in places and self._written_in[item] == loop:
                lines.append(f"{places[item]}[c] = {item.name}")
        lines += [
            f"{t.name}_total = {_JOINS[t.reduced]}({t.name}_total, {t.uses[0].name})"
            for t in self._totals(loop)
        ]
        lines += [
            f"s{n}[c] = s{n}[c] + {item.name}" for item, n in self._totals_of if item.loop == loop
        ]
        return lines


def _shared_row(often: int, block: int) -> str:
    """Which row of an input serves row r; see `Cluster.repetition`."""
    if block == 1:
        return f"r // {often}"
    return f"r // {often * block} * {block} + r % {block}"
