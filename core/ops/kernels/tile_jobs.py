"""The parameters of convolution kernels, and their calls shared among threads.

A kernel reads a table of numbers; a job has those that do not depend on the arrays. It is split by
images, slices, rows or columns: a piece is the same table with another first and last one.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.ops.kernels import pieces, team
from pinnace.ops.kernels.addresses import address_of
from pinnace.ops.kernels.lending import lend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.ops.kernels.precision import Array


class Job(NamedTuple):
    """The parameters of a kernel, in the order of its table after six addresses and the mode.

    Lengths are in numbers; addresses are those of x, b, the output, the initial sums, and scratch
    memory.
    """

    height: int
    width: int
    channels: int
    first_image: int
    last_image: int
    first_row: int
    last_row: int
    first_column: int
    last_column: int
    down: int
    along: int
    gap_down: int
    gap_along: int
    top: int
    left: int
    taps_down: int
    taps_along: int
    positions: int
    out_image: int
    out_row: int
    out_position: int
    most_images: int
    most_rows: int
    padded: int
    limit: int
    x_image: int
    x_row: int
    x_position: int
    depth: int
    first_slice: int
    last_slice: int
    deep: int
    gap_deep: int
    front: int
    taps_deep: int
    x_slice: int
    out_slice: int
    most_slices: int
    # Parameters that differ between kernels.
    extra: tuple[int, ...]
    # Not in the table: the number of partial sums, and the size of the scratch memory.
    sections: int
    scratch: int

    def table(self, x: Array, b: Array, out: Array, init: Array) -> Array:
        """The table for the kernel; `call` adds the scratch memory."""
        table: Array = _table(self).copy()
        table[0], table[1], table[2], table[3] = map(address_of, (x, b, out, init))
        return table


# Indices in the table: of the output and the scratch memory, and of the first and last image,
# slice, row, column and row of sums.
_OUT, _SCRATCH, MODE = 2, 4, 5
_AHEAD = 6
IMAGES, SLICES, ROWS, COLUMNS = (
    (_AHEAD + Job._fields.index(f"first_{name}"), _AHEAD + Job._fields.index(f"last_{name}"))
    for name in ("image", "slice", "row", "column")
)
ROWS_OF_SUMS = _AHEAD + Job._fields.index("extra") + 2


@functools.lru_cache(maxsize=1024)
def _table(job: Job) -> Array:
    """The table of a job without its arrays."""
    return np.array(((0,) * _AHEAD + job[:-3] + job.extra), np.int64)


class Cut(NamedTuple):
    """The split of a job into pieces.

    Attributes:
        places: indices of the first and the last, in its table.
        length: length of all.
        step: step between pieces.
        apart: bytes between what pieces make; 0 if they write to one array.
    """

    places: tuple[int, int]
    length: int
    step: int
    apart: int = 0

    def pieces(self) -> int:
        """The number of pieces."""
        return -(-self.length // self.step)


def make_calls(
    parts: Sequence[tuple[Callable[..., Any], Job, Array]],
    cuts: Sequence[Cut],
    threads: int,
    products: int,
) -> int:
    """Run jobs, several pieces at once.

    Args:
        parts: kernels, jobs, and tables of the whole.
        cuts: the pieces of each job; the same number for all.
        threads: number of threads, at most.
        products: multiplications of them all.

    Returns:
        The largest number that a piece left in its table's mode; 0 if they leave it alone.
    """
    kernels, jobs, tables = zip(*parts, strict=True)
    count = cuts[0].pieces()
    several = threads > 1 and count > 1
    if several and len(set(kernels)) == 1 and pieces.can_offer(kernels[0]):
        return _offer(kernels[0], jobs, tables, tuple(cuts), threads, products)
    left = [0] * count

    def work(piece: int) -> None:
        for (kernel, job, table), cut in zip(parts, cuts, strict=True):
            (first, last), start = cut.places, piece * cut.step
            mine = table.copy()
            mine[first], mine[last] = start, min(cut.length, start + cut.step)
            mine[_OUT] += piece * cut.apart
            call(kernel, job, mine)
            left[piece] = int(mine[MODE])

    team.share(count, work, threads=threads)
    return max(left)


def _offer(
    kernel: Callable[..., Any],
    jobs: tuple[Job, ...],
    tables: Sequence[Array],
    cuts: tuple[Cut, ...],
    threads: int,
    products: int,
) -> int:
    calls, scratch, places = _calls(kernel, jobs, cuts, threads)
    numbers = lend("numbers", threads * scratch, np.float32)
    integers = lend("table", threads * places, np.int64)
    settings = [
        (calls.of_change(0), address_of(integers)),
        (calls.of_change(1), address_of(numbers)),
    ]
    for kind, (table, cut) in enumerate(zip(tables, cuts, strict=True)):
        x, b, out, init = table[:4].tolist()
        begin = calls.of_table(kind, 0)
        settings += ((begin, x), (begin + 1, b), (begin + _OUT, out), (begin + 3, init))
        if cut.apart:
            settings.append((calls.of_change(4 + 3 * kind), out))
    return calls.run(settings, wakes=products >= team.WORTH_PRODUCTS)


@functools.lru_cache(maxsize=1024)
def _calls(
    kernel: Callable[..., Any], jobs: tuple[Job, ...], cuts: tuple[Cut, ...], threads: int
) -> tuple[pieces.Job, int, int]:
    """Calls for each piece of each job; and the numbers and table entries that a thread needs.

    The first changes are the addresses of tables and scratch memory.
    """
    scratch = _lines(max(job.scratch for job in jobs))
    places = _lines(max(2 * job.limit + job.sections for job in jobs))
    tables = np.stack([_table(job) for job in jobs])
    held = np.empty(places, np.int64)
    call, (given, own) = pieces.call_of(kernel, (tables[0], held))
    change = pieces.Change
    changes = [
        change(False, own, own=8 * places),
        change(True, _SCRATCH, own=4 * scratch),
    ]
    for kind, cut in enumerate(cuts):
        # With several kinds, the pieces of all are concatenated.
        way = "outer" if len(cuts) > 1 else "step"
        first, last = cut.places
        step: dict[str, int] = {way: cut.step}
        apart: dict[str, int] = {way: cut.apart}
        changes += (
            change(True, first, kind=kind, **step),
            change(True, last, cut.step, most=cut.length, kind=kind, **step),
        )
        if cut.apart:
            changes.append(change(True, _OUT, kind=kind, **apart))
    calls = pieces.Job(
        call,
        len(jobs) * cuts[0].pieces(),
        changes,
        threads,
        inner=len(jobs) if len(jobs) > 1 else 0,
        tables=tables,
        table_at=given,
        left=MODE,
    )
    return calls, scratch, places


def _lines(count: int) -> int:
    """Round up to cache lines, so that no two threads write to the same one."""
    return -(-count // 16) * 16


def call(kernel: Callable[..., Any], job: Job, table: Array) -> None:
    """Call the kernel with this thread's scratch memory."""
    scratch = lend("numbers", job.scratch, np.float32)
    table[_SCRATCH] = address_of(scratch)
    kernel(table, lend("table", 2 * job.limit + job.sections, np.int64))
