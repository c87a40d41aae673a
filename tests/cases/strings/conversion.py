"""Cases of core/ops/strings/conversion.py."""

from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.strings.joining import SHAPES, WORDS, Array, array_of, arrays_of, each
from pinnace.framework import dtypes
from support.opcase import OpCase

INTEGERS = SHAPES.flatmap(lambda s: st.tuples(hnp.arrays(np.int32, s)))
FLOATS = SHAPES.flatmap(
    lambda s: st.tuples(hnp.arrays(np.int16, s).map(lambda x: x.astype(np.float64) / 8))
)
BOOLS = SHAPES.flatmap(lambda s: st.tuples(hnp.arrays(bool, s)))


def three_digits(x: float) -> bytes:
    return f"{Decimal(float(x)):.3f}".encode()


NUMBERS = st.integers(-(2**31), 2**31 - 1).map(lambda n: b" %d" % n)


@st.composite
def cut(draw: st.DrawFn) -> tuple[Any, ...]:
    words = draw(st.lists(st.text("aÄ", min_size=1, max_size=4), max_size=3))
    x = array_of([word.encode() for word in words], (len(words),))
    starts = [draw(st.integers(-len(word), len(word))) for word in words]
    lengths = [draw(st.integers(0, 5)) for _ in words]
    return x, np.array(starts, np.int32), np.array(lengths, np.int32)


def substr(x: Array, starts: Array, lengths: Array) -> Array:
    """Python's slices of text."""
    parts = []
    for word, start, length in zip(x, starts.tolist(), lengths.tolist(), strict=True):
        begin = start + len(word.decode()) if start < 0 else start
        parts.append(word.decode()[begin : begin + length].encode())
    return array_of(parts, x.shape)


CASES = [
    OpCase("AsString", INTEGERS, each(lambda n: str(n).encode())),
    OpCase("AsString", BOOLS, each(lambda x: b"true" if x else b"false")),
    OpCase("AsString", FLOATS, each(three_digits), attrs={"precision": 3}),
    OpCase(
        "StringToNumber", arrays_of(NUMBERS), each(int, np.int32), attrs={"out_type": dtypes.int32}
    ),
    OpCase("StringToNumber", arrays_of(NUMBERS), each(float, np.float32)),
    OpCase("StringLower", arrays_of(st.sampled_from([b"aBc", b"XY1"])), each(lambda s: s.lower())),
    OpCase("StringUpper", arrays_of(st.sampled_from([b"aBc", b"xy1"])), each(lambda s: s.upper())),
    OpCase(
        "StringLower",
        arrays_of(WORDS),
        each(lambda s: s.decode().lower().encode()),
        attrs={"encoding": "utf-8"},
    ),
    OpCase(
        "StringUpper",
        arrays_of(WORDS),
        each(lambda s: s.decode().upper().encode()),
        attrs={"encoding": "utf-8"},
    ),
    OpCase("StringStrip", arrays_of(WORDS), each(lambda s: s.decode().strip().encode())),
    OpCase("StringLength", arrays_of(WORDS), each(len, np.int32)),
    OpCase(
        "StringLength",
        arrays_of(WORDS),
        each(lambda s: len(s.decode()), np.int32),
        attrs={"unit": "UTF8_CHAR"},
    ),
    OpCase("Substr", cut(), substr, attrs={"unit": "UTF8_CHAR"}),
]
