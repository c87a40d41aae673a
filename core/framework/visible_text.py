"""Untrusted text made safe for terminals and logs."""

from __future__ import annotations

import re

# Control characters move the cursor, hide lines or act as input to the terminal; marks of direction
# reorder a line, and other format characters are invisible. These are Unicode's categories Cc, Cf,
# Zl and Zp without the two joiners of letters, as ranges, since unicodedata takes long to search.
_RANGES = (
    *((0x00, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD)),
    *((0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2), (0x180E, 0x180E), (0x200B, 0x200B)),
    *((0x200E, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB)),
    *((0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3)),
    *((0x1D173, 0x1D17A), (0xE0001, 0xE007F)),
)
_CLASS = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _RANGES)
_HIDDEN = re.compile(f"(?![\\n\\t])[{_CLASS}]")
_CONTROL = re.compile(f"[{_CLASS}]")
_LETTERS = {0x09: "\\t", 0x0A: "\\n"}


class Printing:
    """The process-wide settings for output printed by models.

    Attributes:
        mark: before each line; a server has one, so that no line can pass for one of its own.
    """

    mark = ""


def visible(text: str) -> str:
    """The text with control characters escaped, except line feeds and tabs."""
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub(_written_out, text)


def visible_line(text: str) -> str:
    """The text as one line: control characters are escaped, line feeds too."""
    return text if text.isascii() and text.isprintable() else _CONTROL.sub(_written_out, text)


def printed(text: str) -> str:
    """A model's printed output with control characters escaped and each line prefixed."""
    text = visible(text)
    if not Printing.mark:
        return text
    return "".join([Printing.mark + line for line in text.splitlines(keepends=True)])


def visible_json(text: bytes) -> bytes:
    """JSON in which control characters are escaped; parsing restores them."""
    if text.isascii() and b"\x7f" not in text:
        return text
    return _CONTROL.sub(_escaped, text.decode()).encode()


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code in _LETTERS:
        return _LETTERS[code]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == 0x0A:  # between the lines of a file; inside of a text it is escaped already
        return "\n"
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
