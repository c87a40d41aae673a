"""The text of a loop over arrays: what each step of a turn becomes, and what the kernel is given.

Loop variables are numbers, which lie in registers; float32 arrays, of which a turn writes one of
two in alternation; lists, of which a turn may read elements, take the last one, add one to the end,
set some, or add to some; and what stays as it is. Numbers come first in a turn, with every check
that can fail: a turn that cannot be taken has changed nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.array_steps import Unfit, multiplications
from pinnace.engine.codegen.loop_lists import BYTES, Lists
from pinnace.engine.codegen.loops import SCALARS, expression, literal
from pinnace.engine.codegen.statements import Place, Statements, is_known
from pinnace.engine.codegen.turn_text import kernel_text, loaded, stored
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.kernels import team

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

_FROM_SHAPES = frozenset({"Rank", "Shape", "ShapeN", "Size"})
_SLICES = frozenset({"GatherV2", "StridedSlice"})
_FUNCTIONS = frozenset({"abs", "max", "min", "sqrt"})


class Turn:
    """A loop's text for one set of shapes.

    Args:
        test: the plan of the condition.
        body: the plan of a turn.
        values: the loop variables.
        watched: every value of a turn of theirs.

    Attributes:
        text: of the kernel.
        numbers: its table of sizes.
        integers, reals: where the numbers of its tables come from: a loop variable (True) or what
            `before` gives (False), and which.
        carried: the loop variables that are arrays and change.
        summed: those of them that a turn adds to where they lie.
        shapes: of those, by loop variable.
        sizes: the shape of each value of a turn.
        lists: the loop variables that are lists, and what a turn does with them.
        constants: arrays that the kernel is given first.
        fixed_arrays: places of arrays in what `before` gives.

    Raises:
        Unfit: some step cannot be part of a kernel.
    """

    def __init__(
        self, test: Plan, body: Plan, values: Sequence[Array], watched: Mapping[Value, Any]
    ) -> None:
        self._test, self._body = test, body
        self._watched = watched
        self.sizes = {value: np.shape(array) for value, array in watched.items()}
        self._inputs, self._outputs = body.graph.inputs, body.graph.outputs
        self._index = {value: place for place, value in enumerate(self._inputs)}
        self._known: dict[Value, Array] = {}
        self._fixed: dict[Value, None] = {}
        self._hoisted: list[int] = []
        self._names: dict[Value, str] = {}
        self._ahead: list[str] = []
        self._arrays: list[Node] = []
        self.integers: list[tuple[bool, int]] = []
        self.reals: list[tuple[bool, int]] = []
        self.carried: list[int] = []
        self.summed: list[int] = []
        self.shapes: dict[int, tuple[int, ...]] = {}
        self.fixed_arrays: list[int] = []
        self._users: dict[Value, list[Node]] = {}
        for step in body.steps:
            for value in step.node.inputs:
                self._users.setdefault(value, []).append(step.node)
        self._places: dict[Value, tuple[int, str]] = {}
        self._vectors: dict[Value, list[str]] = {}
        self._sliced: dict[Value, tuple[Value, str]] = {}
        self._slots: dict[tuple[int, str], Place] = {}
        self._take_variables(values)
        lists = self.lists = Lists(body, values, self.sizes)
        self._take_steps()
        lists.take_repeated({value: place for place, value in enumerate(self._fixed)})
        self.before = self._before()
        self._write()

    # Loop variables.

    def _take_variables(self, values: Sequence[Array]) -> None:
        for place, (value, result) in enumerate(zip(self._inputs, self._outputs, strict=True)):
            array = values[place]
            if result is value:
                self._fixed[value] = None
            elif value.dtype is dtypes.variant:
                continue
            elif np.shape(array) != self.sizes.get(result, np.shape(array)):
                raise Unfit(f"loop variable {place} changes its shape")
            elif array.ndim == 0 and value.dtype.name in SCALARS:
                self._names[value] = self._number(value, (True, place))
            elif value.dtype is dtypes.float32 and array.size:
                self.carried.append(place)
                self.shapes[place] = array.shape
            else:
                raise Unfit(f"loop variable {place} is {value.dtype.name}{list(array.shape)}")

    def _number(self, value: Value, source: tuple[bool, int]) -> str:
        """A place in the kernel's tables of numbers; gives the number's name."""
        real = value.dtype.is_floating
        table = self.reals if real else self.integers
        table.append(source)
        return f"{'r' if real else 'i'}{len(table) - 1}"

    def _name(self, value: Value) -> str | None:
        """How the text calls a number; None if it is none."""
        found = self._names.get(value)
        if found is None:
            known = self._known.get(value)
            array = constant_of(value) if known is None else known
            if array is not None:
                return literal(array, value.dtype.name)
            if value in self._fixed and self.sizes[value] == () and value.dtype.name in SCALARS:
                places = list(self._fixed)
                found = self._names[value] = self._number(value, (False, places.index(value)))
        return found

    # Steps.

    def _take_steps(self) -> None:  # noqa: C901 (one case per kind of step, in their order)
        """What is the same in each turn, what is about numbers, and what is about arrays."""
        popped, got = self.lists.pops, self.lists.gets
        heavy = 0
        for position, step in enumerate(self._body.steps):
            node = step.node
            if node in popped:
                self._take_item(node.outputs[1], popped[node], None)
            elif node in got:
                self._take_item(node.outputs[0], got[node], node.inputs[1])
            elif node in self.lists.steps:
                continue
            elif node.op.effect is None and self._is_known(node):
                for value in node.outputs:
                    self._known[value] = np.asarray(self._watched[value])
            elif node.op.name == "Pack" and all(
                self.sizes[value] == () and self._name(value) is not None for value in node.inputs
            ):
                self._vectors[node.outputs[0]] = [str(self._name(v)) for v in node.inputs]
            elif node.op.name in _SLICES and node.inputs[0] in self._fixed and self._slice(node):
                continue
            elif all(value in self._fixed or self._is_constant(value) for value in node.inputs):
                self._hoisted.append(position)
                self._fixed.update(dict.fromkeys(node.outputs))
            else:
                written = expression(node, [self._name(v) for v in node.inputs], _FUNCTIONS)
                if written is not None:
                    name = self._names[node.outputs[0]] = f"s{position}"
                    self._ahead.append(f"{name} = {written}")
                elif is_known(node):
                    self._arrays.append(node)
                    heavy += multiplications(node, self.sizes)
                else:
                    raise Unfit(f"{node.op.name} has no statement")
        if heavy > team.WORTH_PRODUCTS:
            raise Unfit("products worth sharing between threads")

    def _is_constant(self, value: Value) -> bool:
        return value in self._known or constant_of(value) is not None

    def _is_known(self, node: Node) -> bool:
        """Whether shapes alone say what a step gives."""
        if node.op.name in _FROM_SHAPES:
            return all(value.dtype is not dtypes.variant for value in node.inputs)
        return bool(node.inputs) and all(map(self._is_constant, node.inputs))

    def _take_item(self, item: Value, place: int, index: Value | None) -> None:
        """An element that a turn begins with: its index is checked, a number is read."""
        name = f"o{len(self._ahead)}"
        length = self.lists.length(place)
        at = f"{length} - turns - 1" if index is None else self._name(index)
        if at is None:
            raise Unfit(f"the index {index} is no number")
        self._ahead += [
            f"{name} = int64({at})",
            f"if {name} < 0 or {name} >= {length}:",
            "    q[-1] = 1",
            "    break",
        ]
        self._places[item] = (place, name)
        if not self.lists.items[place]:
            if place in self.lists.changed:
                raise Unfit(f"list {place}: numbers are read and set")
            kind = SCALARS[item.dtype.name]
            self._names[item] = f"v{name}"
            self._ahead.append(f"v{name} = {kind}(l{place}[{name}])")

    def _slice(self, node: Node) -> bool:
        """Take a part of a fixed array, if it is the one under an index on the first axis."""
        array, item = node.inputs[0], node.outputs[0]
        if node.op.name == "StridedSlice":
            begin = self._vectors.get(node.inputs[1])
            others = ("begin_mask", "ellipsis_mask", "new_axis_mask")
            if begin is None or len(begin) != 1 or node.attrs["shrink_axis_mask"] != 1:
                return False
            if any(node.attrs[name] for name in others):
                return False
            index, backwards = begin[0], True
        else:
            axis = constant_of(node.inputs[2])
            name = self._name(node.inputs[1])
            if name is None or axis is None or int(axis) or node.attrs.get("batch_dims"):
                return False
            index, backwards = name, False
        shape = self.sizes[item]
        if array.dtype is not dtypes.float32 or not math.prod(shape):
            return False
        name = f"o{len(self._ahead)}"
        rows = f"x{list(self._fixed).index(array)}.shape[0]"
        self._ahead.append(f"{name} = int64({index})")
        if backwards:
            self._ahead += [f"if {name} < 0:", f"    {name} += {rows}"]
        self._ahead += [f"if {name} < 0 or {name} >= {rows}:", "    q[-1] = 1", "    break"]
        self._sliced[item] = (array, name)
        if not shape:
            self._names[item] = f"v{name}"
            self._ahead.append(f"v{name} = T(x{list(self._fixed).index(array)}[{name}])")
        return True

    # What comes before.

    def _before(self) -> Callable[[Sequence[Array]], tuple[Array, ...]]:
        """A function from the loop variables to what is the same in each turn."""
        body = self._body
        results = [body.name(value) for value in self._fixed]
        lines = ["def before(arguments, ctx):", body.unpacking()]
        lines += [f"    {body.call_of(position)}" for position in self._hoisted]
        lines.append(f"    return ({''.join(f'{name}, ' for name in results)})")
        namespace = dict(body.namespace)
        exec(compile("\n".join(lines) + "\n", f"<plan of {body.graph.name}>", "exec"), namespace)
        return lambda values: namespace["before"](values, None)

    def is_like_before(self, fixed: Sequence[Array]) -> bool:
        """Whether what `before` gave has the shapes of the turn that was watched."""
        return all(
            np.shape(array) == self.sizes[value]
            for value, array in zip(self._fixed, fixed, strict=True)
        )

    # The text.

    def _write(self) -> None:
        writer = self._writer = Statements(self.sizes, self._names, self._known)
        self._take_fixed(writer)
        nodes = self._take_sums(writer)
        begin = self._take_carried(writer)
        checks, endings = self._end_of_lists()
        homes = self._homes(nodes)
        copied = self._gotten(writer)
        wanted = {*self._wanted, *(self._outputs[place] for place in self.carried)}
        writer.write(nodes, homes, wanted)
        ends = [line for make in endings for line in make()]
        for place in self.carried:
            result = self._outputs[place]
            if place not in self.summed and homes.get(result) != self._home(place):
                ends.append(writer.copy(result, self._home(place)))
        ends += self._new_numbers()
        ends += [f"h{place} = b{place}" for place in self.carried if place not in self.summed]
        decision, condition = self._condition()
        turn = [
            *condition,
            f"if not {decision}:",
            "    break",
            *self._ahead,
            *checks,
            *self._alternating,
            *copied,
            *writer.lines,
            *ends,
            "turns += 1",
        ]
        self.constants = writer.constants
        self.numbers = writer.numbers
        self.text = kernel_text(
            self,
            list(self._fixed),
            [*writer.memory(), *loaded(self, list(self._fixed), self._inputs)],
            [*writer.before, *begin, "turns = 0", "while turns < most:"],
            [*(f"    {line}" for line in turn), *stored(self), writer.release(), "return turns"],
        )

    def _condition(self) -> tuple[str, list[str]]:
        names = dict(zip(self._test.graph.inputs, map(self._name, self._inputs), strict=True))
        lines = []

        def name(value: Value) -> str | None:
            array = constant_of(value)
            return names.get(value) if array is None else literal(array, value.dtype.name)

        for position, step in enumerate(self._test.steps):
            written = expression(step.node, [name(v) for v in step.node.inputs], _FUNCTIONS)
            if written is None:
                raise Unfit(f"{step.node.op.name} in the condition")
            lines.append(f"p{position} = {written}")
            names[step.node.outputs[0]] = f"p{position}"
        result = self._test.graph.outputs[0]
        decision = name(result)
        if decision is None or result.dtype is not dtypes.bool:
            raise Unfit("the condition is no number")
        return decision, lines

    def _take_fixed(self, writer: Statements) -> None:
        """What is the same in each turn and used by array steps."""
        places = {value: place for place, value in enumerate(self._fixed)}
        items = [node.inputs[-1] for writes in self.lists.writes.values() for _, node in writes]
        used = [array for array, _ in self._sliced.values()]
        used += [*items, *(value for node in self._arrays for value in node.inputs)]
        used += [self._outputs[place] for place in self.carried]
        for value in dict.fromkeys(used):
            if value not in places or self._name(value) is not None:
                continue
            if value.dtype is not dtypes.float32:
                continue
            self.fixed_arrays.append(places[value])
            place = writer.at(f"at(x{places[value]})", self.sizes[value])
            writer.steady(value, place)

    def _take_sums(self, writer: Statements) -> list[Node]:
        """Loop variables that a product is added to, where they lie; the steps that are left."""
        left = list(self._arrays)
        for place in self.carried:
            value, result = self._inputs[place], self._outputs[place]
            node = result.node
            if node not in left or node.op.name != "AddV2" or value not in node.inputs:
                continue
            other = node.inputs[0] if node.inputs[1] is value else node.inputs[1]
            alone = (
                other.node in left
                and other.node.op.name == "MatMul"
                and self._uses_of(other) == 1
                and self._uses_of(value) == 1
                and self._uses_of(result) == 1
                and self.sizes[other] == self.sizes[value]
            )
            if alone:
                self.summed.append(place)
                left.remove(node)
                writer.sums[other.node] = writer.at(f"h{place}", self.shapes[place])
        return left

    def _uses_of(self, value: Value) -> int:
        return len(self._users.get(value, ())) + sum(one is value for one in self._outputs)

    def _take_carried(self, writer: Statements) -> list[str]:
        """Where the arrays among the loop variables lie; what is done before the first turn."""
        lines = []
        self._alternating = []
        self._homes_of: dict[int, Place] = {}
        for place in self.carried:
            shape = self.shapes[place]
            if place in self.summed:
                size = writer.number(math.prod(shape))
                lines.append(f"h{place} = at(y{place})")
                lines.append(f"copy_rows(at(c{place}), {size}, h{place}, {size}, 1, {size})")
                continue
            lines.append(f"h{place} = at(c{place})")
            size = writer.number(4 * math.prod(shape))
            self._alternating.append(f"b{place} = at(y{place}) + {size} * (turns & 1)")
            self._homes_of[place] = writer.at(f"b{place}", shape)
            writer.places[self._inputs[place]] = writer.at(f"h{place}", shape)
        return lines

    def _home(self, place: int) -> Place:
        return self._homes_of[place]

    def _homes(self, nodes: Sequence[Node]) -> dict[Value, Place]:
        """Values that are made where they will be kept: the next state, the end of a list."""
        homes: dict[Value, Place] = {}
        made = {value for node in nodes for value in node.outputs}
        for place in self.carried:
            result = self._outputs[place]
            if place not in self.summed and result in made:
                homes.setdefault(result, self._home(place))
        for place in self.lists.pushed:
            ((_, node),) = self.lists.writes[place]
            if node.inputs[1] in made and self.lists.items[place]:
                homes.setdefault(node.inputs[1], self._slot(place, "turns"))
        self._taken = homes
        return homes

    def _slot(self, place: int, index: str) -> Place:
        """Where an element of a list that is written lies."""
        if (place, index) not in self._slots:
            item = self.lists.items[place]
            size = self._writer.number(BYTES[self.lists.holds(place)] * math.prod(item))
            address = f"(at(u{place}) + {size} * {index})"
            self._slots[place, index] = self._writer.at(address, item)
        return self._slots[place, index]

    def _gotten(self, writer: Statements) -> list[str]:
        """Where the elements lie that a turn reads; those of a list that changes are copied."""
        lines = []
        for value, (array, name) in self._sliced.items():
            if shape := self.sizes[value]:
                size = writer.number(4 * math.prod(shape))
                address = writer.places[array].address
                writer.places[value] = writer.at(f"({address} + {size} * {name})", shape)
        for value, (place, name) in self._places.items():
            item = self.lists.items[place]
            if not item:
                continue
            if place in self.lists.changed:
                if self.lists.holds(place) != "float32":
                    raise Unfit(f"list {place}: truth values are read and set")
                source, target = self._slot(place, name), writer.reserve(item)
                rows, width = writer.number(math.prod(item[:-1])), writer.number(item[-1])
                lines.append(
                    f"copy_rows({source.address}, {source.step}, {target.address}, "
                    f"{target.step}, {rows}, {width})"
                )
                writer.places[value] = target
            else:
                address = f"(at(l{place}) + l{place}.strides[0] * {name})"
                if place in self.lists.same:
                    step = f"(l{place}.strides[1] // 4)"
                    writer.steady(value, Place(f"at(l{place})", step, False))
                elif self.lists.is_strided(place):
                    writer.places[value] = Place(address, f"(l{place}.strides[1] // 4)", False)
                else:
                    writer.places[value] = writer.at(address, item)
        return lines

    def _end_of_lists(self) -> tuple[list[str], list[Callable[[], list[str]]]]:
        """Checks of the places that a turn writes to, and what writes there at its end."""
        checks: list[str] = []
        ends: list[Callable[[], list[str]]] = []
        self._wanted: set[Value] = set()
        for place, writes in self.lists.writes.items():
            for kind, node in writes:
                if kind == "pop":
                    continue
                item = node.inputs[-1]
                self._wanted.add(item)
                if kind == "push":
                    ends.append(self._ending(place, "turns", kind, item))
                    continue
                index = self._name(node.inputs[1])
                if index is None:
                    raise Unfit(f"{node}: the index is no number")
                name = f"e{len(ends)}"
                length = self.lists.length(place)
                checks += [
                    f"{name} = int64({index})",
                    f"if {name} < 0 or {name} >= {length}:",
                    "    q[-1] = 1",
                    "    break",
                ]
                ends.append(self._ending(place, name, kind, item))
        return checks, ends

    def _ending(self, place: int, index: str, kind: str, item: Value) -> Callable[[], list[str]]:
        def lines() -> list[str]:
            flag = [] if kind == "push" else [f"g{place}[{index}] = 1"]
            if not self.lists.items[place]:
                sign = "+=" if kind == "add" else "="
                return [f"u{place}[{index}] {sign} {self._value_of(item)}", *flag]
            slot = self._slot(place, index)
            if kind == "push" and self._taken.get(item) == slot:
                return []
            copied = self._writer.copy(item, slot)
            if kind != "add":
                return [copied, *flag]
            added = copied.replace("copy_rows(", "add_rows(", 1)
            return [f"if g{place}[{index}]:", f"    {added}", "else:", f"    {copied}", *flag]

        return lines

    def _value_of(self, value: Value) -> str:
        """A number, wherever it is."""
        name = self._name(value)
        if name is not None:
            return name
        place = self._writer.places.get(value)
        if place is None or value.dtype is not dtypes.float32:
            raise Unfit(f"{value} is no number")
        return f"floats({place.address}, 1)[0]"

    def _new_numbers(self) -> list[str]:
        """All at once: one variable's new value may be another's old one."""
        pairs = []
        for name, sources in (("i", self.integers), ("r", self.reals)):
            for index, (loop, number) in enumerate(sources):
                if loop:
                    kind = SCALARS[self._inputs[number].dtype.name]
                    value = self._value_of(self._outputs[number])
                    pairs.append((f"{name}{index}", f"{kind}({value})"))
        if not pairs:
            return []
        return [f"{', '.join(a for a, _ in pairs)} = {', '.join(b for _, b in pairs)}"]
