"""Large JSON texts, parsed in pieces so that other threads run in between.

A parser in C holds the GIL, for a megabyte of empty lists, strings or objects some 50 ms, in which
no other model answers. Here NumPy finds the commas of a text and their nesting depth, the text is
split at commas, and each piece is parsed as a separate list or object. An error in the text is an
error in one of its pieces, since they contain every byte except brackets, commas and the names of
large members.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pinnace.serving.http.json_text import Json

    # Returns the value of a piece that begins at an offset of the text.
    ParsePiece: TypeAlias = Callable[[bytes, int], Json]

PIECE_ITEMS = 4096  # per slice of a list

_Bytes: TypeAlias = npt.NDArray[np.int8]
_Truths: TypeAlias = npt.NDArray[np.bool_]
_Depths: TypeAlias = npt.NDArray[np.int32]

NOT_UTF8 = 'Invalid UTF-8, bytes of a tensor are {"b64": "…"},'

_SMALL_BYTES = 2**16
_FEW_TOKENS = 2**13  # parsed in a millisecond
_PIECE_BYTES = 2**14
_BLOCK_BYTES = 2**17
_DEEPEST = 64  # nesting depth at which lists are split; no tensor has as many axes
_DEEP = _DEEPEST - 4  # nesting depth beyond which values are left out, as no parser takes it
_NONE = 127

_BLANKS = b" \t\r\n"
_LEADING_BLANKS = re.compile(rb"[ \t\r\n]*")
_NAME = re.compile(rb'[ \t\r\n]*("[^"\\]*(?:\\.[^"\\]*)*")[ \t\r\n]*:', re.DOTALL)
_CLOSING = {ord("["): ord("]"), ord("{"): ord("}")}

_STEPS = np.zeros(256, np.int8)
_STEPS[[ord("["), ord("{")]] = 1
_STEPS[[ord("]"), ord("}")]] = -1


def is_long(body: bytes) -> bool:
    """Whether a parser would hold the GIL for long, by a scan of the bytes."""
    if len(body) <= _SMALL_BYTES:
        return False
    begin = _skip_blanks(body, 0)
    if body[begin : begin + 1] not in (b"[", b"{"):
        return False
    tokens = body.count(b",")
    return tokens > _FEW_TOKENS or tokens + body.count(b"[") + body.count(b"{") > _FEW_TOKENS


def parse_in_pieces(body: bytes, parse: ParsePiece, first_wins: bool = False) -> Json:
    """Parse the list or object at the start of a text; the remainder need only be UTF-8.

    Args:
        body: JSON in UTF-8, for which `is_long` holds.
        parse: the parser of a piece; raises if it is not JSON, or followed by more.
        first_wins: whether the first of two equal keys of an object counts, instead of the last.

    Raises:
        InvalidArgumentError: the text has no valid value; the message has the offset.
    """
    begin = _skip_blanks(body, 0)
    levels, end = _comma_levels(body, begin)
    try:
        body[end:].decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"JSON Parse error: {NOT_UTF8} at offset: {end + error.start}"
        ) from None
    return _Splitter(body, levels, parse, first_wins).container(begin, end, 1)


def pieces_of(items: Iterable[Any], count: int = PIECE_ITEMS) -> Iterator[list[Any]]:
    """Yield items in lists of limited length, for calls into C that hold the GIL."""
    left = iter(items)
    while piece := list(islice(left, count)):
        yield piece


def drop_items(value: Json) -> None:
    """Empty the long lists of a value that is no longer needed.

    Freeing a long list in one call holds the GIL as long as parsing it in one call.
    """
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, dict) and len(value) < PIECE_ITEMS:
            pending.extend(value.values())
        elif isinstance(value, list):
            if len(value) < PIECE_ITEMS // 16:
                pending.extend(value)
            while len(value) > PIECE_ITEMS:
                del value[-PIECE_ITEMS:]


class DeepError(InvalidArgumentError):
    """A text nests lists too deeply for a parser."""

    def __init__(self) -> None:
        super().__init__("JSON Parse error: nested too deeply")


def shallow(body: bytes, parse: ParsePiece) -> bytes:
    """Return a text with `null` in place of lists and objects that are nested too deeply.

    TensorFlow Serving accepts any nesting depth, and ignores unused members.

    Args:
        body: JSON in UTF-8.
        parse: as for `parse_in_pieces`; what is left out must be JSON.

    Raises:
        InvalidArgumentError: what is left out is not JSON.
    """
    begin = _skip_blanks(body, 0)
    spans = _deep_spans(body, begin)
    inner: list[tuple[int, int]] = []
    for level in sorted(spans, reverse=True):
        texts = _without(body, spans[level], inner)
        for piece in pieces_of(texts):
            parse(b"[" + b",".join(piece) + b"]", spans[level][0][0])
        inner = spans[level]
    (text,) = _without(body, [(0, len(body))], inner)
    return text


def _deep_spans(body: bytes, begin: int) -> dict[int, list[tuple[int, int]]]:
    """The spans of lists and objects at a depth, at twice the depth, and so on."""
    ends: dict[int, tuple[list[int], list[int]]] = {}
    for start, steps, _, depths in _blocks(body, begin):
        outer = np.where(steps > 0, depths - 1, depths)
        for place in np.flatnonzero((steps != 0) & (outer > 0) & (outer % _DEEP == 0)).tolist():
            opened, closed = ends.setdefault(int(outer[place]), ([], []))
            (opened if steps[place] > 0 else closed).append(start + place)
    return {
        level: [(first, last + 1) for first, last in zip(opened, closed, strict=True)]
        for level, (opened, closed) in ends.items()
    }


def _without(
    body: bytes, spans: list[tuple[int, int]], inner: list[tuple[int, int]]
) -> Iterator[bytes]:
    """The parts of a text, each with `null` in place of nested parts."""
    at = 0
    for first, last in spans:
        parts = []
        while at < len(inner) and inner[at][0] < last:
            parts += [body[first : inner[at][0]], b"null"]
            first = inner[at][1]
            at += 1
        yield b"".join([*parts, body[first:last]])


class _Splitter:
    """A text that is split at commas.

    Args:
        body: the text.
        levels: at commas between elements, the number of open brackets.
        parse: as for `parse_in_pieces`.
        first_wins: as for `parse_in_pieces`.
    """

    def __init__(
        self, body: bytes, levels: npt.NDArray[np.int8], parse: ParsePiece, first_wins: bool
    ) -> None:
        self._body = body
        self._levels = levels
        self._parse = parse
        self._first_wins = first_wins

    def container(self, begin: int, end: int, depth: int) -> Json:
        """Parse the list or object whose brackets are at `begin` and before `end`.

        Args:
            begin: the offset of its first byte.
            end: the offset behind its last byte.
            depth: the number of open brackets within it.
        """
        if depth > _DEEPEST:
            raise DeepError
        body = self._body
        if body[end - 1] != _CLOSING[body[begin]]:
            raise InvalidArgumentError(
                f"JSON Parse error: Expecting '{chr(_CLOSING[body[begin]])}' at offset: {end - 1}"
            )
        if body[begin] == ord("["):
            items: list[Json] = []
            for piece in self._pieces(begin, end, depth, is_list=True):
                items += piece
            return items
        members: dict[str, Json] = {}
        for piece in self._pieces(begin, end, depth, is_list=False):
            if self._first_wins:
                piece = {name: piece[name] for name in piece if name not in members}
            members.update(piece)
        return members

    def _pieces(self, begin: int, end: int, depth: int, is_list: bool) -> Iterator[Any]:
        """Yield the lists or objects that together form that of `container`."""
        body = self._body
        commas = np.flatnonzero(self._levels[begin:end] == depth)
        commas += begin
        opening, closing = (b"[", b"]") if is_list else (b"{", b"}")
        first = begin + 1
        for last in self._ends(commas, first, end - 1):
            piece = None
            if last - first > 2 * _PIECE_BYTES:  # one large element
                piece = self._element(first, last, depth, is_list)
            if piece is None:
                piece = self._parse(opening + body[first:last] + closing, first - 1)
            if not piece and len(commas):
                raise InvalidArgumentError(f"JSON Parse error: Invalid value. at offset: {last}")
            yield piece
            first = last + 1

    def _ends(self, commas: npt.NDArray[np.intp], first: int, end: int) -> Iterator[int]:
        """Yield the ends of the pieces: at commas, so that only single elements are longer."""
        at = 0
        while first < end:
            # The last comma within a piece's length, or the next one.
            found = int(np.searchsorted(commas, first + _PIECE_BYTES, "right"))
            at = max(found - 1, at)
            if at >= len(commas):
                break
            last = int(commas[at])
            yield last
            first, at = last + 1, at + 1
        yield end

    def _element(self, first: int, last: int, depth: int, is_list: bool) -> Json:
        """Parse a list or object of one large element or member; None if it is not split."""
        body = self._body
        name: Any = None
        if not is_list:
            match = _NAME.match(body, first, last)
            if match is None:
                return None
            name = self._parse(b"[" + match.group(1) + b"]", match.start(1) - 1)
            first = match.end()
        first = _skip_blanks(body, first)
        last = first + len(body[first:last].rstrip(_BLANKS))
        if first >= last or body[first] not in _CLOSING:
            return None
        value = self.container(first, last, depth + 1)
        return [value] if name is None else {name[0]: value}


def _skip_blanks(body: bytes, begin: int) -> int:
    """The offset of the first byte that is not a blank, or of the end."""
    found = _LEADING_BLANKS.match(body, begin)
    return begin if found is None else found.end()


def _comma_levels(body: bytes, begin: int) -> tuple[npt.NDArray[np.int8], int]:
    """Return the nesting depth of each comma, and the end of the value.

    Args:
        body: a text.
        begin: the offset of a list or object.

    Returns:
        [bytes of the text]: the number at commas between elements, another value elsewhere; and the
        offset behind the value's last byte.
    """
    levels = np.full(len(body), _NONE, np.int8)
    for start, _, commas, depths in _blocks(body, begin):
        places = np.flatnonzero(commas)
        levels[start + places] = np.minimum(depths[places], _NONE - 1)
        end = start + len(depths)
    return levels, end


def _blocks(body: bytes, begin: int) -> Iterator[tuple[int, _Bytes, _Truths, _Depths]]:
    """Yield blocks of a list or object, up to its end.

    Yields:
        The offset of a block; what each byte adds to the depth, outside strings; which bytes are
        commas there; the number of open brackets behind each.

    Raises:
        InvalidArgumentError: the value does not end; raised after its last block.
    """
    data = np.frombuffer(body, np.uint8)
    depth = 0
    is_text = False
    is_escaped = False
    has_escapes = body.find(b"\\") >= 0
    for start in range(begin, len(data), _BLOCK_BYTES):
        block = data[start : start + _BLOCK_BYTES]
        quotes = block == ord('"')
        if has_escapes:
            is_escaped = _ignore_escaped(block, quotes, is_escaped)
        steps = _STEPS[block]
        commas = block == ord(",")
        if is_text or quotes.any():
            within = np.bitwise_xor.accumulate(quotes)
            if is_text:
                np.logical_not(within, out=within)
            is_text = bool(within[-1])
            outside = np.logical_not(within, out=within)
            steps *= outside
            commas &= outside
        depths = np.cumsum(steps, dtype=np.int32)
        depths += depth
        ends = np.flatnonzero(depths == 0)
        if len(ends):
            last = int(ends[0]) + 1
            yield start, steps[:last], commas[:last], depths[:last]
            return
        yield start, steps, commas, depths
        depth = int(depths[-1])
    what = "Unterminated string" if is_text else f"{depth} brackets are never closed"
    raise InvalidArgumentError(f"JSON Parse error: {what} at offset: {len(body)}")


def _ignore_escaped(
    block: npt.NDArray[np.uint8], quotes: npt.NDArray[np.bool_], is_escaped: bool
) -> bool:
    """Remove the escaped quotes, which follow an odd number of backslashes.

    Args:
        block: bytes of the text.
        quotes: the bytes that are quotes; modified.
        is_escaped: whether the first byte follows an odd number of backslashes.

    Returns:
        Whether the byte after the block follows an odd number of backslashes.
    """
    places = np.arange(len(block), dtype=np.int32)
    others = np.where(block != ord("\\"), places, np.int32(-2 if is_escaped else -1))
    # The last byte before each that is not a backslash: only backslashes are in between.
    np.maximum.accumulate(others, out=others)
    before = np.empty_like(others)
    before[0] = -2 if is_escaped else -1
    before[1:] = others[:-1]
    quotes &= ((places - before) & 1).astype(bool)
    return bool((len(block) - int(others[-1])) % 2 == 0)
