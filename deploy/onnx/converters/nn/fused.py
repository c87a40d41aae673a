"""What TensorFlow fuses."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "there is no converter yet; export the graph before TensorFlow fuses it",
    "_FusedConv2D",
    "_FusedDepthwiseConv2dNative",
    "_FusedMatMul",
)
