"""One call with higher precision, and with inputs changed in their last digit.

The first gives the right result. The second shows how well it is determined: with a nearly singular
matrix, the result depends on digits that the inputs do not have, so that every order of the same
steps gives another one, and every processor has another order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from oracle import ours
from oracle.calls import Call
from oracle.comparing import failed
from support.opcase import is_float, widened

if TYPE_CHECKING:
    from collections.abc import Callable

# Ops that solve or factor matrices.
CONDITIONED = frozenset(
    {
        *("BandedTriangularSolve", "Cholesky", "CholeskyGrad", "Eig", "LogMatrixDeterminant", "Lu"),
        *("MatrixDeterminant", "MatrixExponential", "MatrixInverse", "MatrixLogarithm"),
        *("MatrixSolve", "MatrixSolveLs", "MatrixSquareRoot", "MatrixTriangularSolve", "Qr"),
        *("SelfAdjointEigV2", "Svd", "TridiagonalSolve"),
    }
)
# Multiple of the change by the inputs' last digit: a factorization of up to six rows rounds each
# number about ten times.
ROUNDINGS = 16


@dataclass
class Finer:
    """More exact results of a call.

    Args:
        call: the call.
        seed: seed of the cotangents.
    """

    call: Call
    seed: int
    _found: dict[str, Any] = field(default_factory=dict)

    def exact(self, part: str) -> Any:
        """Its "values" or "gradients" in float64; None if the op does not support it."""
        return self._answer("exact", lambda x: x, part)

    def unsure(self, part: str, index: int) -> float:
        """The error of array number `index` that the condition of the inputs allows."""
        if self.call.op not in CONDITIONED:
            return 0.0
        right = self.exact(part)
        moved = [self._answer(f"moved {n}", _moved(n), part) for n in range(2)]
        changes = [
            float(np.abs(one[index] - right[index]).max(initial=0.0))
            for one in moved
            if one is not None and right is not None and right[index] is not None
        ]
        return ROUNDINGS * max((c for c in changes if np.isfinite(c)), default=0.0)

    def _answer(self, name: str, change: Callable[[Any], Any], part: str) -> Any:
        if name not in self._found:
            inputs = tuple(
                tuple(map(change, x)) if isinstance(x, tuple) else change(x)
                for x in self.call.inputs
            )
            finer = Call(self.call.op, widened(inputs), self.call.attrs)
            self._found[name] = ours.attempt(ours.answer, finer, self.seed)
        found = self._found[name]
        return None if failed(found) or failed(found[part]) else found[part]


def _moved(seed: int) -> Callable[[Any], Any]:
    """Each floating-point number moved up or down by its dtype's epsilon, as float64."""
    rng = np.random.default_rng(seed)

    def change(x: Any) -> Any:
        if not (is_float(x) or x.dtype.kind == "c"):
            return x
        eps = float(ml_dtypes.finfo(x.real.dtype).eps)  # type: ignore[no-untyped-call]
        wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
        return wide * (1 + eps * rng.choice([-1.0, 1.0], x.shape))

    return change
