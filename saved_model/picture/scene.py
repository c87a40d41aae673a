"""The drawing of a graph as data: nested boxes, and the edges between them.

Constants and reads of variables are written into the boxes that use them. Functions that are called
and name scopes are boxes that can be opened.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.graph.graph import FunctionRef
from pinnace.graph.text import attributes_of
from pinnace.graph.walk import ordered
from pinnace.ops import registry
from pinnace.ops.array.constants import CONST
from pinnace.ops.control.grouping import NO_OP
from pinnace.ops.state.variables import READ_VARIABLE
from pinnace.saved_model.picture.families import GROUP, INPUT, OUTPUT, UNKNOWN, family_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.graph.graph import Graph, Node, Value

ROOT = 0
_HOLDERS = frozenset({"VarHandleOp", "VariableV2", "Variable"})
_DEPTH = 60  # functions in functions that are opened
_MOST_BOXES = 20_000
_FEW = 6  # numbers that are written out
_SPECIALS = "no kernel here: this op cannot be run"


@dataclass(slots=True)
class Box:
    """A box of the drawing.

    Attributes:
        number: its number, by which edges and boxes refer to it.
        parent: the number of the box it is in.
        name: the node's full name.
        label: the text in the box.
        op: the op, or what kind of group this is.
        family: determines its colour.
        outputs: the dtype and shape of each.
        operands: constants and variables that it uses, as text.
        attrs: attributes as text.
        notes: sentences to show with it.
    """

    number: int
    parent: int
    name: str
    label: str
    op: str
    family: str
    outputs: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    attrs: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Edge:
    """A data edge, or a control edge (then without a label)."""

    source: int
    target: int
    label: str
    is_control: bool = False


@dataclass(slots=True)
class Scene:
    """The drawing of one graph.

    Attributes:
        title: the drawing's title.
        boxes: by number; the first is the whole.
        edges: between boxes, each pair once per label.
        node_count: number of nodes of the graph and the functions in it.
        folded_count: number of those nodes that are written into others.
    """

    title: str
    boxes: list[Box]
    edges: list[Edge]
    node_count: int
    folded_count: int

    def children(self) -> dict[int, list[int]]:
        """The boxes in each box that has some."""
        found: dict[int, list[int]] = {}
        for box in self.boxes[1:]:
            found.setdefault(box.parent, []).append(box.number)
        return found


@dataclass(frozen=True, slots=True)
class _Source:
    """The source of a value: a box, or text for the box that uses it."""

    box: int | None
    text: str


def scene_of(graph: Graph, title: str = "", given: Mapping[str, str] | None = None) -> Scene:
    """The scene that shows a graph.

    Args:
        graph: the graph of a signature, or any other.
        title: the drawing's title; the graph's name if empty.
        given: names of captured inputs: name of the input -> name of the variable.
    """
    building = _Building(title or graph.name, given or {})
    building.place(graph, ROOT, None)
    return building.finish()


class _Building:
    def __init__(self, title: str, given: Mapping[str, str]) -> None:
        self._given = given
        self.boxes = [Box(ROOT, -1, "", title, "graph", GROUP)]
        self._edges: dict[Edge, None] = {}
        self._scopes: dict[int, tuple[str, ...]] = {}
        self._functions = {ROOT}
        self._active: list[Graph] = []
        self.node_count = 0
        self.folded_count = 0

    def finish(self) -> Scene:
        for number in sorted(self._functions):
            members = [box.number for box in self.boxes if box.parent == number]
            self._nest(number, [(one, self._scopes.get(one, ())) for one in members])
        return Scene(
            self.boxes[ROOT].label,
            self.boxes,
            list(self._edges),
            self.node_count,
            self.folded_count,
        )

    # Functions.

    def place(self, graph: Graph, parent: int, inputs: Sequence[_Source] | None) -> list[_Source]:
        """Draw the nodes of a graph inside a box.

        Args:
            graph: the graph.
            parent: number of the box.
            inputs: where its inputs come from; None draws a box for each.

        Returns:
            Where its outputs come from.
        """
        self._active.append(graph)
        sources: dict[Value, _Source] = {}
        nodes = ordered(graph)
        for index, value in enumerate(graph.inputs):
            if inputs is not None and index < len(inputs):
                sources[value] = inputs[index]
            else:
                sources[value] = self._input(graph, index, parent)
        arguments = {value.node for value in graph.inputs}
        work = [node for node in nodes if node not in arguments]
        self.node_count += len(work)
        alone = sum(not _is_folded(node) for node in work) == 1
        made: dict[Node, int] = {}
        for node in work:
            self._node(node, parent, sources, made, alone)
        results = [sources[value] for value in graph.outputs]
        self._active.pop()
        if inputs is None:
            self._outputs(graph, parent, results)
        return results

    def _input(self, graph: Graph, index: int, parent: int) -> _Source:
        value, name = graph.inputs[index], graph.input_names[index]
        if value.dtype is dtypes.resource or name in self._given:
            spec = value.handle.text if value.handle is not None else value.spec.text
            return _Source(None, f"{self._given.get(name, name)} {spec}")
        box = self._box(parent, name, "input", INPUT)
        box.outputs.append(value.spec.text)
        return _Source(box.number, value.spec.text)

    def _outputs(self, graph: Graph, parent: int, results: Sequence[_Source]) -> None:
        for name, source in zip(graph.output_names, results, strict=True):
            box = self._box(parent, name, "output", OUTPUT)
            box.outputs.append(source.text)
            self._connect(source, box)

    # Nodes.

    def _node(
        self,
        node: Node,
        parent: int,
        sources: dict[Value, _Source],
        made: dict[Node, int],
        alone: bool,
    ) -> None:
        taken = [sources[value] for value in node.inputs]
        if _is_folded(node):
            self.folded_count += 1
            if node.outputs:
                self._fold(node, taken, sources)
            return
        if node.op.runs == "call" and self._opens(node.attrs.get("f")):
            group = parent
            if not alone:
                box = self._box(parent, node.name, f"call of {node.attrs['f'].name}", GROUP)
                self._functions.add(box.number)
                group = made[node] = box.number
            results = self.place(node.attrs["f"].graph, group, taken)
            sources.update(zip(node.outputs, results, strict=True))
            return
        self._operation(node, parent, taken, sources, made)

    def _operation(
        self,
        node: Node,
        parent: int,
        taken: list[_Source],
        sources: dict[Value, _Source],
        made: dict[Node, int],
    ) -> None:
        box = self._box(parent, node.name, node.op.name, family_of(node.op))
        made[node] = box.number
        box.outputs.extend(value.spec.text for value in node.outputs)
        box.attrs.update(attributes_of(node))
        if node.op.kernel is None and registry.find(node.op.name) is None:
            box.family = UNKNOWN
            box.notes.append(_SPECIALS)
        for value in node.outputs:
            sources[value] = _Source(box.number, value.spec.text)
        for source in taken:
            self._connect(source, box)
        for control in node.controls:
            before = made.get(control)
            if before is not None and before != box.number:
                self._edges[Edge(before, box.number, "", is_control=True)] = None
        if node.op.runs in ("branch", "loop"):
            self._branches(node, box, taken)

    def _fold(self, node: Node, taken: list[_Source], sources: dict[Value, _Source]) -> None:
        """Write a constant or a read into the boxes that use it."""
        value = node.outputs[0]
        if taken:
            sources[value] = taken[0]
        elif node.op.name == "Const":
            sources[value] = _Source(None, _constant_text(node))
        else:
            sources[value] = _Source(None, f"{node.name} {_held(node)}")

    def _branches(self, node: Node, box: Box, taken: Sequence[_Source]) -> None:
        skipped = int(node.op.runs == "branch")  # the first input chooses
        for name, attr in node.attrs.items():
            several = isinstance(attr, tuple)
            for index, ref in enumerate(attr if several else (attr,)):
                if not self._opens(ref):
                    continue
                label = f"{name}_{index}" if several else name
                group = self._box(box.number, f"{node.name}/{label}", f"function {ref.name}", GROUP)
                group.label = label.removesuffix("_branch")
                self._functions.add(group.number)
                graph = ref.graph
                inner: list[_Source] = []
                used = {value for one in ordered(graph) for value in one.inputs}
                used.update(graph.outputs)
                for position, value in enumerate(graph.inputs):
                    outer = taken[position + skipped] if position + skipped < len(taken) else None
                    # A variable or constant shows its name inside too; what flows has a new box.
                    inner.append(
                        outer
                        if outer is not None and (value not in used or _stays(node, value, outer))
                        else self._input(graph, position, group.number)
                    )
                self._outputs(graph, group.number, self.place(graph, group.number, inner))

    def _opens(self, ref: object) -> bool:
        return (
            isinstance(ref, FunctionRef)
            and len(self._active) < _DEPTH
            and len(self.boxes) < _MOST_BOXES
            and ref.graph not in self._active
        )

    def _box(self, parent: int, name: str, op: str, family: str) -> Box:
        path = tuple(name.split("/"))
        box = Box(len(self.boxes), parent, name, path[-1], op, family)
        self.boxes.append(box)
        if family not in (INPUT, OUTPUT):
            self._scopes[box.number] = path[:-1]
        return box

    def _connect(self, source: _Source, box: Box) -> None:
        if source.box is None:
            box.operands.append(source.text)
        elif source.box != box.number:
            self._edges[Edge(source.box, box.number, source.text)] = None

    # Name scopes.

    def _nest(self, group: int, members: list[tuple[int, tuple[str, ...]]]) -> None:
        """Put nodes that share a name scope into a box."""
        waiting = [(group, "", members)]
        while waiting:
            parent, prefix, inside = waiting.pop()
            by_scope: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
            for number, path in inside:
                if path:
                    by_scope.setdefault(path[0], []).append((number, path[1:]))
                else:
                    self.boxes[number].parent = parent
            scoped = [one for one in inside if self._scopes.get(one[0]) is not None]
            for scope, found in by_scope.items():
                full = f"{prefix}{scope}"
                if len(found) == len(scoped) and len(by_scope) == 1:
                    waiting.append((parent, f"{full}/", found))
                elif len(found) == 1:
                    number, path = found[0]
                    box = self.boxes[number]
                    box.parent = parent
                    box.label = "/".join((scope, *path, box.label))
                else:
                    made = Box(len(self.boxes), parent, full, scope, "scope", GROUP)
                    self.boxes.append(made)
                    waiting.append((made.number, f"{full}/", found))


def _is_folded(node: Node) -> bool:
    """Whether the node is drawn inside others. Control edges to it are then not drawn."""
    op = node.op
    if op.alias or op is READ_VARIABLE:
        return len(node.inputs) == 1
    return op is CONST or op is NO_OP or op.name in _HOLDERS


def _stays(node: Node, value: Value, outer: _Source) -> bool:
    """Whether the argument of `node` is constant in its function: not the start of a loop."""
    return outer.box is None and (value.dtype is dtypes.resource or node.op.runs != "loop")


def _held(node: Node) -> str:
    value = node.outputs[0]
    if value.handle is not None:
        return value.handle.text
    dtype, shape = node.attrs.get("dtype"), node.attrs.get("shape")
    if dtype is None or shape is None:
        return value.spec.text
    return f"{dtype.name}{shape.text}"


def _constant_text(node: Node) -> str:
    array = np.asarray(node.attrs["value"])
    spec = node.outputs[0].spec.text
    if array.size > _FEW:
        return f"{node.name.rpartition('/')[2]} {spec}"
    if array.ndim == 0:
        return _number(array[()])
    return f"{spec} [{', '.join(_number(one) for one in array.reshape(-1).tolist())}]"


def _number(value: object) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    if isinstance(value, (bytes, str)):
        return repr(value)[:40]
    return str(value)
