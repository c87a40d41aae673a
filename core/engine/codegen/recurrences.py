"""A loop over arrays as one table: recurrent layers, their gradients, and similar loops.

The body of such a loop has products and elementwise steps on float32 arrays, scalars that count its
iterations, and tensor lists that an iteration reads from or pushes to. A plan takes a microsecond
or two for each of these steps; here they are rows of a table that a kernel walks (`walks`), and
each element of a list is a row of one array. Inference seldom knows the shapes in a body, so one
iteration is executed and recorded for each set of shapes, which has a table of its own.

A walk leaves an iteration that it cannot run unchanged: the plan continues from there, and raises
the error if there is one. Loop-invariant values are computed by the plan's own kernels, before the
first iteration.
"""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.iteration import iteration_of
from pinnace.engine.codegen.loop_lists import form_of
from pinnace.engine.codegen.loops import Advance
from pinnace.engine.codegen.places import fit
from pinnace.engine.codegen.thread_arrays import ThreadArrays
from pinnace.engine.shares import Shares
from pinnace.engine.steps import may_run_again
from pinnace.ops.kernels import recycling, team
from pinnace.ops.state.list_values import TensorList, handle_of_list

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from pinnace.engine.codegen.iteration import Iteration
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array

# Most sets of shapes for which a loop has kernels.
_SHAPES = 8
# Iterations between polls of the stop flag, and the initial estimate of their number.
_ITERATIONS = 4096
_GUESS = 64
# Seconds between polls, once the time of an iteration is known.
_LOOK_S = 0.02
# Fewest rows per thread, and multiplications from which waking another thread pays off.
_ROWS, _WORTH_THREADS = 4, 1 << 21


class Recurrence:
    """A loop whose iterations are tables, for the shapes seen so far.

    Args:
        test: the plan of the condition.
        body: the plan of an iteration.
    """

    def __init__(self, test: Plan, body: Plan) -> None:
        self._test, self._body = test, body
        self._variants: dict[Hashable, Variant | None] = {}
        self._shares: Shares[Variant] = Shares(self._variants, _SHAPES)
        self._lock = threading.Lock()
        # Why there is no kernel, for developers of the code generator.
        self.refusals: list[str] = []

    @property
    def has_none(self) -> bool:
        """Whether no set of shapes seen so far has a table."""
        return not any(list(self._variants.values()))

    def variants(self) -> list[Variant]:
        """The variants so far, one per set of shapes that has a table."""
        return [one for one in list(self._variants.values()) if one is not None]

    def has_lost(self, key: Hashable) -> bool:
        """Whether loop variables of this form (`form_of`) have no table, and get none."""
        return key in self._variants and self._variants[key] is None

    def variant(self, values: Sequence[Array]) -> Variant | None:
        """The variant for these shapes; None if there is none, or no iteration to make it of."""
        key = form_of(values)
        variant = self._variants.get(key)
        if variant is None and key not in self._variants:
            if not self._test.run(values, None)[0]:
                return None
            with self._lock:
                uses = 0 if key in self._variants else self._shares.admit(key)
                if uses:
                    made = self._variants[key] = self._variant(values)
                    if made is not None:
                        made.uses = uses
            variant = self._variants.get(key)
        if variant is not None:
            variant.uses += 1
        return variant

    def _variant(self, values: Sequence[Array]) -> Variant | None:
        with np.errstate(all="ignore"):
            try:
                watched = self._body.source.recording()(values)
            # such as an index out of range: an additional iteration is not possible
            except Exception as error:
                self.refusals.append(f"watching: {error}")
                return None
        try:
            return Variant(iteration_of(self._test, self._body, values, watched))
        except UnsupportedError as reason:
            self.refusals.append(str(reason))
            return None


class Variant:
    """A loop's table for one set of shapes.

    Attributes:
        uses: how often it was requested recently.
    """

    def __init__(self, iteration: Iteration) -> None:
        self._iteration = iteration
        self.uses = 0
        self._walk = iteration.kernel.walk()
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
        iteration = self._iteration
        try:
            fixed = iteration.fixed(values)
        except Exception:
            return values, False  # the plan raises the error
        if not iteration.is_like_before(fixed):
            return values, False  # a variable's shape has changed
        most = self._expected + 1 if iteration.lists.pushed else _ITERATIONS
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
        try:
            fixed = self._iteration.fixed(values)
        except Exception:
            return None  # the plan raises the error
        if not self._iteration.is_like_before(fixed):
            return None
        found = self._advance(values, fixed, most)
        return None if found is None else Advance(*found)

    def _advance(
        self, values: Sequence[Array], fixed: Sequence[Array], most: int
    ) -> tuple[int, bool, Sequence[Array]] | None:
        """Iterations that ran, whether the next is refused, and the loop variables after them."""
        variables, known = self._iteration.variables, self._iteration.lists
        kernel = self._iteration.kernel
        lists: dict[int, Any] = {place: values[place][()] for place in known.used}
        integers, reals = variables.numbers.arrays(values, fixed)
        after = [
            np.empty(
                (1 if place in kernel.summed else 2, *variables.shapes[place]), values[place].dtype
            )
            for place in variables.carried
        ]
        opened = self._opened(lists, most)
        if opened is None:
            return None
        read, buffers, flags = opened
        states = [fit(values[place]) for place in variables.carried]
        ahead = [np.array([held.length for held in lists.values()] or [0], np.int64)]
        ahead += [fit(fixed[place]) for place in kernel.fixed_arrays]
        rest = [*read, *(buffers[place] for place in known.pushed)]
        own = ThreadArrays(
            states,
            [pair.reshape(-1) for pair in after],
            [buffers[place] for place in known.changed],
            [flags[place] for place in known.changed],
            {at for at, place in enumerate(variables.carried) if place in kernel.summed},
        )
        iterations = self._call(most, integers, reals, ahead, rest, own)
        failed = bool(integers[-1])
        if not iterations:
            return iterations, failed, values
        found = list(values)
        variables.numbers.take(found, integers, reals)
        for place, pair in zip(variables.carried, after, strict=True):
            found[place] = pair[0 if place in kernel.summed else (iterations - 1) % 2]
        self._close(found, lists, buffers, flags, fixed, iterations)
        return iterations, failed, found

    def _call(
        self,
        most: int,
        integers: Array,
        reals: Array,
        ahead: Sequence[Array],
        rest: Sequence[Array],
        own: ThreadArrays,
    ) -> int:
        """Run iterations: their number; results are in the tables."""
        walk = self._walk
        kernel = self._iteration.kernel
        rows = kernel.rows
        if rows is None:
            given = own.given(ahead, rest)
            return walk(most, integers, reals, *given)
        pieces = min(team.size(), rows // _ROWS)
        is_worth = kernel.work * min(most, self._expected) >= _WORTH_THREADS
        # Sums of partial sums differ from sums in rounding: the partition is the same at each call.
        if pieces < 2 or not (is_worth or kernel.summed):
            given = own.given(ahead, rest)
            return walk(most, 0, rows, integers, reals, *given)
        ends = [rows * piece // pieces for piece in range(pieces + 1)]
        tables = [(integers.copy(), reals.copy()) for _ in range(pieces)]
        parts = [own, *(own.another() for _ in ends[2:])]
        taken = [0] * pieces

        def work(piece: int) -> None:
            part = ends[piece], ends[piece + 1]
            given = parts[piece].given(ahead, rest)
            taken[piece] = walk(most, *part, *tables[piece], *given)

        if is_worth:
            team.share(pieces, work, pieces)
        else:
            for piece in range(pieces):
                work(piece)
        own.add(parts[1:])
        # Scalars do not depend on rows: all parts ran the same number of iterations.
        integers[:], reals[:] = tables[0]
        return taken[0]

    def _opened(
        self, lists: Mapping[int, TensorList], most: int
    ) -> tuple[list[Array], dict[int, Array], dict[int, Array]] | None:
        """The lists as arrays: those that are read, those to write, and their flags; or None."""
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
    """A list's elements in a writable array, and which are set; None if shapes differ."""
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


def recurrence_of(test: Plan, body: Plan) -> Recurrence | None:
    """A loop over arrays that may become a kernel; None if it has effects.

    Args:
        test: the plan of the condition.
        body: the plan of an iteration.
    """
    if not all(may_run_again(step.node) for step in (*test.steps, *body.steps)):
        return None  # an additional iteration would have effects
    return Recurrence(test, body)
