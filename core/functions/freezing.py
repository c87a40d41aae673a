"""Freezing variables to constants: `convert_variables_to_constants_v2`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.passes.inline import inline
from pinnace.framework import dtypes, structure
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import SymbolicTensor
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.wrapping import WrappedFunction
from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, GraphBuilder, functions_of
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import CONST, PLACEHOLDER
from pinnace.ops.registry import lookup

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.graph.graph import Graph, Node, Value

_WHO = "convert_variables_to_constants_v2"


def convert_variables_to_constants_v2(
    func: Any, lower_control_flow: bool = True, aggressive_inlining: bool = False
) -> WrappedFunction:
    """A copy of a function with the present values of its variables as constants.

    Conditionals and loops stay If and While ops, with the constants as arguments; calls are
    inlined.

    Args:
        func: a concrete function.
        lower_control_flow: without effect: conditions and loops stay one op each.
        aggressive_inlining: without effect: every call is inlined.

    Returns:
        A concrete function of the same tensors; it returns a list. Tables stay captured.

    Raises:
        TypeError: `func` is no concrete function.
        InvalidArgumentError: the function assigns a variable.
    """
    if not isinstance(func, ConcreteFunction):
        raise TypeError(
            f"{_WHO}: func must be a concrete function, got {type(func).__name__}\n"
            "  Try: func.get_concrete_function(specs)"
        )
    why = "conditions and loops stay one op each, and every call is inlined"
    ignored(_WHO, why, True, lower_control_flow=lower_control_flow)
    ignored(_WHO, why, False, aggressive_inlining=aggressive_inlining)
    graph = inline(func.graph)
    count = len(graph.inputs) - len(func.captured)
    copy = Copy(GraphBuilder(f"{graph.name}_frozen"))
    for value, name in zip(graph.inputs[:count], graph.input_names, strict=False):
        _argument(copy, value, value.spec, name)
    captured: list[Tensor] = []
    for value, tensor in zip(graph.inputs[count:], func.captured, strict=True):
        found = _present(tensor)
        if found is None:
            captured.append(tensor)
            _argument(copy, value, value.spec, value.node.name)
            continue
        made = _constant(copy.target, *found, value.node.name)
        copy.values[value], copy.nodes[value.node] = made, (made.node,)
    _copied(graph, copy)
    copy.outputs(graph)
    specs = tuple(
        TensorSpec.of(value.shape, value.dtype, name)
        for value, name in zip(graph.inputs[:count], graph.input_names, strict=False)
    )
    results = [TensorSpec.of(value.shape, value.dtype) for value in copy.target.outputs]
    return WrappedFunction(copy.target.finish(), captured, (specs, {}), results)


def _present(tensor: Tensor) -> tuple[Array, DType] | None:
    """The value of a capture; None for a table."""
    if isinstance(tensor, SymbolicTensor):
        raise InvalidArgumentError(
            f"{_WHO}: the function captures {tensor!r}, a value of the function around it, which "
            "is not known\n  Try: pass it as an argument"
        )
    array = np.asarray(tensor._array)
    if tensor.dtype is not dtypes.resource:
        return array, tensor.dtype
    resource: Any = array[()]
    if not hasattr(resource, "read"):
        return None
    return np.asarray(resource.read()), resource.dtype


def _argument(copy: Copy, value: Value, spec: TensorSpec, name: str) -> None:
    handle = value.handle if spec.dtype is dtypes.resource else None
    made = copy.target.add_input(PLACEHOLDER, spec, name, handle)
    copy.values[value], copy.nodes[value.node] = made, (made.node,)


def _constant(graph: GraphBuilder, array: Array, dtype: DType, name: str) -> Value:
    spec = TensorSpec.of(Shape.of(array.shape), dtype)
    return graph.add_raw(CONST, (), {"value": array, "dtype": dtype}, name, [spec]).outputs[0]


def _copied(graph: Graph, copy: Copy) -> None:
    """Copy the nodes, without reads of handles that have become values."""
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node in arguments:
            continue
        held = [
            value.dtype is dtypes.resource and copy.values[value].dtype is not dtypes.resource
            for value in node.inputs
        ]
        if not any(held):
            copy.node(node)
        elif functions_of(node):
            _with_values(node, held, copy)
        else:
            _read(node, copy)


def _read(node: Node, copy: Copy) -> None:
    """The output of a node that reads a variable, computed from its value."""
    value, *others = (copy.values[one] for one in node.inputs)
    controls = copy.controls(node.controls)
    target, attrs, name = copy.target, node.attrs, node.op.name
    if name == "ReadVariableOp" or node.op.alias:
        made = target.add(lookup("Identity"), [value], {"T": value.dtype}, node.name, controls)
    elif name == "ResourceGather":
        batch = attrs["batch_dims"]
        axis = _constant(target, np.array(batch, np.int32), dtypes.int32, f"{node.name}/axis")
        kinds = {"Tparams": value.dtype, "Tindices": attrs["Tindices"], "Taxis": dtypes.int32}
        given = [value, *others, axis]
        made = target.add(
            lookup("GatherV2"), given, {**kinds, "batch_dims": batch}, node.name, controls
        )
    elif name == "ResourceGatherNd":
        kinds = {"Tparams": value.dtype, "Tindices": attrs["Tindices"]}
        made = target.add(lookup("GatherNd"), [value, *others], kinds, node.name, controls)
    elif name == "VariableShape":
        kinds = {"T": value.dtype, "out_type": attrs["out_type"]}
        made = target.add(lookup("Shape"), [value], kinds, node.name, controls)
    elif name == "VarIsInitializedOp":
        made = _constant(target, np.array(True), dtypes.bool, node.name).node
    else:
        where = f", called at {node.source}" if node.source else ""
        raise InvalidArgumentError(
            f"{_WHO}: {name} {node.name!r} changes a variable, which a constant cannot be{where}\n"
            "  Try: freeze a function that only reads, such as the call of a model"
        )
    copy.nodes[node] = (made,)
    for here, there in zip(node.outputs, made.outputs, strict=True):
        copy.values[here] = there


def _with_values(node: Node, held: list[bool], copy: Copy) -> None:
    """An If, Case or While whose functions take values instead of handles."""
    inputs = [copy.values[value] for value in node.inputs]

    if node.op.runs is None:
        raise InvalidArgumentError(
            f"{_WHO}: {node.op.name} {node.name!r} runs functions that read variables, and takes "
            "no constants in their place\n  Try: read the variables outside of it"
        )

    def frozen(attr: Any) -> Any:
        if isinstance(attr, tuple):
            return tuple(frozen(one) for one in attr)
        if not isinstance(attr, FunctionRef):
            return attr
        first = len(inputs) - len(attr.graph.inputs)
        made = _inner(attr.graph, held[first:], inputs[first:])
        return FunctionRef(made.name, made)

    attrs = {name: frozen(attr) for name, attr in node.attrs.items()}
    first = len(inputs) - len(functions_of(node)[0].graph.inputs)
    kinds = tuple(value.dtype for value in inputs[first:])
    attrs.update({name: kinds for name in ("T", "Tin") if name in attrs})
    if node.op.runs == "loop":
        specs = [
            TensorSpec.of(value.shape, value.dtype) if was else output.spec
            for value, was, output in zip(inputs, held, node.outputs, strict=True)
        ]
    else:
        leaves = structure.flatten(list(attrs.values()))
        ref = next(one for one in leaves if isinstance(one, FunctionRef))
        specs = [
            TensorSpec.of(value.shape, value.dtype)
            if output.dtype is dtypes.resource and value.dtype is not dtypes.resource
            else output.spec
            for value, output in zip(ref.graph.outputs, node.outputs, strict=True)
        ]
        attrs.update(Tout=tuple(spec.dtype for spec in specs))
    if attrs.get("output_shapes"):
        attrs["output_shapes"] = tuple(spec.shape for spec in specs)
    made = copy.target.add_raw(
        node.op, inputs, attrs, node.name, specs, copy.controls(node.controls)
    )
    made.source = node.source
    copy.nodes[node] = (made,)
    for here, there in zip(node.outputs, made.outputs, strict=True):
        there.handle = here.handle if there.dtype is dtypes.resource else None
        copy.values[here] = there


def _inner(graph: Graph, held: list[bool], given: list[Value]) -> Graph:
    """The function with values as arguments where it took handles."""
    graph = inline(graph)
    copy = Copy(GraphBuilder(f"{graph.name}_frozen"))
    for value, name, was, outside in zip(graph.inputs, graph.input_names, held, given, strict=True):
        spec = TensorSpec.of(outside.shape, outside.dtype) if was else value.spec
        _argument(copy, value, spec, name)
    _copied(graph, copy)
    copy.outputs(graph)
    return copy.target.finish()
