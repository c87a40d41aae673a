"""How wide a line of text is in Helvetica and its kin, nearly enough to draw a box around it."""

from __future__ import annotations

# Widths in thousandths of the size, as the font's metrics have them.
_WIDTHS = {
    **dict.fromkeys("ijl'|", 222),
    **dict.fromkeys("ftI!,./:;[]\\ ", 278),
    **dict.fromkeys('r()-`{}"*^', 340),
    **dict.fromkeys("cksvxyzJ", 500),
    **dict.fromkeys("FTZ+<=>~", 611),
    **dict.fromkeys("ABEKPSVXY&", 667),
    **dict.fromkeys("CDHNRUw", 722),
    **dict.fromkeys("GOQ", 778),
    **dict.fromkeys("mM%", 860),
    **dict.fromkeys("W@", 980),
}
_OTHER = 556
# Letters beyond Latin are square at most.
_WIDE = 1000
_BOLD = 1.07


def width(text: str, size: float, bold: bool = False) -> float:
    """The width of a line.

    Args:
        text: the line.
        size: of the font.
        bold: whether it is.
    """
    total = sum(_WIDTHS.get(one, _OTHER if ord(one) < 0x250 else _WIDE) for one in text)
    return total * size / 1000 * (_BOLD if bold else 1.0)
