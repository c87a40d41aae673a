"""Ops that reach outside of the model: files, datasets, summaries, Python."""

from pinnace.deploy.onnx.registry import refuses

refuses("reads or writes files", "MatchingFiles", "ReadFile", "WriteFile")
refuses(
    "reads examples out of bytes, which ONNX cannot; export the function behind it",
    "DecodeCSV",
    "DecodePaddedRaw",
    "DecodeRaw",
    "ParseExample",
    "ParseExampleV2",
    "ParseSequenceExample",
    "ParseSequenceExampleV2",
    "ParseSingleExample",
    "ParseSingleSequenceExample",
    "ParseTensor",
    "SerializeTensor",
)
refuses("calls back into Python", "EagerPyFunc", "PyFunc", "PyFuncStateless")
refuses(
    "draws from a dataset, which an ONNX model has not",
    "AnonymousIteratorV3",
    "IteratorGetNext",
    "IteratorGetNextAsOptional",
    "MakeIterator",
    "OptionalFromValue",
    "OptionalGetValue",
    "OptionalHasValue",
    "OptionalNone",
    "ReduceDataset",
)
refuses(
    "writes a summary, which an ONNX model cannot",
    "CloseSummaryWriter",
    "FlushSummaryWriter",
    "WriteAudioSummary",
    "WriteGraphSummary",
    "WriteHistogramSummary",
    "WriteImageSummary",
    "WriteRawProtoSummary",
    "WriteScalarSummary",
    "WriteSummary",
)
