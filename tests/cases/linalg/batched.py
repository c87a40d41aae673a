"""Cases of core/ops/linalg/batched.py: the cases of the later names."""

from dataclasses import replace

from cases.linalg import bands, determinants, earlier, factorization, solving
from support.opcase import OpCase

MODULES = (bands, determinants, earlier, factorization, solving)
EARLIER = ("MatrixBandPart", "MatrixDiag", "MatrixDiagPart", "MatrixSetDiag", "MatrixDeterminant")
# Under their earlier names these took no complex numbers, which every second case has.
REAL = ("Cholesky", "MatrixInverse", "MatrixSolve", "MatrixTriangularSolve")


def of(op: str) -> list[OpCase]:
    return [
        replace(case, op=f"Batch{op}")
        for module in MODULES
        for case in module.CASES
        if case.op == op
    ]


CASES = [
    *[case for op in (*EARLIER, "Svd", "SelfAdjointEigV2") for case in of(op)],
    *[case for op in REAL for case in of(op)[::2]],
]
