"""Ops of matrices under earlier names: converted as under the later ones."""

from pinnace.deploy.onnx.converters.linalg import (
    bands,
    determinants,
    earlier,
    factorization,
    solving,
)
from pinnace.deploy.onnx.registry import converts, refuses

converts("BatchCholesky")(factorization.cholesky)
converts("BatchMatrixBandPart")(bands.matrix_band_part)
converts("BatchMatrixDeterminant")(determinants.determinant)
converts("BatchMatrixDiag")(earlier.matrix_diag)
converts("BatchMatrixDiagPart")(earlier.matrix_diag_part)
converts("BatchMatrixInverse")(solving.matrix_inverse)
converts("BatchMatrixSetDiag")(earlier.matrix_set_diag)
converts("BatchMatrixSolve")(solving.matrix_solve)
converts("BatchMatrixTriangularSolve")(solving.matrix_triangular_solve)
refuses("ONNX has no factorization of matrices", "BatchSelfAdjointEigV2", "BatchSvd")
