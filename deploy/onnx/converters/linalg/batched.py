"""Earlier names of matrix ops, with the converters of the later ones."""

from pinnace.deploy.onnx.converters.linalg import bands, earlier, factorization, solving
from pinnace.deploy.onnx.converters.registry import converts

converts("BatchCholesky")(factorization.cholesky)
converts("BatchMatrixBandPart")(bands.matrix_band_part)
converts("BatchMatrixDiag")(earlier.matrix_diag)
converts("BatchMatrixDiagPart")(earlier.matrix_diag_part)
converts("BatchMatrixInverse")(solving.matrix_inverse)
converts("BatchMatrixSetDiag")(earlier.matrix_set_diag)
converts("BatchMatrixSolve")(solving.matrix_solve)
converts("BatchMatrixTriangularSolve")(solving.matrix_triangular_solve)
