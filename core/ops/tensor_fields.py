"""The fields of a TensorProto that hold values, by dtype."""

from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType

# The field of a TensorProto that holds single values, for dtypes other than those in `int_val`.
VALUE_FIELDS: dict[DType, str] = {
    dtypes.float32: "float_val",
    dtypes.float64: "double_val",
    dtypes.int64: "int64_val",
    dtypes.bool_: "bool_val",
    dtypes.uint32: "uint32_val",
    dtypes.uint64: "uint64_val",
    dtypes.complex64: "scomplex_val",
    dtypes.complex128: "dcomplex_val",
    dtypes.float16: "half_val",
    dtypes.bfloat16: "half_val",
    dtypes.string: "string_val",
}
