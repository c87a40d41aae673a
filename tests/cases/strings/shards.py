"""Cases of core/ops/strings/shards.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.strings.joining import array_of
from support.opcase import OpCase

NAMES = st.binary(max_size=5).map(lambda name: array_of([name], ()))
NUMBERS = st.integers(0, 123456).map(np.int32)


def text(name: Any, told: str) -> Any:
    return array_of([name[()] + told.encode()], ())


CASES = [
    OpCase(
        "ShardedFilename",
        st.tuples(NAMES, NUMBERS, NUMBERS),
        lambda name, n, count: text(name, f"-{int(n):05}-of-{int(count):05}"),
    ),
    OpCase(
        "ShardedFilespec",
        st.tuples(NAMES, NUMBERS),
        lambda name, count: text(name, f"-?????-of-{int(count):05}"),
    ),
]
