"""One iteration of a loop over arrays, as the source of a kernel that runs many."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.iteration_steps import FUNCTIONS, REFUSAL, Steps, Variables
from pinnace.engine.codegen.loop_lists import BYTES, Lists
from pinnace.engine.codegen.loop_rows import common_rows, work_of
from pinnace.engine.codegen.places import Place
from pinnace.engine.codegen.row_statements import RowStatements
from pinnace.engine.codegen.scalar_flow import ScalarFlow, checked_index
from pinnace.engine.codegen.scalar_text import SCALARS
from pinnace.engine.codegen.walks import Argument, Function
from pinnace.engine.codegen.whole_numbers import is_refusing
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value


# Dtypes of the invariant arrays that statements read.
_KEPT = frozenset({dtypes.float32, dtypes.int32, dtypes.int64, dtypes.bool})
# Most numbers of products over all elements of a list, which should fit the L2 cache.
_MOST_AHEAD = 1 << 18


class _Statements(RowStatements):
    """The statements of an iteration.

    An iteration that fails, for example because of an index out of range, is left to the plan. That
    is impossible if something is written in place.
    """

    def _give_up(self, condition: str, indent: str) -> list[str]:
        if not self.may_leave:
            raise UnsupportedError("an iteration may fail after it has written in place")
        return [f"{indent}{line}" for line in (f"if {condition}:", f"    {REFUSAL}", "    leave()")]


class Iteration:
    """The kernel `kernel(most, …)`: runs at most `most` iterations, and returns how many it ran.

    Args:
        test: the plan of the condition.
        body: the plan of an iteration.
        values: the loop variables.
        watched: the values of one iteration, from these variables.
        count: iterations of one call of the kernel; 0 if unknown.

    Attributes:
        variables: the loop's variables: carried arrays, and tables of numbers.
        lists: the loop variables that are lists, and their uses in an iteration.
        hoisted: indices of the body's loop-invariant steps.
        fixed: computes loop-invariant values from the loop variables.
        fixed_shapes: the shapes of these values in the recorded iteration.
        fixed_arrays: indices of arrays among the invariant values.
        summed: the loop variables that an iteration accumulates in place.
        rows: the number of rows of all arrays, if the kernel runs only on those from `first` to
            `end` (see `loop_rows`). None if it runs on all. Then `summed` variables get partial
            sums over its rows, and the flags of list elements that it has added to are separate.
        work: the approximate cost of an iteration, in multiplications.
        function: the statements, which another kernel's statements may call.

    Raises:
        UnsupportedError: a step cannot be part of a kernel.
    """

    def __init__(
        self,
        test: Plan,
        body: Plan,
        values: Sequence[Array],
        watched: Mapping[Value, Any],
        count: int = 0,
    ) -> None:
        self._inputs, self._outputs = body.graph.inputs, body.graph.outputs
        self._sizes = sizes = {value: np.shape(array) for value, array in watched.items()}
        self.variables = variables = Variables(body, values, sizes)
        self.lists = lists = Lists(body, values, sizes)
        self._steps = steps = Steps(body, watched, sizes, variables, lists)
        lists.take_repeated(variables.fixed)
        self.hoisted = steps.hoisted
        self.fixed = self._fixed(body)
        self._writer = writer = _Statements(sizes, variables.known, variables.names)
        self._slots: dict[tuple[int, str], Place] = {}
        self.fixed_arrays = self._placed_fixed()
        arrays, self.summed = self._placed_sums(body)
        self.work = work_of(arrays, sizes)
        self.rows = self._common_rows(arrays)
        # Sums in place cannot be undone; lists are written at the end.
        writer.may_leave = not self.summed
        leaves = any(is_refusing(node) for node in arrays)
        # Elements that no iteration reads would be multiplied in vain.
        read: dict[int, Any] = {place: values[place][()] for place in lists.read if count}
        lengths = {n: held.length for n, held in read.items() if held.length <= 2 * count}
        if lengths:
            arrays = self._multiplied_ahead(arrays, lengths)
        writer.in_parts = self.rows is not None
        begin, alternating, states = self._placed_carried()
        checks, endings = self._checked_writes()
        homes = self._homes(arrays, states)
        copied = self._placed_items()
        written = {item for _, _, _, item in endings}
        for place, index, kind, item in endings:
            # The last of several writes wins: these are done at the end, in order.
            alone = len(lists.writes[place]) == 1 and (kind == "push" or not leaves)
            if alone and kind != "add" and lists.items[place]:
                writer.copies.setdefault(item, []).append(self._slot(place, index))
        writer.write(arrays, homes, written | {self._outputs[place] for place in variables.carried})
        ends = [line for ending in endings for line in self._ending(*ending, homes)]
        for place, home in states.items():
            if homes.get(self._outputs[place]) != home:
                ends.append(writer.copy(self._outputs[place], home))
        ends += self._new_numbers()
        ends += [f"h{place} = b{place}" for place in states]
        decision, condition = self._condition(test)
        iteration = [
            *condition,
            f"if not {decision}:",
            "    break",
            *steps.ahead,
            *checks,
            *alternating,
            *copied,
            *writer.lines,
            *ends,
            "iterations += 1",
        ]
        self.fixed_shapes = tuple(sizes[value] for value in variables.fixed)
        self.function = Function(
            list(self._taken()), self._framed(begin, iteration), writer.scratch, writer.constants
        )
        # These hold every value of the recorded iteration.
        del self._writer, self._steps

    def _fixed(self, body: Plan) -> Callable[[Sequence[Array]], tuple[Array, ...]]:
        """A function from the loop variables to the loop-invariant values."""
        source = body.source

        def lines() -> list[str]:
            calls = [f"    {source.call_of(position)}" for position in self.hoisted]
            results = "".join(f"{source.name(value)}, " for value in self.variables.fixed)
            return [source.unpacking(), *calls, f"    return ({results})"]

        run = source.compiled(lines)
        return lambda values: run(values, None)

    def _common_rows(self, arrays: Sequence[Node]) -> int | None:
        """The number of rows of all arrays, if rows are independent; None otherwise."""
        lists, sums = self.lists, self._writer.sums
        read = {place for place, _ in self._steps.items.values()}
        # A scalar is shared by all rows: one thread would read what another has changed.
        added = {
            place
            for place, writes in lists.writes.items()
            if any(kind == "add" for kind, _ in writes)
        }
        if any(not lists.items[place] for place in added | read & set(lists.changed)):
            return None
        carried = [place for place in self.variables.carried if place not in self.summed]
        changing = {self._inputs[place] for place in carried}
        changing |= {value for value in self._steps.slices if self._sizes[value]}
        changing |= {
            value
            for value, (place, _) in self._steps.items.items()
            if lists.items[place] and place not in lists.same
        }
        # Updates of loop variables and lists are copied row by row, too.
        kept = {self._outputs[place] for place in carried}
        kept |= {
            node.inputs[-1]
            for place, writes in lists.writes.items()
            for kind, node in writes
            if kind != "pop" and lists.items[place]
        }
        if any(len(self._writer.size(value)) < 2 for value in kept):
            return None
        rows = common_rows(arrays, self._sizes, changing, sums)
        return rows if all(self._writer.size(value)[0] == rows for value in kept) else None

    # Storage of values.

    def _placed_fixed(self) -> list[int]:
        """Place the invariant float32 arrays that array steps use; returns their indices."""
        fixed, lists = self.variables.fixed, self.lists
        used = [array for array, _, _ in self._steps.slices.values()]
        used += [node.inputs[-1] for writes in lists.writes.values() for _, node in writes]
        used += [value for node in self._steps.arrays for value in node.inputs]
        used += [self._outputs[place] for place in self.variables.carried]
        found = []
        for value in dict.fromkeys(used):
            if value not in fixed or self.variables.name(value) is not None:
                continue
            if value.dtype not in _KEPT:
                continue
            found.append(fixed[value])
            place = self._writer.at(f"at(x{fixed[value]})", self._sizes[value])
            self._writer.steady(value, place)
        return found

    def _placed_sums(self, body: Plan) -> tuple[list[Node], list[int]]:
        """The remaining steps, and loop variables that a product is accumulated into."""
        uses = Counter([*(v for step in body.steps for v in step.node.inputs), *self._outputs])
        left, summed = list(self._steps.arrays), []
        for place in self.variables.carried:
            value, result = self._inputs[place], self._outputs[place]
            node = result.node
            if node not in left or node.op.name != "AddV2" or value not in node.inputs:
                continue
            other = node.inputs[0] if node.inputs[1] is value else node.inputs[1]
            alone = (
                other.node in left
                and other.node.op.name == "MatMul"
                and uses[other] == uses[value] == uses[result] == 1
                and self._sizes[other] == self._sizes[value]
            )
            if alone:
                summed.append(place)
                left.remove(node)
                shape = self.variables.shapes[place]
                self._writer.sums[other.node] = self._writer.at(f"h{place}", shape)
        return left, summed

    def _multiplied_ahead(self, arrays: Sequence[Node], lengths: Mapping[int, int]) -> list[Node]:
        """Products of elements with invariants, computed for all elements at once.

        A tile with many rows reads the matrix once for all of them, an iteration once for each.

        Args:
            arrays: the array steps.
            lengths: the lengths of the lists whose elements may be multiplied ahead.

        Returns:
            The remaining steps.
        """
        writer, lists, left = self._writer, self.lists, []
        for node in arrays:
            place, index = self._steps.items.get(node.inputs[0], (-1, ""))
            if place not in lengths or place not in lists.read or place in lists.same:
                left.append(node)
                continue
            shape = self._sizes[node.outputs[0]]
            numbers = lengths[place] * math.prod(shape)
            is_ahead = (
                node.op.product == "matrix"
                and node not in writer.sums
                and writer.is_steady(node.inputs[1])
                and numbers <= _MOST_AHEAD
            )
            if not is_ahead or len(lists.items[place]) != 2:
                left.append(node)
                continue
            whole = writer.reserve((lengths[place], *shape))
            writer.multiply_ahead(node, f"at(l{place})", lengths[place], whole)
            size = 4 * math.prod(shape)
            writer.places[node.outputs[0]] = writer.at(
                f"({whole.address} + {size} * {index})", shape
            )
        return left

    def _placed_carried(self) -> tuple[list[str], list[str], dict[int, Place]]:
        """The arrays among the loop variables that are overwritten in each iteration.

        Returns:
            Statements before the first iteration, at the start of each, and the next states'
            storage.
        """
        writer = self._writer
        begin, alternating = [], []
        states: dict[int, Place] = {}
        for place in self.variables.carried:
            shape = self.variables.shapes[place]
            if place in self.summed:
                size = math.prod(shape)
                begin.append(f"h{place} = at(y{place})")
                begin.append(f"copy_rows(at(c{place}), {size}, h{place}, {size}, 1, {size})")
                continue
            begin.append(f"h{place} = at(c{place})")
            size = 4 * math.prod(shape)
            alternating.append(f"b{place} = at(y{place}) + {size} * (iterations & 1)")
            states[place] = writer.at(f"b{place}", shape)
            writer.places[self._inputs[place]] = writer.at(f"h{place}", shape)
        return begin, alternating, states

    def _homes(self, arrays: Sequence[Node], states: Mapping[int, Place]) -> dict[Value, Place]:
        """Values that are computed in place: the next state, the end of a list."""
        homes: dict[Value, Place] = {}
        made = {value for node in arrays for value in node.outputs}
        for place, home in states.items():
            if self._outputs[place] in made:
                homes.setdefault(self._outputs[place], home)
        for place in self.lists.pushed:
            ((_, node),) = self.lists.writes[place]
            if node.inputs[1] in made and self.lists.items[place]:
                homes.setdefault(node.inputs[1], self._slot(place, "iterations"))
        return homes

    def _slot(self, place: int, index: str) -> Place:
        """The storage of a list element that is written."""
        if (place, index) not in self._slots:
            item = self.lists.items[place]
            size = BYTES[self.lists.holds(place)] * math.prod(item)
            address = f"(at(u{place}) + {size} * {index})"
            self._slots[place, index] = self._writer.at(address, item)
        return self._slots[place, index]

    def _placed_items(self) -> list[str]:
        """Elements that an iteration reads; those of a list that changes are copied."""
        writer, lists = self._writer, self.lists
        lines = []
        for value, (array, name, axis) in self._steps.slices.items():
            if shape := self._sizes[value]:
                whole = self._sizes[array]
                size = BYTES[array.dtype.name] * math.prod(whole[axis + 1 :])
                address = f"({writer.places[array].address} + {size} * {name})"
                if axis == 0:
                    writer.places[value] = writer.at(address, shape)
                else:
                    step = str(math.prod(whole[1:]))
                    writer.places[value] = Place(address, step, False)
        for value, (place, name) in self._steps.items.items():
            item = lists.items[place]
            if not item:
                continue
            address = f"(at(l{place}) + l{place}.strides[0] * {name})"
            step = f"(l{place}.strides[1] // 4)"
            if place in lists.changed:
                if BYTES[lists.holds(place)] != 4:
                    raise UnsupportedError(
                        f"list {place}: elements of dtype bool are both read and set"
                    )
                source, target = self._slot(place, name), writer.reserve(item)
                lines.append(writer.copied_rows(item, source, target))
                writer.places[value] = target
            elif place in lists.same:
                writer.steady(value, Place(f"at(l{place})", step, False))
            elif lists.is_strided(place):
                writer.places[value] = Place(address, step, False)
            else:
                writer.places[value] = writer.at(address, item)
        return lines

    # The end of an iteration.

    def _checked_writes(self) -> tuple[list[str], list[tuple[int, str, str, Value]]]:
        """The checks of written indices, and the writes at the end.

        Returns:
            Lines; for each write the list, the index, its kind, and the element.
        """
        checks: list[str] = []
        ends: list[tuple[int, str, str, Value]] = []
        for place, writes in self.lists.writes.items():
            for kind, node in writes:
                if kind == "pop":
                    continue
                item = node.inputs[-1]
                if kind == "push":
                    ends.append((place, "iterations", kind, item))
                    continue
                index = self.variables.name(node.inputs[1])
                if index is None:
                    raise UnsupportedError(f"{node}: the index is not a scalar")
                name = f"e{len(ends)}"
                checks += checked_index(name, index, self.lists.length(place), REFUSAL)
                ends.append((place, name, kind, item))
        return checks, ends

    def _ending(
        self, place: int, index: str, kind: str, item: Value, homes: Mapping[Value, Place]
    ) -> list[str]:
        """The lines that store an element in a list, or add it to an existing one."""
        flag = [] if kind == "push" else [f"g{place}[{index}] = 1"]
        if not self.lists.items[place]:
            sign = "+=" if kind == "add" else "="
            return [f"u{place}[{index}] {sign} {self._value_of(item)}", *flag]
        slot = self._slot(place, index)
        if kind == "push" and homes.get(item) == slot:
            return []
        if (item, slot) in self._writer.copied:
            return flag
        copied = self._writer.copy(item, slot)
        if kind != "add":
            return [copied, *flag]
        added = copied.replace("copy_rows(", "add_rows(", 1)
        return [f"if g{place}[{index}]:", f"    {added}", "else:", f"    {copied}", *flag]

    def _value_of(self, value: Value) -> str:
        """The expression of a scalar, wherever it is stored."""
        name = self.variables.name(value)
        if name is not None:
            return name
        place = self._writer.places.get(value)
        if place is None or value.dtype is not dtypes.float32:
            raise UnsupportedError(f"{value} is not a scalar")
        return f"floats({place.address}, 1)[0]"

    def _new_numbers(self) -> list[str]:
        """Assign new numbers in parallel: a variable's new value may be another's old one."""
        pairs = []
        for name, _, slot in self.variables.numbers.named():
            if slot.changes:
                kind = SCALARS[slot.dtype.name]
                pairs.append((name, f"{kind}({self._value_of(self._outputs[slot.place])})"))
        if not pairs:
            return []
        return [f"{', '.join(a for a, _ in pairs)} = {', '.join(b for _, b in pairs)}"]

    # The frame of the loop.

    def _condition(self, test: Plan) -> tuple[str, list[str]]:
        """The name of the condition in the source, and the lines that compute it."""
        scope = self.variables.opened(test.graph, self._inputs)
        flow = ScalarFlow(FUNCTIONS, REFUSAL, prefix="p")
        lines = flow.steps(test, scope)
        (decision,) = flow.results(test.graph, scope)
        if test.graph.outputs[0].dtype is not dtypes.bool:
            raise UnsupportedError("the condition is not a bool")
        return decision, lines

    def _framed(self, begin: Sequence[str], iteration: Sequence[str]) -> list[str]:
        """All lines: load scalars from their tables, the loop, store them again."""
        loop = ["iterations = 0", "while iterations < most:", *(f"    {one}" for one in iteration)]
        framed = self.variables.numbers.framed([*self._writer.before, *begin, *loop])
        return [*framed, "return iterations"]

    def _taken(self) -> Iterator[Argument]:
        """The kernel's parameters."""
        fixed, lists, variables = list(self.variables.fixed), self.lists, self.variables
        yield Argument("most")
        if self.rows is not None:
            yield from (Argument("first"), Argument("end"))
        yield from (Argument("q", "int64", 1), Argument("f", "float64", 1))
        yield Argument("lengths", "int64", 1)
        for place in self.fixed_arrays:
            value = fixed[place]
            yield Argument(f"x{place}", value.dtype.name, len(self._sizes[value]))
        for place in variables.carried:
            kind = self._inputs[place].dtype.name
            yield Argument(f"c{place}", kind, len(variables.shapes[place]))
        for place in variables.carried:
            yield Argument(f"y{place}", self._inputs[place].dtype.name, 1)
        for place in lists.read:
            yield Argument(f"l{place}", lists.holds(place), 1 + len(lists.items[place]))
        for place in lists.pushed:
            yield Argument(f"u{place}", lists.holds(place), 1 + len(lists.items[place]))
        for place in lists.changed:
            yield Argument(f"u{place}", lists.holds(place), 1 + len(lists.items[place]))
            yield Argument(f"g{place}", "uint8", 1)
