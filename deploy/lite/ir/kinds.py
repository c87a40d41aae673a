"""Facts about built-in operators: their options, element types and versions."""

from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.proto.lite_schema import LITE

NUMBERS = LITE.enums["BuiltinOperator"]
ACTIVATIONS = LITE.enums["ActivationFunctionType"]
_CODES = LITE.enums["TensorType"]

# The element types that both pinnace and the format have.
TYPES: dict[DType, int] = {
    dtypes.float32: _CODES["FLOAT32"],
    dtypes.float16: _CODES["FLOAT16"],
    dtypes.float64: _CODES["FLOAT64"],
    dtypes.bfloat16: _CODES["BFLOAT16"],
    dtypes.int8: _CODES["INT8"],
    dtypes.int16: _CODES["INT16"],
    dtypes.int32: _CODES["INT32"],
    dtypes.int64: _CODES["INT64"],
    dtypes.uint8: _CODES["UINT8"],
    dtypes.uint16: _CODES["UINT16"],
    dtypes.uint32: _CODES["UINT32"],
    dtypes.uint64: _CODES["UINT64"],
    dtypes.bool: _CODES["BOOL"],
    dtypes.string: _CODES["STRING"],
    dtypes.complex64: _CODES["COMPLEX64"],
    dtypes.complex128: _CODES["COMPLEX128"],
    dtypes.resource: _CODES["RESOURCE"],
}

# Operators whose options table is not named after them.
_OPTIONS = {
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "CONV_2D": "Conv2DOptions",
    "CONV_3D": "Conv3DOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "MAXIMUM": "MaximumMinimumOptions",
    "MINIMUM": "MaximumMinimumOptions",
    "MEAN": "ReducerOptions",
    "SUM": "ReducerOptions",
    "REDUCE_PROD": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "REDUCE_ANY": "ReducerOptions",
    "REDUCE_ALL": "ReducerOptions",
    "RANDOM_UNIFORM": "RandomOptions",
    "RANDOM_STANDARD_NORMAL": "RandomOptions",
    "MULTINOMIAL": "RandomOptions",
    "BATCH_MATMUL": "BatchMatMulOptions",
    "BATCH_TO_SPACE_ND": "BatchToSpaceNDOptions",
    "SPACE_TO_BATCH_ND": "SpaceToBatchNDOptions",
    "BITCAST": "BitcastOptions",
    "ATAN2": "ATan2Options",
    "TOPK_V2": "TopKV2Options",
    "RFFT2D": "Rfft2dOptions",
    "PADV2": "PadV2Options",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "BidirectionalSequenceLSTMOptions",
    "BIDIRECTIONAL_SEQUENCE_RNN": "BidirectionalSequenceRNNOptions",
    "RNN": "RNNOptions",
    "LSTM": "LSTMOptions",
    "SVDF": "SVDFOptions",
    "LSH_PROJECTION": "LSHProjectionOptions",
    "STABLEHLO_COMPOSITE": "StableHLOCompositeOptions",
}


def options_of(kind: str) -> str | None:
    """The options table of an operator; None if it has none."""
    name = _OPTIONS.get(kind)
    if name is None:
        name = "".join(part.capitalize() for part in kind.split("_")) + "Options"
    return name if name in LITE.tables else None


# Operator -> the versions that element types need; the first match counts, 1 without a match.
_MAXIMA: dict[str, dict[DType, int]] = {
    "ABS": {dtypes.int32: 5, dtypes.int16: 4, dtypes.int8: 2},
    "ADD": {dtypes.int64: 4, dtypes.int16: 3, dtypes.int8: 2},
    "ARG_MAX": {dtypes.bool: 3, dtypes.int8: 2},
    "ARG_MIN": {dtypes.bool: 3, dtypes.int8: 2},
    "AVERAGE_POOL_2D": {dtypes.int16: 3, dtypes.int8: 2},
    "BATCH_MATMUL": {dtypes.int16: 3, dtypes.int8: 2},
    "CONCATENATION": {dtypes.uint32: 4, dtypes.int16: 3, dtypes.int8: 2},
    "DEPTH_TO_SPACE": {dtypes.int8: 2},
    "DEQUANTIZE": {dtypes.float16: 3, dtypes.int16: 3, dtypes.int8: 2},
    "EQUAL": {dtypes.int16: 5, dtypes.string: 3, dtypes.int8: 2},
    "EXP": {dtypes.int16: 2, dtypes.int8: 2},
    "FILL": {dtypes.int8: 3, dtypes.int16: 3, dtypes.bool: 2, dtypes.string: 2},
    "FLOOR_DIV": {dtypes.int16: 3, dtypes.int8: 3, dtypes.float32: 2},
    "FLOOR_MOD": {dtypes.int16: 2, dtypes.int8: 2},
    "GATHER_ND": {dtypes.bool: 5, dtypes.int16: 3, dtypes.string: 2},
    "GELU": {dtypes.int8: 2},
    "GREATER": {dtypes.int8: 2},
    "GREATER_EQUAL": {dtypes.int16: 3, dtypes.int8: 2},
    "L2_NORMALIZATION": {dtypes.int8: 2},
    "LEAKY_RELU": {dtypes.int16: 2},
    "LESS": {dtypes.int16: 3, dtypes.int8: 2},
    "LESS_EQUAL": {dtypes.int8: 2},
    "LOG": {dtypes.int16: 2, dtypes.int8: 2},
    "LOGISTIC": {dtypes.int16: 3, dtypes.int8: 2},
    "LOG_SOFTMAX": {dtypes.int8: 2},
    "MAXIMUM": {dtypes.int16: 4, dtypes.int8: 2},
    "MAX_POOL_2D": {dtypes.int16: 3, dtypes.int8: 2},
    "MEAN": {dtypes.int16: 3, dtypes.int8: 2},
    "MINIMUM": {dtypes.int16: 4, dtypes.int8: 2},
    "MIRROR_PAD": {dtypes.int16: 3, dtypes.int8: 2},
    "MUL": {dtypes.uint32: 7, dtypes.int64: 5, dtypes.int16: 4, dtypes.int8: 2},
    "NOT_EQUAL": {dtypes.int16: 4, dtypes.string: 3, dtypes.int8: 2},
    "PACK": {dtypes.uint32: 4, dtypes.int16: 3, dtypes.int8: 2},
    "PAD": {dtypes.bool: 5, dtypes.int16: 3, dtypes.int8: 2},
    "PADV2": {dtypes.bool: 5, dtypes.int16: 3, dtypes.int8: 2},
    "QUANTIZE": {dtypes.int16: 3, dtypes.int8: 2},
    "RANGE": {dtypes.int64: 2},
    "REDUCE_MAX": {dtypes.int16: 3, dtypes.int8: 2},
    "REDUCE_MIN": {dtypes.int16: 3, dtypes.int8: 2},
    "RELU": {dtypes.int16: 3, dtypes.int8: 2, dtypes.uint8: 2},
    "RELU6": {dtypes.int16: 3, dtypes.int8: 2},
    "RESIZE_BILINEAR": {dtypes.int16: 4, dtypes.int8: 2},
    "RESIZE_NEAREST_NEIGHBOR": {dtypes.int16: 4, dtypes.int8: 2},
    "REVERSE_V2": {dtypes.int8: 3, dtypes.bool: 2},
    "RSQRT": {dtypes.int16: 3, dtypes.int8: 2},
    "SELECT": {dtypes.uint32: 4, dtypes.int8: 2},
    "SELECT_V2": {dtypes.uint32: 2},
    "SIGN": {dtypes.int32: 2},
    "SLICE": {dtypes.uint32: 6, dtypes.int16: 4, dtypes.string: 3, dtypes.int8: 2},
    "SOFTMAX": {dtypes.int16: 3, dtypes.int8: 2},
    "SPACE_TO_DEPTH": {dtypes.int8: 2},
    "SPLIT_V": {dtypes.int8: 2},
    "SQRT": {dtypes.int16: 2, dtypes.int8: 2},
    "SQUARED_DIFFERENCE": {dtypes.int8: 2},
    "SQUEEZE": {dtypes.string: 2},
    "STRIDED_SLICE": {dtypes.uint32: 7, dtypes.string: 5, dtypes.bool: 3, dtypes.int8: 2},
    "SUB": {dtypes.int64: 4, dtypes.int16: 5, dtypes.int8: 2},
    "SUM": {dtypes.int16: 2, dtypes.int8: 2},
    "TANH": {dtypes.int16: 3, dtypes.int8: 2},
    "TILE": {dtypes.int8: 3, dtypes.string: 2},
    "TOPK_V2": {dtypes.int16: 3, dtypes.int8: 2},
    "TRANSPOSE": {dtypes.int16: 5, dtypes.bool: 3, dtypes.int8: 2},
    "UNPACK": {dtypes.int16: 4, dtypes.bool: 3, dtypes.int8: 2, dtypes.uint8: 2},
    "WHERE": {dtypes.bool: 1},
}


def version_by_type(kind: str, dtype: DType) -> int:
    """The operator version that an element type needs."""
    return _MAXIMA.get(kind, {}).get(dtype, 1)
