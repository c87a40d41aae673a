"""Cases of core/ops/strings/patterns.py: the patterns' meaning, without regular expressions."""

from typing import Any

from hypothesis import strategies as st

from cases.strings.joining import array_of, arrays_of, each
from support.opcase import OpCase

TEXTS = st.text("ab1", max_size=5).map(str.encode)


def all_letters(item: bytes) -> bool:
    return bool(item) and item.isalpha()


def doubled(item: bytes) -> bytes:
    """Every run of digits in angle brackets."""
    out = b""
    for i in range(len(item)):
        letter = item[i : i + 1]
        digit = letter.isdigit()
        opens = digit and not item[max(i - 1, 0) : i].isdigit()
        closes = digit and not item[i + 1 : i + 2].isdigit()
        out += b"<" * opens + letter + b">" * closes
    return out


def scalar(text: bytes) -> Any:
    return array_of([text], ())


CASES = [
    OpCase(
        "StaticRegexFullMatch",
        arrays_of(TEXTS),
        each(all_letters, bool),
        attrs={"pattern": "[[:alpha:]]+$"},
    ),
    OpCase(
        "RegexFullMatch",
        arrays_of(TEXTS).map(lambda xs: (*xs, scalar(rb"[[:alpha:]]+\z"))),
        each(lambda item, _: all_letters(item), bool),
    ),
    OpCase(
        "StaticRegexReplace",
        arrays_of(TEXTS),
        each(doubled),
        attrs={"pattern": "([[:digit:]]+)", "rewrite": r"<\1>"},
    ),
    OpCase(
        "RegexReplace",
        arrays_of(TEXTS).map(lambda xs: (*xs, scalar(rb"\d+"), scalar(rb"<\0>"))),
        each(lambda item, *_: doubled(item)),
    ),
]
