"""Cases of core/ops/array/identities.py."""

from hypothesis import strategies as st

from cases.array.shapes import ARRAYS
from support.opcase import OpCase

LISTS = st.lists(ARRAYS, min_size=1, max_size=3).map(lambda xs: (tuple(x for (x,) in xs),))

CASES = [
    OpCase("Identity", ARRAYS, lambda x: x),
    OpCase("IdentityN", LISTS, lambda xs: xs, differentiable=(0,)),
    OpCase("Snapshot", ARRAYS, lambda x: x),
    OpCase("GuaranteeConst", ARRAYS, lambda x: x, differentiable=()),
    OpCase("StopGradient", ARRAYS, lambda x: x),
    OpCase("PreventGradient", ARRAYS, lambda x: x, differentiable=()),
    OpCase("CheckNumerics", ARRAYS, lambda x: x, attrs={"message": "here"}),
    OpCase("CheckNumericsV2", ARRAYS, lambda x: x, attrs={"message": "here"}),
]
