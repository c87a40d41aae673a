"""A loop over arrays as one table: recurrent layers, their gradients, and similar loops.

The body of such a loop has products and elementwise steps on float32 arrays, scalars that count its
iterations, and tensor lists that an iteration reads from or pushes to. A plan takes a microsecond
or two for each of these steps; here they are rows of a table that a kernel walks (`walks`), and
each element of a list is a row of one array.

An iteration that a walk cannot run changes nothing: the plan continues from there, and raises the
error if there is one. Loop-invariant values are computed by the plan's own kernels, before the
first iteration.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.engine.codegen.loops import Advance
from pinnace.engine.codegen.places import fit
from pinnace.engine.codegen.statement_rows import walk_of
from pinnace.ops.kernels import recycling, team
from pinnace.ops.state.list_values import handle_of_list

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.codegen.iteration import Iteration
    from pinnace.framework.tensor import Array
    from pinnace.ops.state.list_values import TensorList

# Iterations between polls of the stop flag, and the initial estimate of their number.
_ITERATIONS = 4096
_GUESS = 64
# Seconds between polls, once the time of an iteration is known.
_LOOK_S = 0.02
# Fewest rows per thread, and multiplications from which waking another thread pays off.
_ROWS, _WORTH_THREADS = 4, 1 << 21


class _Own(NamedTuple):
    """The private arrays of a thread that runs iterations.

    Attributes:
        states: the arrays among the loop variables, before the first iteration.
        after: memory for these arrays after the last iteration.
        flags: which elements of lists are set.
    """

    states: list[Array]
    after: list[Array]
    flags: list[Array]

    def another(self, summed: Sequence[int]) -> _Own:
        """The arrays of another thread: partial sums of its rows, and separate flags."""
        states, after = list(self.states), list(self.after)
        for place in summed:
            states[place], after[place] = (np.zeros_like(one[place]) for one in (states, after))
        return _Own(states, after, [one.copy() for one in self.flags])


class Variant:
    """A loop's table for one set of shapes.

    Attributes:
        uses: how often it was requested recently.
    """

    def __init__(self, iteration: Iteration) -> None:
        self._iteration = iteration
        self.uses = 0
        self._walk = walk_of(iteration.function)
        self._expected = _GUESS
        # The last measured time of an iteration; initially almost zero.
        self._iteration_s = 1e-9

    def run(
        self, values: Sequence[Array], check: Callable[[], None]
    ) -> tuple[Sequence[Array], bool]:
        """Run iterations until the condition is false, or one is refused.

        Args:
            values: the loop variables.
            check: called at intervals; raises if the run was cancelled.

        Returns:
            The loop variables, and whether the condition is false for them.
        """
        fixed = self._fixed(values)
        if fixed is None:
            return values, False
        most = self._expected + 1 if self._iteration.lists.pushed else _ITERATIONS
        total = 0
        while True:
            most = min(most, max(_GUESS, int(_LOOK_S / self._iteration_s)))
            start = perf_counter()
            found = self._advance(values, fixed, most)
            if found is None:
                return values, False
            iterations, failed, values = found
            total += iterations
            if failed or iterations < most:
                break
            self._iteration_s = max((perf_counter() - start) / iterations, 1e-9)
            check()
            most *= 2
        self._expected = max(total, 1)
        return values, not failed

    def advance(self, values: Sequence[Array], most: int) -> Advance | None:
        """Run at most `most` iterations.

        Fewer run if the condition becomes false, or the next iteration is refused. None if these
        values are not supported.
        """
        fixed = self._fixed(values)
        return None if fixed is None else self._advance(values, fixed, most)

    def _fixed(self, values: Sequence[Array]) -> Sequence[Array] | None:
        """The loop-invariant values; None if the plan must run the loop."""
        try:
            fixed = self._iteration.fixed(values)
        except Exception:
            return None  # the plan raises the error
        is_like_before = self._iteration.fixed_shapes == tuple(map(np.shape, fixed))
        return fixed if is_like_before else None  # a variable's shape may have changed

    def _advance(
        self, values: Sequence[Array], fixed: Sequence[Array], most: int
    ) -> Advance | None:
        """Iterations that ran, whether the next is refused, and the loop variables after them."""
        iteration = self._iteration
        variables, known = iteration.variables, iteration.lists
        lists: dict[int, Any] = {place: values[place][()] for place in known.used}
        integers, reals = variables.numbers.arrays(values, fixed)
        after = []
        for place in variables.carried:
            count = 1 if place in iteration.summed else 2
            after.append(np.empty((count, *variables.shapes[place]), values[place].dtype))
        opened = self._opened(lists, most)
        if opened is None:
            return None
        read, buffers, flags = opened
        ahead = [np.array([held.length for held in lists.values()] or [0], np.int64)]
        ahead += [fit(fixed[place]) for place in iteration.fixed_arrays]
        rest = [*read, *(buffers[place] for place in known.pushed)]
        own = _Own(
            [fit(values[place]) for place in variables.carried],
            [pair.reshape(-1) for pair in after],
            [flags[place] for place in known.changed],
        )

        def given(part: _Own) -> list[Array]:
            """All arrays, in the kernel's order."""
            changed = zip((buffers[place] for place in known.changed), part.flags, strict=True)
            flat = (one for pair in changed for one in pair)
            return [*ahead, *part.states, *part.after, *rest, *flat]

        iterations = self._call(most, integers, reals, own, given)
        failed = bool(integers[-1])
        if not iterations:
            return Advance(iterations, failed, values)
        found = list(values)
        variables.numbers.take(found, integers, reals)
        for place, pair in zip(variables.carried, after, strict=True):
            found[place] = pair[0 if place in iteration.summed else (iterations - 1) % 2]
        self._close(found, lists, buffers, flags, fixed, iterations)
        return Advance(iterations, failed, found)

    def _call(
        self,
        most: int,
        integers: Array,
        reals: Array,
        own: _Own,
        given: Callable[[_Own], list[Array]],
    ) -> int:
        """Run iterations, and return their number; results are in the tables."""
        walk, iteration = self._walk, self._iteration
        rows = iteration.rows
        if rows is None:
            return walk(most, integers, reals, *given(own))
        pieces = min(team.size(), rows // _ROWS)
        is_worth = iteration.work * min(most, self._expected) >= _WORTH_THREADS
        # Partial sums round differently from one sum: the partition is the same at each call.
        if pieces < 2 or not (is_worth or iteration.summed):
            return walk(most, 0, rows, integers, reals, *given(own))
        carried = iteration.variables.carried
        summed = [at for at, place in enumerate(carried) if place in iteration.summed]
        ends = [rows * piece // pieces for piece in range(pieces + 1)]
        tables = [(integers.copy(), reals.copy()) for _ in range(pieces)]
        parts = [own, *(own.another(summed) for _ in ends[2:])]
        taken = [0] * pieces

        def work(piece: int) -> None:
            part = ends[piece], ends[piece + 1]
            taken[piece] = walk(most, *part, *tables[piece], *given(parts[piece]))

        if is_worth:
            team.share(pieces, work, pieces)
        else:
            for piece in range(pieces):
                work(piece)
        for other in parts[1:]:
            for place in summed:
                own.after[place] += other.after[place]
        # Scalars do not depend on rows: all parts ran the same number of iterations.
        integers[:], reals[:] = tables[0]
        return taken[0]

    def _opened(
        self, lists: Mapping[int, TensorList], most: int
    ) -> tuple[list[Array], dict[int, Array], dict[int, Array]] | None:
        """The lists as arrays: those to read, those to write, and their flags; or None."""
        known = self._iteration.lists
        read = []
        for place in known.read:
            rows = lists[place].stacked(known.items[place])
            if rows is None:
                return None
            in_rows = known.is_strided(place) and rows.strides[2] == rows.itemsize
            read.append(rows if in_rows and rows.flags.aligned else fit(rows))
        buffers = {place: _rows(most, known.items[place], lists[place]) for place in known.pushed}
        flags = {}
        for place in known.changed:
            held = lists[place]
            if any(held.length != lists[twin].length for twin in known.twins.get(place, ())):
                return None
            made = _open_one(held, known.items[place], place in known.looked_at)
            if made is None:
                return None
            buffers[place], flags[place] = made
        return read, buffers, flags

    def _close(
        self,
        found: list[Array],
        lists: Mapping[int, TensorList],
        buffers: Mapping[int, Array],
        flags: Mapping[int, Array],
        fixed: Sequence[Array],
        iterations: int,
    ) -> None:
        """Store the lists, after a number of iterations, in the loop variables."""
        known = self._iteration.lists
        made: dict[int, TensorList] = {}
        for place in known.popped:
            made[place] = lists[place].shortened(lists[place].length - iterations)
        for place in known.pushed:
            made[place] = lists[place].extended(buffers[place][:iterations])
        for place, source in known.repeated.items():
            made[place] = lists[place].repeated(fixed[source], iterations)
        for place in known.changed:
            made[place] = lists[place].replaced(
                np.flatnonzero(flags[place]).tolist(), buffers[place]
            )
        for place, one in made.items():
            found[place] = handle_of_list(one)


def _rows(count: int, item: tuple[int, ...], like: TensorList) -> Array:
    return recycling.empty((count, *item), like.dtype.numpy)


def _open_one(held: TensorList, item: tuple[int, ...], is_read: bool) -> tuple[Array, Array] | None:
    """A list's elements in a writable array, and which of them are set; None if shapes differ."""
    rows = _rows(held.length, item, held)
    if held.whole is not None:
        if held.whole.shape != rows.shape:
            return None
        np.copyto(rows, held.whole)
        return rows, np.ones(held.length, np.uint8)
    present = held.snapshot()
    if any(one.shape != item for one in present.values()):
        return None
    if is_read and len(present) < held.length:
        rows[...] = 0  # the value of a missing element
    flags = np.zeros(held.length, np.uint8)
    for index, one in present.items():
        rows[index] = one
        flags[index] = 1
    return rows, flags
