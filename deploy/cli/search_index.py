"""The search index of a built site, made from its pages.

A built site has it as `search.json`: the text of all pages again, a third of the packed site's
size. The copy of the site in a wheel has the index without its entries, and `pinnace docs` makes
them when a search begins.
"""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = "search.json"
_UNLISTED = {"404.html"}
_HEADING = re.compile(r'<h([1-6]) id="([^"]*)"[^>]*>(.*?)</h\1>', re.DOTALL)
_PERMALINK = re.compile(r'<a class="headerlink".*?</a>', re.DOTALL)
_TITLE = re.compile(r"<title>(.*?)(?: - [^<]*)?</title>", re.DOTALL)
_PART = re.compile(r'md-tabs__item--active">\s*<a[^>]*>(.*?)</a>', re.DOTALL)
# Most tags are those of highlighted code; they are removed first.
_INLINE = re.compile(r"</?(?:a|em|span|strong)\b[^>]*>")
_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)[^>]*>|<!--.*?-->", re.DOTALL)
# Elements that stay in an entry's text, without attributes; others are replaced by their content.
_KEPT = {"code", "li", "ol", "p", "pre", "ul"}
_ENDS_WORDS = {"br", "div", "table", "td", "th", "tr", *_KEPT} - {"code"}
_SPACE = re.compile(r"\s+")
_CODE_BLOCK = re.compile(r"(<pre>.*?</pre>)", re.DOTALL)


def emptied(index: bytes) -> bytes:
    """The index without its entries, which `filled` restores."""
    return _written({**json.loads(index), "items": []})


def filled(site: Mapping[str, bytes]) -> bytes:
    """The index of a site; if it was `emptied`, with the entries of all pages.

    Args:
        site: name -> content; its index has the options of the search.
    """
    index = json.loads(site[FILE])
    if index["items"]:
        return site[FILE]
    pages = sorted(name for name in site if name.endswith(".html") and name not in _UNLISTED)
    items = [one for name in pages for one in entries(name, site[name].decode("utf-8"))]
    return _written({**index, "items": items})


def _written(index: dict[str, Any]) -> bytes:
    return json.dumps(index, ensure_ascii=False, separators=(",", ":")).encode()


def entries(name: str, page: str) -> Iterator[dict[str, Any]]:
    """Yield an entry for a page, and one for each of its sections.

    Args:
        name: the page, relative to the site's root.
        page: its HTML; a page without an article has no entries.
    """
    start, end = page.find("<article"), page.rfind("</article>")
    title = _TITLE.search(page)
    if min(start, end) < 0 or title is None:
        return
    part = _PART.search(page, 0, start)
    path = list(dict.fromkeys(_plain(one[1]) for one in (part, title) if one))
    # Text; then for each section: level, anchor, title, text.
    pieces = _HEADING.split(page[page.index(">", start) + 1 : end])
    sections = list(zip(*(iter(pieces[1:]),) * 4, strict=True))
    if not sections:
        return
    for at, (level, anchor, heading, text) in enumerate(sections):
        yield {
            # Text before the first heading belongs to the page itself, like the first section.
            "location": f"{name}#{anchor}" if at else name,
            "level": int(level),
            "title": _text(_PERMALINK.sub("", heading)),
            "text": _text(text if at else pieces[0] + text),
            "path": path,
            "tags": [],
        }


def _plain(markup: str) -> str:
    """The text of markup, without tags."""
    return html.unescape(_SPACE.sub(" ", _TAG.sub("", markup)).strip())


def _text(markup: str) -> str:
    """A section's content, with the tags that the search shows."""
    bare = _TAG.sub(_bare_tag, _INLINE.sub("", markup))
    pieces = _CODE_BLOCK.split(bare)
    return "".join(
        piece if at % 2 else _SPACE.sub(" ", piece) for at, piece in enumerate(pieces)
    ).strip()


def _bare_tag(tag: re.Match[str]) -> str:
    name = (tag[2] or "").lower()
    if name in _KEPT:
        return f"<{tag[1]}{name}>"
    return " " if name in _ENDS_WORDS else ""
