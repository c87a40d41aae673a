"""A loop over arrays as one kernel: recurrent layers, their gradients, and what is like them.

The body of such a loop has products and elementwise steps of float32 arrays, numbers that count its
turns, and lists of tensors that a turn reads an element of or adds one to. A plan takes a
microsecond or two for each of these steps; here a turn is machine code, and each element of a list
is a row of one array. Inference seldom knows the shapes in a body, so one turn is watched for each
set of shapes that a loop is called with; sets that differ in sizes alone share a kernel.

Whatever a kernel cannot do, it leaves as it was before that turn: the plan goes on from there, and
says what is wrong. What does not depend on the turn is computed by the plan's own kernels, before
the first.
"""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine import recycling
from pinnace.engine.codegen import compiler
from pinnace.engine.codegen.array_steps import Unfit
from pinnace.engine.codegen.loop_lists import is_same
from pinnace.engine.codegen.statements import fit
from pinnace.engine.codegen.turn import Turn
from pinnace.engine.shares import Shares
from pinnace.engine.trials import Verdict
from pinnace.ops.state.list_values import TensorList, handle_of_list

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array

# Sets of shapes that a loop has kernels for.
_SHAPES = 8
# Turns between looks at whether the run was cancelled, and the first guess at how many there are.
_TURNS = 4096
_GUESS = 64
# Seconds between looks, once it is known how long a turn takes.
_LOOK_S = 0.02


class Recurrence:
    """A loop whose turns are machine code, for the shapes that were seen.

    Args:
        test: the plan of the condition.
        body: the plan of a turn.
    """

    def __init__(self, test: Plan, body: Plan) -> None:
        self._test, self._body = test, body
        self._variants: dict[Hashable, _Variant | None] = {}
        self._shares: Shares[_Variant] = Shares(self._variants, _SHAPES)
        self._lock = threading.Lock()
        # Why there is no kernel, for those who look after the code generator.
        self.refusals: list[str] = []

    @property
    def hopeless(self) -> bool:
        """Whether no set of shapes that was seen has a kernel, or may get one."""
        return all(one is None or one.is_hopeless for one in list(self._variants.values()))

    def run(self, values: Sequence[Array], check: Callable[[], None]) -> Sequence[Array]:
        """The loop variables after as many turns as the kernel could take.

        Args:
            values: the loop variables.
            check: called now and then; raises if the run was cancelled.
        """
        variant = self.variant(values)
        if variant is None or variant.kernel.function is None or not self.goes_on(values):
            return values
        return variant.run(values, check)

    def goes_on(self, values: Sequence[Array]) -> bool:
        """Whether the condition is true."""
        return bool(self._test.namespace["run"](values, None)[0])

    def variant(self, values: Sequence[Array]) -> _Variant | None:
        """What these shapes' kernel runs by, which may not be made yet; None if there is none."""
        key = tuple([_form(value) for value in values])
        variant = self._variants.get(key)
        if variant is None and key not in self._variants:
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

    def _variant(self, values: Sequence[Array]) -> _Variant | None:
        with np.errstate(all="ignore"):
            try:
                watched = self._body.recording()(values)
            except Exception as error:  # such as an index out of range: not to run once more
                self.refusals.append(f"watching: {error}")
                return None
        try:
            return _Variant(Turn(self._test, self._body, values, watched))
        except Unfit as reason:
            self.refusals.append(str(reason))
            return None


def _form(value: Array) -> Any:
    """What of a loop variable a kernel is made for."""
    held = value[()] if value.dtype.kind == "O" and not value.ndim else None
    if isinstance(held, TensorList):
        return held.dtype, held.shape.dims, held.item_shape(), is_same(held)
    return value.shape


class _Variant:
    """A loop's kernel for one set of shapes.

    Attributes:
        kernel: which may not be made yet.
        verdict: whether it gives what the plan gives.
        uses: how often it was asked for, lately.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.verdict = Verdict()
        self.uses = 0
        self.kernel = compiler.request(turn.text)
        self._numbers = np.array(turn.numbers, np.int64)
        self._expected = _GUESS
        # What a turn took when it was last measured; at first, as little as nothing.
        self._turn_s = 1e-9

    def run(self, values: Sequence[Array], check: Callable[[], None]) -> Sequence[Array]:
        """The loop variables when the condition is false, or before a turn that cannot be taken."""
        turn = self._turn
        try:
            fixed = turn.before(values)
        except Exception:
            return values  # the plan says what is wrong
        if not turn.is_like_before(fixed):
            return values  # a variable has another shape now
        most = self._expected + 1 if turn.lists.pushed else _TURNS
        total = 0
        while True:
            most = min(most, max(_GUESS, int(_LOOK_S / self._turn_s)))
            start = perf_counter()
            found = self._advance(values, fixed, most)
            if found is None:
                return values
            turns, failed, values = found
            total += turns
            if failed or turns < most:
                break
            self._turn_s = max((perf_counter() - start) / turns, 1e-9)
            check()
            most *= 2
        self._expected = max(total, 1)
        return values

    @property
    def is_hopeless(self) -> bool:
        """Whether it has no kernel and gets none, or a wrong one."""
        return self.verdict.failed or (self.kernel.done.is_set() and not self.kernel.function)

    def advance(self, values: Sequence[Array], most: int) -> tuple[int, Sequence[Array]] | None:
        """How many turns were taken, at most `most`, and the loop variables after them.

        Fewer are taken where the condition is false then, or the next turn cannot be taken. None if
        there is nothing to be done with these values.
        """
        try:
            fixed = self._turn.before(values)
        except Exception:
            return None  # the plan says what is wrong
        if not self._turn.is_like_before(fixed):
            return None
        found = self._advance(values, fixed, most)
        return None if found is None else (found[0], found[2])

    def _advance(
        self, values: Sequence[Array], fixed: Sequence[Array], most: int
    ) -> tuple[int, bool, Sequence[Array]] | None:
        """Turns taken, whether the next cannot be, and the loop variables after them."""
        turn = self._turn
        lists: dict[int, Any] = {place: values[place][()] for place in turn.lists.used}
        integers, reals = self._numbers_of(values, fixed)
        after = [
            np.empty((1 if place in turn.summed else 2, *turn.shapes[place]), np.float32)
            for place in turn.carried
        ]
        opened = self._opened(lists, most)
        if opened is None:
            return None
        read, buffers, flags = opened
        arguments = list(turn.constants)
        arguments += [fit(fixed[place]) for place in turn.fixed_arrays]
        arguments += [fit(values[place]) for place in turn.carried]
        arguments += [*(pair.reshape(-1) for pair in after), *read]
        arguments += [buffers[place] for place in turn.lists.pushed]
        for place in turn.lists.changed:
            arguments += [buffers[place], flags[place]]
        lengths = np.array([held.length for held in lists.values()] or [0], np.int64)
        function = self.kernel.function
        assert function is not None  # noqa: S101 - `Recurrence.run` looked
        turns = function(most, self._numbers, integers, reals, lengths, *arguments)
        failed = bool(integers[-1])
        if not turns:
            return turns, failed, values
        found = list(values)
        for table, sources in ((integers, turn.integers), (reals, turn.reals)):
            for index, (loop, place) in enumerate(sources):
                if loop:
                    found[place] = np.asarray(table[index].astype(values[place].dtype))
        for place, pair in zip(turn.carried, after, strict=True):
            found[place] = pair[0 if place in turn.summed else (turns - 1) % 2]
        self._close(found, lists, buffers, flags, fixed, turns)
        return turns, failed, found

    def _numbers_of(self, values: Sequence[Array], fixed: Sequence[Array]) -> tuple[Array, Array]:
        """The kernel's tables; the last of the integers says that a turn could not be taken."""
        turn = self._turn
        integers = np.zeros(len(turn.integers) + 1, np.int64)
        reals = np.zeros(len(turn.reals) + 1, np.float64)
        for table, sources in ((integers, turn.integers), (reals, turn.reals)):
            for index, (loop, place) in enumerate(sources):
                table[index] = values[place] if loop else fixed[place]
        return integers, reals

    def _opened(
        self, lists: Mapping[int, TensorList], most: int
    ) -> tuple[list[Array], dict[int, Array], dict[int, Array]] | None:
        """The lists as arrays: those that are read, those to write, what is set there; or None."""
        known = self._turn.lists
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
        turns: int,
    ) -> None:
        """Put the lists after so many turns among the loop variables."""
        known = self._turn.lists
        made: dict[int, TensorList] = {}
        for place in known.popped:
            made[place] = lists[place].shortened(lists[place].length - turns)
        for place in known.pushed:
            made[place] = lists[place].extended(buffers[place][:turns])
        for place, source in known.repeated.items():
            made[place] = lists[place].repeated(fixed[source], turns)
        for place in known.changed:
            made[place] = lists[place].replaced(
                np.flatnonzero(flags[place]).tolist(), buffers[place]
            )
        for place, one in made.items():
            found[place] = handle_of_list(one)


def _rows(count: int, item: tuple[int, ...], like: TensorList) -> Array:
    return recycling.empty((count, *item), like.dtype.numpy)


def _open_one(held: TensorList, item: tuple[int, ...], is_read: bool) -> tuple[Array, Array] | None:
    """A list's elements in an array to write into, and which are set; None if shapes differ."""
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
        rows[...] = 0  # what a missing element reads as
    flags = np.zeros(held.length, np.uint8)
    for index, one in present.items():
        rows[index] = one
        flags[index] = 1
    return rows, flags


def recurrence_of(test: Plan, body: Plan) -> Recurrence | None:
    """A loop over arrays that perhaps becomes a kernel; None if it has effects.

    Args:
        test: the plan of the condition.
        body: the plan of a turn.
    """
    steps = [*test.steps, *body.steps]
    if any(step.node.op.effect not in {None, "read"} or step.node.op.wants_ctx for step in steps):
        return None  # a turn more would be seen
    return Recurrence(test, body)
