"""Cases of core/ops/io/csv.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.strings.joining import Array, array_of
from pinnace.ops.io import csv
from support.opcase import OpCase


@st.composite
def lines(draw: st.DrawFn) -> tuple[Any, ...]:
    fields = st.tuples(st.none() | st.integers(-99, 99), st.sampled_from(["", "a", 'b"c', "d,e"]))
    rows = draw(st.lists(fields, min_size=1, max_size=5))
    text = [
        f'{"" if n is None else n},"{word.replace(chr(34), chr(34) * 2)}"'.encode()
        for n, word in rows
    ]
    return array_of(text, (len(text),)), (np.array([7], np.int32), array_of([b"none"], (1,)))


def columns(records: Array, defaults: tuple[Array, Array]) -> tuple[Array, Array]:
    """Columns in the shape in which the lines were drawn."""
    pairs = [line.split(b",", 1) for line in records.tolist()]
    numbers = [int(number) if number else int(defaults[0][0]) for number, _ in pairs]
    words = [word[1:-1].replace(b'""', b'"') or defaults[1][0] for _, word in pairs]
    return np.array(numbers, np.int32), array_of(words, (len(words),))


CASES = [OpCase(csv.DECODE_CSV.name, lines(), columns)]
