"""Stacks, which gradients of TensorFlow 1's loops have."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "keeps what a loop computes for its gradient; an ONNX model has no state",
    "StackCloseV2",
    "StackPopV2",
    "StackPushV2",
    "StackV2",
)
