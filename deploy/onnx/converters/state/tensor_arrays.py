"""Arrays of tensors of TensorFlow 1."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "is made an op of lists of tensors before operators are written",
    "TensorArrayCloseV3",
    "TensorArrayConcatV3",
    "TensorArrayGatherV3",
    "TensorArrayReadV3",
    "TensorArrayScatterV3",
    "TensorArraySizeV3",
    "TensorArraySplitV3",
    "TensorArrayV3",
    "TensorArrayWriteV3",
)
