"""Text encodings by ICU's names, and decoding to code points."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.memory import joined
from pinnace.ops.strings.elements import shown

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

__all__: list[str] = []

_MARK, _MARKS = 0xD800, 0x800
# Bytes per unit; both are big-endian without a byte order mark.
_BY_MARK = {"utf-16": 2, "utf-32": 4}
# Python codecs that are not text encodings elsewhere.
_NO_ENCODINGS = frozenset(
    {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-8-sig", "mbcs"}
)


def codec_of(name: str, who: str) -> str:
    """Python's name of an encoding.

    Raises:
        InvalidArgumentError: the encoding is unknown.
    """
    plain = name.lower().replace("_", "-")
    plain = {"utf-16-be": "utf-16-be", "utf-32-be": "utf-32-be"}.get(plain, plain)
    try:
        found = codecs.lookup(plain).name
    except (LookupError, ValueError):
        found = ""
    # Codecs such as `hex` decode to bytes.
    if not found or found.replace("_", "-") in _NO_ENCODINGS or _is_of_bytes(found):
        raise InvalidArgumentError(
            f"{who}: Could not create converter for input encoding: {name}\n"
            "  Try: UTF-8, UTF-16, UTF-16-BE, UTF-32, US-ASCII, ISO-8859-1 or another text encoding"
        )
    return found


def _is_of_bytes(codec: str) -> bool:
    try:
        b"a".decode(codec, "ignore")
    except LookupError:
        return True
    return False


def check_replacement(point: int, who: str) -> None:
    """Raise for a replacement that is not a code point.

    Raises:
        InvalidArgumentError: the replacement is not a code point.
    """
    if not 0 <= point <= 0x10FFFF:
        raise InvalidArgumentError(
            f"{who}: replacement_char out of unicode codepoint range 0 to 0x10FFFF, got {point}"
        )


def decoded(
    text: bytes, encoding: str, errors: str, replacement: int, controls: bool
) -> tuple[Array, Array]:
    """The code points of `text`, and where the bytes of each begin.

    Args:
        text: bytes.
        encoding: Python's name of the encoding.
        errors: "strict", "replace" or "ignore" what is not of that encoding.
        replacement: the code point that stands for it.
        controls: also replace, or leave out, the control characters below the space.

    Raises:
        InvalidArgumentError: `errors` is strict, and there is something that is not of the
            encoding.
    """
    skipped = 0
    if encoding in _BY_MARK:
        encoding, skipped = _ordered(text, encoding)
        text = text[skipped:]
    # Lone surrogates, which no encoding produces, mark invalid parts and their lengths.
    whole, widths = _marked(text, encoding)
    points = np.frombuffer(whole.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)
    wrong = (points >= _MARK) & (points < _MARK + _MARKS)
    if widths is None:
        widths = np.where(wrong, points - _MARK, _widths(points, encoding))
    starts = np.cumsum(widths) - widths + skipped
    starts[:1] = 0  # the byte order mark belongs to the first character
    if errors == "strict" and wrong.any():
        place = int(starts[wrong.argmax()])
        raise InvalidArgumentError(
            f"Invalid formatting on input string: no {encoding} at byte {place} of {shown(text)}"
        )
    if controls:
        wrong |= points < ord(" ")
    if errors == "ignore":
        return points[~wrong], starts[~wrong]
    return np.where(wrong, replacement, points), starts


def decoded_together(items: list[bytes]) -> tuple[Array, Array, Array] | None:
    """The number of code points of each text, all of them, and where each begins in its text.

    None if there is a text that is no UTF-8.
    """
    text = joined(b"", items)
    try:
        points = np.frombuffer(text.decode().encode("utf-32-le"), "<i4")
    except UnicodeDecodeError:
        return None
    leading = np.frombuffer(text, np.uint8) & 0xC0 != 0x80
    bounds = np.cumsum([0, *map(len, items)])
    # A text must not begin within a character, which the one before it has begun.
    if not leading[bounds[bounds < len(text)]].all():
        return None
    places = np.flatnonzero(leading)
    counts = np.diff(np.searchsorted(places, bounds))
    return counts, points, places - np.repeat(bounds[:-1], counts)


def _ordered(text: bytes, encoding: str) -> tuple[str, int]:
    """The encoding with its byte order, and the size of the byte order mark."""
    size = _BY_MARK[encoding]
    for order, ending in (("big", "be"), ("little", "le")):
        if text.startswith((0xFEFF).to_bytes(size, order)):  # type: ignore[arg-type]
            return f"{encoding}-{ending}", size
    return f"{encoding}-be", 0


def _widths(points: Array, encoding: str) -> Array:
    """The number of bytes of each code point, for encodings in which it is known."""
    if encoding == "utf-8":
        return 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    if encoding in {"utf-16-be", "utf-16-le"}:
        return 2 + 2 * (points >= 0x10000)
    return np.full(points.shape, 4 if encoding in {"utf-32-be", "utf-32-le"} else 1)


_WINDOWS = frozenset(f"cp125{n}" for n in range(9))
_OF_KNOWN_WIDTHS = _WINDOWS | {
    *("utf-8", "utf-16-be", "utf-16-le", "utf-32-be", "utf-32-le", "ascii", "iso8859-1"),
}


def _marked(text: bytes, encoding: str) -> tuple[str, Array | None]:
    """The decoded text, marked; and the bytes of each code point, if they depend on the text."""
    if encoding in _OF_KNOWN_WIDTHS:
        return text.decode(encoding, _AS_ICU if encoding in _WINDOWS else _MARKING), None
    decoder = codecs.getincrementaldecoder(encoding)(_MARKING)
    letters: list[str] = []
    widths: list[int] = []
    waiting = 0
    for place in range(len(text) + 1):
        found = decoder.decode(text[place : place + 1], place == len(text))
        waiting += place < len(text)
        for index, letter in enumerate(found):
            marked = ord(letter) - _MARK if _MARK <= ord(letter) < _MARK + _MARKS else None
            last = index == len(found) - 1
            width = waiting if last else min(waiting, marked or 1)
            letters.append(letter)
            widths.append(width)
            waiting -= width
    return "".join(letters), np.array(widths, np.int64)


def _mark(error: UnicodeError) -> tuple[str, int]:
    """A private character for undecodable bytes, which encodes their number."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return chr(_MARK + error.end - error.start), error.end


def _mark_of_windows(error: UnicodeError) -> tuple[str, int]:
    """The code points to which ICU decodes bytes undefined in Windows' code pages."""
    if isinstance(error, UnicodeDecodeError) and error.object[error.start] in _LEFT_OPEN:
        return chr(error.object[error.start]), error.start + 1
    return _mark(error)


_LEFT_OPEN = frozenset({*range(0x80, 0xA0), 0xAA})
_MARKING, _AS_ICU = "pinnace.mark", "pinnace.mark_of_windows"

codecs.register_error(_MARKING, _mark)
codecs.register_error(_AS_ICU, _mark_of_windows)
