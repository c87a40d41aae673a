"""Switch, Merge and frames of TensorFlow 1: which nodes form loops and conditionals.

In TensorFlow 1 a value may be dead: Switch makes one of its outputs dead, a node with a dead input
is dead, and Merge forwards the live input. A loop is a frame: values enter by Enter, go round by
NextIteration and leave by Exit. This module finds the loops and conditions on one level of a graph;
nested ones are found on the level of their body; `lowering.py` converts them to While and If.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import InvalidArgumentError, UnimplementedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pinnace.proto.node_def_pb2 import NodeDef

# A node and one of its outputs.
OutputPlace: TypeAlias = tuple[str, int]
# The conditions under which a node is alive: pairs (predicate, its value).
Guards: TypeAlias = frozenset[tuple[OutputPlace, int]]

_FLOW = frozenset({"Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch"})
_NAMES = {name: name for name in _FLOW} | {f"Ref{name}": name for name in _FLOW}
_NAMES["RefIdentity"] = "Identity"
# How deeply loops nest, and how many nodes in a row forward a condition.
_DEEPEST = 32
_FARTHEST = 256


def flow_op(message: NodeDef) -> str:
    """The op of a node; variants for references map to those for values."""
    return _NAMES.get(message.op, message.op)


def is_flow_op(op: str) -> bool:
    """Whether an op needs no kernel, since its nodes are lowered to functions or dropped."""
    return op in _NAMES


def has_flow(messages: Iterable[NodeDef]) -> bool:
    """Whether a graph has nodes of loops or conditionals, which have a meaning only together."""
    return any(message.op in _NAMES for message in messages)


def is_flow(message: NodeDef) -> bool:
    """Whether a node is part of a loop or conditional."""
    return flow_op(message) in _FLOW


def place_of(text: str) -> OutputPlace:
    """The node and output of a reference; output 0 for a control edge."""
    name, _, index = text.lstrip("^").partition(":")
    return name, int(index) if index.isascii() and index.isdigit() else 0


def data_inputs(message: NodeDef) -> list[str]:
    """The inputs of a node, without control edges."""
    return [text for text in message.input if text[:1] != "^"]


def control_inputs(message: NodeDef) -> list[str]:
    """The names of a node's control inputs."""
    return [text[1:] for text in message.input if text[:1] == "^"]


@dataclass(slots=True)
class Loop:
    """A frame.

    Attributes:
        test: its LoopCond node.
        variables: Merge node -> its (Enter, NextIteration) nodes.
        before: references to the outside values that it uses, in order of their first use.
    """

    test: str
    variables: dict[str, tuple[str, str]] = field(default_factory=dict)
    before: dict[str, None] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def variable_at(self, messages: Mapping[str, NodeDef], name: str, position: int) -> str:
        """The Merge node of the loop variable found at a place inside the loop; empty if none."""
        message = messages.get(name)
        op = "" if message is None else flow_op(message)
        if message is not None and op == "Switch":
            places = [place_of(text)[0] for text in data_inputs(message)]
            name = places[0] if places[1:] == [self.test] else ""
        elif op != "Merge" or position:
            return ""
        return name if name in self.variables else ""


@dataclass(slots=True)
class Choice:
    """Merge nodes with the same predicate: a conditional.

    Attributes:
        condition: the predicate.
        merges: Merge node -> its inputs, (if false, if true).
        swapped: the Merge nodes whose first input is that of the true branch.
        before: references to the outside values that both branches use.
    """

    condition: OutputPlace
    merges: dict[str, tuple[str, str]] = field(default_factory=dict)
    swapped: set[str] = field(default_factory=set)
    before: dict[str, None] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)


class Level:
    """The loops and choices among some nodes of a graph.

    Args:
        messages: name -> node, of the whole graph.
        given: whether an output of a node is given from outside.
        where: the graph, for errors.
    """

    def __init__(
        self, messages: Mapping[str, NodeDef], given: Callable[[str, int], bool], where: str
    ) -> None:
        self._messages = messages
        self._given = given
        self._where = where
        self._loops: dict[str, Loop] = {}
        # Exit node -> its loop and the Merge node of the variable that leaves.
        self.exits: dict[str, tuple[Loop, str]] = {}
        self.choices: dict[str, Choice] = {}
        self.guards: dict[str, Guards] = {}
        # Merge nodes whose `value_index` is used.
        self.asked: set[str] = set()
        self._groups: list[Choice] = []
        self._groups_before: list[int] = []
        self._masks: dict[str, int] = {}

    def study(self, wanted: Iterable[str]) -> None:
        """Analyse these nodes and everything they depend on.

        Raises:
            InvalidArgumentError: nodes need each other in a circle that is no loop.
            UnimplementedError: a Merge that is neither of a loop nor of a choice.
        """
        wanted = list(wanted)
        self._reach(wanted)
        for name in self._in_order(wanted):
            self._consider(name)

    def ask(self, places: Iterable[OutputPlace]) -> None:
        """Note outputs that are needed although no node uses them."""
        for name, position in places:
            if position == 1:
                self._ask(name)

    def before(self, name: str) -> list[str]:
        """References that must be built before a node."""
        if name in self.exits:
            return list(self.exits[name][0].before)
        if name in self.choices:
            return list(self.choices[name].before)
        return list(self._messages[name].input)

    def condition(self, message: NodeDef) -> OutputPlace:
        """The predicate of a Switch, behind nodes that only forward it."""
        inputs = data_inputs(message)
        if len(inputs) != 2:
            raise InvalidArgumentError(
                f"{self._where}, node {message.name!r}: Switch takes 2 inputs, got {len(inputs)}"
            )
        place = place_of(inputs[1])
        for _ in range(_FARTHEST):
            found = self._messages.get(place[0])
            if found is None or flow_op(found) != "Identity" or not found.input:
                break
            if self._given(*place):
                break
            place = place_of(found.input[0])
        return place

    # Loops.

    def _reach(self, wanted: list[str]) -> None:
        """Find the loops whose results are needed, and everything they depend on."""
        waiting, seen = list(wanted), set(wanted)
        while waiting:
            message = self._messages.get(waiting.pop())
            if message is None:
                continue
            texts: Iterable[str] = message.input
            if flow_op(message) == "Exit":
                texts = self._leave(message, 0)
            for text in texts:
                place = place_of(text)
                if place[1] == 1 and text[:1] != "^":
                    self._ask(place[0])
                if place[0] not in seen and not self._given(*place):
                    seen.add(place[0])
                    waiting.append(place[0])

    def _ask(self, name: str) -> None:
        message = self._messages.get(name)
        if message is not None and flow_op(message) == "Merge":
            self.asked.add(name)

    def _leave(self, message: NodeDef, depth: int) -> list[str]:
        """References to the outside values of the loop that belongs to an Exit node."""
        if message.name not in self.exits:
            switch = self._input(message, 0, "Switch")
            merge = self._input(switch, 0, "Merge")
            test = self._input(switch, 1, "LoopCond")
            loop = self._loops.setdefault(test.name, Loop(test.name))
            self.exits[message.name] = loop, merge.name
            self._walk(loop, [test.name, merge.name], depth)
            if merge.name not in loop.variables:
                raise UnimplementedError(
                    f"{self._where}, node {merge.name!r}: this Merge of a loop does not join an "
                    "Enter and a NextIteration"
                )
        return list(self.exits[message.name][0].before)

    def _walk(self, loop: Loop, names: list[str], depth: int) -> None:
        """Walk backwards inside a loop, to its Enter nodes."""
        if depth > _DEEPEST:
            raise InvalidArgumentError(
                f"{self._where}: more than {_DEEPEST} loops are inside one another"
            )
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in loop.seen:
                continue
            loop.seen.add(name)
            message = self._messages.get(name)
            if message is None:
                raise InvalidArgumentError(f"{self._where}: there is no node {name!r}")
            op = flow_op(message)
            texts: Iterable[str] = message.input
            if op == "Enter":
                loop.before.update(dict.fromkeys(message.input))
                continue
            if op == "Exit":
                texts = self._leave(message, depth + 1)
            elif op == "Merge":
                self._note_variable(loop, message)
            for text in texts:
                place = place_of(text)
                if self._given(*place):
                    loop.before[text] = None
                else:
                    waiting.append(place[0])

    def _note_variable(self, loop: Loop, message: NodeDef) -> None:
        found = [self._messages.get(place_of(text)[0]) for text in data_inputs(message)]
        ops = [flow_op(one) if one is not None else "" for one in found]
        if sorted(ops) == ["Enter", "NextIteration"]:
            enter, again = (
                found[ops.index(op)].name  # type: ignore[union-attr]  # it has an op
                for op in ("Enter", "NextIteration")
            )
            loop.variables[message.name] = enter, again

    def _input(self, message: NodeDef, index: int, op: str) -> NodeDef:
        inputs = data_inputs(message)
        found = self._messages.get(place_of(inputs[index])[0]) if index < len(inputs) else None
        if found is None or flow_op(found) != op:
            raise UnimplementedError(
                f"{self._where}, node {message.name!r}: input {index} of this {message.op} of a "
                f"loop must be a {op}, got {inputs[index : index + 1] or 'none'}\n"
                "  Try: save the model again with TensorFlow 2, whose loops are functions"
            )
        return found

    # Choices.

    def _in_order(self, wanted: Iterable[str]) -> Iterable[str]:
        """The nodes of this level in dependency order."""
        waiting = [(name, False) for name in wanted]
        active: set[str] = set()
        done: set[str] = set()
        while waiting:
            name, leaving = waiting.pop()
            if leaving:
                active.discard(name)
                done.add(name)
                yield name
                continue
            if name in done or name not in self._messages:
                continue
            if name in active:
                raise InvalidArgumentError(
                    f"{self._where}: the graph has a circle through node {name!r}"
                )
            active.add(name)
            waiting.append((name, True))
            for text in self.before(name):
                place = place_of(text)
                if place[0] not in done and not self._given(*place):
                    if place[0] in active:
                        raise InvalidArgumentError(
                            f"{self._where}: the graph has a circle through node {place[0]!r}"
                        )
                    waiting.append((place[0], False))

    def _consider(self, name: str) -> None:
        message = self._messages[name]
        texts = self.before(name)
        mask = 0
        for text in texts:
            mask |= self._masks.get(place_of(text)[0], 0)
        if flow_op(message) == "Merge":
            mask = self._choose(message, mask)
        else:
            self.guards[name] = frozenset().union(*(self._guards_of(text) for text in texts))
        self._masks[name] = mask

    def _guards_of(self, text: str) -> Guards:
        """The conditions under which a reference is alive."""
        place = place_of(text)
        if self._given(*place):
            return frozenset()
        known = self.guards.get(place[0], frozenset())
        message = self._messages.get(place[0])
        if message is not None and flow_op(message) == "Switch" and text[:1] != "^":
            return known | {(self.condition(message), place[1])}
        return known

    def _choose(self, message: NodeDef, mask: int) -> int:
        """Find the predicate of a Merge, and the groups that must precede its group."""
        inputs = data_inputs(message)
        sides = [self._guards_of(text) for text in inputs]
        both = sides[0] & sides[1] if len(sides) == 2 else frozenset()
        self.guards[message.name] = both
        found = []
        if len(sides) == 2:
            for place, side in sorted(sides[0]):
                if side in (0, 1) and (place, 1 - side) in sides[1]:
                    alike = sides[0] - {(place, side)} == sides[1] - {(place, 1 - side)}
                    found.append((not alike, place, side))
        if not found:
            raise UnimplementedError(
                f"{self._where}, node {message.name!r}: this Merge does not join the two sides of "
                "one Switch, which is the only supported form\n"
                "  Try: save the model again with TensorFlow 2, whose conditions are functions"
            )
        _, condition, side = min(found)
        if both:
            return mask  # it is inside a branch of another conditional, whose level handles it
        return self._join(message.name, inputs, condition, side, mask)

    def _join(
        self, name: str, inputs: list[str], condition: OutputPlace, side: int, mask: int
    ) -> int:
        """Add a Merge to the group of its predicate unless it depends on later groups."""
        after = self._closure(mask)
        for number, group in enumerate(self._groups):
            if group.condition == condition and not after >> number & 1:
                break
        else:
            number = len(self._groups)
            group = Choice(condition)
            self._groups.append(group)
            self._groups_before.append(0)
        self._groups_before[number] |= mask
        if side:
            group.swapped.add(name)
        group.merges[name] = (inputs[side], inputs[1 - side])
        self._gather(group, inputs)
        self.choices[name] = group
        return mask | 1 << number

    def _closure(self, mask: int) -> int:
        """The groups in `mask`, with all their predecessors."""
        seen, waiting = 0, mask
        while waiting:
            number = waiting.bit_length() - 1
            waiting ^= 1 << number
            if not seen >> number & 1:
                seen |= 1 << number
                waiting |= self._groups_before[number] & ~seen
        return seen

    def _gather(self, group: Choice, texts: Iterable[str]) -> None:
        """Collect the references through which a conditional's branches use outside values."""
        name, position = group.condition
        group.before[f"{name}:{position}"] = None
        waiting = list(texts)
        while waiting:
            text = waiting.pop()
            place = place_of(text)
            if text in group.seen:
                continue
            group.seen.add(text)
            outside = self.outside(group.condition, place, control=text[:1] == "^")
            if outside is not None:
                if outside:
                    group.before[outside] = None
            elif place[0] in self._messages:
                waiting.extend(self.before(place[0]))

    def outside(
        self, condition: OutputPlace, place: OutputPlace, *, control: bool = False
    ) -> str | None:
        """The reference outside a conditional for a value that a branch uses.

        Returns:
            None if the value is computed inside; "" if there is nothing to wait for; else a
            reference.
        """
        message = self._messages.get(place[0])
        if self._given(*place):
            return "" if control else f"{place[0]}:{place[1]}"
        if message is None:
            return None
        if flow_op(message) == "Switch" and self.condition(message) == condition:
            return data_inputs(message)[0]
        guards = self.guards.get(place[0])
        if message.op == "Const" or guards is None:
            return None
        if any(one == condition for one, _ in guards):
            return None
        return f"^{place[0]}" if control else f"{place[0]}:{place[1]}"
