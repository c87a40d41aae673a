"""Ops that remain TensorFlow's: an app with Select TF ops runs them from their NodeDef."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flatbuffers import flexbuffers

from pinnace.deploy.lite.ir.builder import carried
from pinnace.deploy.lite.ir.kinds import TYPES
from pinnace.deploy.lite.ir.model import Tensor
from pinnace.framework import dtypes
from pinnace.graph.codec.nodes import encode_node

if TYPE_CHECKING:
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.graph import graph


class _Bytes:
    """Bytes in place of a str for flexbuffers, which only calls `encode`."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def encode(self, encoding: str) -> bytes:
        """The bytes, which are encoded already."""
        del encoding
        return self._content


def as_flex(g: GraphBuilder, node: graph.Node, values: dict[graph.Value, Any]) -> bool:
    """Write a node as TensorFlow's op; False if it has functions or values other than tensors."""
    given = [values.get(value) for value in node.inputs]
    kinds = [value.dtype for value in (*node.inputs, *node.outputs)]
    plain = {dtype for dtype in TYPES if dtype is not dtypes.resource}
    if not all(isinstance(x, Tensor) for x in given) or not set(kinds) <= plain:
        return False
    if node.op.kernel is None or not node.outputs:
        return False
    tensors = [
        g.cast(x, value.dtype) if carried(value.dtype) is not value.dtype else x
        for x, value in zip(given, node.inputs, strict=True)
        if isinstance(x, Tensor)
    ]
    with g.scope(node.name):
        outputs = [(value.dtype, value.shape) for value in node.outputs]
        made = g.custom(f"Flex{node.op.name}", _payload(node), tensors, outputs)
        for value, x in zip(node.outputs, made, strict=True):
            values[value] = g.cast(x, carried(value.dtype))
    return True


def _payload(node: graph.Node) -> bytes:
    """The op's name and its NodeDef, as the delegate reads them."""
    names = [f"input_{index}" for index in range(len(node.inputs))]
    message = encode_node(node, names, defaults=True, shapes=False)
    builder = flexbuffers.Builder()
    with builder.Vector():
        builder.String(node.op.name)
        builder.String(_Bytes(message.SerializeToString(deterministic=True)))
    return bytes(builder.Finish())
