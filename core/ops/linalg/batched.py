"""Matrix ops under their names from before leading axes: BatchMatrixDiag and others.

TensorFlow removed them in its GraphDef versions 11 to 14; graphs written before hold them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.ops.linalg import bands, determinants, earlier, factorization, solving
from pinnace.ops.registry import register

if TYPE_CHECKING:
    from pinnace.ops.opdef import OpDef

__all__: list[str] = []

_REAL = frozenset({dtypes.float64, dtypes.float32})
_WIDE = _REAL | dtypes.COMPLEX

BAND_PART = register(
    replace(
        bands.MATRIX_BAND_PART,
        name="BatchMatrixBandPart",
        signature="input: T, num_lower: int64, num_upper: int64 -> band: T",
        types={"T": bands.MATRIX_BAND_PART.type_sets["T"]},
    )
)


def _earlier(name: str, later: OpDef, types: frozenset[dtypes.DType] | None = None) -> OpDef:
    """`later` under its earlier name, for all its dtypes or those given."""
    return register(replace(later, name=name, types={"T": types or later.type_sets["T"].allowed}))


DIAG = _earlier("BatchMatrixDiag", earlier.DIAG_V1)
DIAG_PART = _earlier("BatchMatrixDiagPart", earlier.PART_V1)
SET_DIAG = _earlier("BatchMatrixSetDiag", earlier.SET_V1)
DETERMINANT = _earlier("BatchMatrixDeterminant", determinants.MATRIX_DETERMINANT, _WIDE)
INVERSE = _earlier("BatchMatrixInverse", solving.MATRIX_INVERSE, _REAL)
SOLVE = _earlier("BatchMatrixSolve", solving.MATRIX_SOLVE, _REAL)
TRIANGULAR_SOLVE = _earlier("BatchMatrixTriangularSolve", solving.MATRIX_TRIANGULAR_SOLVE, _REAL)
CHOLESKY = _earlier("BatchCholesky", factorization.CHOLESKY, _REAL)
SVD = _earlier("BatchSvd", factorization.SVD, _WIDE)
SELF_ADJOINT_EIG_V2 = _earlier("BatchSelfAdjointEigV2", factorization.SELF_ADJOINT_EIG_V2, _REAL)
