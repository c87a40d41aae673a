"""The element types of each operator for which ONNX Runtime's CPU provider has kernels.

Source:
    One-node models, every type each, loaded by ONNX Runtime 1.31 with optimisations off; the test
    of this file asks
    the installed ONNX Runtime again.
"""

from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType

_SHORT = {
    "f2": dtypes.float16,
    "bf": dtypes.bfloat16,
    "f4": dtypes.float32,
    "f8": dtypes.float64,
    "i1": dtypes.int8,
    "i2": dtypes.int16,
    "i4": dtypes.int32,
    "i8": dtypes.int64,
    "u1": dtypes.uint8,
    "u2": dtypes.uint16,
    "u4": dtypes.uint32,
    "u8": dtypes.uint64,
    "b": dtypes.bool,
    "s": dtypes.string,
}


def _types(text: str) -> frozenset[DType]:
    return frozenset(_SHORT[word] for word in text.split())


_MOVED = "f2 bf f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b s"
_NUMBERS = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8"
_FLOATS = "f2 f4 f8"
_NARROW = "f2 f4"
_REDUCED = "f2 f4 f8 i4 i8"
_EXTREME = "f2 f4 f8 i1 i4 i8 u1"
_ORDERED = "f2 f4 f8 i1 i4 i8 u1 u4 u8"
_INTEGERS = "i1 i2 i4 i8 u1 u2 u4 u8"
_PICTURES = "f2 f4 i1 i4 u1"

_TABLE: tuple[tuple[str, str], ...] = (
    (
        _FLOATS,
        """Ceil Cos Elu Exp Floor Log Reciprocal Selu Sigmoid Sin Softplus Softsign Sqrt Tanh Round
        IsNaN HardSigmoid HardSwish LeakyRelu Softmax LogSoftmax ThresholdedRelu Mish Gemm
        BatchNormalization Sum""",
    ),
    (
        _NARROW,
        """Acos Acosh Asin Asinh Atan Atanh Cosh Erf Sinh Tan Mean Conv ConvTranspose AveragePool
        GlobalAveragePool GlobalMaxPool LRN Det InstanceNormalization GridSample Gelu""",
    ),
    (_REDUCED, "ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceSumSquare CumSum Einsum"),
    (_EXTREME, "ReduceMax ReduceMin ArgMax ArgMin"),
    (_ORDERED, "Max Min Clip"),
    (_NUMBERS, "Abs Add Sub Mul Div Less LessOrEqual Greater GreaterOrEqual Mod"),
    (_INTEGERS, "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot"),
    (
        _MOVED,
        """Identity Shape Transpose Reshape Squeeze Unsqueeze Slice Concat Split Gather
        GatherElements GatherND ScatterND ScatterElements""",
    ),
    (_PICTURES, "Resize"),
    (f"{_NUMBERS} b s", "Expand Tile Compress ReverseSequence Size"),
    (f"{_NUMBERS} b s", "Equal"),  # strings from opset 19 on
    (f"{_ORDERED} b", "Pad"),
    ("f2 f4 f8 i1 i2 i4 i8", "Neg"),
    (f"{_NUMBERS} bf", "Sign"),
    ("f4 f8", "IsInf"),
    ("f4", "Celu"),
    ("b", "And Or Xor Not"),
    ("u1 u4 u8", "BitShift"),
    ("f2 f4 f8 i4 i8", "Pow"),
    ("f2 f4 f8 i4 i8 u4", "PRelu"),
    ("f2 f4 f8 i1 i4 i8", "Relu"),
    ("f2 f4 f8 i4 i8 u4 u8", "MatMul"),
    ("f2 f4 f8 i1 i4 i8 u1 u4 s", "Where"),
    ("f2 f4 i4 i8 u1 b", "NonZero"),
    ("f2 f4 f8 i1 i2 i4 i8 u1", "TopK"),
    ("f2 f4 f8 i1 i8 s", "Unique"),
    ("f4 f8 i2 i4 i8", "Range"),
    ("f2 f4 f8 i4 i8 b", "Trilu"),
    ("f2 f4 f8 i4 i8 u8", "EyeLike"),
    ("f2 f4 f8 i1 u1", "DepthToSpace SpaceToDepth MaxPool"),
    ("f2 bf f4 f8", "LayerNormalization"),
    ("f4 f8", "DFT"),
    ("f4", "LSTM GRU RNN"),  # kernels for float64 are loaded, but refuse to run
)
KERNELS: dict[str, frozenset[DType]] = {
    name: _types(types) for types, names in _TABLE for name in names.split()
}

# The types to compute in instead; the first one with a kernel is taken.
_INSTEAD: dict[DType, tuple[DType, ...]] = {
    dtypes.bool: (dtypes.uint8, dtypes.int32),
    dtypes.int8: (dtypes.int32, dtypes.int64, dtypes.float32),
    dtypes.int16: (dtypes.int32, dtypes.int64, dtypes.float32),
    dtypes.uint8: (dtypes.int32, dtypes.int64, dtypes.float32),
    dtypes.uint16: (dtypes.int32, dtypes.int64, dtypes.float32),
    dtypes.int32: (dtypes.int64, dtypes.float64, dtypes.float32),
    dtypes.uint32: (dtypes.int64, dtypes.uint64, dtypes.float64),
    dtypes.uint64: (dtypes.int64,),
    dtypes.int64: (),
    dtypes.float16: (dtypes.float32,),
    dtypes.bfloat16: (dtypes.float32,),
    dtypes.float64: (dtypes.float32,),
}


def computed_in(kind: str, dtype: DType) -> DType | None:
    """The type in which `kind` is computed for operands of `dtype`; None if there is none."""
    known = KERNELS.get(kind)
    if known is None or dtype in known:
        return dtype
    for other in _INSTEAD.get(dtype, ()):
        if other in known:
            return other
    return None
