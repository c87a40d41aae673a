"""Cases of core/ops/array/relayout.py: the value stays the same."""

from hypothesis import strategies as st

from cases.array.shapes import ARRAYS
from support.opcase import OpCase

LAYOUT = "sharding_specs: mesh:|x=1|0|0|/job:localhost/replica:0/task:0/device:CPU:0"
PAIRS = st.tuples(ARRAYS, ARRAYS).map(lambda pair: (pair[0][0], pair[1][0]))

CASES = [
    OpCase("Relayout", ARRAYS, lambda x: x, attrs={"layout": LAYOUT}),
    OpCase("RelayoutLike", PAIRS, lambda x, _: x),
]
