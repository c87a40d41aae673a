"""Earlier forms of the ops of diagonals."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "there is no converter yet; the V3 form has one",
    "MatrixDiag",
    "MatrixDiagV2",
    "MatrixDiagPart",
    "MatrixDiagPartV2",
    "MatrixSetDiag",
    "MatrixSetDiagV2",
)
