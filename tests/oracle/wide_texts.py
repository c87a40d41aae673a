"""Cases only for the oracle, of ops on texts: n-grams, code points, and encodings."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from oracle.wide import Drawn, wide

if TYPE_CHECKING:
    from oracle.calls import Wide

ENCODINGS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")
WRONG_LETTERS = ("replace", "ignore", "strict")


def texts(found: list[bytes]) -> Any:
    """A vector of texts."""
    out = np.empty(len(found), object)
    out[:] = found
    return out


def splits(draw: st.DrawFn, count: int) -> Any:
    """Row splits of `count` values."""
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
    """Texts in an encoding, or invalid bytes."""
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


def letters(draw: st.DrawFn) -> Drawn:
    """A run of code points anywhere, so that a deep run sees nearly all of them."""
    first = draw(st.integers(-300, 0x110000))
    return (np.arange(first, first + 4096, dtype=np.int32),), {}


def compressed(draw: st.DrawFn) -> Drawn:
    """Complete streams, several concatenated gzip streams, and uncompressed data."""
    kind = draw(st.sampled_from(["", "ZLIB", "GZIP"]))
    items = draw(st.lists(st.binary(max_size=40), max_size=3))
    packed = {
        "": lambda item: item,
        "ZLIB": zlib.compress,
        "GZIP": lambda item: gzip.compress(item, mtime=0) + gzip.compress(item[1:], mtime=0),
    }[kind]
    return (texts([packed(item) for item in items]),), {"compression_type": kind}


def rows(draw: st.DrawFn) -> Drawn:
    """Rows of numbers, and of one or of several strings."""
    kind = draw(st.sampled_from([np.float32, np.float64, np.int64, np.uint8, np.bool_, object]))
    shape = draw(st.sampled_from([(3,), (2, 1), (2, 3), (1, 2, 2), (0, 2), (2, 0)]))
    count = int(np.prod(shape))
    if kind is object:
        found = texts(draw(st.lists(st.binary(max_size=70), min_size=count, max_size=count)))
    else:
        found = np.random.default_rng(draw(st.integers(0, 999))).integers(0, 99, count).astype(kind)
    return (found.reshape(shape), np.array(b"farmhash64", object)), {}


# Features of RE2 that other engines lack or define differently, and empty matches.
EXPRESSIONS = (
    "", "a", "x*", "a|", "(a+)+$", r"(\w)(\d*)", r"\s+$", "[^a]", ".", r"(?s).", "^a", "(?m)^a$",
    r"\bb", "(?U)a+", "(?i)AB", r"\pL+", r"\p{Greek}", r"\PN", r"\C", "[[:punct:]]", "[a-c-]",
    r"[\d\s]", "ß|€", r"\Qa+\E", r"\x{df}", r"\z", r"\A", "(a)|(b)", "(?P<n>a)b", "a{2,3}?",
    "(", "[a", r"\1", "a**", "(?=a)",
)  # fmt: skip
SUBJECTS = st.one_of(
    st.text("aAbB1 \nß€α+-", max_size=7).map(str.encode),
    st.binary(max_size=5),
    st.lists(
        st.sampled_from([b"a", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80", b"\xc3\x9f"])
    ).map(b"".join),
)


def expressions(op: str) -> Any:
    """Draws texts, an expression and a rewrite, as inputs or attributes."""
    is_static, replaces = op.startswith("Static"), op.endswith("Replace")

    def build(draw: st.DrawFn) -> Drawn:
        values = [texts(draw(st.lists(SUBJECTS, max_size=4)))]
        attrs: dict[str, Any] = {}
        given = {"pattern": draw(st.sampled_from(EXPRESSIONS))}
        if replaces:
            given["rewrite"] = draw(st.sampled_from(["", "-", "<\\0>", "\\\\", "ß", "a"]))
            attrs["replace_global"] = draw(st.booleans())
        if is_static:
            attrs |= given
        else:
            values += [np.array(text.encode(), object) for text in given.values()]
        return tuple(values), attrs

    return build


def separated(draw: st.DrawFn) -> Drawn:
    """Texts with runs of word separators."""
    items = st.lists(st.sampled_from([b"a", b"bc", b" ", b"\t", b",", b",,", b"\xff"]), max_size=7)
    found = texts(draw(st.lists(items.map(b"".join), max_size=4)))
    sep = draw(st.sampled_from([b"", b",", b",,", b" "]))
    return (found, np.array(sep, object)), {"maxsplit": draw(st.integers(-1, 4))}


def separated_by_any(draw: st.DrawFn) -> Drawn:
    (found, _), _ = separated(draw)
    sep = draw(st.sampled_from([b"", b",", b", ", b"\t,"]))
    return (found, np.array(sep, object)), {"skip_empty": draw(st.booleans())}


def decoded(draw: st.DrawFn) -> Drawn:
    inputs, attrs = encoded(draw)
    del attrs["output_encoding"]
    return inputs, attrs


CASES: tuple[Wide, ...] = (
    wide("DecodeCompressed", compressed),
    wide("Fingerprint", rows),
    *(
        wide(op, expressions(op))
        for op in ("RegexFullMatch", "RegexReplace", "StaticRegexFullMatch", "StaticRegexReplace")
    ),
    wide("StringNGrams", ngrams),
    wide("StringSplit", separated_by_any),
    wide("StringSplitV2", separated),
    wide("UnicodeDecode", decoded),
    wide("UnicodeDecodeWithOffsets", decoded),
    wide("UnicodeEncode", code_points),
    wide("UnicodeScript", letters),
    wide("UnicodeTranscode", encoded),
)
