"""Cases of core/ops/math/complexes.py: Python's complex numbers."""

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from support.drawing import broadcastable, complex_arrays, complex_numbers, each, numbers
from support.opcase import OpCase

COMPLEX = complex_arrays(complex_numbers())
PAIRS = broadcastable(numbers(), numbers())


def in_both(op: str, reference: Any) -> list[OpCase]:
    """The type of the result is an attribute: one case for each."""
    kinds: list[tuple[DType, DType]] = [
        (dtypes.float64, dtypes.float64),
        (dtypes.float32, dtypes.float32),
    ]
    return [
        OpCase(
            op, COMPLEX, reference, attrs={"Tout": out}, dtypes=(kind,), differentiable=only(kind)
        )
        for kind, out in kinds
    ]


def only(kind: DType) -> tuple[int, ...] | None:
    """The differentiable inputs: finite differences are computed in float64 only."""
    return None if kind is dtypes.float64 else ()


CASES = [
    OpCase(
        "Complex",
        PAIRS,
        lambda x, y: x + np.complex128(1j) * y,
        attrs={"Tout": dtypes.complex128},
        dtypes=(dtypes.float64,),
    ),
    *in_both("Real", each(lambda z: z.real)),
    *in_both("Imag", each(lambda z: z.imag)),
    OpCase("Conj", COMPLEX, each(lambda z: complex(z.real, -z.imag), complex)),
]
