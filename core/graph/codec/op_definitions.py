"""OpDefs → TensorFlow's OpDef messages: signature, attributes, defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.codec.attrs import encode_attr
from pinnace.graph.codec.opaque import is_own
from pinnace.proto.op_def_pb2 import OpDef as OpDefMessage

if TYPE_CHECKING:
    from pinnace.ops.opdef import ArgDef, OpDef


def encode_op(op: OpDef) -> OpDefMessage:
    """The definition of an op, with the types and attributes that this library supports."""
    message = OpDefMessage(name=op.name, is_stateful=op.stateful)
    for arg in op.inputs:
        _encode_argument(message.input_arg.add(name=arg.name), arg)
    for arg in op.outputs:
        _encode_argument(message.output_arg.add(name=arg.name), arg)
    for name, allowed in op.type_sets.items():
        one = message.attr.add(name=name, type="type")
        kinds = tuple(sorted(allowed.allowed, key=lambda dtype: dtype.enum))
        one.allowed_values.CopyFrom(encode_attr(kinds, "list(type)"))
        if allowed.default is not None:
            one.default_value.CopyFrom(encode_attr(allowed.default, "type"))
    for name in op.list_types:
        if not is_own(name):
            message.attr.add(name=name, type="list(type)", has_minimum=True)
    for name in op.number_attrs:
        message.attr.add(name=name, type="int", has_minimum=True)
    _encode_attributes(message, op)
    return message


def _encode_attributes(message: OpDefMessage, op: OpDef) -> None:
    for name, definition in op.attrs.items():
        if name in op.list_types or name in op.number_attrs:
            continue
        one = message.attr.add(name=name, type=definition.kind)
        if not definition.required and definition.default is not None:
            try:
                one.default_value.CopyFrom(encode_attr(definition.default, definition.kind))
            except (InvalidArgumentError, AttributeError):  # a nameless function: no default
                one.ClearField("default_value")


def _encode_argument(message: OpDefMessage.ArgDef, arg: ArgDef) -> None:
    if arg.dtype is not None:
        message.type = arg.dtype.enum  # type: ignore[assignment]  # a number of the enum
    message.type_attr = arg.type_attr
    message.number_attr = arg.number_attr
    message.type_list_attr = "" if is_own(arg.list_attr) else arg.list_attr
