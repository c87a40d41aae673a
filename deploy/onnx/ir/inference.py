"""Inference of dtypes and shapes by ONNX's own rules."""

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import helper, shape_inference

from pinnace.deploy.onnx.ir.graph import Node, Operand
from pinnace.deploy.onnx.ir.messages import tensor_message, type_message
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.errors import InternalError
from pinnace.framework.shapes import Shape

# Constants up to this size (bytes) are used for shape inference and shared if equal.
SMALL = 1024
# Operators whose type is not that of the first input -> the deciding input.
_TYPED_BY = {"Where": 1, "OneHot": 2}


def deciding_type(kind: str, schema: Any, given: Sequence[Operand]) -> tuple[str, DType] | None:
    """The type variable that determines an operator's compute type, and its value here."""
    index = _TYPED_BY.get(kind, 0)
    if index >= len(given):
        return None
    value = given[index]
    return None if value is None else (letters(schema, len(given))[index], value.dtype)


def letters(schema: Any, count: int) -> list[str]:
    """The type variable of each input."""
    formal = [entry.type_str for entry in schema.inputs]
    return [formal[min(index, len(formal) - 1)] for index in range(count)]


def infer(node: Node, count: int, schema: Any, opset: int) -> list[tuple[DType, Shape]]:
    """Dtype and shape of each output, by ONNX's own rules.

    Raises:
        InternalError: ONNX refuses the node, so a converter is wrong.
    """
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    names = []
    for index, value in enumerate(node.inputs):
        if value is None:
            names.append("")
            continue
        name = f"i{index}"
        names.append(name)
        types[name] = type_message(value.dtype, value.shape)
        if value.array is not None and value.array.nbytes <= SMALL:
            data[name] = tensor_message(value.array, name, value.dtype)
    outputs = [f"o{index}" for index in range(count)]
    message = helper.make_node(node.kind, names, outputs, **node.attrs)
    try:
        found = shape_inference.infer_node_outputs(
            schema,
            message,
            types,
            data,
            opset_imports=[helper.make_opsetid("", opset)],
            ir_version=8,
        )
    except Exception as error:
        given = ", ".join(
            "-" if v is None else f"{v.dtype.name}{v.shape.text}" for v in node.inputs
        )
        raise InternalError(
            f"{node.kind}({given}) {node.attrs} made for node {node.origin!r} is not valid "
            f"ONNX: {error}"
        ) from error
    specs = []
    for name in outputs:
        inferred = found[name].tensor_type
        specs.append((_dtype_of(inferred.elem_type), _shape_of(inferred)))
    return specs


_BY_ONNX = {dtype.onnx: dtype for dtype in dtypes.ANY if dtype.onnx is not None}


def _dtype_of(number: int) -> DType:
    return as_dtype(_BY_ONNX[number])


def _shape_of(message: Any) -> Shape:
    if not message.HasField("shape"):
        return Shape(None)
    return Shape(
        [dim.dim_value if dim.HasField("dim_value") else None for dim in message.shape.dim]
    )
