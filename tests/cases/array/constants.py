"""Cases of core/ops/array/constants.py."""

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import ARRAYS, SHAPES, built, ints, numbers
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from support.opcase import OpCase

DIMS = SHAPES.map(lambda shape: ints(*shape))
TABLE = np.array([[1.5, -2], [0, 4]], np.float32)

CASES = [
    OpCase(
        "Const",
        st.just(()),
        lambda: TABLE,
        attrs={"value": TABLE, "dtype": dtypes.float32},
    ),
    OpCase("Fill", st.tuples(DIMS, numbers(())), lambda d, x: built(d.tolist(), lambda *_: x)),
    OpCase("ZerosLike", ARRAYS, lambda x: np.zeros(x.shape)),
    OpCase("OnesLike", ARRAYS, lambda x: np.exp(np.zeros(x.shape))),
    OpCase(
        "PlaceholderWithDefault",
        st.tuples(numbers([2, 3])),
        lambda x: x,
        attrs={"shape": Shape([2, 3])},
    ),
]
