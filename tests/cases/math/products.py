"""Cases of core/ops/math/products.py: every entry as a separate sum."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from pinnace.framework import dtypes
from support.drawing import array, complex_numbers, numbers
from support.opcase import OpCase

Array = npt.NDArray[Any]

SIZES = st.tuples(*[st.integers(0, 4)] * 3)
SLACK: dict[str, Any] = {"slack": 400, "reason": "sums of products up to 100 that cancel"}


def matrices(flip_a: bool = False, flip_b: bool = False, kind: Any = np.float64) -> Any:
    elements = complex_numbers() if kind is np.complex128 else numbers()

    def of(sizes: tuple[int, int, int]) -> Any:
        m, k, n = sizes
        a, b = (k, m) if flip_a else (m, k), (n, k) if flip_b else (k, n)
        return st.tuples(array(a, elements, kind), array(b, elements, kind))

    return SIZES.flatmap(of)


def batches(flip_x: bool = False, flip_y: bool = False, kind: Any = np.float64) -> Any:
    """Leading axes that broadcast."""
    leads = st.sampled_from(
        [((), ()), ((2,), (2,)), ((2,), ()), ((), (3,)), ((2, 1), (3,)), ((1,), (0,))]
    )
    elements = complex_numbers() if kind is np.complex128 else numbers()

    def of(drawn: Any) -> Any:
        (left, right), (m, k, n) = drawn
        x, y = (k, m) if flip_x else (m, k), (n, k) if flip_y else (k, n)
        return st.tuples(array((*left, *x), elements, kind), array((*right, *y), elements, kind))

    return st.tuples(leads, SIZES).flatmap(of)


def entries(x: Array, y: Array) -> Array:
    """The matrix product, one sum after the other."""
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x = np.broadcast_to(x, (*lead, *x.shape[-2:]))
    y = np.broadcast_to(y, (*lead, *y.shape[-2:]))
    out = np.empty((*lead, x.shape[-2], y.shape[-1]), x.dtype)
    for place in np.ndindex(*out.shape):
        *batch, row, column = place
        parts = (x[(*batch, row)] * y[(*batch, slice(None), column)]).tolist()
        if x.dtype.kind == "c":
            out[place] = complex(math.fsum(z.real for z in parts), math.fsum(z.imag for z in parts))
        else:
            out[place] = math.fsum(parts)
    return out


def adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def cross(a: Array, b: Array) -> Array:
    """The cross product by the Levi-Civita symbol."""
    symbol = np.zeros((3, 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        symbol[i, j, k], symbol[i, k, j] = 1, -1
    return np.einsum("ijk,...j,...k->...i", symbol, a, b)


def bytes_of(drawn: Any) -> Any:
    (m, k, n), second = drawn
    return st.tuples(
        array((m, k), st.integers(-128, 127), np.int8),
        array((2, k, n), st.integers(0, 127), second),
    )


def flipped(
    op: str, names: tuple[str, str], draw: Any, flip: Any, kind: Any = np.float64
) -> list[OpCase]:
    return [
        OpCase(
            op,
            draw(first, second, kind),
            lambda x, y, f=first, s=second: entries(flip(x) if f else x, flip(y) if s else y),
            attrs={names[0]: first, names[1]: second},
            **SLACK,
        )
        for first in (False, True)
        for second in (False, True)
    ]


CASES = [
    OpCase("MatMul", matrices(), entries, **SLACK),
    *flipped("MatMul", ("transpose_a", "transpose_b"), matrices, np.transpose),
    *flipped("MatMul", ("transpose_a", "transpose_b"), matrices, np.transpose, np.complex128),
    *flipped("BatchMatMulV2", ("adj_x", "adj_y"), batches, adjoint),
    *flipped("BatchMatMulV2", ("adj_x", "adj_y"), batches, adjoint, np.complex128),
    OpCase(
        "BatchMatMul",  # without broadcasting
        batches().filter(lambda xs: xs[0].shape[:-2] == xs[1].shape[:-2]),
        entries,
        **SLACK,
    ),
    *[
        OpCase(
            "BatchMatMulV3",
            batches(first, second),
            lambda x, y, f=first, s=second: entries(adjoint(x) if f else x, adjoint(y) if s else y),
            attrs={"adj_x": first, "adj_y": second, "Tout": dtypes.float64},
            dtypes=(dtypes.float64,),
            **SLACK,
        )
        for first, second in ((False, False), (False, True), (True, False), (True, True))
    ],
    OpCase(
        "BatchMatMulV3",  # products of bytes, summed in more bits
        st.tuples(SIZES, st.sampled_from([np.int8, np.uint8])).flatmap(bytes_of),
        lambda x, y: x.astype(np.int64) @ y.astype(np.int64),
        attrs={"Tout": dtypes.int32},
    ),
    OpCase(
        "Cross",
        st.sampled_from([(3,), (2, 3), (0, 3)]).flatmap(lambda s: st.tuples(array(s), array(s))),
        cross,
        **SLACK,
    ),
]
