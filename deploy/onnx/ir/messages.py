"""Arrays and specs as ONNX messages."""

import numpy as np
import onnx

from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array


def onnx_number(dtype: DType) -> int:
    """The type's number in `TensorProto.DataType`; UnimplementedError if ONNX has no such type."""
    if dtype.onnx is None:
        raise UnimplementedError(f"ONNX has no type {dtype.name}")
    return dtype.onnx


def type_message(dtype: DType, shape: Shape, names: tuple[str | None, ...] = ()) -> onnx.TypeProto:
    """The type of a tensor; `names` are those of unknown axes."""
    message = onnx.TypeProto()
    tensor = message.tensor_type
    tensor.elem_type = onnx_number(dtype)
    if shape.rank is not None:
        tensor.shape.SetInParent()
        for axis, size in enumerate(shape):
            dim = tensor.shape.dim.add()
            name = names[axis] if axis < len(names) else None
            if size is not None:
                dim.dim_value = size
            elif name:
                dim.dim_param = name
    return message


def tensor_message(array: Array, name: str, dtype: DType) -> onnx.TensorProto:
    """The array as a TensorProto; its bytes are copied once."""
    message = onnx.TensorProto(name=name, data_type=onnx_number(dtype), dims=array.shape)
    if dtype is dtypes.string:
        flat = array.reshape(-1).tolist()
        message.string_data.extend(s if isinstance(s, bytes) else str(s).encode() for s in flat)
        return message
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    message.raw_data = np.ascontiguousarray(little).tobytes()
    return message
