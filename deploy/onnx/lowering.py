"""A frozen graph to ONNX operators, op by op; what has no counterpart is refused, all of it at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

import pinnace.deploy.onnx.converters  # noqa: F401 (registers them)
from pinnace.deploy.onnx import registry
from pinnace.deploy.onnx.builder import GraphBuilder, Value
from pinnace.deploy.onnx.calls import NodeView
from pinnace.framework.errors import InternalError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.graph import graph
from pinnace.graph.walk import ordered


def lower(program: graph.Graph, inputs: Mapping[str, TensorSpec], opset: int) -> tuple[GraphBuilder, dict[str, int]]:
    """The graph in ONNX operators, and how often each op of the program was converted.

    Args:
        program: frozen and folded.
        inputs: name -> spec, in the order of the graph's inputs.
        opset: version of the operators.

    Raises:
        UnimplementedError: some nodes have no counterpart; the message names all of them.
    """
    g = GraphBuilder(opset)
    values: dict[graph.Value, Value] = {}
    for value, (name, spec) in zip(program.inputs, inputs.items(), strict=True):
        values[value] = g.input(name, spec)
    arguments = {value.node for value in program.inputs}
    refused: dict[str, list[tuple[graph.Node, str]]] = {}
    counts: Counter[str] = Counter()
    for node in ordered(program):
        if node in arguments:
            continue
        if node.op.name == "Const":
            _constant(g, node, values)
            continue
        counts[node.op.name] += 1
        reason = _convert(g, node, values)
        if reason:
            refused.setdefault(f"{node.op.name}\n{reason}", []).append((node, reason))
            for output in node.outputs:  # to go on, and find the others
                values[output] = g.input("refused", output.spec)
    if refused:
        raise UnimplementedError(_refusal(program.name, refused))
    for name, value in zip(program.output_names, program.outputs, strict=True):
        g.output(name, values[value])
    return g, dict(sorted(counts.items()))


def _constant(g: GraphBuilder, node: graph.Node, values: dict[graph.Value, Value]) -> None:
    output = node.outputs[0]
    if output.dtype.onnx is None:
        return  # a handle: whoever takes it is refused
    array = np.asarray(node.attrs["value"])
    values[output] = g.constant(array, node.name, output.dtype)


def _convert(g: GraphBuilder, node: graph.Node, values: dict[graph.Value, Value]) -> str:
    """Convert one node; why not, if it cannot be."""
    name = node.op.name
    converter = registry.find(name)
    if converter is None:
        return registry.NO_ONNX.get(name, "there is no converter for it yet")
    if converter.since > g.opset:
        return f"needs opset {converter.since}, got {g.opset}"
    missing = [value for value in node.inputs if value not in values]
    if missing:
        return f"takes a {missing[0].dtype.name}, which ONNX does not have"
    complexes = [v for v in (*node.inputs, *node.outputs) if v.dtype.is_complex]
    if complexes:
        return "computes with complex numbers, which no ONNX runtime does"
    packed = node.op.pack_inputs([values[value] for value in node.inputs], node.attrs)
    try:
        with g.scope(node.name):
            result = converter.function(g, NodeView(node, g.opset), *packed)
    except UnimplementedError as error:
        return error.message
    results = result if isinstance(result, tuple) else (result,)
    if len(results) < len(node.outputs):
        message = f"the converter of {name} gives {len(results)} of {len(node.outputs)} outputs"
        raise InternalError(message)
    for output, value in zip(node.outputs, results, strict=False):
        if value is None:
            continue
        if value.dtype is not output.dtype:
            message = f"the converter of {name} gives {value.dtype.name}, the op {output.dtype.name} (node {node.name!r})"
            raise InternalError(message)
        value.refine(output.shape)
        values[output] = value
    return ""


def _refusal(name: str, refused: dict[str, list[tuple[graph.Node, str]]]) -> str:
    count = len({key.partition("\n")[0] for key in refused})
    lines = [f"export: {count} op{'s' if count > 1 else ''} of {name!r} cannot be written in ONNX"]
    for key in sorted(refused):
        op = key.partition("\n")[0]
        nodes = refused[key]
        lines.append(f"  {op} ({len(nodes)} node{'s' if len(nodes) > 1 else ''}): {nodes[0][1]}")
        for node, _ in nodes:
            where = f", called at {node.source}" if node.source else ""
            lines.append(f"    node {node.name!r}{where}")
    return "\n".join(lines)


