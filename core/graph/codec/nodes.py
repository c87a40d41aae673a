"""Nodes ↔ NodeDef; inputs are references, which `body.py` resolves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.attrs import NameOf, encode_attr
from pinnace.graph.codec.opaque import adopt_dtype, is_own
from pinnace.graph.codec.shapes import decode_shape
from pinnace.proto.node_def_pb2 import NodeDef

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.opdef import ArgDef, OpDef
    from pinnace.proto.attr_value_pb2 import AttrValue

OUTPUT_SHAPES = "_output_shapes"


def encode_node(
    node: Node,
    inputs: Sequence[str],
    name_of: NameOf | None = None,
    *,
    defaults: bool = False,
    shapes: bool = True,
) -> NodeDef:
    """A node.

    Args:
        node: the node.
        inputs: references to its inputs, then to its controls.
        name_of: the name under which a function is written.
        defaults: whether attributes that have their defaults are written.
        shapes: whether it has the shapes of its outputs as an attribute.
    """
    message = NodeDef(name=node.name, op=node.op.name, input=inputs)
    given = node.attrs.get("dtype")
    for name in sorted(node.attrs):
        value = node.attrs[name]
        if is_own(name) or name.startswith("_"):
            continue
        if value is None or (not defaults and _is_default(node.op, name, value)):
            continue
        message.attr[name].CopyFrom(
            encode_attr(value, attr_kind(node.op, name), name_of, _dtype_of_value(value, given))
        )
    if node.outputs and shapes:
        sizes = tuple(value.spec.shape for value in node.outputs)
        message.attr[OUTPUT_SHAPES].CopyFrom(encode_attr(sizes, "list(shape)"))
    return message


def _dtype_of_value(value: Any, dtype: Any) -> DType | None:
    """The dtype of a Const if it is not its array's."""
    if isinstance(value, np.ndarray) and dtype is not None and dtype.is_quantized:
        return dtype  # type: ignore[no-any-return]
    return None


def _is_default(op: OpDef, name: str, value: Any) -> bool:
    # Types are always written: TensorFlow has fewer defaults for them than there are here.
    definition = op.attrs.get(name)
    if definition is None or definition.required or isinstance(value, np.ndarray):
        return False
    if name in op.list_types or name in op.number_attrs:
        return False  # inferred from the inputs here, but required in the file
    default = definition.default
    if isinstance(value, (list, tuple)) and isinstance(default, (list, tuple)):
        return tuple(value) == tuple(default)
    if isinstance(value, float) and isinstance(default, float):
        return bool(np.float32(value) == np.float32(default))  # both are stored as float32
    return type(value) is type(default) and bool(value == default)


def attr_kind(op: OpDef, name: str) -> str:
    """The kind of an attribute of an op; empty if the op does not define it."""
    if name in op.type_sets:
        return "type"
    definition = op.attrs.get(name)
    if definition is not None:
        return definition.kind
    if name in op.number_attrs:
        return "int"
    return "list(type)" if name in op.list_types else ""


def output_reference(value: Value) -> str:
    """A value in the notation of function bodies: `node:output_argument:index`."""
    node = value.node
    position = value.index
    for arg in node.op.outputs:
        count = node.op.input_count(arg, node.attrs)
        if position < count:
            return f"{node.name}:{arg.name}:{position}"
        position -= count
    raise InvalidArgumentError(f"{node.op.name}: node {node.name!r} has no output {value.index}")


def check_inputs(op: OpDef, attrs: Mapping[str, Any], inputs: Sequence[Value], where: str) -> None:
    """Check that a node has the number and dtypes of inputs of its op."""
    wanted: list[tuple[ArgDef, DType]] = []
    for arg in op.inputs:
        if arg.list_attr:
            wanted.extend((arg, dtype) for dtype in attrs[arg.list_attr])
        else:
            dtype = arg.dtype or attrs[arg.type_attr]
            wanted.extend([(arg, dtype)] * op.input_count(arg, attrs))
    if len(wanted) != len(inputs):
        raise InvalidArgumentError(
            f"{where}: {op.name} takes {len(wanted)} inputs ({op.signature}), got {len(inputs)}"
        )
    for (arg, dtype), value in zip(wanted, inputs, strict=True):
        if value.dtype is not dtype:
            if adopt_dtype(value, dtype):
                continue
            raise InvalidArgumentError(
                f"{where}: {op.name} takes a {dtype.name} as {arg.name}, got {value.spec.text} "
                f"from node {value.node.name!r}"
            )


def declared_specs(
    op: OpDef, attrs: Mapping[str, Any], messages: Mapping[str, AttrValue], where: str
) -> list[TensorSpec] | None:
    """The specs of the outputs, if an attribute of the node contains their shapes."""
    if OUTPUT_SHAPES not in messages:
        return None
    shapes = messages[OUTPUT_SHAPES].list.shape
    kinds = op.output_dtypes(attrs)
    if len(shapes) != len(kinds):
        return None
    return [
        TensorSpec.of(decode_shape(shape, f"{where}, attribute {OUTPUT_SHAPES!r}"), kind)
        for shape, kind in zip(shapes, kinds, strict=True)
    ]


def note_handles(node: Node) -> None:
    """Set the specs of the variables behind the resources that a node outputs."""
    if node.op.alias:
        for output, value in zip(node.outputs, node.inputs, strict=False):
            output.handle = value.handle
    elif node.op.name == "VarHandleOp" and node.outputs:
        node.outputs[0].handle = TensorSpec.of(node.attrs["shape"], node.attrs["dtype"])


def likely_dtype(attrs: Mapping[str, Any]) -> DType:
    """The dtype that the outputs of an unknown op probably have."""
    for name in ("T", "dtype", "out_type", "Tout"):
        value = attrs.get(name)
        if isinstance(value, dtypes.DType):
            return value
    return dtypes.float32
