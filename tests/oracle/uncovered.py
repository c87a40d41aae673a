"""Ops that no call of the oracle compares, each with the reason."""

_FIRST_VERSION = (
    "an op of graphs of TensorFlow 1: a loaded graph holds it as it is, or it is rewritten; "
    "tests/unit/saved_model and `make interop` run such models"
)
_CHECKPOINTS = "written beside a model for TensorFlow to read; `make interop` has it do so"
_ITERATORS = "made of the object behind tf.data; tests/unit/data compares what datasets give"
_SUMMARIES = "gives no tensor but a file; tests/unit/summary reads it with TensorBoard's own reader"
_PICTURES = "decoders differ in the last bit by design; tests/unit/ops/image has files and bounds"
_VARIANTS = "gives an opaque value; its effect is compared through RaggedTensor"

_NO_KERNEL = "TensorFlow has no code for it on CPU"
_DRAWN = "its numbers are TensorFlow's for a seed: tests/golden/functions, tests/unit/ops/random"

UNCOVERED: dict[str, str] = {
    **dict.fromkeys(
        ("ApproxTopK", "FFTND", "IFFTND", "IRFFTND", "MaxPoolGradGradWithArgmax", "RFFTND"),
        _NO_KERNEL,
    ),
    **dict.fromkeys(
        (
            *("AllCandidateSampler", "FixedUnigramCandidateSampler"),
            *("LearnedUnigramCandidateSampler", "LogUniformCandidateSampler"),
            *("StatefulRandomBinomial", "ThreadUnsafeUnigramCandidateSampler"),
            "UniformCandidateSampler",
        ),
        _DRAWN,
    ),
    **dict.fromkeys(
        (
            *("Assign", "Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch"),
            *("TensorArrayGatherV3", "TensorArrayV3", "TensorArrayWriteV3", "VariableV2"),
            *("TensorArrayCloseV3", "TensorArrayConcatV3", "TensorArrayReadV3"),
            *("TensorArrayScatterV3", "TensorArraySizeV3", "TensorArraySplitV3"),
        ),
        _FIRST_VERSION,
    ),
    **dict.fromkeys(("MergeV2Checkpoints", "RestoreV2", "SaveV2", "ShardedFilename"), _CHECKPOINTS),
    **dict.fromkeys(
        (
            *("AnonymousIteratorV3", "IteratorGetNext", "IteratorGetNextAsOptional"),
            *("MakeIterator", "OptionalGetValue", "OptionalHasValue", "ReduceDataset"),
        ),
        _ITERATORS,
    ),
    **dict.fromkeys(
        (
            *("CloseSummaryWriter", "FlushSummaryWriter", "WriteGraphSummary", "WriteSummary"),
            *("WriteHistogramSummary", "WriteImageSummary", "WriteRawProtoSummary"),
        ),
        _SUMMARIES,
    ),
    **dict.fromkeys(
        (
            *("DecodeAndCropJpeg", "DecodeBmp", "DecodeGif", "DecodeImage", "DecodeJpeg"),
            *("DecodePng", "DecodeWebP", "EncodeJpeg", "EncodeJpegVariableQuality", "EncodePng"),
            "ExtractJpegShape",
        ),
        _PICTURES,
    ),
    **dict.fromkeys(
        ("RaggedTensorFromVariant", "RaggedTensorToVariant", "RaggedTensorToVariantGradient"),
        _VARIANTS,
    ),
    **dict.fromkeys(
        ("_FusedConv2D", "_FusedDepthwiseConv2dNative", "_FusedMatMul"),
        "made by TensorFlow's own optimizer of graphs, which checks what its kernels do not",
    ),
    "InitializeTableFromTextFileV2": "tables.from_file compares the table that it fills",
    "ParseSingleExample": "ParseExampleV2 does its work, in TensorFlow too",
    "VarHandleOp": "a node of loaded graphs; eagerly Variable makes the handle",
    "NonDeterministicInts": "gives other numbers each time, as it must",
    "PrintV2": "gives no tensor; tests/unit/ops/control compares what it prints",
    "FakeParam": "its value is never looked at",
}
