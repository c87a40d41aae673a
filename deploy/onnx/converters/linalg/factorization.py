"""Factors of matrices."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "ONNX has no factorization of matrices",
    "Cholesky",
    "CholeskyGrad",
    "Eig",
    "Lu",
    "Qr",
    "SelfAdjointEigV2",
    "Svd",
)
