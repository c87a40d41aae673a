"""Matrices of few diagonals."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "there is no converter yet",
    "TridiagonalMatMul",
)
