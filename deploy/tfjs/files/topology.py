"""A lowered graph as a GraphDef in TensorFlow.js' form, and its weights."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf.json_format import MessageToDict

from pinnace.deploy.tfjs.facts import known_ops
from pinnace.deploy.tfjs.files.fusing import fused
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.graph.codec.attrs import encode_attr
from pinnace.graph.codec.encoding import encode_graph
from pinnace.graph.codec.nodes import attr_kind
from pinnace.graph.codec.tensors import decode_tensor
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, GraphBuilder, Value
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import CONST
from pinnace.ops.registry import lookup
from pinnace.proto.attr_value_pb2 import AttrValue
from pinnace.proto.function_pb2 import FunctionDef
from pinnace.proto.graph_pb2 import GraphDef
from pinnace.proto.node_def_pb2 import NodeDef
from pinnace.proto.tensor_pb2 import TensorProto
from pinnace.saved_model.codecs.signatures import GraphSignature, GraphTensor, encode_signature

_AWKWARD = re.compile(r"[^A-Za-z0-9_.\\/-]")
# Types that TensorFlow.js lacks -> types that stand for them.
_RENAMED: dict[DType, DType] = {
    dtypes.bfloat16: dtypes.float32,
    dtypes.int16: dtypes.int32,
    dtypes.uint16: dtypes.int32,
}
_NUMBERS = {ours.enum: there.enum for ours, there in _RENAMED.items()}
_VALUE_FIELDS = tuple(
    field.name
    for field in TensorProto.DESCRIPTOR.fields
    if field.name not in ("dtype", "tensor_shape", "version_number")
)


@dataclass(frozen=True, slots=True)
class Topology:
    """A graph model without its weights' data.

    Attributes:
        message: the graph as JSON.
        signature: inputs and outputs as JSON.
        weights: name -> array.
        op_counts: op -> number of nodes.
        output_nodes: name of an output -> its node.
    """

    message: dict[str, Any]
    signature: dict[str, Any]
    weights: Mapping[str, Array]
    op_counts: dict[str, int]
    output_nodes: Mapping[str, str]


def topology_of(
    graph: Graph, inputs: Mapping[str, TensorSpec], outputs: Mapping[str, TensorSpec]
) -> Topology:
    """Serialise a graph for TensorFlow.js.

    Args:
        graph: a graph of TensorFlow.js' ops.
        inputs: name -> spec, in the order of the graph's inputs.
        outputs: name -> spec, in the order of the graph's outputs.
    """
    hollow, weights, ends = _hollow(graph, outputs)
    message = encode_graph(hollow)
    branches = {
        node.attr[which].func.name
        for node in _nodes(message)
        for which in ("then_branch", "else_branch")
        if which in node.attr
    }
    for function in message.library.function:
        _plain_body(function, is_branch=function.signature.name in branches)
        _name_constants(function)
    for node in _nodes(message):
        _complete(node)
    fused(message.node)
    for function in message.library.function:
        fused(function.node_def, function)
    for node in _nodes(message):
        if node.op == "Const":
            tensor = node.attr["value"].tensor
            if node.name not in weights:
                weights[node.name] = decode_tensor(tensor)
            for field in _VALUE_FIELDS:
                tensor.ClearField(field)
    for function in message.library.function:
        _rename_types(function)
    counts: dict[str, int] = {}
    for node in _nodes(message):
        counts[node.op] = counts.get(node.op, 0) + 1
    starts = dict(zip(inputs, (value.node.name for value in hollow.inputs), strict=True))
    signature = encode_signature(GraphSignature(_tensors(inputs, starts), _tensors(outputs, ends)))
    return Topology(
        _as_json(message),
        _with_sizes(MessageToDict(signature)),
        weights,
        dict(sorted(counts.items())),
        ends,
    )


def _as_json(message: GraphDef) -> dict[str, Any]:
    """The graph as JSON, with the empty lists that TensorFlow.js iterates over."""
    found: dict[str, Any] = MessageToDict(message)
    for function in found.get("library", {}).get("function", ()):
        for name in ("inputArg", "outputArg"):
            function["signature"].setdefault(name, [])
        function.setdefault("ret", {})
    sized: dict[str, Any] = _with_sizes(found)
    return sized


def _with_sizes(content: Any) -> Any:
    """The JSON with the zero sizes that a message's JSON form leaves out."""
    waiting = [content]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            for dim in one.get("dim", ()) if isinstance(one.get("dim"), list) else ():
                dim.setdefault("size", "0")
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return content


def _tensors(specs: Mapping[str, TensorSpec], nodes: Mapping[str, str]) -> dict[str, GraphTensor]:
    return {
        name: GraphTensor(f"{nodes[name]}:0", _RENAMED.get(spec.dtype, spec.dtype), spec.shape)
        for name, spec in specs.items()
    }


def _hollow(graph: Graph, outputs: Iterable[str]) -> tuple[Graph, dict[str, Array], dict[str, str]]:
    """The graph with weights replaced by zeros that take no memory, the weights, and the outputs.

    Each output gets a node of its own, since TensorFlow.js identifies results by the node's name.
    """
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    names = list(outputs)
    taken = {node.name for node in graph.nodes}
    weights: dict[str, Array] = {}
    for node in ordered(graph):
        if node in arguments:
            continue
        made = copy.node(node)
        if node.op is CONST:
            array = np.asarray(node.attrs["value"])
            weights[made.name] = array
            if array.dtype != object:
                zero = np.zeros((), array.dtype)
                made.attrs = {**made.attrs, "value": np.broadcast_to(zero, array.shape)}
    ends: dict[str, str] = {}
    results: list[Value] = []
    identity = lookup("Identity")
    for name, value in zip(names, graph.outputs, strict=True):
        wanted = _AWKWARD.sub("_", name) or "output"
        while wanted in taken:
            wanted = f"{wanted}_output"
        taken.add(wanted)
        inner = copy.values[value]
        made = copy.target.add_raw(
            identity, [inner], {"T": inner.dtype}, wanted, [TensorSpec.of(inner.shape, inner.dtype)]
        )
        ends[name] = made.name
        results.append(made.outputs[0])
    copy.target.set_outputs(results, names)
    return copy.target.finish(), weights, ends


def _nodes(message: GraphDef) -> Iterator[NodeDef]:
    yield from message.node
    for function in message.library.function:
        yield from function.node_def


def _complete(node: NodeDef) -> None:
    """Write all attributes, since TensorFlow.js has other defaults."""
    for name in [name for name in node.attr if name.startswith("_")]:
        del node.attr[name]
    op = lookup(node.op)
    for name, definition in op.attrs.items():
        if name in node.attr or definition.required or definition.default is None:
            continue
        if name.startswith("_") or definition.kind in ("func", "list(func)"):
            continue
        node.attr[name].CopyFrom(encode_attr(definition.default, attr_kind(op, name)))
    for value in node.attr.values():
        _retype(value, is_weight=node.op == "Const")


def _retype(value: AttrValue, *, is_weight: bool) -> None:
    """Replace types that TensorFlow.js lacks; weights are converted separately."""
    kind = value.WhichOneof("value")
    if kind == "type":
        value.type = _NUMBERS.get(value.type, value.type)  # type: ignore[assignment]
    elif kind == "tensor" and not is_weight:
        tensor = value.tensor
        tensor.dtype = _NUMBERS.get(tensor.dtype, tensor.dtype)  # type: ignore[assignment]
    elif kind == "list" and value.list.type:
        value.list.type[:] = [_NUMBERS.get(one, one) for one in value.list.type]  # type: ignore[misc]


def _rename_types(function: FunctionDef) -> None:
    for arg in (*function.signature.input_arg, *function.signature.output_arg):
        arg.type = _NUMBERS.get(arg.type, arg.type)  # type: ignore[assignment]


def _plain_body(function: FunctionDef, *, is_branch: bool) -> None:
    """Rewrite references in a function, and make each result a node of its own.

    TensorFlow.js takes the index in a reference as that among all outputs, TensorFlow as that in
    one named output. If two results come from one node, it returns one of them twice. A loop
    disposes the earlier results of its functions, even if they are weights of the model: results
    are therefore copies, which share memory.
    """
    ops = {node.name: node.op for node in function.node_def}
    for node in function.node_def:
        for place, text in enumerate(node.input):
            node.input[place] = _flat(text, ops)
    function.control_ret.clear()
    function.signature.ClearField("control_output")
    taken = {*ops, *(arg.name for arg in function.signature.input_arg)}
    seen: set[str] = set()
    for result in function.signature.output_arg:
        text = _flat(function.ret[result.name], ops)
        node_name = text.partition(":")[0]
        is_handed_on = ops.get(node_name, "Const" if is_branch else "") == "Const"
        is_second = node_name in seen or (":" in text and text.rpartition(":")[2] != "0")
        if is_handed_on or (node_name in ops and is_second):
            name = f"{node_name}/result"
            while name in taken:
                name += "_"
            taken.add(name)
            made = function.node_def.add(name=name, op="Identity", input=[text])
            made.attr["T"].type = result.type
            text = f"{name}:output:0"
        seen.add(node_name)
        function.ret[result.name] = text


def _flat(text: str, ops: Mapping[str, str]) -> str:
    """`node:name:k` where TensorFlow.js supports it, else `node:k`."""
    parts = text.split(":")
    if text.startswith("^") or len(parts) != 3 or parts[0] not in ops:
        return text
    name, output, index = parts
    op = lookup(ops[name])
    several = op.outputs
    if len(several) < 2 or several[0].name == output:
        return text
    known = known_ops().get(ops[name])
    if known is not None and output in known.outputs:
        return text
    before = [arg.name for arg in several].index(output)
    return f"{name}:{before + int(index)}"


def _name_constants(function: FunctionDef) -> None:
    """Give constants unique names, since all weights of a model are in one list."""
    owner = function.signature.name
    names = {node.name: f"{owner}/{node.name}" for node in function.node_def if node.op == "Const"}
    if not names:
        return
    for node in function.node_def:
        node.name = names.get(node.name, node.name)
        for place, text in enumerate(node.input):
            node.input[place] = renamed(text, names)
    for name in list(function.ret):
        function.ret[name] = renamed(function.ret[name], names)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """An input, data or control, after nodes have got the names."""
    mark = "^" if text.startswith("^") else ""
    node, colon, rest = text.removeprefix("^").partition(":")
    return f"{mark}{names.get(node, node)}{colon}{rest}"
