"""The ModelProto: names, declared types, symbolic sizes, metadata; deterministic."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import onnx
from onnx import helper, shape_inference

from pinnace.deploy.onnx.files.streaming import Draft, array_of
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import DOMAINS, OnnxGraph, Value
from pinnace.deploy.onnx.ir.inference import SMALL
from pinnace.deploy.onnx.ir.messages import tensor_message, type_message
from pinnace.deploy.program.sources import Program
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.shapes import Shape

_AWKWARD = re.compile(r"[^A-Za-z0-9_.-]")
# Protobuf parses 100 nested messages: a body takes three, and types five more.
_MOST_BODIES = 30


@dataclass(frozen=True, slots=True)
class Written:
    """A model ready to be written.

    Attributes:
        draft: the message without weights, and the weights.
        output_names: name in the signature -> name in the file.
    """

    draft: Draft
    output_names: Mapping[str, str]


def describe_model(g: GraphBuilder, program: Program, ir_version: int, version: str) -> Written:
    """Describe a model as a message, and its weights.

    Args:
        g: the finished graph.
        program: the source of names.
        ir_version: the version of the format.
        version: pinnace's version, for the metadata.

    Raises:
        UnimplementedError: branches and loops are nested more deeply than a file allows.
    """
    depth = _depth(g)
    if depth > _MOST_BODIES:
        raise UnimplementedError(
            f"export: branches and loops are nested {depth} deep; an ONNX file allows "
            f"{_MOST_BODIES}, as protobuf parses no more\n"
            "  Try: shapes={name: [4, 224, 224, 3], ...} (--input NAME=SHAPE) with all sizes: "
            "branches for others are then left out"
        )
    names = _border(g)
    model = onnx.ModelProto(
        ir_version=ir_version, producer_name="pinnace", producer_version=version, model_version=1
    )
    model.opset_import.append(helper.make_opsetid("", g.opset))
    for domain, number in sorted({DOMAINS[kind] for kind in _kinds(g) if kind in DOMAINS}):
        model.opset_import.append(helper.make_opsetid(domain, number))
    graph = model.graph
    graph.name = _AWKWARD.sub("_", program.signature)
    axes = _axis_names(g)
    for value in g.inputs:
        graph.input.append(_info(value.name, value, axes.get(value, ())))
    for node in g.nodes:
        graph.node.append(
            _node_message(node.kind, node.name, node.inputs, node.outputs, node.attrs)
        )
    weights = g.constants()
    _declare(g, model, _with_shells(model, g, weights))
    for key, text in _metadata(program, names, version).items():
        model.metadata_props.add(key=key, value=text)
    return Written(Draft(model, weights), names)


def _border(g: GraphBuilder) -> dict[str, str]:
    """Name results as in the signature, each made by a node; an input's name gets a suffix."""
    taken = {value.name for value in g.inputs}
    names: dict[str, str] = {}
    wanted: list[str] = []
    for name, _ in g.outputs:
        clean = name or "output"
        final = clean
        count = 0
        while final in taken or final in wanted:
            count += 1
            final = f"{clean}_out" if count == 1 else f"{clean}_out{count}"
        wanted.append(final)
        names[name] = final
    inner = {value.name: value for value in _made(g)}
    for name in wanted:
        clash = inner.get(name)
        if clash is not None:
            clash.name = g.unique(f"{name}_inner")
    results: list[tuple[str, Value]] = []
    used: set[Value] = set()
    for (name, value), final in zip(g.outputs, wanted, strict=True):
        if value.node is None or value in used:
            value = g.op("Identity", value) if value.array is None else _identity(g, value)
        used.add(value)
        value.name = final
        results.append((name, value))
    g.outputs = results
    _name_constants(g)
    return names


def _kinds(g: OnnxGraph) -> set[str]:
    """The operators, including those of nested graphs."""
    inside = [kind for node in g.nodes for body in node.bodies for kind in _kinds(body)]
    return {*(node.kind for node in g.nodes), *inside}


def _made(g: OnnxGraph) -> list[Value]:
    """All node outputs and body inputs, including those of nested graphs."""
    found: list[Value] = []
    for node in g.nodes:
        found.extend(node.outputs)
        for body in node.bodies:
            found.extend(body.inputs)
            found.extend(_made(body))
    return found


def _name_constants(g: GraphBuilder) -> None:
    """Name the remaining constants."""
    taken = {value.name for value in g.inputs} | {value.name for value in _made(g)}
    for value in g.constants():
        base = value.name.replace(":", "_") or "constant"
        name, count = base, 0
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        value.name = name


def _identity(g: GraphBuilder, constant: Value) -> Value:
    """An Identity of a constant that is a result; the builder would fold it."""
    loose = Value(constant.name, constant.dtype, constant.shape)
    made = g.op("Identity", loose)
    if made.node is not None:
        made.node.inputs = [constant]
    return made


def _axis_names(g: GraphBuilder) -> dict[Value, tuple[str | None, ...]]:
    """Names of the inputs' unknown sizes: equal names mean equal sizes, so each has its own."""
    found: dict[Value, tuple[str | None, ...]] = {}
    leading = [value for value in g.inputs if value.shape.rank and value.shape[0] is None]
    for value in g.inputs:
        sizes = list(value.shape)
        names: list[str | None] = []
        for axis, size in enumerate(sizes):
            if size is not None:
                names.append(None)
            elif axis == 0:
                names.append(
                    "batch" if len(leading) == 1 else f"{_AWKWARD.sub('_', value.name)}_batch"
                )
            else:
                names.append(_axis_name(value, axis, len(sizes)))
        found[value] = tuple(names)
    return found


_IMAGE = {1: "height", 2: "width", 3: "channels"}


def _axis_name(value: Value, axis: int, rank: int) -> str:
    base = _IMAGE[axis] if rank == len(_IMAGE) + 1 else f"axis{axis}"
    return f"{_AWKWARD.sub('_', value.name)}_{base}"


def _info(name: str, value: Value, names: tuple[str | None, ...]) -> onnx.ValueInfoProto:
    return onnx.ValueInfoProto(name=name, type=type_message(value.dtype, value.shape, names))


def _depth(g: GraphBuilder) -> int:
    """The nesting depth of branches and loops."""
    deepest, level = 0, [g]
    while level:
        level = [
            value
            for one in level
            for node in one.nodes
            for value in node.attrs.values()
            if isinstance(value, GraphBuilder)
        ]
        deepest += bool(level)
    return deepest


def _node_message(
    kind: str,
    name: str,
    inputs: list[Value | None],
    outputs: list[Value],
    attrs: Mapping[str, object],
) -> onnx.NodeProto:
    message = onnx.NodeProto(op_type=kind, name=name, domain=DOMAINS.get(kind, ("", 0))[0])
    message.input.extend("" if value is None else value.name for value in inputs)
    message.output.extend(value.name for value in outputs)
    for key in sorted(attrs):
        value = attrs[key]
        if isinstance(value, GraphBuilder):
            body = onnx.AttributeProto(
                name=key, type=onnx.AttributeProto.GRAPH, g=_body_message(value, f"{name}_{key}")
            )
            message.attribute.append(body)
        else:
            message.attribute.append(helper.make_attribute(key, value))
    return message


def _body_message(body: GraphBuilder, name: str) -> onnx.GraphProto:
    """A subgraph of a node; its constants are in the outer graph."""
    message = onnx.GraphProto(name=_AWKWARD.sub("_", name))
    message.input.extend(_info(value.name, value, ()) for value in body.inputs)
    for node in body.nodes:
        message.node.append(
            _node_message(node.kind, node.name, node.inputs, node.outputs, node.attrs)
        )
    message.output.extend(_info(value.name, value, ()) for _, value in body.outputs)
    return message


def _with_shells(model: onnx.ModelProto, g: GraphBuilder, weights: list[Value]) -> onnx.ModelProto:
    """The model for shape inference: large constants become inputs without data."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    for value in weights:
        if value.array is not None and value.array.nbytes <= SMALL:
            whole.graph.initializer.append(tensor_message(array_of(value), value.name, value.dtype))
        else:
            whole.graph.input.append(_info(value.name, value, ()))
    for _, value in g.outputs:
        whole.graph.output.append(_info(value.name, value, ()))
    return whole


def _declare(g: GraphBuilder, model: onnx.ModelProto, whole: onnx.ModelProto) -> None:
    """Declare the type of every value: by the program, and symbolic sizes by ONNX's inference."""
    symbols = {
        dim.dim_param
        for info in model.graph.input
        for dim in info.type.tensor_type.shape.dim
        if dim.HasField("dim_param")
    }
    inferred = shape_inference.infer_shapes(whole, data_prop=True)
    found = {
        info.name: info.type.tensor_type
        for info in (*inferred.graph.value_info, *inferred.graph.output)
    }
    results = {value for _, value in g.outputs}
    for node in g.nodes:
        for value in node.outputs:
            info = _merged(value, found.get(value.name), symbols)
            if value not in results:
                model.graph.value_info.append(info)
    for _, value in g.outputs:
        model.graph.output.append(_merged(value, found.get(value.name), symbols))
        if value.shape.rank is None:
            raise UnimplementedError(
                f"export: the rank of output {value.name!r} is unknown; an ONNX file must "
                "declare it\n"
                "  Try: ensure_shape(..., [None, None]) in the signature, a None for each axis; or "
                "sample= with typical inputs, whose outputs have that rank"
            )


def _merged(
    value: Value, found: onnx.TypeProto.Tensor | None, symbols: set[str]
) -> onnx.ValueInfoProto:
    if found is None or not found.HasField("shape"):
        return _info(value.name, value, ())
    dims = found.shape.dim
    if value.shape.rank is not None and len(dims) != value.shape.rank:
        return _info(value.name, value, ())
    value.refine(Shape([dim.dim_value if dim.HasField("dim_value") else None for dim in dims]))
    names = tuple(dim.dim_param if dim.dim_param in symbols else None for dim in dims)
    return _info(value.name, value, names)


def _metadata(program: Program, names: Mapping[str, str], version: str) -> dict[str, str]:
    renamed = {name: final for name, final in names.items() if name != final}
    facts = {
        "source": program.source,
        "signature": program.signature,
        "exporter": f"pinnace {version}",
        "inputs": "; ".join(f"{name}: {spec.text}" for name, spec in program.inputs.items()),
        "outputs": "; ".join(
            f"{names[name]}: {spec.text}" for name, spec in program.outputs.items()
        ),
        **program.facts,
    }
    if renamed:
        facts["renamed_outputs"] = "; ".join(
            f"{name} -> {final}" for name, final in renamed.items()
        )
    return {key: facts[key] for key in sorted(facts)}
