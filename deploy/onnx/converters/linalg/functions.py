"""Functions of whole matrices."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "ONNX has no functions of whole matrices",
    "MatrixSquareRoot",
    "MatrixLogarithm",
)
