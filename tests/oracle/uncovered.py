"""Ops that no call of the oracle compares, each with the reason."""

_SUMMARIES = (
    "writes the newer form of its plugin, where TensorFlow's op writes the older; "
    "tests/unit/summary reads it with TensorBoard's own reader"
)
_NO_KERNEL = "TensorFlow has no code for it on CPU"

UNCOVERED: dict[str, str] = {
    **dict.fromkeys(
        ("ApproxTopK", "FFTND", "IFFTND", "IRFFTND", "MaxPoolGradGradWithArgmax", "RFFTND"),
        _NO_KERNEL,
    ),
    **dict.fromkeys(("WriteHistogramSummary", "WriteImageSummary"), _SUMMARIES),
    "_FusedDepthwiseConv2dNative": (
        "TensorFlow's optimizer of graphs alone can make one: called otherwise it gives no elements"
    ),
    "FakeParam": "stands where a branch has no value: what it gives is never looked at",
    "NonDeterministicInts": "gives other numbers each time, as it must",
    "OptionalNone": "TensorFlow's own gradients of conditions make none; tests/unit/data has it",
}
