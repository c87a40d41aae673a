"""Cases of core/ops/nn/softmaxes.py."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special

from support.opcase import OpCase

ROWS = st.tuples(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
        elements=st.floats(-20, 20, width=32),
    )
)

CASES = [
    OpCase("Softmax", ROWS, lambda x: special.softmax(x, axis=-1) if x.size else x),
    OpCase("LogSoftmax", ROWS, lambda x: special.log_softmax(x, axis=-1) if x.size else x),
]
