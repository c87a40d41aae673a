"""Arrays of tensors of TensorFlow 1."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "is of a loop of TensorFlow 1 with an array of tensors behind a handle; an ONNX model has no "
    "state. Save the model again with TensorFlow 2, whose loops carry lists of tensors",
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
