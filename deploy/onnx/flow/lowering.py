"""Lowering of a frozen graph to ONNX operators, op by op; all refusals are collected."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from pinnace.deploy.onnx.converters import registry
from pinnace.deploy.onnx.converters.node_view import NodeView, program_of
from pinnace.deploy.onnx.converters.unsupported import NO_ONNX
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.complex_pairs import Pair, by_parts, constant_pair, part_type
from pinnace.deploy.onnx.ir.graph import Held, Value
from pinnace.deploy.refusals import refusals_of, refused
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import InternalError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph import graph
from pinnace.graph.walk import ordered


def lower(
    program: graph.Graph,
    inputs: Mapping[str, TensorSpec],
    opset: int,
    *,
    may_draw: bool = False,
) -> tuple[GraphBuilder, dict[str, int]]:
    """Lower a graph; also return the number of conversions per op.

    Args:
        program: the graph, frozen and folded.
        inputs: name -> spec, in the order of the graph's inputs.
        opset: the version of the operators.
        may_draw: whether the operators may draw random numbers of their own.

    Raises:
        UnimplementedError: nodes have no counterpart; the message lists all of them.
    """
    g = GraphBuilder(opset)
    lowering = _Lowering(may_draw)
    _refuse_complex("input", {name: spec.dtype for name, spec in inputs.items()})
    arguments = [g.input(name, spec) for name, spec in inputs.items()]
    results = lowering.nodes(g, program, arguments)
    if lowering.refused:
        raise refused(program.name, refusals_of(lowering.refused))
    outputs = dict(zip(program.output_names, results, strict=True))
    _refuse_complex("output", {name: value.dtype for name, value in outputs.items()})
    for name, value in outputs.items():
        g.output(name, value)
    return g, dict(sorted(lowering.counts.items()))


def _refuse_complex(what: str, types: Mapping[str, DType]) -> None:
    """Refuse complex inputs and outputs; inside a model complex numbers are supported."""
    for name, dtype in types.items():
        if dtype.is_complex:
            raise UnimplementedError(
                f"export: {what} {name!r} is {dtype.name}; an ONNX model neither takes nor gives "
                f"complex numbers\n  Try: the real and the imaginary part as two {what}s"
            )


class _Lowering:
    """The state of one conversion.

    Attributes:
        refused: (op, reason) -> the nodes.
        counts: op -> number of conversions.
    """

    def __init__(self, may_draw: bool) -> None:
        self.may_draw = may_draw
        self.refused: dict[tuple[str, str], list[graph.Node]] = {}
        self.counts: Counter[str] = Counter()

    def nodes(
        self, g: GraphBuilder, program: graph.Graph, arguments: Sequence[Value | None]
    ) -> list[Value]:
        """Convert every node that the graph's results depend on, and return the results.

        Args:
            g: the builder to add operators to.
            program: the graph, with calls inlined.
            arguments: the values of its inputs; None for one of a type that ONNX lacks.
        """
        pairs = zip(program.inputs, arguments, strict=True)
        values = {value: argument for value, argument in pairs if argument is not None}
        given = {value.node for value in program.inputs}
        takers: dict[graph.Value, list[graph.Node | None]] = {}
        for value in program.outputs:
            takers.setdefault(value, []).append(None)
        nodes = ordered(program)
        for node in nodes:
            for value in node.inputs:
                takers.setdefault(value, []).append(node)
        for node in nodes:
            if node in given or node.op.traceless:
                continue
            if node.op.name == "Const":
                _constant(g, node, values)
                continue
            self.counts[node.op.name] += 1
            reason = self._convert(g, node, values, takers)
            if reason:
                self.refused.setdefault((node.op.name, reason), []).append(node)
                for output in node.outputs:  # placeholders, so that later refusals are found too
                    values[output] = _stand_in(g, output.spec)
        return [values[value] for value in program.outputs]

    def function(
        self,
        g: GraphBuilder,
        ref: graph.FunctionRef | graph.Graph,
        arguments: Sequence[Value | None],
    ) -> list[Value]:
        """Convert a function's body for the given arguments, in place."""
        program = ref if isinstance(ref, graph.Graph) else program_of(ref)
        return self.nodes(g, program, arguments)

    def _convert(
        self,
        g: GraphBuilder,
        node: graph.Node,
        values: dict[graph.Value, Value],
        takers: Mapping[graph.Value, Sequence[graph.Node | None]],
    ) -> str:
        """Convert one node; return the reason if it cannot be converted."""
        name = node.op.name
        converter = registry.find(name)
        if converter is None:
            return NO_ONNX.get(name, "there is no converter for it yet")
        if converter.since > g.opset and not (
            converter.earlier and converter.earlier(node, takers)
        ):
            return f"needs opset {converter.since}, got {g.opset}"
        missing = [value for value in node.inputs if value not in values]
        if missing:
            return f"takes a {missing[0].dtype.name}, which ONNX does not have"
        is_complex = any(v.dtype.is_complex for v in (*node.inputs, *node.outputs))
        function = registry.of_pairs(name) if is_complex else None
        if is_complex and function is None and not registry.goes_by_parts(name):
            return "there is no converter for it with complex numbers, which ONNX has not"
        packed = node.op.pack_inputs([values[value] for value in node.inputs], node.attrs)
        try:
            with g.scope(node.name):
                view = NodeView(node, self.function, values, takers, self.may_draw)
                if function is not None:
                    result = function(g, view, *packed)
                elif is_complex:
                    result = by_parts(converter.function, g, view, packed)
                else:
                    result = converter.function(g, view, *packed)
            results = result if isinstance(result, tuple) else (result,)
            _keep(name, node, results, values)
        except UnimplementedError as error:
            return error.message
        except Exception:
            if not self.refused:
                raise
            # Its input is the placeholder of a refused node, which is reported anyway.
            values.update((output, _stand_in(g, output.spec)) for output in node.outputs)
        return ""


def _stand_in(g: GraphBuilder, spec: TensorSpec) -> Value:
    """A placeholder for a refused node's output; for a handle, its shape is unknown."""
    if spec.dtype.onnx is None:
        return Value("refused", spec.dtype, Shape(None))
    if not spec.dtype.is_complex:
        return g.input("refused", spec)
    part = TensorSpec.of(spec.shape, part_type(spec.dtype))
    return Pair(g.input("refused", part), g.input("refused", part))


def _constant(g: GraphBuilder, node: graph.Node, values: dict[graph.Value, Value]) -> None:
    output = node.outputs[0]
    dtype = node.attrs["dtype"]
    if dtype.is_complex:
        values[output] = constant_pair(g, np.asarray(node.attrs["value"]), node.name, dtype)
        return
    if dtype.onnx is None:
        held = np.asarray(node.attrs["value"])
        if not held.ndim:
            values[output] = Held(node.name, dtype, held[()])
        return
    values[output] = g.constant(np.asarray(node.attrs["value"]), node.name, dtype)


def _keep(
    name: str, node: graph.Node, results: tuple[Value | None, ...], values: dict[graph.Value, Value]
) -> None:
    if len(results) < len(node.outputs):
        raise InternalError(
            f"the converter of {name} returned {len(results)} of {len(node.outputs)} outputs"
        )
    for output, value in zip(node.outputs, results, strict=False):
        if value is None:
            continue
        if output.dtype.onnx is None:  # a handle, which its value replaces
            values[output] = value
            continue
        if value.dtype is not output.dtype:
            raise InternalError(
                f"the converter of {name} returned {value.dtype.name}, the op has "
                f"{output.dtype.name} (node {node.name!r})"
            )
        value.refine(output.shape)
        values[output] = value
