"""Texts of others as a terminal or a log may show them."""

from __future__ import annotations

# Control characters move the cursor, hide lines and answer for the person at the keyboard; marks of
# direction show a line in another order than it has. Lines and tabulators stay.
_CONTROLS = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\n\t"
}


def visible(text: str) -> str:
    """A text whose control characters are written out."""
    return text.translate(_CONTROLS)
