"""Fused nodes of TensorFlow.js, expanded to the ops that they consist of."""

from collections.abc import MutableSequence, Sequence

from pinnace.deploy.tfjs.files.fusing import with_output
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.proto.function_pb2 import FunctionDef
from pinnace.proto.node_def_pb2 import NodeDef

# Fused op -> the product, and the name of its output.
_PRODUCTS = {
    "_FusedConv2D": ("Conv2D", "output"),
    "FusedConv2D": ("Conv2D", "output"),
    "FusedDepthwiseConv2dNative": ("DepthwiseConv2dNative", "output"),
    "_FusedMatMul": ("MatMul", "product"),
}
_ACTIVATIONS = {
    "relu": "Relu",
    "relu6": "Relu6",
    "elu": "Elu",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "leakyrelu": "LeakyRelu",
    "prelu": "Prelu",
}
_OUTPUTS = {
    "BiasAdd": "output",
    "AddV2": "z",
    "Relu": "activations",
    "Relu6": "activations",
    "Elu": "activations",
    "LeakyRelu": "activations",
    "Sigmoid": "y",
    "Tanh": "y",
    "Sub": "z",
}
# Attributes that the fused node and the product share.
_ATTRS = {
    "Conv2D": ("T", "strides", "padding", "explicit_paddings", "data_format", "dilations"),
    "DepthwiseConv2dNative": (
        "T",
        "strides",
        "padding",
        "explicit_paddings",
        "data_format",
        "dilations",
    ),
    "MatMul": ("T", "transpose_a", "transpose_b"),
}


def apart(nodes: MutableSequence[NodeDef], where: str, function: FunctionDef | None = None) -> None:
    """Expand the fused nodes of a graph or of a function's body in place.

    Raises:
        UnimplementedError: an unknown op is fused.
    """
    taken = {node.name for node in nodes}
    outputs: dict[str, str] = {}
    made: list[NodeDef] = []
    changed = False
    vectors = {
        node.name
        for node in nodes
        if node.op == "Const" and len(node.attr["value"].tensor.tensor_shape.dim) == 1
    }
    for node in nodes:
        if node.op in _PRODUCTS:
            parts = _parts(node, taken, vectors, where, in_function=function is not None)
        elif node.op == "BiasAdd" and not node.attr["data_format"].s.startswith(b"NC"):
            parts = [NodeDef.FromString(node.SerializeToString())]
            _as_sum(parts[0], vectors)
        elif node.op == "Prelu":
            parts = _prelu(node, node.input[0], node.input[1], taken, function is not None)
        else:
            made.append(node)
            continue
        changed = True
        outputs[node.name] = _OUTPUTS.get(parts[-1].op) or _PRODUCTS[node.op][1]
        made += parts
    if not changed:
        return
    kept = [NodeDef.FromString(node.SerializeToString()) for node in made]
    del nodes[:]
    nodes.extend(kept)
    if function is not None:
        for node in nodes:
            for place, text in enumerate(node.input):
                node.input[place] = with_output(text, outputs)
        for name in list(function.ret):
            function.ret[name] = with_output(function.ret[name], outputs)


def _as_sum(part: NodeDef, vectors: set[str]) -> None:
    """Replace BiasAdd by Add if the bias may not be a vector: TensorFlow.js treats them alike."""
    if part.input[1].partition(":")[0] not in vectors:
        part.op = "AddV2"
        for name in [name for name in part.attr if name != "T"]:
            del part.attr[name]


def _parts(  # noqa: C901 (a case for each kind of step)
    node: NodeDef, taken: set[str], vectors: set[str], where: str, *, in_function: bool
) -> list[NodeDef]:
    ops = [one.decode(errors="replace") for one in node.attr["fused_ops"].list.s]
    op, output = _PRODUCTS[node.op]
    data = [text for text in node.input if not text.startswith("^")]
    controls = [text for text in node.input if text.startswith("^")]
    if len(data) < 2:
        raise InvalidArgumentError(f"{where}: {node.op} {node.name!r} has {len(data)} inputs")
    product = NodeDef(
        name=_free(f"{node.name}/product", taken), op=op, input=[*data[:2], *controls]
    )
    for name in _ATTRS[op]:
        if name in node.attr:
            product.attr[name].CopyFrom(node.attr[name])
    parts = [product]
    rest = data[2:]
    value = _reference(product.name, output, in_function=in_function)
    for one in ops:
        kind = one.lower()
        if kind in ("biasadd", "prelu") and not rest:
            raise InvalidArgumentError(f"{where}: {node.op} {node.name!r} lacks the input of {one}")
        if kind == "biasadd":
            part = NodeDef(name="", op="BiasAdd", input=[value, rest.pop(0)])
            part.attr["T"].CopyFrom(node.attr["T"])
            if "data_format" in node.attr and op != "MatMul":
                part.attr["data_format"].CopyFrom(node.attr["data_format"])
            _as_sum(part, vectors)
            added = [part]
        elif kind == "prelu":
            added = _prelu(node, value, rest.pop(0), taken, in_function)
        elif kind in _ACTIVATIONS:
            part = NodeDef(name="", op=_ACTIVATIONS[kind], input=[value])
            part.attr["T"].CopyFrom(node.attr["T"])
            if kind == "leakyrelu" and "leakyrelu_alpha" in node.attr:
                part.attr["alpha"].CopyFrom(node.attr["leakyrelu_alpha"])
            added = [part]
        elif kind == "linear":
            continue
        else:
            raise UnimplementedError(f"{where}: {node.op} {node.name!r} has the fused op {one!r}")
        added[-1].name = _free(f"{node.name}/{added[-1].op}", taken)
        parts += added
        value = _reference(added[-1].name, _OUTPUTS[added[-1].op], in_function=in_function)
    parts[-1].name = node.name
    return parts


def _prelu(
    node: NodeDef, value: str, slope: str, taken: set[str], in_function: bool
) -> list[NodeDef]:
    """relu(x) - slope * relu(-x)."""
    found: list[NodeDef] = []

    def add(op: str, inputs: Sequence[str], output: str) -> str:
        part = NodeDef(name=_free(f"{node.name}/{op}", taken), op=op, input=inputs)
        if "T" in node.attr:
            part.attr["T"].CopyFrom(node.attr["T"])
        else:
            part.attr["T"].type = 1  # type: ignore[assignment]  # DT_FLOAT: Prelu has no types
        found.append(part)
        return _reference(part.name, output, in_function=in_function)

    above = add("Relu", [value], "activations")
    below = add("Relu", [add("Neg", [value], "y")], "activations")
    add("Sub", [above, add("Mul", [slope, below], "z")], "z")
    found[-1].name = node.name
    return found


def _reference(name: str, output: str, *, in_function: bool) -> str:
    return f"{name}:{output}:0" if in_function else name


def _free(wanted: str, taken: set[str]) -> str:
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    taken.add(name)
    return name
