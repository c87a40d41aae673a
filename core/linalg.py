"""`tf.linalg`: linear algebra and linear operators."""

# ruff: noqa: F403 (the families of ops define which names are public)

from pinnace.linear_operators import experimental as experimental
from pinnace.linear_operators.block_diagonal import (
    LinearOperatorBlockDiag as LinearOperatorBlockDiag,
)
from pinnace.linear_operators.block_triangular import (
    LinearOperatorBlockLowerTriangular as LinearOperatorBlockLowerTriangular,
)
from pinnace.linear_operators.composition import (
    LinearOperatorComposition as LinearOperatorComposition,
)
from pinnace.linear_operators.dense import LinearOperatorFullMatrix as LinearOperatorFullMatrix
from pinnace.linear_operators.diagonal import LinearOperatorDiag as LinearOperatorDiag
from pinnace.linear_operators.householder import (
    LinearOperatorHouseholder as LinearOperatorHouseholder,
)
from pinnace.linear_operators.identity import LinearOperatorIdentity as LinearOperatorIdentity
from pinnace.linear_operators.identity import (
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
)
from pinnace.linear_operators.kronecker import LinearOperatorKronecker as LinearOperatorKronecker
from pinnace.linear_operators.low_rank import (
    LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate,
)
from pinnace.linear_operators.operator import LinearOperator as LinearOperator
from pinnace.linear_operators.toeplitz import LinearOperatorToeplitz as LinearOperatorToeplitz
from pinnace.linear_operators.triangular import (
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
)
from pinnace.linear_operators.wrapped import LinearOperatorAdjoint as LinearOperatorAdjoint
from pinnace.linear_operators.wrapped import LinearOperatorInversion as LinearOperatorInversion
from pinnace.linear_operators.zeros import LinearOperatorZeros as LinearOperatorZeros
from pinnace.ops.linalg import *
