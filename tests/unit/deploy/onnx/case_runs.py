"""An example of an OpCase: exported, run in ONNX Runtime, compared with the kernel."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnace.deploy.onnx import ExportReport, export
from pinnace.deploy.onnx.converters import registry
from pinnace.deploy.onnx.verification.checking import str_of
from pinnace.framework import dtypes
from pinnace.framework.errors import UnimplementedError
from pinnace.functions.concrete import ConcreteFunction
from support.opcase import OpCase, is_float
from unit.deploy.onnx.one_op import Array, arguments, function_of, run_model

# Reasons of cases that ONNX cannot express, although all arguments but the first are constants.
REFUSALS = {
    "Add": "strings needs opset 20",
    "AsString": "ONNX formats numbers differently",
    "BatchMatrixTriangularSolve": "its matrices are broadcast|batch shapes of both operands",
    "BroadcastGradientArgs": "the lengths of the shapes must be known",
    "Bincount": "the number of weights must be known",
    "ConcatOffset": "the lengths of the shapes must be known",
    "CTCGreedyDecoder": "the number of classes must be known",
    "Cumprod": "the axis size must be known",
    "Cumsum": "its input must not be a scalar",
    "CumulativeLogsumexp": "the axis size must be known",
    "DataFormatVecPermute": "the first size of x must be known",
    "DenseBincount": "the number of weights must be known",
    "RaggedBincount": "the number of weights must be known",
    "SparseBincount": "the rank of its input must be known|the number of weights must be",
    "Equal": "strings needs opset 19",
    "Einsum": "an index occurs twice",
    "GatherNd": "the last size of indices",
    "ScatterNd": "the last size of indices",
    "TensorScatterUpdate": "the last size of indices",
    "ListDiff": "strings needs opset 19",
    "LowerBound": "ONNX cannot compare",
    "MatrixTriangularSolve": "its matrices are broadcast|batch shapes of both operands",
    "Mfcc": "the number of frequencies must be known",
    "NotEqual": "strings needs opset 19",
    "StringLower": "the case of other scripts",
    "StringSplitV2": "without a separator|means no limit",
    "StringUpper": "the case of other scripts",
    "UnravelIndex": "the length of dims must be known",
    "UpperBound": "ONNX cannot compare",
}
REFUSALS.update(
    dict.fromkeys(
        ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"), "the numbers of layers, units and inputs"
    )
)
_WINDOW = (
    "the (window's size|size of the window|number of channels|shape of the filter) must be known"
)
_SPARSE = "the rank of .* must be known"
REFUSALS.update(
    dict.fromkeys(
        (
            "Conv2D",
            "Conv2DBackpropInput",
            "Conv3D",
            "Conv3DBackpropInputV2",
            "DepthwiseConv2dNative",
            "DepthwiseConv2dNativeBackpropInput",
            "Dilation2D",
            "_FusedConv2D",
            "_FusedDepthwiseConv2dNative",
        ),
        _WINDOW,
    )
)
REFUSALS.update(
    dict.fromkeys(
        ("SparseFillEmptyRows", "SparseReorder", "SparseReshape", "SparseToDense"), _SPARSE
    )
)
# Ranks by which operators are chosen, and dtypes without arithmetic.
REFUSALS.update(
    dict.fromkeys(
        (
            "Multinomial",
            "RandomShuffle",
            "RandomStandardNormal",
            "RandomUniform",
            "RandomUniformInt",
            "TruncatedNormal",
        ),
        "draws random numbers",
    )
)
FOR_ALL = "the rank of|needs opset|has no kernel of"


def runs_as_the_kernel(
    case: OpCase,
    xs: tuple[Any, ...],
    attrs: Mapping[str, Any],
    wanted: tuple[Array, ...],
    *,
    sizes_known: bool,
    constants: set[int],
) -> bool:
    """Return whether the model ran; False if it was refused, or meets a fault of ONNX Runtime.

    Args:
        case: the case with the op to export.
        xs: its inputs.
        attrs: its attributes.
        wanted: the expected outputs.
        sizes_known: whether the model's inputs have known sizes, or only ranks.
        constants: the arguments that are written into the model.

    Raises:
        AssertionError: it was refused for a reason that is not the op's, or the results differ.
    """
    function = function_of(case.op, xs, attrs, sizes_known=sizes_known, constants=constants)
    report = exported(case.op, function)
    if report is None or meets_a_fault(case.op, xs, sizes_known, constants):
        return False
    found = run_model(report, arguments(xs, constants))
    wanted = tuple(
        part
        for y in map(np.asarray, wanted)
        for part in ((y.real, y.imag) if y.dtype.kind == "c" else (y,))
    )
    assert len(found) == len(wanted)
    for got, right in zip(found, wanted, strict=True):
        assert_equal(case, got, np.asarray(right))
    return True


def exported(op: str, function: ConcreteFunction) -> ExportReport | None:
    """The model, in the first opset that suffices; None if refused for a reason of this op."""
    converter = registry.find(op)
    try:
        return export(function, verify=False, opset=converter.since if converter else 18)
    except UnimplementedError as error:
        message = str(error)
    assert re.search(reasons(op), message), message
    return None


def reasons(op: str) -> str:
    """The pattern of the refusals of this op."""
    converter = registry.find(op)
    declared = converter.constants if converter else ()
    own = [f"{name} must be a constant" for name in declared]
    if registry.of_pairs(op) is None and not registry.goes_by_parts(op):
        own.append("no converter for it with complex numbers")
    return "|".join([FOR_ALL, *own, *([REFUSALS[op]] if op in REFUSALS else [])])


def structural(case: OpCase, xs: tuple[Any, ...]) -> set[int]:
    """The arguments with axes, sizes and the like: integers of another dtype than the first."""
    arguments = case.definition.inputs
    letter = next((arg.type_attr for arg in arguments if arg.type_attr), None)
    return {
        index
        for index, (arg, x) in enumerate(zip(arguments, xs, strict=True))
        if not isinstance(x, tuple)
        and x.dtype.kind in "iu"
        and (arg.type_attr != letter or arg.dtype is not None)
        and not (index == 0 and len(xs) == 1)
    }


def meets_a_fault(op: str, xs: tuple[Any, ...], sizes_known: bool, constants: set[int]) -> bool:
    """Whether ONNX Runtime is known to fail: always for empty tensors."""
    arrays = [part for x in xs for part in (x if isinstance(x, tuple) else (x,))]
    if all(array.size for array in arrays):
        return False
    if op in {"BatchMatMul", "BatchMatMulV2"}:
        return True  # "right operand cannot broadcast": an axis of 0 against one of 1
    if op == "Split":
        return not sizes_known  # num_outputs of an axis of 0
    if op in {"All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"}:
        # Axes that are fed are not reduced; the mean of no elements is 0, not NaN.
        return 1 not in constants or (op == "Mean" and not sizes_known)
    return False


def assert_equal(case: OpCase, got: Array, wanted: Array) -> None:
    assert got.shape == wanted.shape
    if wanted.dtype == object:
        texts = [[str_of(s) for s in x.reshape(-1)] for x in (got, wanted)]
        assert texts[0] == texts[1]
        return
    assert got.dtype == wanted.dtype
    if not is_float(wanted):
        np.testing.assert_array_equal(got, wanted)
        return
    kind = wanted.dtype
    if kind == np.float64:
        # Many operators lack such a kernel; attributes, and so some formulas, have float32
        # precision.
        kind = np.dtype(np.float32)
    eps = float(np.finfo(kind).eps if kind != dtypes.bfloat16.numpy else 2.0**-7)
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        allowed = max(case.ulps, 8) * eps * np.abs(b) + max(case.slack, 8) * eps
        near = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= allowed)
    assert near.all(), f"{case.op}: {a[~near][:4]}, wanted {b[~near][:4]}"
