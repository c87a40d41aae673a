"""Folding of scales and shifts per channel behind a product into its filter and bias.

They come from batch normalisation, as one op or as arithmetic with constants.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, GraphBuilder, Node, Value, constant_of
from pinnace.graph.walk import ordered, users
from pinnace.ops.array.constants import CONST
from pinnace.ops.registry import lookup

_PRODUCTS = frozenset({"Conv2D", "DepthwiseConv2dNative", "MatMul"})
_NORMS = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
_SUMS = frozenset({"Add", "AddV2", "BiasAdd"})


@dataclass(slots=True)
class _Affine:
    """x -> scale · x + shift, per channel.

    Attributes:
        last: the node of the result.
    """

    scale: Array
    shift: Array
    last: Node

    @property
    def is_finite(self) -> bool:
        """Whether folding keeps results finite where they were."""
        return bool(np.isfinite(self.scale).all() and np.isfinite(self.shift).all())


def with_folded_channels(graph: Graph) -> Graph:
    """Fold scales and shifts, so that the program has fewer nodes."""
    nodes = ordered(graph)
    takers = users(nodes)
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    ends: dict[Node, tuple[Node, _Affine]] = {}
    for node in nodes:
        found = _chain(node, takers, graph)
        if found is not None:
            ends[found.last] = (node, found)
    folded = {product for product, _ in ends.values()}
    for node in nodes:
        if node in arguments or node in folded:
            continue
        if node in ends:
            product, affine = ends[node]
            copy.values[node.outputs[0]] = _product(copy, product, affine)
            copy.nodes[node] = ()
        elif all(value in copy.values for value in node.inputs):
            copy.node(node)  # other nodes of a chain are dropped
    copy.outputs(graph)
    return copy.target.finish()


def _chain(node: Node, takers: dict[Value, list[Node]], graph: Graph) -> _Affine | None:
    """The nodes behind a product that scale and shift channels."""
    if node.op.name not in _PRODUCTS or node.outputs[0].dtype is not dtypes.float32:
        return None
    weights = constant_of(node.inputs[1])
    if weights is None or node.attrs.get("transpose_b"):
        return None
    count = int(np.prod(weights.shape[2:])) if node.op.name.startswith("D") else weights.shape[-1]
    affine = _Affine(np.ones(count), np.zeros(count), node)
    value = node.outputs[0]
    while value not in graph.outputs:
        several = takers.get(value, [])
        if len(several) != 1 or several[0].inputs.count(value) != 1:
            break
        following = _step(several[0], value, affine, takers, graph)
        if following is None:
            break
        affine, value = following, following.last.outputs[0]
    is_bias = affine.last.op.name == "BiasAdd" and affine.last.inputs[0].node is node
    return None if affine.last is node or is_bias or not affine.is_finite else affine


def _step(
    node: Node, value: Value, before: _Affine, takers: dict[Value, list[Node]], graph: Graph
) -> _Affine | None:
    name = node.op.name
    scale, shift = before.scale, before.shift
    if name in _NORMS:
        parts = [constant_of(one) for one in node.inputs[1:]]
        if node.inputs[0] is not value or any(part is None for part in parts):
            return None
        if any(one in takers or one in graph.outputs for one in node.outputs[1:]):
            return None
        gamma, beta, mean, variance = (np.asarray(part, np.float64) for part in parts)
        if variance.shape != scale.shape:
            return None
        factor = gamma / np.sqrt(variance + node.attrs["epsilon"])
        return _Affine(scale * factor, shift * factor + beta - mean * factor, node)
    if name not in _SUMS and name not in {"Sub", "Mul"}:
        return None
    place = node.inputs.index(value)
    other = _of_channels(node.inputs[1 - place], value, len(scale))
    if other is None:
        return None
    if name in _SUMS:
        return _Affine(scale, shift + other, node)
    if name == "Mul":
        return _Affine(scale * other, shift * other, node)
    if place == 0:
        return _Affine(scale, shift - other, node)
    return _Affine(-scale, other - shift, node)


def _of_channels(given: Value, value: Value, count: int) -> Array | None:
    """A constant as one number per channel; None for other operands or layouts."""
    array = constant_of(given)
    rank = value.shape.rank
    if array is None or rank is None or array.ndim > rank or array.size not in (1, count):
        return None
    if array.ndim and array.size > 1 and array.shape[-1] != count:
        return None
    return np.broadcast_to(np.asarray(array, np.float64).reshape(-1), (count,))


def _product(copy: Copy, node: Node, affine: _Affine) -> Value:
    """The product with another filter, and a bias."""
    target = copy.target
    weights = constant_of(node.inputs[1])
    assert weights is not None  # noqa: S101 (a chain begins with a product)
    filters = copy.values[node.inputs[1]]
    if not np.all(affine.scale == 1):
        depthwise = node.op.name.startswith("D")
        factors = affine.scale.reshape(weights.shape[2:]) if depthwise else affine.scale
        scaled = (np.asarray(weights, np.float64) * factors).astype(np.float32)
        filters = _constant(target, scaled, f"{node.name}/filter")
    inputs = [copy.values[node.inputs[0]], filters]
    outputs = [TensorSpec.of(value.shape, value.dtype) for value in node.outputs]
    made = target.add_raw(node.op, inputs, node.attrs, node.name, outputs)
    made.source = node.source
    # The bias is added even if it is 0: with it, product and activation fuse into one node.
    bias = _constant(target, affine.shift.astype(np.float32), f"{node.name}/bias")
    attrs: dict[str, Any] = {"T": dtypes.float32, "data_format": "NHWC"}
    inputs = [made.outputs[0], bias]
    return target.add_raw(lookup("BiasAdd"), inputs, attrs, affine.last.name, outputs).outputs[0]


def _constant(graph: GraphBuilder, array: Array, name: str) -> Value:
    spec = TensorSpec.of(Shape.of(array.shape), dtypes.float32)
    attrs = {"value": array, "dtype": dtypes.float32}
    return graph.add_raw(CONST, (), attrs, name, [spec]).outputs[0]
