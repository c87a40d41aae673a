"""Cases of core/ops/math/einstein.py: NumPy's einsum, which loops over every index."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from support.drawing import array, complex_numbers, numbers
from support.opcase import OpCase

Array = npt.NDArray[Any]

SLACK: dict[str, Any] = {"slack": 2000, "reason": "sums of products that cancel"}


def case(equation: str, *shapes: tuple[int, ...], kind: Any = np.float64) -> OpCase:
    elements = complex_numbers() if kind is np.complex128 else numbers()
    inputs = st.tuples(st.tuples(*[array(shape, elements, kind) for shape in shapes]))
    return OpCase(
        "Einsum",
        inputs,
        lambda xs: np.einsum(equation, *xs, optimize=False),
        attrs={"equation": equation},
        **SLACK,
    )


def filled_diagonal(xs: tuple[Array]) -> Array:
    """The result on a diagonal, into which NumPy's einsum cannot write."""
    return np.stack([np.diag(row) for row in xs[0]])


CASES = [
    case("ij,jk->ik", (2, 3), (3, 4)),
    case("ij,jk->ki", (2, 3), (3, 2)),
    case("ij,kj->ik", (2, 0), (3, 0)),
    case("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    case("bqhd,bkhd->bhqk", (2, 3, 2, 2), (2, 2, 2, 2)),
    case("ij->ji", (2, 3)),
    case("ij->", (2, 3)),
    case("ij->j", (2, 3)),
    case("ii->i", (3, 3)),
    case("ii->", (3, 3)),
    case("iij->j", (2, 2, 3)),
    case("i,j->ij", (2,), (3,)),
    case("ij,ij->", (2, 3), (2, 3)),
    case("ij,k->i", (2, 3), (2,)),
    case("ii,ij->j", (2, 2), (2, 3)),
    case(",ij->ij", (), (2, 2)),
    case("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    case("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)),
    case("...i,ij->...j", (2, 3, 2), (2, 2)),
    case("i...,i->...", (2, 3), (2,)),
    case("a...b->b...a", (2, 3, 2)),
    case("...i,...i->...", (2,), (3, 2)),
    case("ij,jk->ik", (2, 3), (3, 2), kind=np.complex128),
    OpCase(
        "Einsum",
        st.tuples(st.tuples(array((2, 3)))),
        filled_diagonal,
        attrs={"equation": "bi->bii"},
    ),
]
