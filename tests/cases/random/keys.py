"""Cases of core/ops/random/keys.py: a block of Philox with Python's integers."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cases.random.stateless import ALL, block
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]


def key_counter(seed: Array) -> tuple[Array, Array]:
    """TensorFlow: the seed is scrambled by one block under a fixed key."""
    mixed = block(0x02461E293EC8F720, int(seed[0]) & ALL | (int(seed[1]) & ALL) << 64)
    key = np.array([mixed[0] | mixed[1] << 32], np.uint64)
    return key, np.array([0, mixed[2] | mixed[3] << 32], np.uint64)


SEEDS = st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 2)

CASES = [
    OpCase(
        "StatelessRandomGetKeyCounter",
        st.tuples(SEEDS.map(lambda pair: np.array(pair, np.int64))),
        key_counter,
    ),
]
