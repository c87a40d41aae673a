"""Nodes for graph ops between layers, with which TensorFlow 1.13 to 2.3 saved function calls."""

from __future__ import annotations

from typing import Any, NoReturn

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.graph.codec.attrs import decode_attr
from pinnace.graph.codec.nodes import attr_kind
from pinnace.keras import registry
from pinnace.keras.operation import Operation
from pinnace.ops import gate
from pinnace.ops import registry as ops
from pinnace.ops.execute import execute
from pinnace.proto.node_def_pb2 import NodeDef


@registry.register_keras_serializable("pinnace")
class TensorFlowOpLayer(Operation):
    """One TensorFlow op on tensors of a functional model, with its constants.

    Args:
        node_def: the NodeDef, in JSON form or as bytes.
        constants: number of an input -> its value, where it is no tensor of the model.
        name: unique if None.

    Raises:
        ValueError: the text is no node, or its op is unknown.
        InvalidArgumentError: an attribute that the op does not take.
    """

    def __init__(
        self, node_def: Any, constants: dict[Any, Any] | None = None, name: str | None = None
    ) -> None:
        super().__init__(name=name)
        self.node_def = node_def
        self.constants = constants or {}
        message = _parsed(node_def)
        where = f"layer {name!r}, node {message.name!r}"
        op = ops.find(message.op)
        if op is None:
            raise ValueError(f"{where}: the op {message.op!r} is not known")
        told = {}
        for key, value in message.attr.items():
            kind = attr_kind(op, key)
            if kind and (kind.startswith("list(") or value.WhichOneof("value") is not None):
                told[key] = decode_attr(value, kind, f"{where}, attribute {key!r}", _no_function)
        self._attrs = op.full_attrs(told)
        self._op = gate.admitted(op, self._attrs)

    def call(self, *inputs: Any) -> Any:
        """The op's results."""
        flat = structure.flatten(list(inputs))
        for at, value in sorted((int(at), value) for at, value in self.constants.items()):
            flat.insert(at, value)
        op, attrs = self._op, self._attrs
        wanted = sum(op.input_count(arg, attrs) for arg in op.inputs)
        if len(flat) != wanted:
            raise ValueError(
                f"layer {self.name!r}: {op.name} takes {wanted} inputs, got {len(flat)}"
            )
        given = [
            [convert_to_tensor(x, kind) for x in (many if arg.is_list else [many])]
            for arg, many in zip(op.inputs, op.pack_inputs(flat, attrs), strict=True)
            for kind in [arg.dtype or attrs.get(arg.type_attr)]
        ]
        listed = zip(op.inputs, given, strict=True)
        return execute(op, *(some if arg.is_list else some[0] for arg, some in listed), **attrs)


def _parsed(node_def: Any) -> NodeDef:
    try:
        if isinstance(node_def, dict):
            return json_format.ParseDict(node_def, NodeDef(), ignore_unknown_fields=True)
        return NodeDef.FromString(node_def if isinstance(node_def, bytes) else node_def.encode())
    except (json_format.ParseError, DecodeError, AttributeError) as error:
        raise ValueError(f"the node of a TensorFlowOpLayer is damaged: {error}") from None


def _no_function(name: str, where: str) -> NoReturn:
    del where
    raise ValueError(f"a node of a model calls the function {name!r}, which no file of Keras holds")
