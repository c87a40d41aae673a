"""Sets of characters as sorted inclusive ranges of code points."""

import functools
import sys
import unicodedata
from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

Ranges: TypeAlias = list[list[int]]

_LAST = sys.maxunicode
_ASCII = 0x80
# Characters beyond ASCII that fold to an ASCII letter: the Kelvin sign and the long s.
_OTHERS = {"k": 0x212A, "s": 0x17F}


def _of(text: str) -> Ranges:
    """Ranges from pairs of characters: `"az09__"` is a to z, 0 to 9, and the underscore."""
    return [[ord(text[i]), ord(text[i + 1])] for i in range(0, len(text), 2)]


# RE2's classes, which contain ASCII characters only.
POSIX: dict[str, Ranges] = {
    "alnum": _of("09AZaz"),
    "alpha": _of("AZaz"),
    "ascii": _of("\x00\x7f"),
    "blank": _of("\t\t  "),
    "cntrl": _of("\x00\x1f\x7f\x7f"),
    "digit": _of("09"),
    "graph": _of("!~"),
    "lower": _of("az"),
    "print": _of(" ~"),
    "punct": _of("!/:@[`{~"),
    "space": _of("\t\r  "),
    "upper": _of("AZ"),
    "word": _of("09AZ__az"),
    "xdigit": _of("09AFaf"),
}
# Class -> set, by the letter behind a backslash; unlike [:space:], `\s` has no vertical tab.
CLASSES: dict[str, Ranges] = {"d": POSIX["digit"], "w": POSIX["word"], "s": _of("\t\n\f\r  ")}


def union(*sets: Sequence[Sequence[int]]) -> Ranges:
    """The union of sets of characters."""
    found: Ranges = []
    for low, high in sorted(map(tuple, chain(*sets))):
        if found and low <= found[-1][1] + 1:
            found[-1][1] = max(found[-1][1], high)
        else:
            found.append([low, high])
    return found


def complement(ranges: Sequence[Sequence[int]]) -> Ranges:
    """The complement of a set."""
    found: Ranges = []
    start = 0
    for low, high in union(ranges):
        if low > start:
            found.append([start, low - 1])
        start = high + 1
    if start <= _LAST:
        found.append([start, _LAST])
    return found


def overlap(a: Sequence[Sequence[int]], b: Sequence[Sequence[int]]) -> bool:
    """Whether two sets have a common element."""
    return any(low <= other[1] and other[0] <= high for low, high in a for other in b)


def folded(ranges: Ranges) -> Ranges | None:
    """The set closed under case folding; None if letters beyond ASCII would need it."""
    found = union(ranges)
    for low, high in ranges:
        for code in range(low, min(high + 1, _ASCII)):
            letter = chr(code)
            if letter.isalpha():
                other = ord(letter.swapcase())
                more = _OTHERS.get(letter.lower())
                found = union(found, [[other, other]], [] if more is None else [[more, more]])
        if high >= _ASCII and not (low < _ASCII and high == _LAST):
            for code in range(max(low, _ASCII), min(high, low + 0x1000) + 1):
                letter = chr(code)
                if letter.lower() != letter or letter.upper() != letter:
                    return None
            if high - low > 0x1000:
                return None
    return found


@functools.lru_cache(maxsize=64)
def _category(name: str) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    start: int | None = None
    for code in range(_LAST + 2):
        member = code <= _LAST and unicodedata.category(chr(code)).startswith(name)
        if member and start is None:
            start = code
        elif not member and start is not None:
            found.append((start, code - 1))
            start = None
    return tuple(found)


def category(name: str) -> Ranges | None:
    """A general category of Unicode, such as `L` or `Lu`; None for other names."""
    found = _category(name)
    return [list(pair) for pair in found] or None
