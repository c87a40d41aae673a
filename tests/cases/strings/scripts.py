"""Cases of core/ops/strings/scripts.py: the names that Unicode gives to letters."""

from __future__ import annotations

import unicodedata

import numpy as np
from hypothesis import strategies as st

from support.drawing import alike, each
from support.opcase import OpCase

# ICU's numbers of the scripts whose letters are named after them.
SCRIPTS = {
    "ARABIC": 2,
    "ARMENIAN": 3,
    "BENGALI": 4,
    "CYRILLIC": 8,
    "DEVANAGARI": 10,
    "GEORGIAN": 12,
    "GREEK": 14,
    "CJK": 17,
    "HEBREW": 19,
    "HIRAGANA": 20,
    "LATIN": 25,
    "TAMIL": 35,
    "THAI": 38,
    "TIBETAN": 39,
}
# Without the blocks that got letters after Unicode 13, the version of the op's table.
POINTS = [
    point
    for point in (
        *range(0x41, 0x700),
        *range(0x900, 0x10D0),
        *range(0x3041, 0x3097),
        *range(0x4E00, 0x9FF0),
    )
    if unicodedata.category(chr(point)) in {"Lu", "Ll", "Lo"}
    and unicodedata.name(chr(point), "").split(" ")[0] in SCRIPTS
]


def script(point: int) -> int:
    if not 0 <= point < 0x110000:
        return -1
    return SCRIPTS[unicodedata.name(chr(point)).split(" ")[0]]


CASES = [
    OpCase(
        "UnicodeScript",
        alike(st.sampled_from([*POINTS, -1, 0x110000]), dtype=np.int32),
        each(script, np.int32),
    )
]
