"""A cluster as a program for the kernel that all clusters share (`block_programs`).

Consecutive instructions (`cluster_numbers`) are fused if nothing else uses the intermediate result;
live values share as few registers as possible. A reduction of a row is available only when its
section has ended, so its consumers are in the next one. Totals over all rows are accumulated in row
order, in an array that the caller has zeroed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen import block_programs as fields
from pinnace.engine.codegen.cluster_numbers import Reader
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from pinnace.engine.codegen.cluster_numbers import Item, Numbers
    from pinnace.engine.codegen.clusters import Cluster
    from pinnace.engine.steps import Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

    Sizes = Mapping[Value, tuple[int, ...]]

# Bytes of the L1 cache for a block with everything read, stored and written for it; most rows of a
# block; row lengths from which a row is split, and the block's columns then.
_BLOCK_BYTES, _MOST_ROWS = 1 << 14, 256
_LONG, _PART_OF_LONG = 1 << 12, 1 << 11
# Numbers in a cache line, and lines between registers.
_LINE, _APART = 16, 5
_COMMUTATIVE = frozenset({"ADD", "MULTIPLY"})


@dataclass(slots=True)
class Program:
    """The tables of a program.

    Attributes:
        sections: their indices of instructions; see `block_programs`.
        lines: the instructions.
        operands: their addresses and strides; the first are the arrays, inputs and then outputs,
            whose addresses and rows are set at each call.
        numbers: constants, to which operands point.
        block: rows of a block.
        some: columns of a block.
        memory: numbers of all registers.
    """

    sections: Array
    lines: Array
    operands: Array
    numbers: Array
    block: int
    some: int
    memory: int


def program_of(cluster: Cluster, steps: Sequence[Step], sizes: Sizes, joined: int = 1) -> Program:
    """The program of a cluster.

    Args:
        cluster: the cluster, with its inputs and outputs.
        steps: the plan's steps.
        sizes: the shapes of the plan's values.
        joined: rows of the cluster that form one row of the program.
    """
    reader = Reader(cluster, steps, sizes, joined)
    kinds = [cluster.kind(value, sizes) for value in cluster.inputs]
    flags = [value.dtype is dtypes.bool for value in cluster.inputs]
    width = cluster.width * joined
    some = _PART_OF_LONG if width > _LONG else max(width, 1)
    return ProgramWriter(reader, kinds, flags, width, some).program()


class ProgramWriter:
    """Generates a program from items.

    Args:
        numbers: the items.
        kinds: how each input is broadcast.
        flags: whether each input is boolean.
        width: numbers per row.
        some: columns of a block.

    Attributes:
        inputs: the inputs, with how they are broadcast, and whether they are boolean.
        outputs, width, some: as given.
    """

    def __init__(
        self, numbers: Numbers, kinds: Sequence[str], flags: Sequence[bool], width: int, some: int
    ) -> None:
        self._items, self.outputs = numbers.items, numbers.outputs
        self.inputs = list(zip(numbers.inputs, kinds, flags, strict=True))
        self.width, self.some = width, some
        self._users: dict[Item, list[Item]] = {}

    def program(self) -> Program:
        """The finished program."""
        self._join()
        self._place_in_sections()
        return self._written()

    # Fusion of two steps.

    def _join(self) -> None:
        """Fuse instructions with the producers of their operands if those have no other use."""
        self._count_users()
        kept = set(self.outputs)
        gone: set[Item] = set()
        for item in self._items:
            while (taken := self._taken(item, kept)) is not None:
                gone.add(taken)
        self._items = [item for item in self._items if item not in gone]
        self._count_users()
        # Drop unused items, such as a broadcast row that is only used per row.
        needed = set(self.outputs)
        for item in reversed(self._items):
            if item in needed:
                needed.update(item.uses)
        self._items = [item for item in self._items if item in needed]
        self._count_users()

    def _count_users(self) -> None:
        self._users = {}
        for item in self._items:
            for use in item.uses:
                self._users.setdefault(use, []).append(item)

    def _taken(self, item: Item, kept: Collection[Item]) -> Item | None:
        """The operand whose instruction can be fused into this one, if any."""

        def is_free(use: Item) -> bool:
            """Whether an operand has no other use, and can be computed in the same section."""
            if use.is_given or use.reduces or use in kept or self._users[use] != [item]:
                return False
            return item.by_row == use.by_row

        uses = item.uses
        if item.what == "SELECT" and is_free(uses[0]) and uses[0].what == "GREATER":
            condition, zero = uses[0], uses[2]
            bound = condition.uses[1]
            if _is_zero(zero) and _is_zero(bound):
                item.what, item.uses = "GATE", [condition.uses[0], uses[1]]
                return self._moved(condition, item)
        if item.what == "EXP" and is_free(uses[0]) and uses[0].what == "SUBTRACT":
            return self._replaced(item, "EXP_OF_DIFFERENCE", uses[0], uses[0].uses)
        if item.what in {"ROW_SUM", "TOTAL"} and is_free(uses[0]) and uses[0].what == "MULTIPLY":
            sides = _ordered(uses[0].uses)
            if item.what == "ROW_SUM" and sides[1].lies != "v":
                return None
            what = "ROW_PRODUCTS" if item.what == "ROW_SUM" else "TOTAL_PRODUCTS"
            return self._replaced(item, what, uses[0], sides)
        if item.what in {"ADD", "SUBTRACT", "MULTIPLY", "LARGER"}:
            return self._paired(item, is_free)
        return None

    def _paired(self, item: Item, is_free: Callable[[Item], bool]) -> Item | None:
        """Two additions or multiplications as one instruction."""
        first, second = item.uses
        if first is second:
            return None
        # A product is preferred: with a sum it is one fused multiply-add.
        for use, other in sorted(
            ((first, second), (second, first)), key=lambda pair: pair[0].what != "MULTIPLY"
        ):
            if use.what not in {"ADD", "SUBTRACT", "MULTIPLY"} or not is_free(use):
                continue
            if use is second and item.what == "LARGER":
                continue  # for 0 and -0 the result is the second
            is_reversed = use is second and item.what == "SUBTRACT"
            what = fields.PAIRS[use.what, "REVERSED" if is_reversed else item.what]
            sides = _ordered(use.uses) if use.what in _COMMUTATIVE else use.uses
            return self._replaced(item, what, use, [*sides, other])
        return None

    def _replaced(self, item: Item, what: str, use: Item, uses: Iterable[Item]) -> Item:
        item.what, item.uses = what, list(uses)
        return self._moved(use, item)

    def _moved(self, use: Item, item: Item) -> Item:
        """Make an instruction the user of a fused one's operands; returns the fused one."""
        for one in use.uses:
            self._users[one] = [item if user is use else user for user in self._users[one]]
        return use

    # Sections.

    def _place_in_sections(self) -> None:
        """Compute values per column at their first use, values per row as early as possible.

        A value computed earlier than needed would only occupy a register.
        """
        for item in reversed(self._items):
            users = [user.runs for user in self._users.get(item, ())]
            is_late = item.lies == "v" and item not in self.outputs and users
            item.runs = min(users) if is_late else item.section

    # Instructions.

    def _written(self) -> Program:
        count = 1 + max(item.runs for item in self._items)
        order: list[Item] = []
        sections = []
        for section in range(count):
            first = len(order)
            order += [one for one in self._items if one.runs == section and one.by_row]
            along = len(order)
            order += [one for one in self._items if one.runs == section and not one.by_row]
            sections.append((first, along, len(order)))
        return _Assembly(self, order, sections).program()


def _is_zero(item: Item) -> bool:
    return item.what == "number" and item.number == 0 and not np.signbit(item.number)


def _ordered(uses: Sequence[Item]) -> list[Item]:
    """Commutative operands, with the value per column first."""
    return sorted(uses, key=lambda use: use.lies != "v")


@dataclass
class _Assembly:
    """The tables of a program under construction.

    Attributes:
        writer: has the inputs and outputs.
        order: the items in order of their instructions.
        sections: indices into them.
    """

    writer: ProgramWriter
    order: list[Item]
    sections: list[tuple[int, int, int]]
    operands: list[list[int]] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        # The operand of each item.
        self._at: dict[Item, int] = {}
        # By kind of register: the free ones, and the number of all.
        self._free: dict[str, list[int]] = {"v": [], "wide": [], "r": []}
        self._count = dict.fromkeys(self._free, 0)
        # The kind and number of the register of each operand that has one.
        self._registers: dict[int, tuple[str, int]] = {}
        self._lines: list[list[int]] = []
        self._waiting: list[int] = []
        # Operand and index of each constant.
        self._fixed: list[tuple[int, int]] = []

    def program(self) -> Program:
        """The finished program; see `Program`."""
        writer = self.writer
        for item, kind, flags in writer.inputs:
            self._at[item] = self._operand(*_lying(kind, writer.width, flags=flags))
        made, copies = self._results()
        last: dict[Item, int] = {}
        for number, item in enumerate(self.order):
            for use in item.uses:
                last[use] = number
        ends = {last for _, _, last in self.sections}
        lines_before: list[int] = []
        for number, item in enumerate(self.order):
            lines_before.append(len(self._lines))
            if number in ends:
                self._free["r"] += self._waiting
                self._waiting.clear()
            self._write(item, number, made.get(item), last)
            for copied, place in copies:
                if copied is item:
                    self._copy(item, place)
        lines_before.append(len(self._lines))
        sections = [[lines_before[place] for place in one] for one in self.sections]
        return self._placed(sections)

    def _results(self) -> tuple[dict[Item, int], list[tuple[Item, int]]]:
        """The operands of outputs, and the outputs that copy items that are outputs already."""
        made: dict[Item, int] = {}
        copies: list[tuple[Item, int]] = []
        width = self.writer.width
        for item in self.writer.outputs:
            if item.what in fields.TOTALS:
                place = self._operand(0, 0, 0, 4, 0, 4 * width)
            else:
                place = self._operand(*_lying("full" if item.lies == "v" else "column", width))
            if item in made:
                copies.append((item, place))
            else:
                made[item] = place
        return made, copies

    def _operand(self, *columns: int) -> int:
        self.operands.append(list(columns))
        return len(self.operands) - 1

    def _copy(self, item: Item, place: int) -> None:
        """A copy of an item that is two outputs."""
        at = self._at[item]
        what = fields.OPERATION["SAME", "v"]
        self._lines.append([what, int(item.lies != "v"), 0, place, at, at, at])

    def _write(self, item: Item, number: int, place: int | None, last: Mapping[Item, int]) -> None:
        """Add the instruction of an item, after those that prepare it."""
        by_row, uses = item.by_row, item.uses
        extra: list[int] = []
        places = [self._place(use) for use in uses]
        if item.what in {"FLAGS", "REPEATED", "REPEATED_FLAGS"}:
            what, single, rest = getattr(fields, item.what), 0, list(item.shared)
        else:
            modes = {**fields.MODES, **fields.REDUCTIONS, **fields.TOTALS}[item.what]
            mode = _mode(uses, by_row)
            if mode not in modes and item.what in _COMMUTATIVE and mode == "sv":
                places, mode = places[::-1], "vs"
            while mode not in modes:
                at = mode.index("s")
                spread = self._register("r" if by_row else "v")
                extra.append(spread)
                line = [fields.OPERATION["SAME", "s"], int(by_row), 7, spread, *[places[at]] * 3]
                self._lines.append(line)
                places[at], mode = spread, mode[:at] + "v" + mode[at + 1 :]
            what = fields.OPERATION[item.what, mode]
            mode, rest = mode + mode[0] * (3 - len(mode)), []
            single = sum(1 << n for n, one in enumerate(mode) if one == "s")
        for use in dict.fromkeys(uses):
            if last[use] == number:
                self._release(self._at[use], waits=not by_row)
        for spread in extra:
            self._release(spread)
        if place is None:
            is_wide = item.lies == "v" and self._is_wide(item, last)
            kind = "r" if item.lies != "v" else "wide" if is_wide else "v"
            place = self._register(kind)
            if item not in last:  # it is unused
                self._release(place)
        self._at[item] = place
        operands = [*places, *rest]
        operands += [places[0]] * (3 - len(operands))
        self._lines.append([what, int(by_row), single, place, *operands])

    def _is_wide(self, item: Item, last: Mapping[Item, int]) -> bool:
        """Whether an item is live after the block's columns have changed."""
        if self.writer.some >= self.writer.width or item not in last:
            return False
        return self.order[last[item]].runs > item.runs

    def _place(self, item: Item) -> int:
        """The operand of an item; constants are allocated here."""
        if item.what == "number" and item not in self._at:
            self._at[item] = self._operand(0, 0, 0, 0, 0, 0)
            self._fixed.append((self._at[item], len(self.numbers)))
            self.numbers.append(item.number)
        return self._at[item]

    def _register(self, kind: str) -> int:
        """A register of a kind: for a block's columns, all columns, or rows."""
        if self._free[kind]:
            return self._free[kind].pop()
        number = self._count[kind]
        self._count[kind] += 1
        some, width = self.writer.some, self.writer.width
        step, column = {"v": (4 * some, 0), "wide": (4 * width, 4), "r": (4, 0)}[kind]
        place = self._operand(0, 0, step, column, -1, 0)
        self._registers[place] = kind, number
        return place

    def _release(self, place: int, *, waits: bool = False) -> None:
        """Free the register of an operand, if it is one.

        Args:
            place: index of the operand.
            waits: keep values per row until the section ends: it reads them again with the next
                columns.
        """
        kind, _ = self._registers.get(place, ("", 0))
        if waits and kind == "r":
            self._waiting.append(place)
        elif kind:
            self._free[kind].append(place)

    def _placed(self, sections: list[list[int]]) -> Program:
        """The tables, once the number of registers is known."""
        writer = self.writer
        arrays = [kind for _, kind, _ in writer.inputs if kind in {"full", "shared"}]
        streams = len(arrays) + self._count["v"]
        streams += sum(item.lies == "v" for item in writer.outputs)
        width, some = writer.width, writer.some
        block = 1
        if some == width:
            block = max(1, min(_MOST_ROWS, _BLOCK_BYTES // (4 * width * max(streams, 1))))
        sizes = {"v": block * some, "wide": width, "r": block}
        begin, begins = 0, {}
        for kind, size in sizes.items():
            begins[kind] = begin
            begin += self._count[kind] * _whole_lines(size)
        for place, (kind, number) in self._registers.items():
            self.operands[place][0] = 4 * (begins[kind] + number * _whole_lines(sizes[kind]))
        numbers = np.array(self.numbers or [0.0], np.float32)
        for place, number in self._fixed:
            self.operands[place][0] = numbers.ctypes.data + 4 * number
        return Program(
            np.array(sections, np.int64),
            np.array(self._lines, np.int64),
            np.array(self.operands, np.int64),
            numbers,
            block,
            some,
            begin + _LINE,
        )


def _mode(uses: Sequence[Item], by_row: bool) -> str:
    """The broadcasts of an instruction's operands, one letter for each."""
    apart = "s" if by_row else "sr"
    return "".join("s" if use.lies in apart else "v" for use in uses)


def _lying(kind: str, width: int, *, flags: bool = False) -> tuple[int, ...]:
    """The columns of an operand in memory, with contiguous rows."""
    size = 1 if flags else 4
    row = {"full": size * width, "shared": size * width, "column": size}.get(kind, 0)
    column = 0 if kind in {"column", "scalar"} else size
    return 0, row, row, column, 0, 0


def _whole_lines(count: int) -> int:
    """Round up to whole cache lines, plus some so that registers are not 4096 bytes apart."""
    return (-(-count // _LINE) + _APART) * _LINE
