"""The table of kernels agrees with the installed ONNX Runtime."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from pinnace.deploy.onnx.ir.element_types import KERNELS, computed_in
from pinnace.deploy.onnx.verification.checking import open_session
from pinnace.framework import dtypes
from pinnace.framework.errors import InternalError

UNARY = (
    *("Abs", "Acos", "Asin", "Atan", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Log"),
    *("Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus"),
    *("Softsign", "Sqrt", "Tan", "Tanh", "IsNaN", "IsInf", "BitwiseNot", "Not", "Softmax"),
    *("Identity", "NonZero", "LeakyRelu"),
)
BINARY = (
    *("Add", "Sub", "Mul", "Div", "Pow", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"),
    *("Equal", "Max", "Min", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor"),
    "MatMul",
)
ALL = [
    dtype
    for dtype in (*dtypes.FLOATS, *dtypes.INTEGERS, dtypes.bool)
    if dtype is not dtypes.bfloat16
]


def loads(kind: str, count: int, dtype: dtypes.DType) -> bool:
    names = [f"x{i}" for i in range(count)]
    inputs = [helper.make_tensor_value_info(name, dtype.onnx, [2, 2]) for name in names]
    node = helper.make_node(kind, names, ["y"])
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    try:
        model = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        open_session(model.SerializeToString())
    except (InternalError, onnx.shape_inference.InferenceError):
        return False
    return True


@pytest.mark.parametrize(
    ("kind", "count"), [*((kind, 1) for kind in UNARY), *((kind, 2) for kind in BINARY)]
)
def test_the_runtime_has_the_kernels_of_the_table(kind: str, count: int) -> None:
    found = {dtype for dtype in ALL if loads(kind, count, dtype)}
    assert KERNELS[kind] & set(ALL) <= found


def test_a_type_without_kernel_is_computed_in_a_wider_one() -> None:
    assert computed_in("Erf", dtypes.float64) is dtypes.float32
    assert computed_in("ReduceSum", dtypes.int8) is dtypes.int32
    assert computed_in("Add", dtypes.bfloat16) is dtypes.float32
    assert computed_in("Where", dtypes.bool) is dtypes.uint8
    assert computed_in("Add", dtypes.float64) is dtypes.float64


def test_what_is_not_in_the_table_is_computed_as_it_is() -> None:
    assert computed_in("NonMaxSuppression", dtypes.float32) is dtypes.float32


def test_a_type_that_nothing_can_stand_for_is_none() -> None:
    assert computed_in("Erf", dtypes.int64) is None
    assert computed_in("Add", dtypes.string) is None


def test_the_probe_itself_finds_what_there_is() -> None:
    assert loads("Add", 2, dtypes.float32)
    assert not loads("Erf", 1, dtypes.float64)
    assert numpy_helper.to_array(numpy_helper.from_array(np.zeros(2))).size == 2
