"""Lowering of a frozen graph to built-in operators, op by op; all refusals are collected."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.deploy.lite.converters import registry
from pinnace.deploy.lite.converters.flex import as_flex
from pinnace.deploy.lite.converters.node_view import NodeView
from pinnace.deploy.lite.converters.unsupported import reason_of
from pinnace.deploy.lite.ir.builder import GraphBuilder, carried
from pinnace.deploy.lite.ir.kinds import TYPES
from pinnace.deploy.lite.ir.model import Tensor
from pinnace.deploy.refusals import refusals_of, refused
from pinnace.framework import dtypes
from pinnace.framework.errors import InternalError, UnimplementedError
from pinnace.graph.walk import ordered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.lite.ir.model import Subgraph
    from pinnace.framework.specs import TensorSpec
    from pinnace.graph import graph

FORMAT = "LiteRT"


class Lowered(NamedTuple):
    """A graph in built-in operators.

    Attributes:
        subgraph: the operators.
        counts: op of the program -> number of conversions.
        loops: node of an LSTM loop -> why it did not become one operator, if that was asked for.
    """

    subgraph: Subgraph
    counts: dict[str, int]
    loops: dict[str, str]


def lower(
    program: graph.Graph,
    inputs: Mapping[str, TensorSpec],
    *,
    flex: bool = False,
    fused_lstm: bool = False,
) -> Lowered:
    """Lower a graph.

    Args:
        program: the graph, frozen and folded.
        inputs: name -> spec, in the order of the graph's inputs.
        flex: whether ops without a counterpart remain TensorFlow ops.
        fused_lstm: whether an LSTM loop becomes one operator.

    Raises:
        UnimplementedError: nodes have no counterpart; the message lists all of them.
    """
    g = GraphBuilder(program.name)
    lowering = Lowering(flex=flex, fused_lstm=fused_lstm)
    arguments = []
    for name, spec in inputs.items():
        if spec.dtype not in TYPES or spec.dtype.is_complex:
            raise UnimplementedError(
                f"export: input {name!r} is {spec.dtype.name}, which {FORMAT} does not take"
            )
        given = g.input(name, spec.dtype, spec.shape)
        arguments.append(g.cast(given, carried(spec.dtype)))
    results = lowering.nodes(g, program, arguments)
    if lowering.refused:
        raise refused(program.name, refusals_of(lowering.refused), FORMAT)
    names = program.output_names
    for name, value, source in zip(names, results, program.outputs, strict=True):
        if not isinstance(value, Tensor) or source.dtype.is_complex:
            raise UnimplementedError(
                f"export: output {name!r} is {source.dtype.name}, which {FORMAT} does not give"
            )
        g.subgraph.outputs.append(_result(g, g.cast(value, source.dtype), name))
    return Lowered(g.subgraph, dict(sorted(lowering.counts.items())), lowering.loops)


def _result(g: GraphBuilder, value: Tensor, name: str) -> Tensor:
    """A tensor for one output only: arguments, constants and other outputs are copied."""
    subgraph = g.subgraph
    if value.data is not None:
        return Tensor(name, value.dtype, value.shape, value.data)
    if value in subgraph.inputs or value in subgraph.outputs:
        if value.dtype is dtypes.string or value.rank is None:
            raise UnimplementedError(f"export: output {name!r} is an input; nothing computes it")
        value = g.copied(value)
    value.name = name
    return value


class Lowering:
    """The state of one conversion.

    Args:
        flex: whether ops without a counterpart remain TensorFlow ops.
        fused_lstm: whether an LSTM loop becomes one operator.

    Attributes:
        refused: (op, reason) -> the nodes.
        counts: op -> number of conversions.
        loops: node of an LSTM loop -> why it did not become one operator, if that was asked for.
    """

    def __init__(self, *, flex: bool = False, fused_lstm: bool = False) -> None:
        self.flex = flex
        self.fused_lstm = fused_lstm
        self.refused: dict[tuple[str, str], list[graph.Node]] = {}
        self.counts: Counter[str] = Counter()
        self.loops: dict[str, str] = {}

    def nodes(self, g: GraphBuilder, program: graph.Graph, arguments: Sequence[Any]) -> list[Any]:
        """Convert every node that the graph's results depend on, and return the results.

        Args:
            g: the builder to add operators to.
            program: the graph, with calls inlined.
            arguments: the values of its inputs.
        """
        values: dict[graph.Value, Any] = dict(zip(program.inputs, arguments, strict=True))
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
                    values[output] = Tensor("refused", carried(output.dtype), output.shape)
        return [values[value] for value in program.outputs]

    def _convert(
        self,
        g: GraphBuilder,
        node: graph.Node,
        values: dict[graph.Value, Any],
        takers: Mapping[graph.Value, Sequence[graph.Node | None]],
    ) -> str:
        """Convert one node; return the reason if it cannot be converted."""
        name = node.op.name
        converter = registry.find(name)
        if converter is None:
            return self._refusal(g, node, values, reason_of(name))
        try:
            with g.scope(node.name):
                view = NodeView(node, self, values, takers)
                packed = node.op.pack_inputs([values[value] for value in node.inputs], node.attrs)
                result = converter.function(g, view, *packed)
                results = result if isinstance(result, tuple) else (result,)
                _keep(g, name, node, results, values)
        except UnimplementedError as error:
            return self._refusal(g, node, values, error.message)
        except Exception:
            if not self.refused:
                raise
            # Its input is the placeholder of a refused node, which is reported anyway.
            for output in node.outputs:
                values[output] = Tensor("refused", carried(output.dtype), output.shape)
        return ""

    def _refusal(
        self, g: GraphBuilder, node: graph.Node, values: dict[graph.Value, Any], reason: str
    ) -> str:
        """The reason of a refusal; none if the node may remain a TensorFlow op."""
        if self.flex and as_flex(g, node, values):
            return ""
        return reason


def _constant(g: GraphBuilder, node: graph.Node, values: dict[graph.Value, Any]) -> None:
    output = node.outputs[0]
    dtype = node.attrs["dtype"]
    held = np.asarray(node.attrs["value"])
    if dtype not in TYPES or dtype is dtypes.resource:
        values[output] = held[()] if not held.ndim else held
        return
    with g.scope(node.name):
        values[output] = g.constant(held, dtype)


def _keep(
    g: GraphBuilder,
    name: str,
    node: graph.Node,
    results: tuple[Any, ...],
    values: dict[graph.Value, Any],
) -> None:
    if len(results) < len(node.outputs):
        raise InternalError(
            f"the converter of {name} returned {len(results)} of {len(node.outputs)} outputs"
        )
    for output, value in zip(node.outputs, results, strict=False):
        if value is None:
            continue
        values[output] = value
        if not isinstance(value, Tensor) or output.dtype not in TYPES:
            continue
        if value.dtype is not carried(output.dtype) and output.dtype is not dtypes.resource:
            raise InternalError(
                f"the converter of {name} returned {value.dtype.name}, the op has "
                f"{output.dtype.name} (node {node.name!r})"
            )
        if value.data is None and value not in g.subgraph.inputs:
            value.shape = _merged(value, output)


def _merged(value: Tensor, output: graph.Value) -> Any:
    try:
        return value.shape.merge_with(output.shape)
    except ValueError:
        return output.shape
