"""Fusion of a product, its bias and its activation, for which TensorFlow.js has kernels."""

from collections import Counter
from typing import TYPE_CHECKING

from pinnace.proto.node_def_pb2 import NodeDef

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from pinnace.proto.function_pb2 import FunctionDef

# Op -> the fused op, and the name of its output.
_FUSED = {
    "Conv2D": ("_FusedConv2D", "output"),
    "DepthwiseConv2dNative": ("FusedDepthwiseConv2dNative", "output"),
    "MatMul": ("_FusedMatMul", "product"),
}
_ACTIVATIONS = frozenset({"Relu", "Relu6", "Elu", "LeakyRelu"})
_FLOAT = 1  # DataType.DT_FLOAT


def fused(nodes: "MutableSequence[NodeDef]", function: "FunctionDef | None" = None) -> None:
    """Fuse the nodes of a graph, or of the body of a function, in place."""
    by_name = {node.name: node for node in nodes}
    uses: Counter[str] = Counter(_place(text) for node in nodes for text in node.input)
    if function is not None:
        uses.update(_place(text) for text in function.ret.values())
    takers: dict[str, NodeDef] = {}
    for node in nodes:
        for text in node.input:
            takers[_place(text)] = node
    gone: set[str] = set()
    outputs: dict[str, str] = {}
    for node in list(nodes):
        found = _behind(node, uses, takers, by_name)
        if found is None:
            continue
        bias, last, ops = found
        _make(node, bias, last, ops)
        outputs[last.name] = _FUSED_OUTPUTS[last.op]
        gone.update(one for one in (node.name, bias.name) if one != last.name)
    for index in reversed(range(len(nodes))):
        if nodes[index].name in gone:
            del nodes[index]
    if function is not None:
        _name_outputs(function, outputs)


_FUSED_OUTPUTS = dict(_FUSED.values())


def _behind(
    node: NodeDef,
    uses: Counter[str],
    takers: dict[str, NodeDef],
    by_name: dict[str, NodeDef],
) -> tuple[NodeDef, NodeDef, list[str]] | None:
    """The bias of a product, the last node to fuse, and the names of the fused ops."""
    if node.op not in _FUSED or node.attr["T"].type != _FLOAT:
        return None
    bias = _only_taker(node, uses, takers)
    if bias is None or bias.op != "BiasAdd" or _place(bias.input[0]) != node.name:
        return None
    # In WebAssembly, transposed products give wrong results when fused.
    is_turned = node.attr["transpose_a"].b or node.attr["transpose_b"].b
    if node.op == "MatMul" and (is_turned or not _is_plain(bias.input[1], by_name)):
        return None
    ops, last = ["BiasAdd"], bias
    activation = _only_taker(bias, uses, takers)
    # For a depthwise convolution, the slope would be ignored.
    fits = _ACTIVATIONS - ({"LeakyRelu"} if node.op == "DepthwiseConv2dNative" else set())
    if activation is not None and activation.op in fits:
        ops.append(activation.op)
        last = activation
    if any(text.startswith("^") for one in (node, bias, last) for text in one.input):
        return None
    return bias, last, ops


def _make(node: NodeDef, bias: NodeDef, last: NodeDef, ops: list[str]) -> None:
    """Turn the last of the nodes into the fused one."""
    attrs = NodeDef()
    attrs.CopyFrom(node)
    slope = last.attr["alpha"].f if last.op == "LeakyRelu" else 0.2
    inputs = [node.input[0], node.input[1], bias.input[1]]
    op, _ = _FUSED[node.op]
    last.op = op
    last.input[:] = inputs
    last.attr.clear()
    for name, value in attrs.attr.items():
        if name not in ("grad_a", "grad_b"):
            last.attr[name].CopyFrom(value)
    last.attr["fused_ops"].list.s.extend(one.encode() for one in ops)
    last.attr["num_args"].i = 1
    last.attr["epsilon"].f = 0.0
    if op != "FusedDepthwiseConv2dNative":
        last.attr["leakyrelu_alpha"].f = slope
    if op == "_FusedConv2D":
        last.attr["TArgs"].list.type.append(_FLOAT)  # type: ignore[arg-type]
        last.attr["num_host_args"].i = 0


def _is_plain(text: str, by_name: dict[str, NodeDef]) -> bool:
    """Whether a bias is a constant or an argument.

    The WebAssembly kernel uses the original shape of its data, before any reshape.
    """
    node = by_name.get(_place(text))
    while node is not None and node.op == "Identity":
        node = by_name.get(_place(node.input[0]))
    return node is None or node.op == "Const"


def _only_taker(node: NodeDef, uses: Counter[str], takers: dict[str, NodeDef]) -> NodeDef | None:
    return takers.get(node.name) if uses[node.name] == 1 else None


def _place(text: str) -> str:
    return text.removeprefix("^").partition(":")[0]


def _name_outputs(function: "FunctionDef", outputs: dict[str, str]) -> None:
    """Rename references to outputs in a function, as fused nodes have other output names."""
    for node in function.node_def:
        for place, text in enumerate(node.input):
            node.input[place] = with_output(text, outputs)
    for name in list(function.ret):
        function.ret[name] = with_output(function.ret[name], outputs)


def with_output(text: str, outputs: dict[str, str]) -> str:
    """An input of a function's node, after nodes have got other ops; `outputs`: node -> output."""
    parts = text.split(":")
    if len(parts) == 3 and parts[0] in outputs:
        return f"{parts[0]}:{outputs[parts[0]]}:0"
    return text
