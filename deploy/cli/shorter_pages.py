"""Pages of a built site without what they repeat of their headings.

The builder writes each heading three times: in the text, in a link to it behind it, and in the list
of what is on the page. A packed site has it once, and `pinnace docs` writes the others again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MARK = "<!--shorter-->"
_HEADING = re.compile(r'(<h[1-6] id="([^"]*)"[^>]*>)(.*?)(</h[1-6]>)', re.DOTALL)
_LINK = '<a class="headerlink" href="#{}" title="Permanent link">&para;</a>'
# An entry of the list, and the list of those below it; in their places stand _ENTRY and _BELOW.
_LISTED = re.compile(
    r'<a href="#([^"]*)" class="md-nav__link">(\s*<span class="md-ellipsis">\s*'
    r'<span class="md-typeset">\s*)([^\s<](?:[^<]*[^\s<])?)(\s*</span>\s*</span>\s*</a>)'
    r'|<nav class="md-nav" aria-label="([^"]*)">'
)
_START = '<nav class="md-nav md-nav--secondary"'
_ENTRY, _BELOW = "<a listed>", "<nav listed>"
_SHORT = re.compile(rf'{_ENTRY}|{_BELOW}|<a href="#([^"]*)" class="md-nav__link">')


def shortened(content: bytes) -> bytes:
    """A page without its repetitions; the page itself if `expanded` would not give it again."""
    page = content.decode()
    headings = [(one[2], one[3].removesuffix(_LINK.format(one[2]))) for one in _find(page)]
    spaces = [(one[2], one[4]) for one in _LISTED.finditer(page) if one[1]]
    if not headings or not spaces:
        return content
    before, after = spaces[0]

    def short(listed: re.Match[str], at: Callable[[str | None], int]) -> str:
        if listed[5] is not None:
            return _BELOW if listed[5] == headings[at(None)][1] else listed[0]
        place = at(None) + 1
        if place < len(headings) and (listed[1], listed[3]) == headings[place]:
            at(listed[1])
            return _ENTRY if (listed[2], listed[4]) == (before, after) else listed[0]
        at(listed[1])
        return listed[0]

    body = _HEADING.sub(
        lambda one: one[1] + one[3].removesuffix(_LINK.format(one[2])) + one[4],
        _in_lists(page, headings, _LISTED, short),
    )
    found = f"{_MARK}{len(before)},{len(after)};{before}{after}{body}"
    return found.encode() if _long(found) == page else content


def expanded(content: bytes) -> bytes:
    """A page as it was built; pages that were not shortened stay."""
    return _long(content.decode()).encode() if content.startswith(_MARK.encode()) else content


def _long(page: str) -> str:
    sizes, _, rest = page.removeprefix(_MARK).partition(";")
    first, second = map(int, sizes.split(","))
    before, after, body = rest[:first], rest[first : first + second], rest[first + second :]
    headings = [(one[2], one[3]) for one in _find(body)]

    def long(short: re.Match[str], at: Callable[[str | None], int]) -> str:
        if short[0] == _BELOW:
            return f'<nav class="md-nav" aria-label="{headings[at(None)][1]}">'
        if short[0] != _ENTRY:
            at(short[1])
            return short[0]
        anchor, title = headings[at(None) + 1]
        at(anchor)
        return f'<a href="#{anchor}" class="md-nav__link">{before}{title}{after}'

    listed = _in_lists(body, headings, _SHORT, long)
    return _HEADING.sub(lambda one: one[1] + one[3] + _LINK.format(one[2]) + one[4], listed)


def _find(page: str) -> list[re.Match[str]]:
    return list(_HEADING.finditer(page))


def _in_lists(
    page: str,
    headings: list[tuple[str, str]],
    pattern: re.Pattern[str],
    other: Callable[[re.Match[str], Callable[[str | None], int]], str],
) -> str:
    """A page whose lists of headings are written otherwise.

    Args:
        page: HTML.
        headings: anchor and title of each.
        pattern: what is replaced.
        other: gives the replacement of a match. Its second argument gives the number of the last
            heading that was listed, the first of the page at the start of a list; with an anchor it
            takes note of that one.
    """
    numbers = {anchor: number for number, (anchor, _) in reversed(list(enumerate(headings)))}
    last = 0

    def at(anchor: str | None) -> int:
        nonlocal last
        last = numbers.get(anchor, last) if anchor is not None else last
        return last

    pieces = page.split(_START)
    for number in range(1, len(pieces)):
        last = 0
        pieces[number] = pattern.sub(lambda one: other(one, at), pieces[number])
    return _START.join(pieces)
