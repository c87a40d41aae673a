"""Cases for the oracle alone, of ops on texts: runs of words, code points, encodings, crosses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from oracle.wide import Drawn, wide
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from oracle.calls import Wide

ENCODINGS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")
WRONG_LETTERS = ("replace", "ignore", "strict")


def texts(found: list[bytes]) -> Any:
    """A vector of them."""
    out = np.empty(len(found), object)
    out[:] = found
    return out


def splits(draw: st.DrawFn, count: int) -> Any:
    """Where the rows of `count` values end, from 0."""
    ends = sorted(draw(st.lists(st.integers(0, count), max_size=4)))
    return np.array([0, *ends, count], draw(st.sampled_from([np.int32, np.int64])))


def words(draw: st.DrawFn, most: int = 6) -> Any:
    return texts(draw(st.lists(st.binary(max_size=3), max_size=most)))


def ngrams(draw: st.DrawFn) -> Drawn:
    data = words(draw)
    attrs = {
        "separator": draw(st.sampled_from([" ", "", "--"])),
        "ngram_widths": tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))),
        "left_pad": "<",
        "right_pad": draw(st.sampled_from([">", ""])),
        "pad_width": draw(st.integers(-1, 3)),
        "preserve_short_sequences": draw(st.booleans()),
    }
    return (data, splits(draw, len(data))), attrs


def code_points(draw: st.DrawFn) -> Drawn:
    ends = st.sampled_from([0, 0xD7FF, 0xD800, 0xDFFF, 0x10FFFF, 0x110000, -1])
    points = draw(st.lists(st.one_of(st.integers(1, 0x2FFFF), ends), max_size=6))
    attrs = {
        "errors": draw(st.sampled_from(WRONG_LETTERS)),
        "output_encoding": draw(st.sampled_from(ENCODINGS)),
        "replacement_char": draw(st.sampled_from([65533, 32])),
    }
    return (np.array(points, np.int32), splits(draw, len(points))), attrs


def encoded(draw: st.DrawFn) -> Drawn:
    """Texts in an encoding, or bytes that are none."""
    source = draw(st.sampled_from(ENCODINGS))
    whole = st.text(max_size=5).map(lambda text: text.encode(source))
    items = whole if source != "UTF-8" else st.one_of(whole, st.binary(max_size=5))
    attrs = {
        "input_encoding": source,
        "output_encoding": draw(st.sampled_from(ENCODINGS)),
        "errors": draw(st.sampled_from(WRONG_LETTERS)),
        "replacement_char": draw(st.sampled_from([65533, 32])),
        "replace_control_characters": draw(st.booleans()),
    }
    return (texts(draw(st.lists(items, max_size=3))),), attrs


def crossed(draw: st.DrawFn) -> Drawn:
    """Rows of words, of numbers at some places, and of a matrix of numbers, in any order."""
    rows = draw(st.integers(1, 3))
    ragged = words(draw, 4)
    ends = sorted(draw(st.lists(st.integers(0, len(ragged)), min_size=rows - 1, max_size=rows - 1)))
    places = sorted(draw(st.sets(st.integers(0, rows * 2 - 1))))
    indices = np.stack(np.unravel_index(np.array(places, np.int64), (rows, 2)), -1)
    numbers = [draw(st.integers(-(2**62), 2**62)) for _ in places]
    dense = np.array([[draw(st.integers(-9, 9)) for _ in "ab"] for _ in range(rows)], np.int64)
    hashed = draw(st.booleans())
    attrs = {
        "input_order": "".join(draw(st.permutations("RSD"))),
        "hashed_output": hashed,
        "num_buckets": draw(st.sampled_from([0, 1, 10, 1000])),
        "hash_key": draw(st.integers(0, 2**62)),
        "out_values_type": dtypes.int64 if hashed else dtypes.string,
        "out_row_splits_type": dtypes.int64,
    }
    given = (
        (ragged,),
        (np.array([0, *ends, len(ragged)], np.int64),),
        (indices.astype(np.int64),),
        (np.array(numbers, np.int64),),
        (np.array([rows, 2], np.int64),),
        (dense,),
    )
    return given, attrs


CASES: tuple[Wide, ...] = (
    wide("StringNGrams", ngrams),
    wide("UnicodeEncode", code_points),
    wide("UnicodeTranscode", encoded),
    wide("RaggedCross", crossed),
)
