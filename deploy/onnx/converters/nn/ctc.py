"""Temporal classification."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "sums over all ways to say the labels, step by step, and is only used to train; "
    "export the logits",
    "CTCLoss",
)
refuses(
    "searches through beginnings of labels, or joins runs of them, with results of a length that "
    "no ONNX operator gives; export the logits and decode them outside",
    "CTCBeamSearchDecoder",
    "CTCGreedyDecoder",
)
