"""Checks of the built site: its pages load nothing from other hosts."""

import re
from html.parser import HTMLParser
from pathlib import Path

# What a browser fetches by itself; a link that a person follows may lead anywhere.
LOADS = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "img": ("src", "srcset"),
    "input": ("src",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
LINKED = {
    "stylesheet",
    "icon",
    "preload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "modulepreload",
}
FOREIGN = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"(?:url\(\s*|@import\s+)[\"']?((?:[a-z]+:)?//[^\"')\s]+)", re.IGNORECASE)


def foreign(site: Path) -> list[str]:
    """URLs on other hosts that pages and styles would load.

    Args:
        site: folder of the built site.

    Returns:
        "file: address", none if all is the site's own.
    """
    found = []
    for file in sorted(site.rglob("*.html")):
        reader = _Reader()
        reader.feed(file.read_text())
        found += [f"{file.relative_to(site)}: {address}" for address in reader.found]
    for file in sorted(site.rglob("*.css")):
        found += [f"{file.relative_to(site)}: {one}" for one in IN_STYLE.findall(file.read_text())]
    return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        names = LOADS.get(tag, ())
        if tag == "link" and LINKED & set((values.get("rel") or "").lower().split()):
            names = ("href",)
        for name in names:
            for address in (values.get(name) or "").split(","):
                if FOREIGN.match(address):
                    self.found.append(address.split()[0])
        self.found += IN_STYLE.findall(values.get("style") or "")
        self._style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._style = self._style and tag != "style"

    def handle_data(self, data: str) -> None:
        if self._style:
            self.found += IN_STYLE.findall(data)
