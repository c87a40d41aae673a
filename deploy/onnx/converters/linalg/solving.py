"""Systems of equations."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "ONNX has no solver of equations",
    "BandedTriangularSolve",
    "MatrixInverse",
    "MatrixSolve",
    "MatrixSolveLs",
    "MatrixTriangularSolve",
    "TridiagonalSolve",
)
