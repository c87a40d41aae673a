"""Where we mean to differ from TensorFlow, per op, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from oracle.calls import Call


@dataclass(frozen=True)
class Deviation:
    """What of an op is not compared.

    Args:
        what: "error", "values", "gradients" or "shapes".
        reason: why TensorFlow's answer is not the one to give.
        when: the calls that it is about.
        about: words in the difference that is meant.
    """

    what: str
    reason: str
    when: Callable[[Call], bool] = lambda _: True
    about: str = ""


def complex_input(call: Call) -> bool:
    """Whether some input is complex."""
    return any(x.dtype.kind == "c" for x in call.flat())


def doubles(call: Call) -> bool:
    """Whether some input is of float64."""
    return any(x.dtype == np.float64 for x in call.flat())


def whole_numbers(call: Call) -> bool:
    """Whether the first input is of integers."""
    return call.flat()[0].dtype.kind in "iu"


def unsigned(call: Call) -> bool:
    """Whether the first input is of numbers from 0 on."""
    return call.flat()[0].dtype.kind == "u"


def special(call: Call) -> bool:
    """Whether some input is infinite, not a number or near the ends of its type."""
    return call.kind == "special"


def wrong(call: Call) -> bool:
    """Whether an input was made wrong."""
    return call.kind == "wrong"


def retyped(call: Call) -> bool:
    """Whether the inputs were made for another type than they have."""
    return call.kind == "dtype"


def empty(call: Call) -> bool:
    """Whether some input has no elements."""
    return any(not x.size for x in call.flat())


def beyond(call: Call) -> bool:
    """Whether a stride of a convolution is longer than its window."""
    kernel = call.inputs[1]
    window = kernel.shape if kernel.ndim > 1 else tuple(kernel.tolist())
    pairs = zip(call.attrs["strides"][1:-1], window, strict=False)
    return any(stride > size for stride, size in pairs)


def scalar_first(call: Call) -> bool:
    """Whether the first input is a scalar."""
    return call.flat()[0].ndim == 0


def counts(index: int, least: int) -> Callable[[Call], bool]:
    """Whether the list input `index` has fewer tensors than `least`."""
    return lambda call: len(call.inputs[index]) < least


NO_CONJUGATE = (
    "TensorFlow leaves out a conjugate: its gradient of complex numbers is not the derivative"
)
NOTHING_MOVES = "TensorFlow says zero; on the unit circle the sign of a complex number does move"
ONE_IS_ENOUGH = (
    "TensorFlow wants two tensors; concat() of one makes Identity, so none reaches a file"
)
SIZES_ALONE = "TensorFlow compares the number of elements alone; other shapes are a mistake"
EMPTY_VECTORS = (
    "TensorFlow gives an uninitialised scalar for the vectors that were not asked for, against its "
    "own shape inference"
)
NOT_MAXIMA = "the outputs given are no maxima of the inputs given once both are other numbers"
NOTHING_THERE = "TensorFlow checks no index where there is nothing to copy"
ONE_ELEMENT = "TensorFlow takes one element in any shape for a scalar here"
ONE_ELEMENT_HERE = "one element in any shape is taken for a scalar here, as of other ops there"
REAL_SCALARS = "what flows back is of real numbers: TensorFlow lets an imaginary part through"

PADS_ITSELF = "TensorFlow's public function pads before the op; here the op does it"
CUT_OFF = "TensorFlow's gradient is wrong where fft_length cuts off or is 1; differences say so"
RESERVED = "what an op keeps for its own gradient is not for others to read"
ARGUMENTS = "TensorFlow calls a wrong argument a wrong state or range; of other ops it does not"
ONE_SOURCE = "each axis is inferred from one input; TensorFlow also looks for it in the others"

GARBAGE = "TensorFlow reads beyond a gradient that is too small"

NOT_INSIDE = "TensorFlow does not look whether indices are inside, or calls it its own fault"
STRIDES_BEYOND = (
    "TensorFlow's three-dimensional convolution of float64 is wrong where a stride is longer than "
    "the window: differences of its own results say what is given here"
)
LIMITS = "TensorFlow's series have no limits at the ends of the number line"
SIZES_HERE = "a size of 1 or an extra axis of size 1 is taken as what it can only mean"
ANY_PHASE = "eigenvectors have any phase; tests/unit/ops/linalg multiplies them out"
NO_WINDOW = (
    "TensorFlow's kernels let some windows longer than the input pass as an empty output, its "
    "shape inference does not; here the one rule of both is the latter's"
)

# Ops whose shape may be known less than in TensorFlow, and is at run time.
LESS_KNOWN = frozenset(
    {
        *("BandedTriangularSolve", "BatchToSpaceND", "Conv2DBackpropInput", "CropAndResize"),
        *("DynamicStitch", "HSVToRGB", "Lu", "MatrixDiagV3", "MatrixSetDiagV3", "MatrixSolve"),
        *("MatrixTriangularSolve", "MaxPoolGradGrad", "ParallelDynamicStitch", "RGBToHSV"),
        *("ReverseSequence", "SoftmaxCrossEntropyWithLogits", "SpaceToBatchND", "Substr", "Tile"),
        *("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient"),
        *("MatrixDiagV2", "MaxPoolGradGradV2", "MatrixSetDiag", "MatrixSetDiagV2", "SplitV"),
        *("BroadcastTo", "RaggedRange", "SparseFillEmptyRows", "SparseReorder", "SparseSoftmax"),
    }
)

# Of every op.
EVERYWHERE = (
    Deviation("error", NO_WINDOW, about="must not be longer than the padded input"),
    Deviation("gradients", NO_WINDOW, about="must not be longer than the padded input"),
    Deviation("error", NOT_INSIDE, wrong, about="outside of"),
    Deviation("error", NOTHING_THERE, lambda call: wrong(call) and empty(call), "TensorFlow gives"),
    Deviation("error", NOTHING_THERE, empty, about="must be at least 1 along spatial axis"),
    Deviation(
        "shapes", ONE_SOURCE, lambda call: call.op in LESS_KNOWN, "less than TensorFlow knows"
    ),
)

UNSIGNED_ZEROS = (
    "TensorFlow looks for a sum above the least number of the type: where all sums are 0, what "
    "flows back goes to an element that the window may not have"
)
SINGLE_SUMS = "TensorFlow sums logarithms in float32, whatever it is given"


DEVIATIONS: dict[str, tuple[Deviation, ...]] = {
    **{
        op: (Deviation("gradients", NO_CONJUGATE, complex_input),)
        for op in (
            *("Cumprod", "MatrixDeterminant", "MatrixSquareRoot", "MulNoNan", "TridiagonalSolve"),
            *("Xdivy", "Xlog1py", "Xlogy"),
        )
    },
    "Sign": (Deviation("gradients", NOTHING_MOVES, complex_input),),
    "Concat": (Deviation("error", ONE_IS_ENOUGH, counts(1, 2)),),
    "ConcatV2": (Deviation("error", ONE_IS_ENOUGH, counts(0, 2)),),
    **{
        op: (Deviation("error", SIZES_ALONE, wrong),)
        for op in (
            *("InvGrad", "ReciprocalGrad", "SqrtGrad", "RsqrtGrad", "SigmoidGrad", "TanhGrad"),
        )
    },
    "SelfAdjointEigV2": (
        Deviation("values", EMPTY_VECTORS, lambda call: not call.attrs.get("compute_v", True)),
    ),
    "Svd": (
        Deviation("values", EMPTY_VECTORS, lambda call: not call.attrs.get("compute_uv", True)),
        Deviation("gradients", REAL_SCALARS, complex_input),
    ),
    **{
        op: (
            Deviation("values", NOT_MAXIMA, lambda call: retyped(call) or wrong(call)),
            Deviation("error", NOT_MAXIMA, wrong),
        )
        for op in (
            *("MaxPoolGrad", "MaxPoolGradGrad", "MaxPool3DGrad", "MaxPool3DGradGrad"),
            *("MaxPoolGradGradV2", "MaxPoolGradGradWithArgmax"),
        )
    },
    "Round": (
        Deviation("values", "TensorFlow gives 0 for every integer but on GPU", whole_numbers),
    ),
    "Erf": (Deviation("values", "TensorFlow: erf(inf) is NaN in float64", special),),
    "Erfinv": (Deviation("values", "TensorFlow: 0 for numbers near 0 in float64", special),),
    "Polygamma": (
        Deviation("values", "TensorFlow's series has no limits at infinity", special),
        Deviation("gradients", "TensorFlow's series has no limits at infinity", special),
    ),
    "Digamma": (Deviation("gradients", "polygamma at infinity, see there", special),),
    **{
        op: (
            Deviation("error", PADS_ITSELF, about="must have length of at least"),
            Deviation("error", "TensorFlow's inference allows what its kernel does not", retyped),
            Deviation("gradients", CUT_OFF),
            Deviation("values", NOTHING_THERE, empty),
        )
        for op in ("RFFT", "RFFT2D", "RFFT3D", "IRFFT", "IRFFT2D", "IRFFT3D")
    },
    **{
        op: (
            Deviation("values", RESERVED, about="output 3"),
            Deviation("values", RESERVED, about="output 4"),
            Deviation("values", RESERVED, about="output 5"),
        )
        for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
    },
    "BandedTriangularSolve": (
        Deviation("error", "TensorFlow refuses empty matrices here", empty),
        Deviation("gradients", "TensorFlow's gradient of one band lacks an axis"),
    ),
    **{
        op: (
            Deviation("values", GARBAGE, wrong),
            Deviation("gradients", GARBAGE, wrong),
            Deviation("error", GARBAGE, wrong),
        )
        for op in ("AvgPoolGrad", "AvgPool3DGrad")
    },
    "SparseSlice": (Deviation("error", NOTHING_THERE, wrong),),
    **{
        op: (
            Deviation("values", "TensorFlow reads beyond a counter that is too short", wrong),
            Deviation("error", NOTHING_THERE, wrong, about="TensorFlow gives [[]]"),
        )
        for op in ("StatelessTruncatedNormalV2", "StatelessRandomNormalV2")
    },
    **{
        op: (
            Deviation("error", NOTHING_THERE, wrong, about="shape must end with"),
            Deviation("error", ONE_ELEMENT_HERE, wrong, about="counter must be a vector"),
        )
        for op in (
            *("StatelessRandomBinomial", "StatelessRandomPoisson"),
            *("StatelessRandomGammaV2", "StatelessRandomGammaV3"),
        )
    },
    **{
        op: (Deviation("error", ONE_ELEMENT_HERE, wrong, about="should be a scalar"),)
        for op in (
            *("SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments"),
            "SparseSegmentSqrtNWithNumSegments",
        )
    },
    "Sqrt": (
        Deviation("gradients", "TensorFlow: no gradient times NaN is 0", special, "0.0) there"),
    ),
    "StatelessRandomUniformV2": (
        Deviation("error", NOTHING_THERE, wrong),
        Deviation("values", "TensorFlow reads beyond a counter that is too short", wrong),
    ),
    "StatelessRandomUniformInt": (
        Deviation("error", NOTHING_THERE, lambda call: retyped(call) or wrong(call)),
    ),
    "Eig": (
        Deviation("error", "TensorFlow's inference allows what its kernel does not", retyped),
        Deviation("values", ANY_PHASE, about="output 1"),
        Deviation("gradients", ANY_PHASE),
    ),
    **{
        op: (Deviation("gradients", STRIDES_BEYOND, beyond),)
        for op in ("Conv3DBackpropInputV2", "Conv3DBackpropFilterV2")
    },
    "Conv3D": (
        Deviation("values", STRIDES_BEYOND, beyond),
        Deviation("gradients", STRIDES_BEYOND, beyond),
        Deviation("error", "TensorFlow's CPU kernel has no groups in three dimensions", wrong),
    ),
    "BesselI1": (Deviation("gradients", "TensorFlow: 1 at 0, where the derivative is 1/2"),),
    **{
        op: (Deviation("values", LIMITS, special), Deviation("gradients", LIMITS, special))
        for op in ("Igamma", "Igammac", "IgammaGradA")
    },
    "Zeta": (
        Deviation("values", LIMITS, special),
        Deviation("gradients", LIMITS, special),
    ),
    "MatrixDiagV2": (
        Deviation("gradients", "TensorFlow takes the diagonals back aligned as of version 3"),
    ),
    "ExtractImagePatches": (
        Deviation("gradients", "not done: the gradient for complex pictures", complex_input),
    ),
    **{
        op: (Deviation("error", SIZES_HERE, wrong),)
        for op in (
            *("FakeQuantWithMinMaxArgsGradient", "FakeQuantWithMinMaxVarsGradient"),
            *("FakeQuantWithMinMaxVarsPerChannelGradient", "MatrixSetDiagV3", "MaxPoolV2"),
        )
    },
    "SparseReorder": (Deviation("error", NOT_INSIDE, wrong),),
    **{
        op: (Deviation("error", SIZES_HERE, wrong),)
        for op in ("MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3", "Diag")
    },
    "Qr": (Deviation("gradients", "a matrix with equal rows has no gradient", wrong),),
    "ReverseV2": (
        Deviation("error", NOTHING_THERE, empty),
        Deviation("error", "TensorFlow looks at no axis of a scalar", scalar_first),
    ),
    "DecodeBmp": (Deviation("error", "open: TensorFlow refuses files of sizes that others take"),),
    "ExtractJpegShape": (Deviation("error", SIZES_HERE, wrong),),
    "RGBToHSV": (Deviation("error", ARGUMENTS, wrong),),
    "HSVToRGB": (Deviation("error", ARGUMENTS, wrong),),
    "StringFormat": (
        Deviation("values", "TensorFlow shows a row that is not there", empty, about="output 0"),
    ),
    "UnravelIndex": (
        Deviation("error", "TensorFlow takes a negative place, and gives no place for it", wrong),
    ),
    "BroadcastArgs": (Deviation("error", "TensorFlow broadcasts shapes of negative sizes", wrong),),
    "StatelessRandomUniformFullIntV2": (Deviation("error", NOTHING_THERE, wrong),),
    "ArgMax": (
        Deviation(
            "error",
            "TensorFlow reads an axis of 16 bits as one of 32",
            lambda call: call.flat()[1].dtype == np.int16,
        ),
    ),
    "GatherNd": (
        Deviation("error", "TensorFlow refuses a scalar, of which there is one", scalar_first),
    ),
    "RaggedTensorToTensor": (
        Deviation(
            "error",
            "TensorFlow leaves out values that no row has",
            wrong,
            about="row splits must end with",
        ),
    ),
    "RaggedTensorToSparse": (
        Deviation(
            "error",
            "TensorFlow reads row splits of any shape as a vector",
            wrong,
            about="row splits must be",
        ),
    ),
    "Where": (
        Deviation(
            "error", "TensorFlow refuses a scalar; numpy.nonzero too since 2.1", scalar_first
        ),
    ),
    "MirrorPadGrad": (
        Deviation(
            "error",
            "TensorFlow refuses an axis of size 0 though nothing was added to it",
            lambda call: 0 in call.flat()[0].shape,
        ),
    ),
    "Gather": (Deviation("error", NOTHING_THERE, empty),),
    "UnsortedSegmentSum": (Deviation("error", NOTHING_THERE, empty),),
    "CropAndResize": (
        Deviation("error", NOTHING_THERE, empty),
        Deviation("error", ARGUMENTS, wrong, about="TensorFlow raises OutOfRangeError"),
    ),
    "CropAndResizeGradImage": (
        Deviation("error", NOTHING_THERE, empty),
        Deviation("error", ARGUMENTS, wrong, about="TensorFlow raises OutOfRangeError"),
    ),
    "CTCLoss": (
        Deviation("values", SINGLE_SUMS, doubles),
        Deviation("gradients", SINGLE_SUMS, doubles),
    ),
    **dict.fromkeys(
        ("CTCBeamSearchDecoder", "CTCGreedyDecoder"),
        (
            Deviation("values", SINGLE_SUMS, doubles),
            Deviation(
                "error",
                "TensorFlow takes a negative length for 0",
                wrong,
                about="sequence_length must be from 0",
            ),
            Deviation(
                "error",
                "TensorFlow has another class for lengths of another batch here",
                wrong,
                about="TensorFlow raises FailedPreconditionError",
            ),
        ),
    ),
    **{
        op: (Deviation("values", UNSIGNED_ZEROS, unsigned),)
        for op in ("Dilation2DBackpropInput", "Dilation2DBackpropFilter")
    },
    "RaggedGather": (
        Deviation(
            "error",
            "TensorFlow leaves out values that no row has",
            wrong,
            about="row splits must end with",
        ),
    ),
    "Transpose": (
        Deviation(
            "error", "open: TensorFlow counts negative axes from the end", wrong, "perm must"
        ),
    ),
    "NonMaxSuppressionWithOverlaps": (
        Deviation("error", "open: TensorFlow refuses a negative size", wrong, "non-negative"),
    ),
    "SparseAdd": (
        Deviation(
            "values",
            "open: TensorFlow leaves out sums where the threshold is of another type",
            lambda call: call.flat()[6].dtype != call.flat()[1].dtype,
        ),
    ),
    "StringNGrams": (
        Deviation(
            "error",
            "TensorFlow reads words of any shape as a vector",
            wrong,
            about="must be vectors",
        ),
    ),
    "IsotonicRegression": (
        Deviation(
            "gradients",
            "TensorFlow's gradient is right for matrices only",
            lambda call: call.flat()[0].ndim != 2,
        ),
    ),
    "Reshape": (Deviation("error", ONE_ELEMENT, wrong),),
    "TruncateMod": (
        Deviation(
            "error",
            "TensorFlow calls a division by zero an internal error here",
            whole_numbers,
            about="TensorFlow raises InternalError",
        ),
    ),
    "StatelessRandomUniformFullInt": (
        Deviation("error", "TensorFlow allows seeds of unsigned types and has no code", retyped),
    ),
    "Fill": (Deviation("error", ONE_ELEMENT, wrong),),
    "Range": (Deviation("error", ONE_ELEMENT, wrong),),
    "SoftmaxCrossEntropyWithLogits": (
        Deviation(
            "gradients",
            "TensorFlow drops what the second output sends to the labels",
            about="gradient of input 1",
        ),
        Deviation("gradients", "TensorFlow does not sum over what was broadcast", wrong),
    ),
}


def excused(call: Call, what: str, problem: str) -> str:
    """Why this difference is meant; nothing if it is not."""
    for deviation in (*DEVIATIONS.get(call.op, ()), *EVERYWHERE):
        fits = deviation.what == what and deviation.about in problem
        if fits and deviation.when(call):
            return deviation.reason
    return ""
