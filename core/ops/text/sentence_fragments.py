"""Texts split into fragments, each up to the punctuation that ends it: SentenceFragments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.framework.errors import InternalError, InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define
from pinnace.ops.strings.encodings import check_replacement, codec_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

__all__: list[str] = []

_OP = "SentenceFragments"
# Flags of words and of fragments.
_EMOTICON, _ACRONYM = 0x80, 0x100
_TERMINAL, _SEVERAL, _CLOSED, _SENTENTIAL = 1, 2, 4, 8
_DOTS = "\u2026"
# Unicode 16 characters in hexadecimal: those that end a sentence (Sentence_Break ATerm and STerm,
# and a few), opening brackets (Line_Break OP, and <) and closing ones (Line_Break CL and CP, and
# >).
_END = """
21 2e 3f 37e 55c 55e 589 61d-61f 6d4 700-702 7f9 837 839 83d-83e 964-965 104a-104b 1362 1367-1368
166e 1735-1736 17d4-17d5 1803 1809 1944-1945 1aa8-1aab 1b4e-1b4f 1b5a-1b5b 1b5e-1b5f 1b7d-1b7f
1c3b-1c3c 1c7e-1c7f 2024 2026 203c-203d 2047-2049 2cf9-2cfb 2e2e 2e3c 2e53-2e54 3002 a4ff a60e-a60f
a6f3 a6f7 a876-a877 a8ce-a8cf a92f a9c8-a9c9 aa5d-aa5f aaf0-aaf1 abeb fe12 fe15-fe16 fe52 fe56-fe57
ff01 ff0e ff1f ff61 10a56-10a57 10f55-10f59 10f86-10f89 11047-11048 110be-110c1 11141-11143
111c5-111c6 111cd 111de-111df 11238-11239 1123b-1123c 112a9 113d4-113d5 1144b-1144c 115c2-115c3
115c9-115d7 11641-11642 1173c-1173e 11944 11946 11a42-11a43 11a9b-11a9c 11c41-11c42 11ef7-11ef8
11f43-11f44 16a6e-16a6f 16af5 16b37-16b38 16b44 16d6e-16d6f 16e98 1bc9f 1da88
"""
_OPEN = """
28 3c 5b 7b a1 bf f3a f3c 169b 201a 201e 2045 207d 208d 2308 230a 2329 2768 276a 276c 276e 2770 2772
2774 27c5 27e6 27e8 27ea 27ec 27ee 2983 2985 2987 2989 298b 298d 298f 2991 2993 2995 2997 29d8 29da
29fc 2e18 2e22 2e24 2e26 2e28 2e42 2e55 2e57 2e59 2e5b 3008 300a 300c 300e 3010 3014 3016 3018 301a
301d fd3e-fd3f fe17 fe35 fe37 fe39 fe3b fe3d fe3f fe41 fe43 fe47 fe59 fe5b fe5d ff08 ff3b ff5b ff5f
ff62 13258-1325a 13286 13288 13379 1342f 13437 1343c 1343e 145ce 1e95e-1e95f
"""
_CLOSE = """
29 3e 5d 7d f3b f3d 169c 2046 207e 208e 2309 230b 232a 2769 276b 276d 276f 2771 2773 2775 27c6 27e7
27e9 27eb 27ed 27ef 2984 2986 2988 298a 298c 298e 2990 2992 2994 2996 2998 29d9 29db 29fd 2e23 2e25
2e27 2e29 2e56 2e58 2e5a 2e5c 3001-3002 3009 300b 300d 300f 3011 3015 3017 3019 301b 301e-301f
fd3e-fd3f fe10-fe12 fe18 fe36 fe38 fe3a fe3c fe3e fe40 fe42 fe44 fe48 fe50 fe52 fe5a fe5c fe5e ff09
ff0c ff0e ff3d ff5d ff60-ff61 ff63-ff64 1325b-1325d 13282 13287 13289 1337a-1337b 13438 1343d 1343f
145cf
"""


@cache
def _characters(ranges: str) -> frozenset[str]:
    found: set[str] = set()
    for one in ranges.split():
        first, _, last = one.partition("-")
        found.update(map(chr, range(int(first, 16), int(last or first, 16) + 1)))
    return frozenset(found)


class _Word(NamedTuple):
    """The properties of a word that decide where sentences end.

    Attributes:
        ends: whether it ends sentences; dots do as well.
        is_dots: whether it is an ellipsis.
        opens: whether it opens a bracket.
        closes: whether it closes one.
        is_emoticon: as its properties say.
        is_acronym: whether it is one that ends with a period.
    """

    ends: bool
    is_dots: bool
    opens: bool
    closes: bool
    is_emoticon: bool
    is_acronym: bool

    @property
    def may_follow(self) -> bool:
        """Whether the word can belong to the end of a sentence after a space."""
        return self.is_emoticon or self.ends or self.closes


def _word(text: bytes, properties: int, codec: str) -> _Word:
    if not text:
        raise InternalError(f"{_OP}: Failed to decode string: token_word has an empty word")
    word = text.decode(codec, "replace")
    is_dots = text == b"..." or word == _DOTS
    return _Word(
        is_dots or word in _characters(_END),
        is_dots,
        word in _characters(_OPEN),
        word in _characters(_CLOSE),
        bool(properties & _EMOTICON),
        bool(properties & _ACRONYM) and text.endswith(b"."),
    )


@dataclass(slots=True)
class _End:
    """The words that end a fragment: terminal signs, then closing brackets.

    Attributes:
        sign: the first sign; -1 for none yet.
        close: the first word behind the signs.
        limit: the first word behind all.
        closing: whether brackets are being closed.
    """

    sign: int = -1
    close: int = -1
    limit: int = -1
    closing: bool = False

    def takes(self, word: _Word, index: int) -> bool:
        """Whether the fragment can be extended by this word; extends it if so."""
        if self.sign < 0:
            if word.ends or word.is_acronym or word.is_emoticon:
                self.sign = index
        elif self.closing:
            if not (word.closes or word.is_dots or word.is_emoticon):
                return False
        elif not (word.ends or word.is_emoticon):
            if not word.closes:
                return False
            self.close, self.closing = index, True
        self.limit = index + 1
        if self.sign >= 0 and not self.closing:
            self.close = self.limit
        return True


def _next_end(words: Sequence[_Word], start: int) -> _End:
    """The end of the fragment starting there, the longest that fits."""
    end, kept = _End(), _End()
    index = start
    while index < len(words):
        if end.sign >= 0 and index > start:
            if not words[index].may_follow:
                break
            kept = _End(end.sign, end.close, end.limit, end.closing)
        if end.takes(words[index], index):
            index += 1
        elif kept.sign >= 0:
            return kept
        else:
            end = _End()
    return end


def _sign(words: Sequence[_Word], end: _End) -> int:
    """The first terminal sign of the sentence; dots and emoticons before others are included."""
    for index in range(end.close, end.sign, -1):
        word = words[index - 1]
        if word.is_dots or word.is_emoticon:
            return end.sign if index == end.close else index
    return end.sign


def _fragments(words: Sequence[_Word]) -> list[tuple[int, int, int, int]]:
    """Start, limit, properties and terminal sign of each fragment."""
    found = []
    start, is_sentential = 0, False
    while start < len(words):
        end = _next_end(words, start)
        opened = [index for index in range(start, end.limit) if words[index].opens]
        if opened:  # a bracket that starts the fragment counts as enclosing a sentence
            is_sentential = opened[-1] == start
        properties, sign = 0, -1
        if end.sign >= 0:
            sign = _sign(words, end)
            more = words[end.sign + 1 : end.close]
            properties = _TERMINAL
            if any(word.ends and not word.is_dots and not word.is_emoticon for word in more):
                properties |= _SEVERAL
            if any(word.closes for word in words[end.close : end.limit]):
                properties |= _CLOSED | (_SENTENTIAL if is_sentential else 0)
        found.append((start, end.limit, properties, sign))
        start = end.limit
    return found


def _kernel(
    row_lengths: Array,
    token_start: Array,
    token_end: Array,
    token_word: Array,
    token_properties: Array,
    *,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> tuple[Array, ...]:
    del errors, replace_control_characters  # TensorFlow Text accepts and ignores them
    codec = codec_of(input_encoding, _OP)
    check_replacement(replacement_char, _OP)
    given = (token_start, token_end, token_word, token_properties)
    if row_lengths.ndim != 1 or any(one.ndim != 1 for one in given):
        raise InvalidArgumentError(f"{_OP}: all inputs must be vectors")
    lengths = row_lengths.tolist()
    if any(n < 0 for n in lengths) or any(len(one) != sum(lengths) for one in given):
        raise InvalidArgumentError(
            f"{_OP}: row_lengths add up to {sum(lengths)} words; there are "
            f"{', '.join(str(len(one)) for one in given)} starts, ends, words and properties"
        )
    every = [
        _word(text, properties, codec)
        for text, properties in zip(token_word.tolist(), token_properties.tolist(), strict=True)
    ]
    rows, at = [], 0
    for length in lengths:
        rows.append(_fragments(every[at : at + length]))
        at += length
    flat = np.array([one for row in rows for one in row], np.int64).reshape(-1, 4)
    counts = np.array([len(row) for row in rows], np.int64)
    return *(flat[:, index].copy() for index in range(4)), counts


def _infer(call: InferCall) -> tuple[Shape, ...]:
    if call.attrs["errors"] not in {"strict", "replace", "ignore"}:
        call.fail("errors policy must be one of 'strict', 'replace', or 'ignore'")
    unknown = Shape([None])
    return unknown, unknown, unknown, unknown, call.spec(0).shape


SENTENCE_FRAGMENTS = define(
    name=_OP,
    signature=(
        "row_lengths: int64, token_start: int64, token_end: int64, token_word: string, "
        "token_properties: int64 -> fragment_start: int64, fragment_end: int64, "
        "fragment_properties: int64, terminal_punc_token: int64, output_row_lengths: int64"
    ),
    attrs={
        "input_encoding": attr("string"),
        "errors": attr("string", default="replace"),
        "replacement_char": attr("int", default=65533),
        "replace_control_characters": attr("bool", default=False),
    },
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
