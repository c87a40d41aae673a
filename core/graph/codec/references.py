"""Reference variables and tables of TensorFlow 1, converted to handles as in TensorFlow 2.

There an edge may carry a variable itself. A node that takes it as a reference may assign to it; one
that takes it as a value reads it when it runs, and Identity only forwards the same memory: what
reads `v/read` after an assignment sees the new value. Here such an edge carries a handle, and each
node that uses the value gets a read of its own in front, with the controls of that node. Where
nothing assigns, all share one read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.graph.codec.dead_branches import control_inputs, data_inputs, place_of
from pinnace.graph.codec.nodes import OUTPUT_SHAPES
from pinnace.ops.state import scatters
from pinnace.proto import types_pb2
from pinnace.proto.attr_value_pb2 import AttrValue
from pinnace.proto.node_def_pb2 import NodeDef

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pinnace.graph.codec.dead_branches import OutputPlace

# The ops that hold a variable.
VARIABLES = frozenset({"VariableV2", "Variable"})

# Ops on tables whose handles are references to strings -> the same ops on resources.
_TABLES = {
    name: f"{name}V2"
    for name in (
        "HashTable",
        "InitializeTable",
        "InitializeTableFromTextFile",
        "LookupTableExport",
        "LookupTableFind",
        "LookupTableImport",
        "LookupTableInsert",
        "LookupTableSize",
        "MutableHashTable",
        "MutableHashTableOfTensors",
    )
}
_MAKE_TABLES = frozenset(name for name in _TABLES if name.endswith(("Table", "OfTensors"))) - {
    "InitializeTable"
}


class _Assignment(NamedTuple):
    """An op on references, as an op on handles.

    Attributes:
        op: which; it gives no reference back.
        references: how many of the first inputs are references.
        kind: name of its type attribute, where TensorFlow 1 calls it `T`.
    """

    op: str
    references: int = 1
    kind: str = "T"


_STEPS = {
    "Adadelta": 3,
    "Adagrad": 2,
    "AdagradDA": 3,
    "AdagradV2": 2,
    "Adam": 3,
    "AdaMax": 3,
    "AddSign": 2,
    "CenteredRMSProp": 4,
    "Ftrl": 3,
    "FtrlV2": 3,
    "GradientDescent": 1,
    "Momentum": 2,
    "PowerSign": 2,
    "ProximalAdagrad": 2,
    "ProximalGradientDescent": 1,
    "RMSProp": 3,
}
_DENSE_ONLY = frozenset({"AdaMax", "Adam", "AddSign", "GradientDescent", "PowerSign"})
_ASSIGNMENTS = {
    "Assign": _Assignment("AssignVariableOp", kind="dtype"),
    "AssignAdd": _Assignment("AssignAddVariableOp", kind="dtype"),
    "AssignSub": _Assignment("AssignSubVariableOp", kind="dtype"),
    "StridedSliceAssign": _Assignment("ResourceStridedSliceAssign"),
    **{
        op.name.removeprefix("Resource"): _Assignment(op.name, kind="dtype")
        for op in scatters.ROWS.values()
    },
    **{op.name.removeprefix("Resource"): _Assignment(op.name) for op in scatters.PLACES.values()},
    **{f"Apply{how}": _Assignment(f"ResourceApply{how}", n) for how, n in _STEPS.items()},
    **{
        f"SparseApply{how}": _Assignment(f"ResourceSparseApply{how}", n)
        for how, n in _STEPS.items()
        if how not in _DENSE_ONLY
    },
}
# Ops that take a reference and give a value.
_ASKING = {"IsVariableInitialized": "VarIsInitializedOp"}
# Ops that forward a reference.
_PASS = frozenset(
    {"Identity", "RefEnter", "RefExit", "RefIdentity", "RefNextIteration", "RefSwitch"}
)
_RENAMED = {"PlaceholderV2": "Placeholder"}

_RESOURCE = AttrValue(type=types_pb2.DT_RESOURCE)

# Every op that is translated here -> the op that replaces it.
TRANSLATED: Mapping[str, str] = {
    **_TABLES,
    **_ASKING,
    **_RENAMED,
    **{name: found.op for name, found in _ASSIGNMENTS.items()},
    **dict.fromkeys(VARIABLES, "VarHandleOp"),
    "RefIdentity": "Identity",
}


class _Handle(NamedTuple):
    """The replacement of a reference by a resource handle.

    Attributes:
        text: the handle, as an input of a node; earlier assignments have run when it is available.
        dtype: dtype of the variable; None for a table.
        root: the variable's node; empty if it is only known at run time.
    """

    text: str
    dtype: AttrValue | None
    root: str


def with_handles(
    nodes: Mapping[str, NodeDef],
    outputs: Sequence[str],
    effects: Iterable[str],
    fed: Collection[OutputPlace],
) -> tuple[Mapping[str, NodeDef], list[str]]:
    """The nodes that a part of a graph needs, without references.

    Args:
        nodes: name -> node; stays as it is.
        outputs: references to the values that the part gives.
        effects: names of nodes that must run.
        fed: places whose values are fed.

    Returns:
        The nodes, and what the references to the outputs have become.
    """
    part = _NeededNodes(nodes, outputs, effects, fed)
    return part.translated() if part.is_concerned else (nodes, list(outputs))


class _NeededNodes:
    """The part of a main graph that given outputs and effects need."""

    def __init__(
        self,
        nodes: Mapping[str, NodeDef],
        outputs: Sequence[str],
        effects: Iterable[str],
        fed: Collection[OutputPlace],
    ) -> None:
        self._nodes = nodes
        self._outputs = outputs
        self._fed = fed
        self._needed = self._reached([*outputs, *effects])
        self._result = dict(nodes)
        ops = {message.op for message in self._needed}
        self.is_concerned = not ops.isdisjoint(TRANSLATED)
        # The order of reads matters only if the reference is assigned to.
        self._is_assigned = not ops.isdisjoint({*_ASSIGNMENTS, *_ASKING})
        self._handles: dict[OutputPlace, _Handle | None] = {}
        self._reads: dict[tuple[str, ...], str] = {}
        # How often a name was taken already.
        self._numbers: dict[str, int] = {}

    def _reached(self, texts: Iterable[str]) -> list[NodeDef]:
        found: list[NodeDef] = []
        waiting = [text for text in texts if place_of(text) not in self._fed]
        seen: set[str] = set()
        while waiting:
            name = place_of(waiting.pop())[0]
            message = self._nodes.get(name)
            if message is None or name in seen:
                continue
            seen.add(name)
            found.append(message)
            waiting.extend(text for text in message.input if place_of(text) not in self._fed)
        return found

    def translated(self) -> tuple[Mapping[str, NodeDef], list[str]]:
        """The nodes, and the references to the outputs."""
        for message in self._needed:
            self._result[message.name] = self._translated(message)
        last = self._unconditional_assignments()
        outputs = []
        for text in self._outputs:
            handle = self._handle(place_of(text))
            if handle is not None and handle.dtype is not None:
                # TensorFlow returns the variable's memory, with its value after everything has run.
                waits = [f"^{name}" for name in last.get(handle.root, ())]
                outputs.append(self._read(handle, waits, "result"))
            else:
                outputs.append(text)
        return self._result, outputs

    # Detecting references among the edges.

    def _handle(self, place: OutputPlace) -> _Handle | None:
        """The handle for a place, if it is a reference."""
        chain: list[OutputPlace] = []
        visited: set[OutputPlace] = set()
        found: _Handle | None = None
        while True:
            if place in self._handles:
                found = self._handles[place]
                break
            if place in visited:
                break
            visited.add(place)
            before = self._before(place)
            if before is None:
                found = self._handles[place] = self._root(place)
                break
            chain.append(place)
            place = before
        for one in reversed(chain):
            found = self._handles[one] = self._passed(one, found)
        return found

    def _before(self, place: OutputPlace) -> OutputPlace | None:
        """The reference that a node forwards."""
        message = self._nodes.get(place[0])
        if message is None or place in self._fed:
            return None
        is_passed = message.op in _PASS or (message.op in _ASSIGNMENTS and not place[1])
        inputs = data_inputs(message)
        return place_of(inputs[0]) if is_passed and inputs else None

    def _root(self, place: OutputPlace) -> _Handle | None:
        name, position = place
        message = self._nodes.get(name)
        if message is None or place in self._fed or position:
            return None
        if message.op in VARIABLES:
            return _Handle(name, message.attr["dtype"], name)
        if message.op in _MAKE_TABLES:
            return _Handle(name, None, name)
        if message.op == "RefMerge" and self._is_assigned:
            return _Handle(name, message.attr["T"], "")
        return None

    def _passed(self, place: OutputPlace, given: _Handle | None) -> _Handle | None:
        """The output of a node that passes a reference on."""
        if given is None:
            return None
        name, position = place
        if self._nodes[name].op in _ASSIGNMENTS:
            passed = NodeDef(
                name=self._free(f"{name}/handle"), op="Identity", input=[given.text, f"^{name}"]
            )
            passed.attr["T"].CopyFrom(_RESOURCE)
            self._result[passed.name] = passed
            return given._replace(text=passed.name)
        if given.dtype is not None and not self._is_assigned:
            return None  # all reads give the same value
        return given._replace(text=f"{name}:{position}")

    # Translating nodes.

    def _translated(self, message: NodeDef) -> NodeDef:
        if message.op in VARIABLES:
            return _handle_of(message)
        made = NodeDef()
        made.CopyFrom(message)
        references = self._rename(made)
        inputs = data_inputs(message)
        controls = [text for text in message.input if text[:1] == "^"]
        handles = [self._handle(place_of(text)) for text in inputs]
        # A node runs, and reads, when all its inputs are available.
        ready = [
            f"^{place_of(text)[0]}"
            for text, handle in zip(inputs, handles, strict=True)
            if handle is None and place_of(text) not in self._fed
        ]
        taken = []
        for index, (text, handle) in enumerate(zip(inputs, handles, strict=True)):
            if handle is None:
                taken.append(text)
            elif index < references or handle.dtype is None:
                taken.append(handle.text)
            else:
                taken.append(self._read(handle, [*controls, *ready], message.name))
        del made.input[:]
        made.input.extend([*taken, *controls])
        return made

    def _rename(self, made: NodeDef) -> int:
        """Replace an op on references by the one on handles; the number of references it takes."""
        op = made.op
        if op in _TABLES:
            made.op = _TABLES[op]
            made.attr.pop(OUTPUT_SHAPES, None)
            return 1
        if op in _ASSIGNMENTS:
            _assign(made, _ASSIGNMENTS[op])
            return _ASSIGNMENTS[op].references
        if op in _ASKING:
            made.op = _ASKING[op]
            return 1
        made.op = _RENAMED.get(op, op)
        is_passed = op in _PASS and self._handle((made.name, 0)) is not None
        if is_passed or (op == "RefMerge" and self._is_assigned):
            made.attr["T"].CopyFrom(_RESOURCE)
            made.attr.pop(OUTPUT_SHAPES, None)
            return len(made.input)
        return 0

    def _read(self, handle: _Handle, controls: Sequence[str], user: str) -> str:
        """A node that reads a variable at the point where its user would."""
        waits = list(dict.fromkeys(controls)) if self._is_assigned else []
        key = (handle.text, *waits)
        found = self._reads.get(key)
        if found is None:
            found = self._free(f"{handle.root or user}/value")
            node = NodeDef(name=found, op="ReadVariableOp", input=[handle.text, *waits])
            if handle.dtype is not None:
                node.attr["dtype"].CopyFrom(handle.dtype)
            self._result[found] = node
            self._reads[key] = found
        return found

    def _free(self, wanted: str) -> str:
        """An unused name for a node."""
        found = wanted
        while found in self._result:
            self._numbers[wanted] = self._numbers.get(wanted, 0) + 1
            found = f"{wanted}_{self._numbers[wanted]}"
        return found

    def _unconditional_assignments(self) -> dict[str, list[str]]:
        """Variable -> the nodes that assign to it unconditionally."""
        users: dict[str, list[str]] = {}
        for message in self._needed:
            for text in message.input:
                users.setdefault(place_of(text)[0], []).append(message.name)
        waiting = [one.name for one in self._needed if one.op in {"Switch", "RefSwitch"}]
        decided = set(waiting)
        while waiting:
            more = [name for name in users.get(waiting.pop(), ()) if name not in decided]
            decided.update(more)
            waiting += more
        found: dict[str, list[str]] = {}
        for message in self._needed:
            if message.op in _ASSIGNMENTS and message.name not in decided:
                handle = self._handle((message.name, 0))
                if handle is not None:
                    found.setdefault(handle.root, []).append(message.name)
        return found


def variable_shape(message: NodeDef) -> AttrValue:
    """The shape attribute of a node that holds a variable."""
    found = AttrValue()
    found.shape.unknown_rank = True
    if "shape" in message.attr:
        given = message.attr["shape"]
        # For `Variable`, an unknown shape was written as an empty one.
        if given.shape.dim or message.op != "Variable":
            found.CopyFrom(given)
    return found


def _handle_of(message: NodeDef) -> NodeDef:
    waits = [f"^{name}" for name in control_inputs(message)]
    made = NodeDef(name=message.name, op="VarHandleOp", input=waits)
    for name in ("dtype", "container", "shared_name"):
        if name in message.attr:
            made.attr[name].CopyFrom(message.attr[name])
    made.attr["shape"].CopyFrom(variable_shape(message))
    return made


def _assign(message: NodeDef, how: _Assignment) -> None:
    message.op = how.op
    if how.kind != "T":
        message.attr[how.kind].CopyFrom(message.attr["T"])
    message.attr.pop(OUTPUT_SHAPES, None)
