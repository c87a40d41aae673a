"""Conversion of variables that a function assigns to inputs and outputs of a stateless program."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pinnace.deploy.program.sources import Program, State
from pinnace.deploy.program.tensor_arrays import with_lists
from pinnace.engine.passes.decide import decided
from pinnace.framework import dtypes
from pinnace.framework.dtypes import as_dtype
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Node, Value
from pinnace.graph.walk import ordered, root_of
from pinnace.ops.array.constants import CONST
from pinnace.ops.math.arithmetic import ADD_V2, SUB
from pinnace.ops.registry import lookup
from pinnace.ops.state.variables import ASSIGN_ADD_VARIABLE, ASSIGN_SUB_VARIABLE

_AWKWARD = re.compile(r"[^A-Za-z0-9_.-]")
# Op that assigns -> op that computes the new value from the old one and the other inputs.
_COMPUTED = {ASSIGN_ADD_VARIABLE.name: ADD_V2.name, ASSIGN_SUB_VARIABLE.name: SUB.name}
_SCATTERS = {
    f"ResourceScatter{before}{kind}": f"TensorScatter{kind}"
    for before in ("", "Nd")
    for kind in ("Add", "Sub", "Min", "Max", "Update")
}
_LARGEST_TOLD = 64  # elements of an initial value in the metadata


def with_states(program: Program) -> Program:
    """Add an input and an output for each variable that the program assigns.

    The program is returned unchanged if an assignment is inside a branch or a loop, or has no op
    that computes the new value; `freeze` then refuses it.
    """
    if not _assigns(program.concrete.graph):  # most models assign nothing, and need not be inlined
        return program
    graph = with_lists(decided(program.concrete.graph))
    count = len(program.inputs)
    places = {value: index for index, value in enumerate(graph.inputs[count:])}
    assigned: dict[int, None] = {}
    for node in ordered(graph):
        called = _functions_of(node)
        if called or node.op.effect != "write" or not node.inputs:
            if _assigns(*called):
                return program
            continue
        root = root_of(node.inputs[0])
        handles = [value for value in node.inputs if value.dtype is dtypes.resource]
        known = node.op.name == "AssignVariableOp" or node.op.name in {**_COMPUTED, **_SCATTERS}
        if node.op.name == "DestroyResourceOp":
            continue
        if not known or len(handles) != 1 or root not in places:
            return program
        assigned[places[root]] = None
    if not assigned:
        return program
    return _extended(program, sorted(assigned))


def _extended(program: Program, places: list[int]) -> Program:
    inputs, outputs = dict(program.inputs), dict(program.outputs)
    facts = dict(program.facts)
    states = []
    told = []
    for place in places:
        resource: Any = np.asarray(program.concrete.captured[place]._array)[()]
        name = _AWKWARD.sub("_", str(resource.name or f"variable_{place}").removesuffix(":0"))
        state = State(place, _free(f"state_in_{name}", inputs), _free(f"state_out_{name}", outputs))
        spec = TensorSpec(resource.shape, as_dtype(resource.dtype), name=state.given)
        if not spec.shape.is_fully_defined():
            return program
        inputs[state.given] = outputs[state.left] = spec
        states.append(state)
        told.append(f"{state.given} -> {state.left}")
        first = np.asarray(resource.read())
        if first.size <= _LARGEST_TOLD and first.dtype != object:
            facts[f"{state.given}.first"] = str(first.tolist())
    facts["states"] = "; ".join(told)
    return replace(program, inputs=inputs, outputs=outputs, facts=facts, states=tuple(states))


def _free(wanted: str, taken: Mapping[str, object]) -> str:
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name


def _assigns(*graphs: Graph) -> bool:
    """Whether a graph, or a function that its nodes call, assigns a variable."""
    waiting, seen = list(graphs), set(graphs)  # functions may be recursive
    while waiting:
        for node in ordered(waiting.pop()):
            if node.op.traceless:  # not visible to later runs
                continue
            called = _functions_of(node)
            if node.op.effect == "write" and not called:  # calls have their function's effect
                return True
            waiting.extend(graph for graph in called if graph not in seen)
            seen.update(called)
    return False


def _functions_of(node: Node) -> list[Graph]:
    return [
        ref.graph
        for attr in node.attrs.values()
        for ref in (attr if isinstance(attr, tuple) else (attr,))
        if isinstance(ref, FunctionRef)
    ]


def assign(node: Node, copy: Copy, root: Value) -> bool:
    """Record the value that a node assigns as the handle's new value; False for other nodes."""
    name = node.op.name
    if name == "AssignVariableOp":
        copy.values[root] = copy.values[node.inputs[1]]
        return True
    before = copy.values[root]
    given = [copy.values[value] for value in node.inputs[1:]]
    if name in _COMPUTED:
        copy.values[root] = _added(copy.target, _COMPUTED[name], node.name, before, *given)
        return True
    if name not in _SCATTERS:
        return False
    indices, updates = given
    if "Nd" not in name:
        indices = _rows(copy.target, indices, node.name)
        updates = _spread(copy.target, before, indices, updates, node.name)
    copy.values[root] = _added(copy.target, _SCATTERS[name], node.name, before, indices, updates)
    return True


def _added(graph: GraphBuilder, op: str, name: str, before: Value, *rest: Value) -> Value:
    definition = lookup(op)
    attrs = {"T": before.dtype}
    if rest and op.startswith("TensorScatter"):
        attrs = {"T": before.dtype, "Tindices": rest[0].dtype}
    return graph.add_raw(definition, (before, *rest), attrs, name, [before.spec]).outputs[0]


def _constant(graph: GraphBuilder, array: Any, name: str) -> Value:
    value = np.asarray(array, np.int32)
    spec = TensorSpec.of(Shape.of(value.shape), dtypes.int32)
    attrs = {"value": value, "dtype": dtypes.int32}
    return graph.add_raw(CONST, (), attrs, name, [spec]).outputs[0]


def _rows(graph: GraphBuilder, indices: Value, name: str) -> Value:
    """[...] as [..., 1]: indices along the first axis."""
    rank = indices.shape.rank or 0
    spec = TensorSpec.of(Shape([*indices.shape, 1]), indices.dtype)
    attrs = {"T": indices.dtype, "Tdim": dtypes.int32}
    inputs = (indices, _constant(graph, rank, f"{name}/axis"))
    return graph.add_raw(lookup("ExpandDims"), inputs, attrs, f"{name}/rows", [spec]).outputs[0]


def _spread(graph: GraphBuilder, before: Value, indices: Value, updates: Value, name: str) -> Value:
    """A scalar update as updates of all rows."""
    if updates.shape.rank != 0 or before.shape.rank is None:
        return updates
    sizes = [*list(indices.shape)[:-1], *list(before.shape)[1:]]
    if None in sizes:
        return updates
    spec = TensorSpec.of(Shape(sizes), updates.dtype)
    attrs = {"T": updates.dtype, "Tidx": dtypes.int32}
    inputs = (updates, _constant(graph, sizes, f"{name}/sizes"))
    made = graph.add_raw(lookup("BroadcastTo"), inputs, attrs, f"{name}/updates", [spec])
    return made.outputs[0]
