"""Intended differences from TensorFlow by op, each with its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.deviating_calls import (
    beyond,
    beyond_type,
    complex_input,
    counts,
    cut_off,
    cut_short,
    dependent_columns,
    empty,
    no_axis,
    retyped,
    rounded_inverse,
    scalar_first,
    several_diagonals,
    special,
    threshold_of_another_type,
    unsigned,
    unsorted,
    whole_numbers,
    wrong,
    zeros,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from oracle.calls import Call


@dataclass(frozen=True)
class Deviation:
    """A part of an op's results that is not compared.

    Args:
        what: "error", "values", "gradients" or "shapes".
        reason: why TensorFlow's result is not followed.
        when: the calls to which it applies.
        about: a pattern that the difference contains.
    """

    what: str
    reason: str
    when: Callable[[Call], bool] = lambda _: True
    about: str = ""


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
REAL_SCALARS = "what flows back is of real numbers: TensorFlow lets an imaginary part through"

KERNEL_REFUSES = "TensorFlow's inference allows types that its kernel does not"
PADS_ITSELF = "TensorFlow's public function pads before the op; here the op does it"
CUT_OFF = "TensorFlow's gradient is wrong where fft_length cuts off or is 1; differences say so"
DEPTH_UNSAID = (
    "one of TensorFlow's two kernels takes volumes in an order of axes that names no depth"
)
RESERVED = "what an op keeps for its own gradient is not for others to read"
ARGUMENTS = "TensorFlow calls a wrong argument a wrong state or range; of other ops it does not"
ONE_SOURCE = "each axis is inferred from one input; TensorFlow also looks for it in the others"

GARBAGE = "TensorFlow reads beyond a gradient that is too small"

NOT_INSIDE = "TensorFlow does not look whether indices are inside, or calls it its own fault"
NO_GROUPS = "TensorFlow's CPU kernel has no groups in three dimensions"
STRIDES_BEYOND = (
    "TensorFlow's three-dimensional convolution of float64 is wrong where a stride is longer than "
    "the window: differences of its own results say what is given here"
)
LIMITS = "TensorFlow's series have no limits at the ends of the number line"
# NaN or infinity on one side.
AT_LIMITS = r"\((nan|-?inf)\) (there|here)"
ANY_PHASE = "eigenvectors have any phase; tests/unit/ops/linalg multiplies them out"
ANY_SIGN = "of a singular value 0 the two vectors have any sign: there is no derivative"
NO_WINDOW = (
    "TensorFlow's kernels let some windows longer than the input pass as an empty output, its "
    "shape inference does not; here the one rule of both is the latter's"
)

# Ops whose shape may be less precise than in TensorFlow until run time.
LESS_KNOWN = frozenset(
    {
        *("DynamicStitch", "ParallelDynamicStitch", "MaxPoolGradGradV2"),
        # TensorFlow guesses: unknown sizes are minimal, and shapes do not broadcast.
        *("MatrixDiagV2", "MatrixDiagV3", "MatrixSetDiagV2", "MatrixSetDiagV3"),
        *("SoftmaxCrossEntropyWithLogits", "SplitV", "Substr"),
    }
)

# TensorFlow's result is empty.
NOTHING = r"we raise.*TensorFlow gives [\[\], ]*$"

# For every op.
EVERYWHERE = (
    Deviation("error", NO_WINDOW, about="we raise.*must not be longer than the padded input"),
    Deviation("gradients", NO_WINDOW, about="we raise.*must not be longer than the padded input"),
    Deviation("error", NOT_INSIDE, wrong, about="we raise.* is (outside of|out of bounds)"),
    Deviation("error", NOTHING_THERE, wrong, about=NOTHING),
    Deviation("error", NOTHING_THERE, empty, about="must be at least 1 along spatial axis"),
    Deviation(
        "shapes", ONE_SOURCE, lambda call: call.op in LESS_KNOWN, "less than TensorFlow knows"
    ),
)

UNLOOKED = "TensorFlow does not look at the shapes of all weights, or reads beyond them"
UNWRITTEN = "TensorFlow does not write what lies beyond seq_len_max; here it is 0"
BEYOND_HALF = "TensorFlow logs that the spectrum is too short, and gives zeros"
ON_THE_EDGE = (
    "pixels are chosen by the inverse of the projection: its last digit decides between two"
)
UNSIGNED_ZEROS = (
    "TensorFlow looks for a sum above the least number of the type: where all sums are 0, what "
    "flows back goes to an element that the window may not have"
)
ANY_SHAPE = "TensorFlow reads a tensor of any shape as a vector here, or beyond a scalar"
UNUSED_VALUES = "TensorFlow leaves out values that no row has"
NO_LABELS = (
    "no labels are a text, too: tf.nn.ctc_loss of dense labels, which is this op here, takes it"
)
ROWS_LEFT_OUT = "TensorFlow leaves out rows that are out of order or outside"
ENDS_UNSEEN = "TensorFlow does not look whether sizes and ends of cells agree"
NEGATIVE_SIZES = "TensorFlow takes a negative size, or calls it its own fault"

# Ops whose float64 is float32 inside TensorFlow, and is compared with that accuracy.
SINGLE = frozenset(
    {
        *("CTCLoss", "CTCBeamSearchDecoder"),
        *("ImageProjectiveTransformV2", "ImageProjectiveTransformV3"),
    }
)

BELOW_ONE = "TensorFlow takes a step or a window below 1 here"
# For windows that are inputs.
STEPS_AND_SHAPES = (
    Deviation("error", BELOW_ONE, wrong, "we raise.*(ksize|strides) must be pos"),
    Deviation("error", ANY_SHAPE, wrong, "we raise.*(ksize|strides) must have 4 entries"),
)

DEVIATIONS: dict[str, tuple[Deviation, ...]] = {
    **{
        op: (Deviation("gradients", NO_CONJUGATE, complex_input),)
        for op in (
            *("Cumprod", "MatrixDeterminant", "MatrixSolveLs", "MatrixSquareRoot", "MulNoNan"),
            *("TridiagonalSolve", "Xdivy", "Xlog1py", "Xlogy"),
        )
    },
    "Sign": (Deviation("gradients", NOTHING_MOVES, complex_input),),
    "Concat": (Deviation("error", ONE_IS_ENOUGH, counts(1, 2), "at least minimum 2"),),
    "ConcatV2": (Deviation("error", ONE_IS_ENOUGH, counts(0, 2), "at least minimum 2"),),
    **{
        op: (Deviation("error", SIZES_ALONE, wrong, "we raise.*must have one shape"),)
        for op in (
            *("InvGrad", "ReciprocalGrad", "SqrtGrad", "RsqrtGrad", "SigmoidGrad", "TanhGrad"),
        )
    },
    "SelfAdjointEigV2": (
        Deviation(
            "values",
            EMPTY_VECTORS,
            lambda call: not call.attrs.get("compute_v", True),
            r"output 1: shape \[\] there",
        ),
    ),
    "Svd": (
        Deviation(
            "values",
            EMPTY_VECTORS,
            lambda call: not call.attrs.get("compute_uv", True),
            r"output 1: shape \[\] there",
        ),
        Deviation("gradients", REAL_SCALARS, complex_input),
        Deviation("gradients", ANY_SIGN, dependent_columns),
    ),
    **{
        op: (
            Deviation("values", NOT_MAXIMA, lambda call: unsigned(call) or wrong(call)),
            *STEPS_AND_SHAPES,
        )
        for op in (
            *("MaxPoolGrad", "MaxPoolGradGrad", "MaxPool3DGrad", "MaxPool3DGradGrad"),
            *("MaxPoolGradGradV2", "MaxPoolGradGradWithArgmax"),
        )
    },
    "Round": (
        Deviation(
            "values",
            "TensorFlow gives 0 for every integer but on GPU",
            whole_numbers,
            r"\(0\) there",
        ),
    ),
    "Erf": (
        Deviation("values", "TensorFlow: erf(inf) is NaN in float64", special, r"\(nan\) there"),
    ),
    "Erfinv": (
        Deviation(
            "values", "TensorFlow: 0 for numbers near 0 in float64", special, r"\(-?0\.0\) there"
        ),
    ),
    "Dawsn": (
        Deviation(
            "gradients", "TensorFlow: Dawson's function of 3e38 is 0, its derivative 1", special
        ),
    ),
    **{
        op: (Deviation("values", "a search of what is not sorted finds any place", unsorted),)
        for op in ("LowerBound", "UpperBound")
    },
    "Polygamma": (
        Deviation("values", LIMITS, special, AT_LIMITS),
        Deviation("gradients", LIMITS, special, AT_LIMITS),
    ),
    "Digamma": (Deviation("gradients", LIMITS, special, AT_LIMITS),),
    **{
        op: (
            Deviation("error", PADS_ITSELF, about="must have length of at least"),
            Deviation("error", KERNEL_REFUSES, retyped, "Wrong types for"),
            Deviation("gradients", CUT_OFF, cut_off),
            Deviation("values", "TensorFlow transforms numbers that are not there", empty),
        )
        for op in ("RFFT", "RFFT2D", "RFFT3D", "IRFFT", "IRFFT2D", "IRFFT3D")
    },
    **{
        op: (
            Deviation("values", RESERVED, about="output [345]"),
            Deviation("error", DEPTH_UNSAID, wrong, "we raise.*x must have 4 axes, got rank 5"),
        )
        for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
    },
    "BandedTriangularSolve": (
        Deviation("error", "TensorFlow refuses empty matrices here", empty, "must not be an empty"),
        Deviation(
            "gradients",
            "TensorFlow's gradient of one band lacks an axis",
            lambda call: call.flat()[0].shape[-2] == 1,
            "gradient of input 0: shape",
        ),
    ),
    **{
        op: (Deviation("error", GARBAGE, wrong, "we raise.*gradient of an average must have"),)
        for op in ("AvgPoolGrad", "AvgPool3DGrad")
    },
    **{
        op: (Deviation("values", "TensorFlow reads beyond a counter that is too short", wrong),)
        for op in (
            *("StatelessTruncatedNormalV2", "StatelessRandomNormalV2", "StatelessRandomUniformV2"),
            *("StatelessRandomUniformIntV2", "StatelessRandomUniformFullIntV2"),
            *("StatelessRandomGammaV3", "StatelessShuffle"),
        )
    },
    "Sqrt": (
        Deviation("gradients", "TensorFlow: no gradient times NaN is 0", special, r"0\.0\) there"),
    ),
    "Eig": (
        Deviation("error", KERNEL_REFUSES, retyped, "Invalid output dtype"),
        Deviation("gradients", ANY_PHASE, lambda call: call.attrs.get("compute_v", True)),
    ),
    **{op: (Deviation("gradients", STRIDES_BEYOND, beyond),) for op in ("Conv3DBackpropFilterV2",)},
    "Conv3D": (
        Deviation("values", STRIDES_BEYOND, beyond),
        Deviation("gradients", STRIDES_BEYOND, beyond),
        Deviation("error", NO_GROUPS, wrong, "we give"),
    ),
    "Conv3DBackpropInputV2": (
        Deviation("gradients", STRIDES_BEYOND, beyond),
        Deviation("error", NO_GROUPS, wrong, "same number of channels.*we give"),
    ),
    "BesselI1": (Deviation("gradients", "TensorFlow: 1 at 0, where the derivative is 1/2", zeros),),
    **{
        op: (
            Deviation("values", LIMITS, special, AT_LIMITS),
            Deviation("gradients", LIMITS, special, AT_LIMITS),
        )
        for op in ("Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad")
    },
    "Zeta": (
        Deviation("values", LIMITS, special, AT_LIMITS),
        Deviation("gradients", LIMITS, special, AT_LIMITS),
    ),
    **{
        op: (
            Deviation(
                "gradients",
                "TensorFlow takes the diagonals back aligned as of version 3",
                several_diagonals,
            ),
        )
        for op in ("MatrixDiagV2", "MatrixDiagPartV2", "MatrixSetDiagV2")
    },
    "CropAndResizeGradBoxes": (
        Deviation("error", "TensorFlow refuses no crops", empty, "grads dimensions must be pos"),
    ),
    "Qr": (Deviation("gradients", "a matrix of less rank has no gradient", dependent_columns),),
    "ReverseV2": (
        Deviation("error", NOTHING_THERE, empty, NOTHING),
        Deviation("error", "TensorFlow looks at no axis of a scalar", scalar_first, "we raise"),
    ),
    **{
        op: (Deviation("gradients", ON_THE_EDGE, rounded_inverse),)
        for op in ("ImageProjectiveTransformV2", "ImageProjectiveTransformV3")
    },
    "BlockLSTM": (Deviation("values", UNWRITTEN, cut_short, "output [02345]"),),
    "BlockLSTMV2": (
        Deviation("values", UNWRITTEN, cut_short, "output [02345]"),
        Deviation("gradients", "TensorFlow takes version 2 back in the order of version 1"),
    ),
    **{
        op: (
            Deviation("values", UNWRITTEN, cut_short, "output 0"),
            Deviation("error", UNLOOKED, wrong, "we raise.*must have shape"),
        )
        for op in ("BlockLSTMGrad", "BlockLSTMGradV2")
    },
    **{
        op: (Deviation("error", UNLOOKED, wrong, "we raise.*must have (one )?shape"),)
        for op in ("GRUBlockCellGrad", "LSTMBlockCell")
    },
    "LSTMBlockCellGrad": (
        Deviation("error", UNLOOKED, wrong, "we raise.*must have (one )?shape"),
        # Unused peepholes: their gradients have the peepholes' shape there, the cells' here.
        Deviation("values", UNLOOKED, wrong, "output [234]: shape"),
    ),
    "Mfcc": (
        Deviation("error", BEYOND_HALF, wrong, "we raise.*upper_frequency_limit must be at most"),
    ),
    "Reverse": (
        Deviation("error", "TensorFlow refuses to reverse nothing here", empty, "Found 0"),
    ),
    "ToBool": (
        Deviation("error", KERNEL_REFUSES, about="cannot be converted to a boolean.*we give"),
    ),
    "RGBToHSV": (Deviation("error", ARGUMENTS, wrong, "TensorFlow raises FailedPrecondition"),),
    "HSVToRGB": (Deviation("error", ARGUMENTS, wrong, "TensorFlow raises FailedPrecondition"),),
    "StringFormat": (
        Deviation("values", "TensorFlow shows a row that is not there", empty, r"\.\.\.\]"),
    ),
    "UnravelIndex": (
        Deviation(
            "error",
            "TensorFlow takes a negative place, and gives no place for it",
            wrong,
            "we raise",
        ),
    ),
    "BroadcastArgs": (
        Deviation("error", "TensorFlow broadcasts shapes of negative sizes", wrong, "we raise"),
    ),
    "ArgMax": (
        Deviation(
            "error",
            "TensorFlow reads an axis of 16 bits as one of 32",
            lambda call: call.flat()[1].dtype == "int16",
            "Expected dimension in the range",
        ),
    ),
    "GatherNd": (
        Deviation(
            "error",
            "TensorFlow refuses a scalar, of which there is one",
            scalar_first,
            "must be at least a vector",
        ),
    ),
    "RaggedTensorToTensor": (
        Deviation("error", UNUSED_VALUES, wrong, "we raise.*row splits must end with"),
        Deviation("error", ANY_SHAPE, wrong, "we raise.*row ids must be vectors"),
    ),
    "RaggedTensorToSparse": (Deviation("error", ANY_SHAPE, wrong, "we raise.*row splits must be"),),
    "Where": (
        Deviation(
            "error",
            "TensorFlow refuses a scalar; numpy.nonzero too since 2.1",
            scalar_first,
            "Unhandled input dimensions: 0",
        ),
    ),
    "MirrorPadGrad": (
        Deviation(
            "error",
            "TensorFlow refuses an axis of size 0 though nothing was added to it",
            lambda call: 0 in call.flat()[0].shape,
            "we give",
        ),
    ),
    **{
        op: (Deviation("error", NOTHING_THERE, empty, NOTHING),)
        for op in ("Gather", "UnsortedSegmentSum", "CropAndResize")
    },
    "CropAndResizeGradImage": (
        Deviation("error", NOTHING_THERE, empty, NOTHING),
        Deviation("error", NOTHING_THERE, empty, "we raise.*must have four numbers per crop"),
    ),
    "CTCLoss": (
        Deviation("error", NO_LABELS, wrong, about="Labels length is zero"),
        Deviation(
            "error",
            "TensorFlow drops the blank from the end of labels, where it is no label",
            wrong,
            about="we raise.*labels must be from",
        ),
    ),
    **dict.fromkeys(
        ("CTCBeamSearchDecoder", "CTCGreedyDecoder"),
        (
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
        Deviation("error", UNUSED_VALUES, wrong, "we raise.*row splits must end with"),
        Deviation("error", ANY_SHAPE, wrong, "we raise.*row splits must be a vector"),
    ),
    "SparseAdd": (
        Deviation(
            "values",
            "TensorFlow reads the bytes of a threshold of another type as of the type it expects",
            threshold_of_another_type,
        ),
    ),
    "SparseToDense": (
        Deviation(
            "gradients",
            "TensorFlow gives a vector for the one number that was written to every place",
            lambda call: call.flat()[2].ndim == 0,
            r"shape \[\d+\] there, \[\] here",
        ),
    ),
    "SparseConcat": (
        Deviation("error", NEGATIVE_SIZES, wrong, "InternalError: .*Encountered overflow"),
        Deviation("error", NOTHING_THERE, empty, r"we raise.*indices must be \[values, rank\]"),
    ),
    "SparseFillEmptyRows": (
        Deviation("error", NEGATIVE_SIZES, wrong, "we raise.*sizes must not be negative"),
    ),
    "EditDistance": (
        Deviation("error", NOT_INSIDE, wrong, "InternalError.*we raise.*must be within the shapes"),
    ),
    **{
        op: (
            Deviation("error", ANY_SHAPE, wrong, "we raise.*must be a vector"),
            Deviation(
                "error",
                "TensorFlow looks at the first and the last of the splits alone",
                wrong,
                "we raise.*splits must have.*not fall",
            ),
            Deviation("error", UNLOOKED, wrong, "RaggedBincount: weights must be empty or have"),
        )
        for op in ("RaggedBincount", "RaggedCountSparseOutput")
    },
    "XlaDynamicSlice": (
        Deviation("error", ANY_SHAPE, wrong, "we raise.*start_indices must be a vector"),
    ),
    "DenseCountSparseOutput": (
        Deviation(
            "shapes",
            "TensorFlow takes weights of unknown size for some: none are an empty vector, too",
            about=r"less than TensorFlow knows, output [02]: .*\? ?\] here, \[(\?, )?1\] there",
        ),
    ),
    "SparseCountSparseOutput": (
        Deviation("error", NEGATIVE_SIZES, wrong, "we raise.*sizes must not be negative"),
    ),
    "ParseSequenceExample": (
        Deviation(
            "error",
            "TensorFlow's kernel takes a scalar that its shape inference, in graphs, refuses",
            wrong,
            "we raise.*serialized must be a vector",
        ),
    ),
    "SparseBincount": (
        Deviation("error", SIZES_ALONE, wrong, "we raise.*weights must be empty or have the shape"),
        Deviation("error", NEGATIVE_SIZES, wrong, "we raise.*sizes must not be negative"),
    ),
    "FractionalAvgPoolGrad": (
        Deviation(
            "error",
            ENDS_UNSEEN,
            wrong,
            "we raise.*(must agree with orig_input_tensor_shape|must rise from 0)",
        ),
    ),
    "DataFormatDimMap": (
        Deviation("values", "TensorFlow reads beside its table where x is no axis", no_axis),
    ),
    "Conv2DBackpropInput": (
        Deviation(
            "error",
            "TensorFlow has no gradients of convolutions in groups on CPUs",
            about="TensorFlow raises.*Gradients for grouped convolutions are not supported on CPU",
        ),
    ),
    "DepthwiseConv2dNative": (
        Deviation(
            "gradients",
            "TensorFlow does not write the gradient of the filter where there are no pixels",
            empty,
            "gradient of input 1",
        ),
    ),
    "FractionalMaxPoolGrad": (
        Deviation(
            "error",
            "TensorFlow refuses a picture with fewer elements than its cells have ends",
            about="TensorFlow raises.*Pooling region has more elements than the input",
        ),
        Deviation("error", ENDS_UNSEEN, wrong, "we raise.*must rise from 0"),
        Deviation(
            "error",
            "TensorFlow reads what flows back in any shape, also beyond it",
            wrong,
            "we raise.*and out_backprop the shape of orig_output",
        ),
    ),
    "SerializeSparse": (
        Deviation(
            "error", "TensorFlow packs parts that do not fit", wrong, "we raise.*indices must"
        ),
    ),
    "SparseCross": (Deviation("error", ROWS_LEFT_OUT, wrong, "we raise.*rows of indices must"),),
    "SparseCrossV2": (Deviation("error", ROWS_LEFT_OUT, wrong, "we raise.*rows of indices must"),),
    "SparseCrossHashed": (
        Deviation("error", ONE_ELEMENT, wrong, "we raise.*must be scalars"),
        Deviation("error", ROWS_LEFT_OUT, wrong, "we raise.*rows of indices must"),
    ),
    "SparseSlice": (Deviation("error", NEGATIVE_SIZES, wrong, "we raise.*not be negative"),),
    "SparseAddGrad": (
        Deviation("values", "TensorFlow takes for granted that indices are in order", wrong),
    ),
    "GatherV2": (
        Deviation("error", NOTHING_THERE, empty, NOTHING),
        Deviation("gradients", NOTHING_THERE, empty, "we raise.*segment ids must be"),
    ),
    "SparseReorder": (Deviation("error", NEGATIVE_SIZES, wrong, "we raise.*not be negative"),),
    "Cast": (
        Deviation(
            "values",
            "what C++ leaves undefined: TensorFlow's answer depends on the place in the tensor",
            beyond_type,
        ),
    ),
    "MaxPoolV2": STEPS_AND_SHAPES,
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
    "Reshape": (Deviation("error", ONE_ELEMENT, wrong, "we raise.*must be a"),),
    **{
        op: (
            Deviation(
                "error",
                "TensorFlow calls a division by zero an internal error here",
                whole_numbers,
                about="TensorFlow raises InternalError",
            ),
        )
        for op in ("TruncateDiv", "TruncateMod")
    },
    "StatelessRandomUniformFullInt": (
        Deviation(
            "error",
            "TensorFlow allows seeds of unsigned types and has no code",
            retyped,
            "Invalid seed type",
        ),
    ),
    "Fill": (Deviation("error", ONE_ELEMENT, wrong, "we raise.*must be a"),),
    "Range": (Deviation("error", ONE_ELEMENT, wrong, "we raise.*must be a"),),
    "SoftmaxCrossEntropyWithLogits": (
        Deviation(
            "gradients",
            "TensorFlow drops what the second output sends to the labels",
            about="gradient of input 1",
        ),
        Deviation("gradients", "TensorFlow does not sum over what was broadcast", wrong, "shape"),
    ),
}


def excusable(call: Call, what: str) -> bool:
    """Whether some difference in this part is intended."""
    return any(d.what == what and d.when(call) for d in DEVIATIONS.get(call.op, ()))


def excused(call: Call, what: str, problem: str) -> str:
    """Why this difference is intended; empty if it is not."""
    for deviation in (*DEVIATIONS.get(call.op, ()), *EVERYWHERE):
        fits = deviation.what == what and re.search(deviation.about, problem, re.DOTALL)
        if fits and deviation.when(call):
            return deviation.reason
    return ""
