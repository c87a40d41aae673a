"""Cases of core/ops/array/casting.py."""

import struct

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.array.shapes import ARRAYS, SHAPES, Array, numbers
from pinnace.framework import dtypes
from support.opcase import OpCase


def bits(x: Array) -> Array:
    """float32 as the int32 with the same bits."""
    found = [struct.unpack("<i", struct.pack("<f", value))[0] for value in x.reshape(-1)]
    return np.array(found, np.int32).reshape(x.shape)


def halves(x: Array) -> Array:
    """float32 as two int16 with the same bits, the lower half first."""
    found = [struct.unpack("<2h", struct.pack("<f", value)) for value in x.reshape(-1)]
    return np.array(found, np.int16).reshape(*x.shape, 2)


def joined(x: Array) -> Array:
    """Pairs of uint32 as one int64, the lower half first."""
    found = [struct.unpack("<q", struct.pack("<2I", *pair)) for pair in x.reshape(-1, 2).tolist()]
    return np.array(found, np.int64).reshape(x.shape[:-1])


def truth(x: Array) -> Array:
    return np.array(bool(x) if x.ndim == 0 else len(x.ravel()) > 0)


PIECES = hnp.arrays(np.uint32, st.tuples(st.integers(0, 3), st.integers(1, 3), st.just(2))).map(
    lambda x: (x,)
)
WHOLE = ARRAYS.map(lambda xs: (xs[0].astype(np.int32),))
COMPLEX = SHAPES.flatmap(lambda s: st.tuples(numbers(s), numbers(s))).map(
    lambda pair: (pair[0] + 1j * pair[1],)
)

CASES = [
    OpCase("Cast", ARRAYS, lambda x: x, attrs={"DstT": dtypes.float64}),
    OpCase("Cast", ARRAYS, lambda x: x, attrs={"DstT": dtypes.bfloat16}, differentiable=()),
    OpCase("Cast", ARRAYS, np.trunc, attrs={"DstT": dtypes.int32}, differentiable=()),
    OpCase("Cast", ARRAYS, lambda x: x != 0, attrs={"DstT": dtypes.bool}, differentiable=()),
    OpCase("Cast", ARRAYS, lambda x: x + 0j, attrs={"DstT": dtypes.complex128}),
    OpCase("Cast", COMPLEX, np.real, attrs={"DstT": dtypes.float64}),
    OpCase("Cast", WHOLE, lambda x: x, attrs={"DstT": dtypes.float32}),
    OpCase("ToBool", ARRAYS, truth),
    OpCase("Bitcast", ARRAYS, bits, attrs={"type": dtypes.int32}, dtypes=(dtypes.float32,)),
    OpCase("Bitcast", ARRAYS, halves, attrs={"type": dtypes.int16}, dtypes=(dtypes.float32,)),
    OpCase("Bitcast", PIECES, joined, attrs={"type": dtypes.int64}),
]
