"""The pages of the documentation as HTML, for installations without a built site."""

from __future__ import annotations

import html
import itertools
import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_FRONT = "README.md"
_INSTALLED = f"share/pinnace/{_FRONT}"  # pyproject.toml installs the pages beside it
_OTHERS = {".svg", ".png"}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
pre { background: #8881; padding: .7rem; overflow-x: auto; } code { font-size: .9em; }
table { border-collapse: collapse; }
td, th { border: 1px solid #8886; padding: .2rem .5rem; text-align: left; }
:root { color-scheme: light dark; } img { max-width: 100%; }
"""


def installed_folder() -> Path | None:
    """The folder of the installed pages; None if this installation has none."""
    try:
        files = metadata.files("pinnace") or ()
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.as_posix().endswith(_INSTALLED):
            return Path(str(file.locate())).resolve().parent
    return None


def markdown_site(folder: Path) -> dict[str, bytes]:
    """Convert every page below a folder to HTML, with links to pages adapted, and add images.

    Args:
        folder: the folder with `README.md` and `docs`.
    """
    site = {name: _content(folder / name) for name in _names(folder)}
    pages = {_as_html(name): content for name, content in site.items()}
    pages["index.html"] = pages[_as_html(_FRONT)]
    return pages


def _names(folder: Path) -> Iterator[str]:
    below = [*folder.glob("*.md"), *(folder / "benchmarks").glob("*.md")]
    for path in [*below, *(folder / "docs").rglob("*")]:
        if path.suffix == ".md" or path.suffix in _OTHERS:
            yield path.relative_to(folder).as_posix()


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.suffix in _OTHERS else _page(path.read_text("utf-8")).encode()


def _as_html(name: str) -> str:
    return re.sub(r"\.md$", ".html", name)


def _page(text: str) -> str:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(text)
    title = ""
    for heading, inline in itertools.pairwise(tokens):
        if heading.type == "heading_open":
            title = title or inline.content
            heading.attrSet("id", _anchor(inline.content))
    for token in tokens:
        for inner in token.children or ():
            if inner.type == "link_open":
                inner.attrSet("href", _link(str(inner.attrGet("href"))))
    body: Any = parser.renderer.render(tokens, parser.options, {})
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>"
        f'<nav><a href="/{_as_html(_FRONT)}">pinnace</a> · '
        f'<a href="/docs/index.html">documentation</a></nav>{body}</html>\n'
    )


def _anchor(heading: str) -> str:
    """The anchor of a heading by GitHub's rule."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _link(target: str) -> str:
    """A link with the suffix of a page replaced by `.html`; other links unchanged."""
    path, mark, place = target.partition("#")
    return target if ":" in path else f"{_as_html(path)}{mark}{place}"
