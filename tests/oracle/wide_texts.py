"""Cases for the oracle alone, of ops on texts: runs of words, code points, and encodings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from oracle.wide import Drawn, wide

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


CASES: tuple[Wide, ...] = (
    wide("StringNGrams", ngrams),
    wide("UnicodeEncode", code_points),
    wide("UnicodeTranscode", encoded),
)
