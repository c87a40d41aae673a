"""Freezing: calls inlined, variables replaced by their values."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnace.deploy.program.mapped_weights import pieces
from pinnace.deploy.program.sources import Program
from pinnace.deploy.program.states import assign
from pinnace.deploy.program.tensor_arrays import with_lists
from pinnace.deploy.refusals import ExportRefusedError, Refusal
from pinnace.engine.passes.decide import decided
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array, Tensor
from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Node, Value
from pinnace.graph.walk import ordered, root_of
from pinnace.ops.array.constants import CONST
from pinnace.ops.registry import lookup


@dataclass(frozen=True, slots=True)
class Frozen:
    """A program whose variables are constants.

    Attributes:
        graph: the graph, with the program's inputs.
        dropped: effect that was left out -> number of nodes.
    """

    graph: Graph
    dropped: dict[str, int]


def freeze(program: Program) -> Frozen:
    """Replace the program's variables by their present values.

    Raises:
        UnimplementedError: the program assigns a variable.
        InvalidArgumentError: a variable holds NaN.
    """
    graph = with_lists(decided(program.concrete.graph))
    count = len(program.inputs) - len(program.states)
    behind = dict(zip(graph.inputs[count:], program.concrete.captured, strict=True))
    kept = {graph.inputs[count + state.place]: state for state in program.states}
    if not kept:
        _refuse_writes(graph, behind)
    copy = Copy(GraphBuilder(graph.name))
    for value, name in zip(graph.inputs[:count], program.inputs, strict=False):
        made = copy.target.add_input(value.node.op, value.spec, name)
        copy.values[value] = made
        copy.nodes[value.node] = (made.node,)
    placeholder = lookup("Placeholder")
    for value, state in kept.items():
        spec = program.inputs[state.given]
        copy.values[value] = copy.target.add_input(placeholder, spec, state.given)
    for value, tensor in behind.items():
        if value not in kept:
            copy.values[value] = _constant(copy.target, value, tensor)
    dropped = _copied(graph, copy, set(kept))
    copy.outputs(graph)
    copy.target.outputs.extend(copy.values[value] for value in kept)
    copy.target.effects = []
    return Frozen(copy.target.finish(), dict(sorted(dropped.items())))


def _copied(graph: Graph, copy: Copy, kept: set[Value]) -> Counter[str]:
    """Copy the nodes of a graph; return the effects that were left out.

    Args:
        graph: the program.
        copy: maps the program's arguments already.
        kept: handles of variables that are assigned.
    """
    arguments = {value.node for value in graph.inputs}
    dropped: Counter[str] = Counter()
    for node in ordered(graph):
        if node in arguments:
            continue
        # Effects without a counterpart that do not change the outputs.
        if node.op.traceless or node.op.name == "DestroyResourceOp":
            dropped[node.op.name] += 1
            # Print returns its input.
            for output, value in zip(node.outputs, node.inputs, strict=False):
                copy.values[output] = copy.values[value]
            continue
        root = root_of(node.inputs[0]) if node.inputs else None
        if root is not None and root in kept and assign(node, copy, root):
            copy.nodes[node] = ()
        elif not _known(node, copy):
            copy.node(node)
    return dropped


def _constant(graph: GraphBuilder, value: Value, tensor: Tensor) -> Value:
    """A captured tensor, or the value behind a captured handle, as a constant."""
    array = np.asarray(tensor._array)
    name = value.node.name
    dtype: DType = tensor.dtype
    if dtype is dtypes.resource:
        resource: Any = array[()]
        if not hasattr(resource, "read"):
            return _const(graph, array, dtype, name)
        array = np.asarray(resource.read())
        dtype = as_dtype(resource.dtype)
        name = str(resource.name or name)
        _refuse_nan(array, dtype, name)
    return _const(graph, array, dtype, name)


def _const(graph: GraphBuilder, array: Array, dtype: DType, name: str) -> Value:
    spec = TensorSpec.of(Shape.of(array.shape), dtype)
    return graph.add_raw(CONST, (), {"value": array, "dtype": dtype}, name, [spec]).outputs[0]


def _refuse_nan(array: Array, dtype: DType, name: str) -> None:
    if not dtype.is_floating or not array.size:
        return
    # The minimum is NaN if an element is: faster than a test of each, and without a temporary.
    bad = 0
    for piece in pieces(array):
        if np.isnan(np.min(piece)):
            bad += int(np.count_nonzero(np.isnan(piece)))
    if bad:
        raise InvalidArgumentError(
            f"export: variable {name!r} holds {bad} NaN among its {array.size} elements: "
            f"the model's outputs would be NaN\n"
            "  Try: train again from the last checkpoint without NaN"
        )


def _known(node: Node, copy: Copy) -> bool:
    """Whether the node only asks if a variable is initialised, which is a constant."""
    name = node.op.name
    if not node.inputs or node.inputs[0].dtype is not dtypes.resource:
        return False
    held = copy.values[root_of(node.inputs[0])]
    if held.dtype is dtypes.resource:
        return False
    if name == "ReadVariableOp" or node.op.alias:
        for output, value in zip(node.outputs, node.inputs, strict=True):
            copy.values[output] = copy.values[root_of(value)]
        return True
    if name == "VariableShape":
        sizes = np.array(held.shape.as_list(), node.attrs["out_type"].numpy)
        copy.values[node.outputs[0]] = _const(copy.target, sizes, node.attrs["out_type"], node.name)
        return True
    if name == "VarIsInitializedOp":
        copy.values[node.outputs[0]] = _const(copy.target, np.array(True), dtypes.bool, node.name)
        return True
    return False


def _refuse_writes(graph: Graph, behind: dict[Value, Tensor]) -> None:
    found: dict[tuple[str, str], list[Node]] = {}
    for node, value in _writes(graph):
        tensor = behind.get(value)
        name = value.node.name if tensor is None else _name_of(tensor)
        found.setdefault((node.op.name, name), []).append(node)
    if not found:
        return
    lines = []
    refusals = []
    for (op, name), nodes in found.items():
        for node in nodes:
            where = f", called at {node.source}" if node.source else ""
            lines.append(f"  {op} assigns variable {name!r}: node {node.name!r}{where}")
        places = tuple((node.name, node.source or None) for node in nodes)
        refusals.append(Refusal(op, f"assigns variable {name!r}; a file has no state", places))
    message = f"export: {graph.name!r} assigns variables; an exported file has no state\n"
    raise ExportRefusedError(message + "\n".join(dict.fromkeys(lines)), refusals)


def _name_of(handle: Tensor) -> str:
    resource: Any = np.asarray(handle._array)[()]
    return str(getattr(resource, "name", "?"))


def _writes(graph: Graph) -> list[tuple[Node, Value]]:
    """The nodes that change a resource, with its handle; those in functions too."""
    found = []
    for node in ordered(graph):
        refs = [
            ref
            for attr in node.attrs.values()
            for ref in (attr if isinstance(attr, tuple) else (attr,))
            if isinstance(ref, FunctionRef)
        ]
        if refs:
            # The last inputs are the functions' arguments; the condition comes before them.
            for ref in refs:
                arguments = node.inputs[len(node.inputs) - len(ref.graph.inputs) :]
                inner = dict(zip(ref.graph.inputs, arguments, strict=True))
                found += [(there, inner.get(value, value)) for there, value in _writes(ref.graph)]
        elif node.op.effect == "write" and node.op.name != "DestroyResourceOp":
            found += [(node, value) for value in node.inputs if value.dtype is dtypes.resource]
    return found
